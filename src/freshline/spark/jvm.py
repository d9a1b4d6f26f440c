"""The few steps from PySpark's objects to Spark's own, in one place.

PySpark keeps its JVM objects in private attributes; everything here that needs one asks this
module, so that a new version of Spark has one file to look at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any
from weakref import WeakKeyDictionary

from pyspark.sql import DataFrame, SparkSession

_UNKNOWN_BYTES = 2**60
"""Spark says 2**63 - 1 where a relation does not know its size."""


_PYTHON_UTILS = "org.apache.spark.api.python.PythonUtils"
_named: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()


def named(session: SparkSession, name: str) -> Any:
    """A class, static method or constant of the JVM by its full name, looked up only once.

    py4j asks the JVM about every part of a dotted name, every time: without this memory half
    of all messages between Python and Spark in a small update are such questions. What is
    kept has no state, so threads may share it.
    """
    view = session._jvm  # noqa: SLF001 - this module's purpose
    known = _named.setdefault(view, {})
    if name not in known:
        known[name] = reduce(getattr, name.split("."), view)
    return known[name]


def java_session(session: SparkSession) -> Any:
    """Spark's own session."""
    return session._jsparkSession  # noqa: SLF001 - this module's purpose


def java_frame(frame: DataFrame) -> Any:
    """Spark's own data frame."""
    return frame._jdf  # noqa: SLF001 - this module's purpose


def activate(session: SparkSession) -> None:
    """Make ``session`` the one that Delta finds active in this thread.

    PySpark gives every Python thread a JVM thread of its own, and Spark's methods set the
    active session themselves; Delta's, called directly, expect to find it set.
    """
    activate_it = named(session, "org.apache.spark.sql.classic.SparkSession.setActiveSession")
    activate_it(java_session(session))


def scala_map(session: SparkSession, entries: Mapping[str, str]) -> Any:
    """An immutable Scala map."""
    java_map = named(session, "java.util.HashMap")()
    for key, value in entries.items():
        java_map.put(key, value)
    return named(session, f"{_PYTHON_UTILS}.toScalaMap")(java_map)


def scala_seq(session: SparkSession, items: Sequence[Any]) -> Any:
    """A Scala sequence."""
    java_list = named(session, "java.util.ArrayList")()
    for item in items:
        java_list.add(item)
    return named(session, f"{_PYTHON_UTILS}.toSeq")(java_list)


def none(session: SparkSession) -> Any:
    """Scala's None."""
    return named(session, "scala.Option.empty")()


def some(session: SparkSession, value: Any) -> Any:
    """Scala's Some(value)."""
    return named(session, "scala.Option.apply")(value)


def observed(frame: DataFrame, name: str) -> tuple[int, ...] | None:
    """The whole-number metrics that ``frame.observe(name, ...)`` measured when it ran.

    Read from the query itself, so they are there as soon as it ended; None if it has not run.
    """
    metrics = java_frame(frame).queryExecution().observedMetrics().get(name)
    if not metrics.isDefined():
        return None
    row = metrics.get()
    return tuple(int(row.get(column)) for column in range(row.size()))


def input_bytes(frame: DataFrame) -> int:
    """Size of everything that the query reads, as its tables and files know it.

    What does not know its size (a table behind JDBC, say) counts nothing.
    """
    return _size(java_frame(frame).queryExecution().analyzed())


def optimized_input_bytes(frame: DataFrame) -> int:
    """The same when files that need not be read were left out, which may take Delta a job."""
    return _size(java_frame(frame).queryExecution().optimizedPlan())


def _size(plan: Any) -> int:
    leaves = plan.collectLeaves().iterator()
    total = 0
    while leaves.hasNext():
        size = int(str(leaves.next().stats().sizeInBytes()))
        if size < _UNKNOWN_BYTES:
            total += size
    return total
