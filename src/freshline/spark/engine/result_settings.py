"""Which settings of Spark decide what a query's result is, and computing as an earlier commit did.

Other settings decide how a result is computed; a commit does not say them. And some decide what a
query's text means. Analysis reads it as Spark does by default: with ``spark.sql.orderByOrdinal =
false``, say, ``ORDER BY 2`` orders by a constant, and a view that is maintained by what analysis
read would be another one (docs/design/0330).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from freshline.project.model import Project, TableDef
from freshline.spark.engine import jvm

_ZONE = "spark.sql.session.timeZone"
_TIMESTAMP = "spark.sql.timestampType"
ANSI = "spark.sql.ansi.enabled"
_SETTINGS = (_ZONE, ANSI)
"""With others of these the same query over the same rows can give another result."""
_VARIABLES = "${}"
"""Beside the settings in a commit: a short name for the query with the values of its variables."""
_OF_RUN = re.compile(
    r"\$\{(?:(?:spark|sparkconf|hivevar|hiveconf):)?"
    r"spark\.(?:app\.(?:id|startTime|submitTime)|driver\.(?:host|port))\}"
)
"""Variables that have another value whenever Spark starts."""
_OF_SQL = "spark.sql."
_OF_SPEED = tuple(
    f"{_OF_SQL}{each}"
    for each in (
        *("adaptive.", "autoBroadcastJoinThreshold", "broadcast", "cache.", "catalog", "cbo."),
        *("codegen.", "defaultSizeInBytes", "event", "extensions"),
        *("files.max", "files.min", "files.open", "inMemory", "join.", "shuffle."),
        *("sources.bucketing.", "sources.parallelPartitionDiscovery.", "sources.v2.bucketing."),
        *("statistics.", "streaming.", "thriftServer.", "ui.", "warehouse."),
        # Others of "execution." decide what a Python function is given, and what its result is.
        *("execution.arrow.compression.", "execution.arrow.localRelation", "execution.arrow.max"),
        *("execution.broadcast", "execution.fastFail", "execution.interrupt"),
        *("execution.pandas.udf.buffer", "execution.pyspark.python", "execution.pyspark.udf."),
        *("execution.python.udf.", "execution.rangeExchange", "execution.removeRedundant"),
        *("execution.replaceHash", "execution.reuse", "execution.sort", "execution.topK"),
        "execution.use",
        # Others of "optimizer." bring back wrong answers of former versions: a COUNT within a
        # subquery, say, that finds no row.
        *("optimizer.avoid", "optimizer.canChangeCached", "optimizer.collapseProject"),
        *("optimizer.datasourceV2", "optimizer.disableHints", "optimizer.dynamicPartition"),
        *("optimizer.excludedRules", "optimizer.expression", "optimizer.inSet"),
        *("optimizer.maxIterations", "optimizer.mergeSubplans.", "optimizer.nested"),
        *("optimizer.optimizeExpandRatio", "optimizer.optimizeOneRow", "optimizer.plannedWrite"),
        *("optimizer.preserveAlias", "optimizer.propagateDistinct", "optimizer.pullHints"),
        *("optimizer.pushDownJoin", "optimizer.replaceExcept", "optimizer.runtime"),
        *("optimizer.serializer.", "optimizer.windowGroupLimit"),
    )
)
"""Settings, or how their names begin, which decide how a result is computed, and not which."""
_LEAVES_IT = tuple(
    f"{_OF_SQL}{each}"
    for each in (
        # What values are: types are asked of Spark, under the settings that there are.
        *("ansi.enabled", "session.", "timestampType", "datetime.java8API.", "decimalOperations."),
        *("legacy.timeParserPolicy", "mapKeyDedupPolicy", "storeAssignmentPolicy"),
        "legacy.decimal.retainFractionDigitsOnTruncate",
        "legacy.parameterSubstitution.",
        # How files and other catalogs are read and written.
        *("addPartition", "avro.", "columnNameOfCorruptRecord", "csv.", "dataSource."),
        *("default", "fileSource", "files.", "filesource", "globalTempDatabase", "hive.", "insert"),
        *("json.", "jsonGenerator.", "metadataCacheTTL", "orc.", "parquet.", "sources."),
        # How it is computed, shown and logged, in more ways than commits leave out.
        *("alwaysInline", "artifact.", "bucketing.", "cartesianProductExec.", "chunkBase64"),
        *("classic.", "cli.", "columnVector.", "connect.", "constraintPropagation."),
        *("crossJoin.", "dataframe", "dataFrame", "debug", "error.", "exchange.", "execution."),
        *("expressionTreeChangeLog", "extendedExplain", "leafNode", "lightweight", "limit."),
        *("maven.", "max", "nameResolutionLog", "objectHashAggregate.", "optimizeNullAware"),
        *("optimizer.enable", "optimizer.mapLookup", "optimizer.pruneFilters"),
        *("pipelines.", "planChange", "planner.", "pyspark.", "python.", "queryExecution"),
        *("redaction.", "repl.", "requireAllClusterKeys", "resultQueryStage."),
        *("scriptTransformation.", "sessionWindow.", "shuffle", "sort", "stackTraces"),
        *("subexpressionElimination.", "subquery.", "thriftserver.", "unionOutputPartitioning"),
        *("view.maxNested", "window.segmentTree.", "windowExec."),
    )
)
"""Settings, or how their names begin, with which a query's text means what it means by default."""
_OF_UPDATES = (
    *("spark.sql.parquet.filterPushdown", "spark.sql.orc.filterPushdown"),
    "spark.sql.unionOutputPartitioning",
)
"""Settings that an update may change in its own session once it has begun."""
_BETWEEN = "\x1f"


def zone_of(session: SparkSession) -> str:
    """The session's time zone."""
    return str(session.conf.get(_ZONE))


def is_timestamp_ntz(session: SparkSession) -> bool:
    """Whether TIMESTAMP alone means TIMESTAMP_NTZ in the session."""
    return str(session.conf.get(_TIMESTAMP)).upper() == "TIMESTAMP_NTZ"


def settings_of(session: SparkSession, project: Project, table: TableDef) -> dict[str, str]:
    """The session's settings that a view's results depend on, for the commit.

    The zone and ANSI always, and what the project itself sets for SQL, such as
    ``spark.sql.decimalOperations.allowPrecisionLoss``; not what is only about speed. Where the
    query has variables such as ``${spark.shop.region}``, what it is with their values.
    """
    always = {name: str(session.conf.get(name)) for name in _SETTINGS}
    chosen = {name: project.configuration[name] for name in _chosen(project)}
    found = {name: str(session.conf.get(name, value)) for name, value in chosen.items()}
    variables = _variables(session, table)
    if variables is not None:
        found[_VARIABLES] = variables
    return found | always


def has_variables(table: TableDef) -> bool:
    """Whether Spark puts values of settings into the view's query, or into views that it needs."""
    return "${" in _text(table)


def surely_differ(facts: Mapping[str, Any], now: Mapping[str, str], table: TableDef) -> bool:
    """Whether a view's commit was made under other settings than these, whatever our version was.

    Earlier versions said fewer of them, and no ``plan``: what they did not say counts at the
    view's next update, and not at once for every view of a project. Likewise variables, where
    one of them is another one at each start.

    Args:
        facts: The commit's metadata.
        now: By :func:`settings_of`, in a session in which no update has begun.
        table: The view.
    """
    then: Mapping[str, str] | None = facts.get("settings")
    if then is None:
        return False
    names = then.keys() | now.keys() if "plan" in facts else then.keys() & now.keys()
    if _OF_RUN.search(_text(table)):
        names = names - {_VARIABLES}
    return any(
        then.get(name) != now.get(name)
        for name in names
        if not name.startswith(_OF_SPEED) and name not in _OF_UPDATES
    )


def _text(table: TableDef) -> str:
    """A view's query, and those of the views that it needs."""
    queries = [table.query, *(each.query for each in table.programs if each.query is not None)]
    return "\n".join(queries)


def _variables(session: SparkSession, table: TableDef) -> str | None:
    """A short name for a query, and the views that it needs, with the values of its variables.

    None: it has none.
    """
    if not has_variables(table):
        return None
    text = _text(table)
    jvm.activate(session)
    substitution = jvm.named(session, "org.apache.spark.sql.internal.VariableSubstitution")()
    return hashlib.sha256(str(substitution.substitute(text)).encode()).hexdigest()[:16]


def set_as_then(
    session: SparkSession, project: Project, table: TableDef, facts: Mapping[str, Any]
) -> bool:
    """Have a session compute as the one did that made the commit with these metadata.

    Returns:
        Whether it does; False: the query's variables have other values now.
    """
    then: Mapping[str, str] = facts.get("settings", {})
    for name in {*_chosen(project), *then}:
        if not session.conf.isModifiable(name):
            continue  # it is the same as long as Spark runs, or none of Spark's
        if name in then:
            session.conf.set(name, then[name])
        else:
            session.conf.unset(name)
    return _VARIABLES not in then or then[_VARIABLES] == _variables(session, table)


def unsaid(project: Project, facts: Mapping[str, Any]) -> str | None:
    """A setting of the project's that may have been there when a commit was made unsaid.

    Earlier versions of freshline said fewer of them, and no ``plan``. None: there is none.
    """
    if "plan" in facts:
        return None
    return next((name for name in _chosen(project) if name not in facts.get("settings", {})), None)


def _chosen(project: Project) -> list[str]:
    """Settings of the project's configuration on which its views' rows can depend."""
    return sorted(
        name
        for name in project.configuration
        if name.startswith(_OF_SQL) and not name.startswith(_OF_SPEED)
    )


def deciding(session: SparkSession) -> dict[str, str]:
    """The session's settings for SQL that were set, but for those that are known to be of speed."""
    conf = jvm.java_session(session).sessionState().conf()
    pairs = str(conf.getAllConfs().mkString(_BETWEEN)).split(_BETWEEN)
    found = (pair.partition(" -> ") for pair in pairs)
    return {
        name: value
        for name, _, value in found
        if name.startswith(_OF_SQL) and not name.startswith(_OF_SPEED)
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
