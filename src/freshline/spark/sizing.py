"""How many partitions an update's result is computed and written in.

Most updates are small: one file, one task. A large one gets a task for every 64 MB or 128 files
that it reads, so that a rebuild of gigabytes neither runs in a single task nor leaves thousands
of small files. The user's own spark.sql.shuffle.partitions is left as it is.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from freshline.spark import jvm

BYTES_PER_TASK = 64 * 1024 * 1024
FILES_PER_TASK = 128
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
        session: The update's own session; its shuffles are set to fit a large input.
        frame: Not planned yet.
        configuration: The project's Spark settings.
        input_bytes: Size of what is read; None: ask Spark, which may take it a job.
        files: Files of a feed that are read.
    """
    tasks = tasks_for(jvm.input_bytes(frame) if input_bytes is None else input_bytes, files)
    if tasks > 1 and "spark.sql.shuffle.partitions" not in configuration:
        session.conf.set("spark.sql.shuffle.partitions", str(tasks))
    return frame.coalesce(tasks)
