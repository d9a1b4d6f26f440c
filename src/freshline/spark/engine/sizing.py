"""What an update's size decides: how many tasks compute it, and whether they are compiled.

Most updates are small: one file, one task, interpreted. A large one gets a task for every 64 MB
or 128 files that it reads, so that a rebuild of gigabytes neither runs in a single task nor
leaves thousands of small files; and from 8 MB on Spark compiles it. What the user sets of these
is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyspark.sql import DataFrame, SparkSession

from freshline.delta.log import size_bytes as table_bytes
from freshline.spark.engine import jvm

BYTES_PER_TASK = 64 * 1024 * 1024
FILES_PER_TASK = 128
COMPILED_FROM_BYTES = 8 * 1024 * 1024
COMPILED = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}
"""Spark's own defaults."""
_MOST_TASKS = 1000


def tasks_for(size_bytes: int, files: int = 0) -> int:
    """Tasks for an input of that size in so many files: at least one, at most 1000."""
    wanted = max(-(-size_bytes // BYTES_PER_TASK), -(-files // FILES_PER_TASK))
    return max(1, min(_MOST_TASKS, wanted))


def sized(
    session: SparkSession,
    frame: DataFrame,
    configuration: Mapping[str, str],
    input_bytes: int | None = None,
    files: int = 0,
) -> DataFrame:
    """``frame`` with its number of output files chosen by the size of its input.

    Args:
        session: The update's own session; it is set to fit a large input.
        frame: Not planned yet.
        configuration: The project's Spark settings.
        input_bytes: Size of what is read; None: ask Spark, which may take it a job.
        files: Files of a feed that are read.
    """
    size_bytes = jvm.input_bytes(frame) if input_bytes is None else input_bytes
    tasks = tasks_for(size_bytes, files)
    wanted = dict(COMPILED) if size_bytes >= COMPILED_FROM_BYTES else {}
    if tasks > 1:
        wanted["spark.sql.shuffle.partitions"] = str(tasks)
    for name, value in wanted.items():
        if name not in configuration:
            session.conf.set(name, value)
    return frame.coalesce(tasks)


def known_bytes(tables: Iterable[tuple[str, int]]) -> int | None:
    """Size of these tables together, by path and version; None: not known without a Spark job."""
    total_bytes = 0
    for path, version in tables:
        size = table_bytes(path, version)
        if size is None:
            return None
        total_bytes += size
    return total_bytes
