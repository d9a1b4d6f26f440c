"""Rows that are held in the driver and read again without a Spark job.

The rows of a small change are asked for several times: which groups they are of, what they add
to these. A cached frame takes a job for every question; rows in the driver take one in all, and
Spark carries them into the next query's plan. They stay in the JVM as Spark's own rows, so no
type is converted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from freshline.spark.engine import jvm
from freshline.spark.engine.result_settings import known_to_tasks

MOST_ROWS = 5_000
"""They go into the plan of each query that reads them, and so to every task."""


@dataclass(frozen=True, slots=True)
class Held:
    """Rows that can be read several times.

    Attributes:
        frame: The rows.
        is_in_driver: Whether to project them takes no job.
    """

    frame: DataFrame
    is_in_driver: bool


@contextmanager
def held(frame: DataFrame) -> Iterator[Held]:
    """The frame's rows: in the driver where they are few, else cached by the executors.

    Args:
        frame: Read once, at once, where its rows are few.
    """
    few = collected(frame)
    if few is not None:
        yield Held(read_again(frame.sparkSession, few), is_in_driver=True)
        return
    frame.persist()
    try:
        yield Held(frame, is_in_driver=False)
    finally:
        frame.unpersist()


def collected(frame: DataFrame) -> Any | None:
    """The frame's rows as a relation of Spark's; None where there are too many."""
    session = frame.sparkSession
    jvm.activate(session)
    execution = jvm.java_frame(frame.limit(MOST_ROWS + 1)).queryExecution()
    with known_to_tasks(session):
        collected = execution.executedPlan().executeCollect()
    rows = jvm.named(session, "scala.Predef.genericWrapArray")(collected)
    if int(rows.length()) > MOST_ROWS:
        return None
    return jvm.named(session, "org.apache.spark.sql.catalyst.plans.logical.LocalRelation")(
        execution.analyzed().output(), rows.toSeq(), False, jvm.none(session)
    )


def read_again(session: SparkSession, relation: Any) -> DataFrame:
    """What :func:`collected` returned, in a session of the same Spark."""
    of_rows: Any = jvm.named(session, "org.apache.spark.sql.classic.Dataset.ofRows")
    return DataFrame(of_rows(jvm.java_session(session), relation), session)
