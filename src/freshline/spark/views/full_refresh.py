"""What rules out an incremental update of a view, whatever its parents' changes are.

It is read from the view's last commit: its query, its settings, and the versions of the tables
that it read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from freshline.delta.histories import put_back
from freshline.delta.log import CommitRecord, table_id
from freshline.executor.distrust import distrusted
from freshline.executor.records import UpdateRequest
from freshline.project.model import Project, TableDef
from freshline.spark.commits.others import changed_by_others
from freshline.spark.commits.transaction import Transaction
from freshline.spark.engine import jvm
from freshline.spark.engine.pins import Pinned

ZONE = "spark.sql.session.timeZone"
ANSI = "spark.sql.ansi.enabled"
_SETTINGS = (ZONE, ANSI)
"""With others of these the same query over the same rows can give another result."""
_VARIABLES = "${}"
"""Beside the settings in a commit: a short name for the query with the values of its variables."""
_OF_SQL = "spark.sql."
_OF_SPEED = tuple(
    f"{_OF_SQL}{each}"
    for each in (
        *("adaptive.", "autoBroadcastJoinThreshold", "broadcast", "cache.", "catalog", "cbo."),
        *("codegen.", "defaultSizeInBytes", "event", "execution.", "extensions"),
        *("files.max", "files.min", "files.open", "inMemory", "join.", "optimizer.", "shuffle."),
        *("sources.bucketing.", "sources.parallelPartitionDiscovery.", "sources.v2.bucketing."),
        *("statistics.", "streaming.", "thriftServer.", "ui.", "warehouse."),
    )
)
"""Settings, or how their names begin, which decide how a result is computed, and not which."""

STATICS_CHANGED = ("static-changed", "table-replaced")
"""Codes with which columns may have other types than when the view was analysed."""


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
        if name.startswith(_OF_SQL) and not name.startswith(_OF_SPEED)
    )


def ids_of(project: Project, request: UpdateRequest, pinned: Pinned) -> dict[str, str]:
    """Delta's identities of the tables that an update reads, as far as they are told."""
    found = {
        name: table_id(project.table_path(name), version)
        for name, version in request.parents.items()
    }
    return {name: told for name, told in found.items() if told is not None} | dict(pinned.ids)


def are_others(ids: Mapping[str, str], last: CommitRecord) -> bool:
    """Whether one of the tables read was made anew, under its old name, since the last update."""
    known: Mapping[str, str] = last.metadata.get("ids", {})
    return any(known.get(name, found) != found for name, found in ids.items())


def has_unversioned(table: TableDef, versions: Mapping[str, int]) -> bool:
    """Whether a view reads a static table that is none of Delta's, so that it may have changed."""
    return any(read.name not in versions and not read.time_travel for read in table.statics)


def full_refresh_reason(
    session: SparkSession,
    project: Project,
    table: TableDef,
    request: UpdateRequest,
    pinned: Pinned,
    ids: Mapping[str, str],
    transaction: Transaction,
    last: CommitRecord | None,
) -> str | None:
    """Why nothing but a full update is right; None: nothing that is known so far.

    Args:
        session: The update's own.
        project: Of the view.
        table: The view.
        request: The update.
        pinned: Its static tables.
        ids: Of all the tables that it reads, by :func:`ids_of`.
        transaction: Begun on the view.
        last: The view's newest commit of ours.
    """
    if last is None:
        return "first-build"
    facts = last.metadata
    before: Mapping[str, int] = facts["parents"]
    now: Mapping[str, int] = {**request.parents, **pinned.versions}
    reasons = {
        # First: whoever looks at static tables asks for all anew when one has changed.
        "static-changed": before.keys() == now.keys()
        and any(before[name] != version for name, version in pinned.versions.items()),
        "table-replaced": are_others(ids, last),
        "found-wrong": distrusted(project, table.name, request.definition) is not None,
        "requested": request.full,
        "definition-changed": facts.get("definition", "") != request.definition
        or before.keys() != now.keys()
        or transaction.partition_columns != table.partitioned_by
        or ("emitted_us" in facts) != (table.emit == "final"),
        "configured": table.refresh == "full",
        "python": bool(table.programs),
        "no-parents": not table.parents,
        "settings-changed": facts.get("settings") != settings_of(session, project, table),
        "static-unversioned": has_unversioned(table, now),
        "parent-went-back": any(
            version < before.get(name, 0) for name, version in request.parents.items()
        )
        or bool(put_back(project, facts)),
    }
    for code, there in reasons.items():
        if there:
            return code
    path = project.table_path(table.name)
    return "changed-by-others" if changed_by_others(path, transaction, last) else None
