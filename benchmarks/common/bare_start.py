"""``python -m benchmarks.common.bare_start SETTINGS``: start Spark with them, say when, stop.

Imports nothing of freshline: what a bare session's start costs is PySpark's import, the JVM
and the session.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession


def main() -> None:
    """Print the moment at which the session is there, in seconds since the epoch."""
    builder = SparkSession.builder.appName("bare")
    for name, value in json.loads(Path(sys.argv[1]).read_text()).items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    print(time.time(), flush=True)
    session.stop()


if __name__ == "__main__":
    main()
