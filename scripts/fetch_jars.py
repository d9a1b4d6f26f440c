"""Fetch Delta's jars into Ivy's cache before anything starts Spark sessions side by side.

Spark resolves ``spark.jars.packages`` at its first start. Two processes that do so at the same
time on an empty cache write the same files; one start beforehand settles it. With the jars in
the cache this returns at once and starts no JVM.
"""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from pathlib import Path


def delta_coordinate() -> str:
    """The Maven coordinate of the jar that the installed Python packages belong to."""
    spark_minor = ".".join(version("pyspark").split(".")[:2])
    return f"io.delta:delta-spark_{spark_minor}_2.13:{version('delta-spark')}"


def cached_jar(coordinate: str, home: Path) -> Path | None:
    """The jar in one of Ivy's directories under ``home`` (Spark names them by Ivy's version)."""
    name = coordinate.replace(":", "_", 1).replace(":", "-") + ".jar"
    return next((jar for jar in sorted(home.glob(f".ivy2*/jars/{name}"))), None)


def main() -> int:
    """Start a bare session with the package once, unless its jar is there already."""
    coordinate = delta_coordinate()
    if cached_jar(coordinate, Path.home()):
        return 0
    from pyspark.sql import SparkSession

    print(f"Fetching {coordinate} ...", file=sys.stderr)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder: SparkSession.Builder = SparkSession.builder
    session = (
        builder.master("local[1]")
        .appName("freshline: fetch jars")
        .config("spark.jars.packages", coordinate)
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    session.stop()
    if not cached_jar(coordinate, Path.home()):
        print(f"{coordinate} did not arrive in Ivy's cache.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
