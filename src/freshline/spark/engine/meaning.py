"""A session's settings: what of them tasks have to know, and whether a query's text means the same.

Analysis reads a query's text as Spark does by default. With ``spark.sql.orderByOrdinal = false``,
say, ``ORDER BY 2`` orders by a constant, and a view that is maintained by what analysis read would
be another one (docs/design/0330).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from freshline.spark.engine import jvm
from freshline.spark.engine.result_settings import OF_SPEED, OF_SQL

_LEAVES_IT = tuple(
    f"{OF_SQL}{each}"
    for each in (
        # What values are: types are asked of Spark, under the settings that there are.
        *("ansi.enabled", "session.", "timestampType", "decimalOperations."),
        *("legacy.timeParserPolicy", "mapKeyDedupPolicy", "storeAssignmentPolicy"),
        # How files and other catalogs are read and written.
        *("addPartition", "avro.", "columnNameOfCorruptRecord", "csv.", "dataSource."),
        *("default", "fileSource", "files.", "filesource", "globalTempDatabase", "hive.", "insert"),
        *("json.", "jsonGenerator.", "metadataCacheTTL", "orc.", "parquet.", "sources."),
        # How it is computed, shown and logged, in more ways than commits leave out.
        *("alwaysInline", "artifact.", "bucketing.", "cartesianProductExec.", "chunkBase64"),
        *("classic.", "cli.", "columnVector.", "connect.", "constraintPropagation."),
        *("crossJoin.", "dataframe", "dataFrame", "debug", "error.", "exchange."),
        *("expressionTreeChangeLog", "extendedExplain", "leafNode", "lightweight", "limit."),
        *("maven.", "max", "nameResolutionLog", "objectHashAggregate.", "optimizeNullAware"),
        *("pipelines.", "planChange", "planner.", "pyspark.", "python.", "queryExecution"),
        *("redaction.", "repl.", "requireAllClusterKeys", "resultQueryStage."),
        *("scriptTransformation.", "sessionWindow.", "shuffle", "sort", "stackTraces"),
        *("subexpressionElimination.", "subquery.", "thriftserver.", "unionOutputPartitioning"),
        *("view.maxNested", "window.segmentTree.", "windowExec."),
    )
)
"""Settings, or how their names begin, with which a query's text means what it means by default."""
_BETWEEN = "\x1f"


def deciding(session: SparkSession) -> dict[str, str]:
    """The session's settings for SQL that were set, but for those that are known to be of speed."""
    conf = jvm.java_session(session).sessionState().conf()
    pairs = str(conf.getAllConfs().mkString(_BETWEEN)).split(_BETWEEN)
    found = (pair.partition(" -> ") for pair in pairs)
    return {
        name: value
        for name, _, value in found
        if name.startswith(OF_SQL) and not name.startswith(OF_SPEED)
    }


@contextmanager
def known_to_tasks(session: SparkSession) -> Iterator[None]:
    """Let the tasks of jobs that this thread starts know the session's settings.

    Spark tells them only of a query that it runs as one. Of a plan that is run by itself they
    would see the defaults: another ``timeParserPolicy``, another ``mapKeyDedupPolicy``.
    """
    context, settings = session.sparkContext, deciding(session)
    for name, value in settings.items():
        context.setLocalProperty(name, value)
    try:
        yield
    finally:
        for name in settings:
            context.setLocalProperty(name, None)  # type: ignore[arg-type] # removes it


def read_otherwise(session: SparkSession) -> str | None:
    """A setting with which a query's text may mean something else than by default; None: none.

    Every one that Spark knows counts, but for those that are known to leave the meaning alone: one
    too many costs time, one forgotten would cost wrong rows.

    Returns:
        Its name and value, as one writes it.
    """
    known = jvm.named(session, "org.apache.spark.sql.internal.SQLConf$.MODULE$")
    for name, value in sorted(deciding(session).items()):
        if name.startswith(_LEAVES_IT) or not known.containsConfigKey(name):
            continue  # Spark does not know a variable of the project's own
        if value.lower() != str(known.getConfigEntry(name).defaultValueString()).lower():
            return f"{name} = {value}"
    return None
