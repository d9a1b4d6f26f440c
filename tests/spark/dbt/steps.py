"""Commands of dbt, one after the other in one Spark; run by the Python of dbt's environment.

The first argument is the folder of Spark's warehouse and metastore, the second the dbt project; the
others are commands, each with its options in one text.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path


def main(lake: Path, project: Path, commands: list[str]) -> int:
    """Run the commands; 1 where one fails."""
    from dbt.cli.main import dbtRunner  # type: ignore[import-not-found, unused-ignore]
    from pyspark.sql import SparkSession

    settings = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.sources.partitionOverwriteMode": "dynamic",
        "spark.sql.warehouse.dir": str(lake / "warehouse"),
        "spark.hadoop.javax.jdo.option.ConnectionURL": (
            f"jdbc:derby:;databaseName={lake / 'metastore'};create=true"
        ),
    }
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    builder.enableHiveSupport().getOrCreate()
    where = ["--project-dir", str(project), "--profiles-dir", str(project), "--no-use-colors"]
    for command in commands:
        done = dbtRunner().invoke([*shlex.split(command), *where])
        if not done.success:
            sys.stderr.write(f"{done.exception}\n")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]))
