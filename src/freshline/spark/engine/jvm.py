"""The few steps from PySpark's objects to Spark's own, in one place.

PySpark keeps its JVM objects in private attributes; everything here that needs one asks this
module, so that a new version of Spark has one file to look at.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any
from weakref import WeakKeyDictionary

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

_UNKNOWN_BYTES = 2**60
"""Spark says 2**63 - 1 where a relation does not know its size."""


_PYTHON_UTILS = "org.apache.spark.api.python.PythonUtils"
_CATALYST = "org.apache.spark.sql.catalyst"
_BETWEEN = "\x1f"
"""Stands between texts that go to the JVM in one message."""

_named: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()
_schemas: WeakKeyDictionary[DataFrame, str] = WeakKeyDictionary()


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


def hadoop_settings(session: SparkSession) -> Any:
    """Hadoop's configuration, from which that of every query is copied."""
    return session.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001 - this module's purpose


def java_frame(frame: DataFrame) -> Any:
    """Spark's own data frame."""
    return frame._jdf  # noqa: SLF001 - this module's purpose


def slots(session: SparkSession) -> int:
    """How many tasks can run at once now: of a cluster, on the executors that are there."""
    context = session.sparkContext._jsc.sc()  # noqa: SLF001 - this module's purpose
    return int(
        context.maxNumConcurrentTasks(context.resourceProfileManager().defaultResourceProfile())
    )


def activate(session: SparkSession) -> None:
    """Make ``session`` the one that Delta finds active in this thread.

    PySpark gives every Python thread a JVM thread of its own, and Spark's methods set the
    active session themselves; Delta's, called directly, expect to find it set.
    """
    activate_it = named(session, "org.apache.spark.sql.classic.SparkSession.setActiveSession")
    activate_it(java_session(session))


def _constant(session: SparkSession, name: str, made: Callable[[], Any]) -> Any:
    """An object of the JVM that never changes, made only once."""
    known = _named.setdefault(session._jvm, {})  # noqa: SLF001 - this module's purpose
    if name not in known:
        known[name] = made()
    return known[name]


def scala_map(session: SparkSession, entries: Mapping[str, str]) -> Any:
    """An immutable Scala map."""

    def made() -> Any:
        java_map = named(session, "java.util.HashMap")()
        for key, value in entries.items():
            java_map.put(key, value)
        return named(session, f"{_PYTHON_UTILS}.toScalaMap")(java_map)

    return made() if entries else _constant(session, "no entries", made)


def scala_seq(session: SparkSession, items: Sequence[Any]) -> Any:
    """A Scala sequence."""

    def made() -> Any:
        java_list = named(session, "java.util.ArrayList")()
        for item in items:
            java_list.add(item)
        return seq_of(session, java_list)

    return made() if items else _constant(session, "no items", made)


def seq_of(session: SparkSession, java_list: Any) -> Any:
    """A Scala sequence of what a Java list holds."""
    return named(session, f"{_PYTHON_UTILS}.toSeq")(java_list)


def text_array(session: SparkSession, items: Sequence[str]) -> Any:
    """A Java array of strings."""
    return java_array(session, named(session, "java.lang.String"), items)


def java_array(session: SparkSession, kind: Any, items: Sequence[Any]) -> Any:
    """A Java array of objects of a class."""
    gateway: Any = session.sparkContext._gateway  # noqa: SLF001 - this module's purpose
    array = gateway.new_array(kind, len(items))
    for at, item in enumerate(items):
        array[at] = item
    return array


def elements(sequence: Any) -> Iterator[Any]:
    """What a Scala collection holds."""
    iterator = sequence.iterator()
    while iterator.hasNext():
        yield iterator.next()


def none(session: SparkSession) -> Any:
    """Scala's None."""
    return _constant(session, "None", named(session, "scala.Option.empty"))


def some(session: SparkSession, value: Any) -> Any:
    """Scala's Some(value)."""
    return named(session, "scala.Option.apply")(value)


def some_long(session: SparkSession, value: int) -> Any:
    """Scala's Some of a Long; py4j itself makes an Integer of a number that fits into one."""
    gateway: Any = session.sparkContext._gateway  # noqa: SLF001 - this module's purpose
    array = gateway.new_array(gateway.jvm.long, 1)
    array[0] = value
    return named(session, "scala.runtime.ScalaRunTime.wrapLongArray")(array).headOption()


def query(session: SparkSession, text: str) -> DataFrame:
    """``session.sql(text)`` in one message to the JVM instead of eight."""
    return DataFrame(java_session(session).sql(text), session)


def selected(frame: DataFrame, expressions: Sequence[str]) -> DataFrame:
    """``frame.selectExpr(*expressions)`` in two messages to the JVM, however many columns."""
    if any(_BETWEEN in each for each in expressions):
        return frame.selectExpr(*expressions)
    session = frame.sparkSession
    split = named(session, "org.apache.commons.lang3.StringUtils.split")
    texts = split(_BETWEEN.join(expressions), _BETWEEN)
    return DataFrame(java_frame(frame).selectExpr(texts), session)


def loaded(
    session: SparkSession, kind: str, options: Mapping[str, str], schema: str, paths: Sequence[str]
) -> DataFrame:
    """``session.read.format(kind).options(**options).schema(...).load(paths)`` in few messages.

    Options and schema are sent to the JVM once; a project has as many of them as feeds.

    Args:
        session: In which the files are read.
        kind: Their format.
        options: Of Spark's reader.
        schema: Of the files, as JSON.
        paths: Files or folders.
    """

    def parsed() -> Any:
        return named(session, "org.apache.spark.sql.types.DataType.fromJson")(schema)

    told = _constant(session, repr(sorted(options.items())), lambda: scala_map(session, options))
    reader = java_session(session).read().format(kind).options(told)
    reader = reader.schema(_constant(session, schema, parsed))
    return DataFrame(reader.load(scala_seq(session, paths)), session)


def without(frame: DataFrame, columns: Sequence[str]) -> DataFrame:
    """``frame.drop(*columns)`` in half as many messages to the JVM."""
    session = frame.sparkSession
    return DataFrame(java_frame(frame).drop(scala_seq(session, columns)), session)


def show(frame: DataFrame, name: str, session: SparkSession | None = None) -> None:
    """Make the frame a view of a session, in the place of an older one of that name.

    ``createOrReplaceTempView`` runs the same command as a query. Spark then reports an execution to
    its listeners and writes the plan as text, which takes longer than the command.

    Args:
        frame: The rows.
        name: As it is, without quotes.
        session: None: the frame's own.
    """
    session = session or frame.sparkSession
    nothing, no_items = none(session), scala_seq(session, ())
    command = named(session, "org.apache.spark.sql.execution.command.CreateViewCommand")(
        named(session, f"{_CATALYST}.TableIdentifier")(name),
        no_items,  # other names of its columns
        nothing,
        nothing,
        scala_map(session, {}),
        nothing,  # no text: it is a frame
        java_frame(frame).logicalPlan(),
        False,
        True,
        named(session, f"{_CATALYST}.analysis.LocalTempView$.MODULE$"),
        named(session, f"{_CATALYST}.analysis.SchemaUnsupported$.MODULE$"),
        True,
        no_items,
    )
    activate(session)
    command.run(java_session(session))


def schema_text(frame: DataFrame) -> str:
    """A frame's columns as the JSON that Spark writes of them, asked for once.

    PySpark's own types leave parts of it out.
    """
    if frame not in _schemas:
        _schemas[frame] = str(java_frame(frame).schema().json())
    return _schemas[frame]


def schema_of(frame: DataFrame) -> StructType:
    """``frame.schema``, from :func:`schema_text`."""
    return StructType.fromJson(json.loads(schema_text(frame)))


def empty_frame(session: SparkSession, columns: str) -> DataFrame:
    """A frame without rows that Spark's optimiser does not know to have none.

    PySpark makes an RDD in Python first, which takes ten times as long, and Spark's public method
    prepares a conversion of Java rows that is not needed here. The optimiser takes every such frame
    for a different one, even if the columns are the same.

    Args:
        session: In which it is.
        columns: A schema's JSON.
    """
    rows = session.sparkContext._jsc.emptyRDD().rdd()  # noqa: SLF001 - this module's purpose
    kind = named(session, "org.apache.spark.sql.types.DataType.fromJson")(columns)
    made = java_session(session).internalCreateDataFrame(rows, kind, False)
    return DataFrame(made, session)


def observed(frame: DataFrame, name: str) -> tuple[int, ...] | None:
    """The whole-number metrics that :func:`measuring` asked for, when ``frame`` has run.

    Read from the query itself, so they are there as soon as it ended. Where it did not get there,
    counts are 0; None: what measures them is no part of the query.
    """
    metrics = java_frame(frame).queryExecution().observedMetrics().get(name)
    if not metrics.isDefined():
        return None
    return tuple(int(each) for each in str(metrics.get().mkString(_BETWEEN)).split(_BETWEEN))


def observing(frame: DataFrame, metrics: Mapping[str, str]) -> tuple[DataFrame, Any]:
    """``frame.observe(Observation(), ...)`` in half as many messages to the JVM.

    Args:
        frame: The rows.
        metrics: SQL of each metric, by a name that needs no quotes; at least one.

    Returns:
        The frame to put into a query, and what :func:`observation` takes.
    """
    asked = named(frame.sparkSession, "org.apache.spark.sql.Observation")()
    return measuring(frame, asked, metrics), asked


def measuring(frame: DataFrame, into: Any, metrics: Mapping[str, str]) -> DataFrame:
    """``frame.observe(into, ...)`` in half as many messages to the JVM.

    Args:
        frame: The rows.
        into: What the metrics are found by: a name, for :func:`observed`, or Spark's Observation.
        metrics: SQL of each metric, by a name that needs no quotes; at least one.
    """
    session = frame.sparkSession
    expression = named(session, "org.apache.spark.sql.functions.expr")
    first, *others = (expression(f"{sql} AS {name}") for name, sql in metrics.items())
    seen = java_frame(frame).observe(into, first, scala_seq(session, others))
    return DataFrame(seen, session)


def observation(
    session: SparkSession, asked: Any, names: Sequence[str], timeout_s: float
) -> dict[str, str] | None:
    """The metrics of an observation as texts, whichever query measured them.

    For a frame that another's plan contains, as a writer's does. Spark tells them after the
    query's end by a thread of its own; None: not within the timeout.

    Args:
        session: Any.
        asked: Of :func:`observing`; its frame was in a query that ran.
        names: Of its metrics, in order; none of their values has the character U+001F.
        timeout_s: How long it is waited for.
    """
    future = asked.future()
    wait_ms = round(timeout_s * 1000)
    duration = named(session, "scala.concurrent.duration.Duration.create")(wait_ms, "ms")
    try:
        named(session, "scala.concurrent.Await.ready")(future, duration)
    except Py4JJavaError:  # it took too long
        return None
    told = future.value().get()
    if not told.isSuccess():
        return None
    return dict(zip(names, told.get().mkString(_BETWEEN).split(_BETWEEN), strict=True))


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
