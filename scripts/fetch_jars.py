"""Fetch Delta's jars into Ivy's cache before anything starts Spark sessions side by side.

Spark resolves ``spark.jars.packages`` at its first start. Two processes that do so at the same
time on an empty cache write the same files; one start before them settles it. The resolver prints
hundreds of lines about repositories that it tried in vain, so its output is kept back and shown
only where it fails. With the jars in the cache this returns at once and starts no JVM.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

_RESOLVE = """
import sys
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder.config("spark.jars.packages", sys.argv[1]).getOrCreate().stop()
"""
_LAST_LINES = 30
"""Of the resolver's output, where it fails: its summary of problems stands at the end."""


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
    print(f"Fetching {coordinate} (90 MB, once) ...", file=sys.stderr)
    done = subprocess.run(
        [sys.executable, "-c", _RESOLVE, coordinate],
        env={"SPARK_LOCAL_IP": "127.0.0.1", **os.environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if cached_jar(coordinate, Path.home()):
        return 0
    print("\n".join(done.stdout.splitlines()[-_LAST_LINES:]), file=sys.stderr)
    print(
        f"{coordinate} could not be fetched; the resolver's last lines are above. It needs a"
        " Maven repository: check the network, or the repositories in Ivy's settings.",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
