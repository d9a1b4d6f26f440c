"""Which settings of Spark decide what a query's result is, and computing as an earlier commit did.

Other settings decide how a result is computed; a commit does not say them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from freshline.project.model import Project, TableDef
from freshline.spark.engine import jvm

_ZONE = "spark.sql.session.timeZone"
ANSI = "spark.sql.ansi.enabled"
_SETTINGS = (_ZONE, ANSI)
"""With others of these the same query over the same rows can give another result."""
_VARIABLES = "${}"
"""Beside the settings in a commit: a short name for the query with the values of its variables."""
OF_SQL = "spark.sql."
OF_SPEED = tuple(
    f"{OF_SQL}{each}"
    for each in (
        *("adaptive.", "autoBroadcastJoinThreshold", "broadcast", "cache.", "catalog", "cbo."),
        *("codegen.", "defaultSizeInBytes", "event", "execution.", "extensions"),
        *("files.max", "files.min", "files.open", "inMemory", "join.", "optimizer.", "shuffle."),
        *("sources.bucketing.", "sources.parallelPartitionDiscovery.", "sources.v2.bucketing."),
        *("statistics.", "streaming.", "thriftServer.", "ui.", "warehouse."),
    )
)
"""Settings, or how their names begin, which decide how a result is computed, and not which."""


def zone_of(session: SparkSession) -> str:
    """The session's time zone."""
    return str(session.conf.get(_ZONE))


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


def _variables(session: SparkSession, table: TableDef) -> str | None:
    """A short name for a query with the values of its variables; None: it has none."""
    if "${" not in table.query:
        return None
    jvm.activate(session)
    substitution = jvm.named(session, "org.apache.spark.sql.internal.VariableSubstitution")()
    return hashlib.sha256(str(substitution.substitute(table.query)).encode()).hexdigest()[:16]


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


def _chosen(project: Project) -> list[str]:
    """Settings of the project's configuration on which its views' rows can depend."""
    return sorted(
        name
        for name in project.configuration
        if name.startswith(OF_SQL) and not name.startswith(OF_SPEED)
    )
