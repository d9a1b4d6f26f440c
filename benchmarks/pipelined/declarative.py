"""The same project for ``spark-pipelines``: definitions, settings, and runs of it.

Feeds are streams from their folders, declared in Python, which SQL has no word for; the tables
are declared in SQL as they are for freshline. Delta reaches a pipeline through
spark-defaults.conf alone, and its catalog has to be Hive's: with the default one the second
run fails.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from benchmarks.common.children import environment, program
from benchmarks.common.projects import SCHEMA, TableSpec
from benchmarks.overload.workload import Workload
from freshline.project.model import Project
from freshline.spark.engine.session import settings

_FEED = """
@dp.temporary_view
def {name}():
    return spark.readStream.format("{kind}").schema("{schema}").load("{path}")
"""


class Pipeline:
    """A declarative pipeline over the feeds of a project.

    Args:
        workload: Its tables and feeds.
        project: Has the feeds' folders, and settings of Spark that serve here too.
        folder: Becomes the pipeline's.
        logging: Settings of the event log.
    """

    def __init__(
        self, workload: Workload, project: Project, folder: Path, logging: Mapping[str, str]
    ) -> None:
        self._folder = folder
        (folder / "definitions").mkdir(parents=True)
        (folder / "conf").mkdir()
        spec = {
            "name": "bench",
            "storage": (folder / "checkpoints").as_uri(),
            "libraries": [{"glob": {"include": "definitions/**"}}],
        }
        (folder / "spark-pipeline.yml").write_text(json.dumps(spec))  # JSON is YAML
        head = "from pyspark import pipelines as dp\nfrom pyspark.sql import SparkSession\n\n"
        feeds = "".join(
            _FEED.format(
                name=feed.name, kind=feed.format, schema=SCHEMA, path=project.feeds[feed.name].path
            )
            for feed in workload.feeds
        )
        (folder / "definitions" / "feeds.py").write_text(
            f"{head}spark = SparkSession.active()\n{feeds}"
        )
        tables = "\n".join(map(_statement, workload.tables))
        (folder / "definitions" / "tables.sql").write_text(tables)
        chosen = {
            "spark.jars": settings(project)["spark.jars"],
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.sql.catalogImplementation": "hive",
            "spark.sql.sources.default": "delta",
            "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.shuffle.partitions": "2",
            "spark.databricks.delta.snapshotPartitions": "2",
            "spark.driver.memory": "1g",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.ui.enabled": "false",
            **logging,
        }
        lines = "".join(f"{name} {value}\n" for name, value in chosen.items())
        (folder / "conf" / "spark-defaults.conf").write_text(lines)

    def table_path(self, table: str) -> Path:
        """Where a table is."""
        return self._folder / "warehouse" / table

    def run(self) -> float:
        """``spark-pipelines run``, once; its seconds.

        Raises:
            RuntimeError: It failed.
        """
        found = importlib.util.find_spec("pyspark")
        assert found is not None
        assert found.origin is not None
        began_s = time.monotonic()
        done = subprocess.run(
            [program("spark-pipelines"), "run", "--remote", "local[2]"],
            cwd=self._folder,
            env={
                **environment(),
                "SPARK_HOME": str(Path(found.origin).parent),
                "SPARK_CONF_DIR": str(self._folder / "conf"),
                "PATH": f"{Path(program('python')).parent}{os.pathsep}{os.environ['PATH']}",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"spark-pipelines failed:\n{done.stdout}{done.stderr}"[-4000:])
        return time.monotonic() - began_s


def _statement(table: TableSpec) -> str:
    kind = "STREAMING TABLE" if "STREAM " in table.query else "MATERIALIZED VIEW"
    return f"CREATE {kind} {table.name} AS {table.query};\n"
