"""What an update's size decides: how many tasks compute it, and whether they are compiled.

Most updates are small: one file, one task, interpreted. A large one gets a task for every 64 MB
or 128 files that it reads, so that a rebuild of gigabytes neither runs in a single task nor
leaves thousands of small files; and from 8 MB on Spark compiles it, a row counted as 40 bytes at
least. What the user sets of these is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyspark.sql import DataFrame, SparkSession

from freshline.delta.log import checksum_rows
from freshline.delta.log import size_bytes as table_bytes
from freshline.spark.engine import jvm

BYTES_PER_TASK = 64 * 1024 * 1024
FILES_PER_TASK = 128
COMPILED_FROM_BYTES = 8 * 1024 * 1024
ROW_BYTES = 40
"""What a row counts as at least: a well compressed file holds one in a few bytes."""

COMPILED = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}
"""Spark's own defaults."""
_MOST_TASKS = 1000

IN_ONE_TASK_BYTES = 4 * 1024 * 1024
"""What Spark itself would not divide: it counts each file as that many bytes at least."""
_IN_ONE_TASK_FILES = 8


def tasks_for(size_bytes: int, files: int = 0) -> int:
    """Tasks for an input of that size in so many files: at least one, at most 1000."""
    wanted = max(-(-size_bytes // BYTES_PER_TASK), -(-files // FILES_PER_TASK))
    return max(1, min(_MOST_TASKS, wanted))


def together(frame: DataFrame, size_bytes: int, files: int = 1) -> DataFrame:
    """``frame`` read by one task where it is small, so that grouping it needs no further stage.

    Args:
        frame: It reads files.
        size_bytes: Of these.
        files: How many they are.
    """
    is_small = size_bytes <= IN_ONE_TASK_BYTES and files <= _IN_ONE_TASK_FILES
    return frame.coalesce(1) if is_small else frame


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
    compile_for(session, configuration, size_bytes)
    if tasks > 1:
        _set(session, configuration, {"spark.sql.shuffle.partitions": str(tasks)})
    return frame.coalesce(tasks)


def compile_for(
    session: SparkSession, configuration: Mapping[str, str], weight_bytes: int | None
) -> None:
    """Let the update's own session compile its queries where they read so much."""
    if weight_bytes is not None and weight_bytes >= COMPILED_FROM_BYTES:
        _set(session, configuration, COMPILED)


def _set(
    session: SparkSession, configuration: Mapping[str, str], wanted: Mapping[str, str]
) -> None:
    for name, value in wanted.items():
        if name not in configuration:
            session.conf.set(name, value)


def weight(size_bytes: int, rows: int | None) -> int:
    """What so many bytes of files with so many rows count as, in bytes; None: not known."""
    return max(size_bytes, ROW_BYTES * (rows or 0))


def known_weight(tables: Iterable[tuple[str, int]]) -> int | None:
    """What these tables, by path and version, count as; None: not known without a Spark job."""
    total_bytes = 0
    for path, version in tables:
        size = table_bytes(path, version)
        if size is None:
            return None
        total_bytes += weight(size, checksum_rows(path, version))
    return total_bytes


def known_bytes(tables: Iterable[tuple[str, int]]) -> int | None:
    """Size of these tables together, by path and version; None: not known without a Spark job."""
    total_bytes = 0
    for path, version in tables:
        size = table_bytes(path, version)
        if size is None:
            return None
        total_bytes += size
    return total_bytes
