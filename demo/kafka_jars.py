"""The jars of a Kafka broker and of Spark's Kafka source, for the tests and the demo.

``python -m demo.kafka_jars`` (part of ``make tools``) lets Spark's own resolver fetch them into
.cache/kafka, through whatever repositories Spark is set up with; once there, nothing is asked
again. Not every repository has all of Spark's Kafka module: where its token provider is missing
in the version that belongs to it, the one before it is taken, whose few classes are the same.
Without the jars the Kafka tests are skipped, and say so.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

FOLDER = Path(__file__).parents[1] / ".cache" / "kafka"
BROKER = "org.apache.kafka:kafka_2.13:4.1.1"
SOURCE = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"
TOKENS = "org.apache.spark:spark-token-provider-kafka-0-10_2.13"
OLDER_TOKENS = f"{TOKENS}:4.0.0"
MISSING = "the jars of Kafka could not be fetched: run `make tools` where a repository has them"

_RESOLVE = """
import sys
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
for name, value in zip(("packages", "ivy", "excludes"), sys.argv[1:]):
    builder = builder.config("spark.jars." + name, value)
builder.getOrCreate().stop()
"""
_OF_SPARK = ("spark-sql-kafka", "spark-token-provider", "kafka-clients", "commons-pool2")


def broker_jars() -> list[Path]:
    """Everything that a broker needs; empty where it was not fetched."""
    jars = sorted((FOLDER / "broker" / "jars").glob("*.jar"))
    spark = find_spec("pyspark")
    if spark is None or spark.origin is None or not any("kafka_2.13" in jar.name for jar in jars):
        return []
    # Spark's resolver leaves out what Spark has itself.
    return jars + sorted((Path(spark.origin).parent / "jars").glob("scala-library-2.13*.jar"))


def source_jars() -> list[Path]:
    """What Spark needs besides its own jars to read topics; empty where it was not fetched."""
    found = []
    for name in _OF_SPARK:
        for folder in ("spark", "tokens"):
            jars = sorted((FOLDER / folder / "jars").glob(f"*{name}*.jar"))
            if jars:
                found.append(jars[0])
                break
        else:
            return []
    return found


def main() -> int:
    """Fetch what is missing; exit status 0 also where it cannot be had."""
    if not broker_jars():
        print(f"Fetching {BROKER} ...", file=sys.stderr)
        _resolve(BROKER, "broker")
    if not source_jars():
        print(f"Fetching {SOURCE} ...", file=sys.stderr)
        if not _resolve(SOURCE, "spark"):
            _resolve(SOURCE, "spark", TOKENS)
            _resolve(OLDER_TOKENS, "tokens")
    if not (broker_jars() and source_jars()):
        print(f"{MISSING}. The tests that need them are skipped.", file=sys.stderr)
    return 0


def _resolve(coordinate: str, folder: str, *excludes: str) -> bool:
    """Let a bare Spark session fetch a package with all that it needs."""
    command = [sys.executable, "-c", _RESOLVE, coordinate, str(FOLDER / folder), *excludes]
    environment = {"SPARK_LOCAL_IP": "127.0.0.1", **os.environ}
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
