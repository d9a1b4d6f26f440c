"""What rules out an incremental update of a view, whatever its parents' changes are.

It is read from the view's last commit: its query, its settings, and the versions of the tables
that it read.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from freshline.delta.histories import is_another_history, put_back
from freshline.delta.log import CommitRecord
from freshline.delta.standing import of_others
from freshline.executor.distrust import must_be_whole
from freshline.executor.records import UpdateRequest
from freshline.project.model import Project, TableDef
from freshline.spark.commits.others import changed_by_others
from freshline.spark.commits.transaction import Transaction
from freshline.spark.engine.columns import same_names
from freshline.spark.engine.pins import Pinned, id_at
from freshline.spark.engine.result_settings import settings_of

TYPES_CHANGED = ("static-changed", "table-replaced", "parent-went-back")
"""Codes with which columns may have other types than when the view was analysed."""


def ids_of(
    session: SparkSession, project: Project, request: UpdateRequest, pinned: Pinned
) -> dict[str, str]:
    """Delta's identities of the tables that an update reads."""
    found = {
        name: id_at(session, project.table_path(name), version)
        for name, version in request.parents.items()
    }
    return found | dict(pinned.ids)


def are_others(ids: Mapping[str, str], pinned: Pinned, last: CommitRecord) -> bool:
    """Whether one of the tables read was made anew, under its old name, since the last update.

    Or a static one was put back from a copy, and has reached the same version by other rows.
    """
    known: Mapping[str, str] = last.metadata.get("ids", {})
    return any(known.get(name, found) != found for name, found in ids.items()) or any(
        is_another_history(last.metadata, name, pinned.versions[name], mark)
        for name, mark in pinned.marks.items()
    )


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

    Raises:
        PlatformError: Rows of others are in its place (``table-replaced``).
    """
    if last is None:
        error = of_others(table, project.table_path(table.name), request.accepted)
        if error is not None:
            raise error
        return "first-build"
    facts = last.metadata
    before: Mapping[str, int] = facts["parents"]
    now: Mapping[str, int] = {**request.parents, **pinned.versions}
    # A run asks for it as it starts, where they changed. A backfill that ends here asked itself.
    told = request.range_s is None
    reasons = {
        # First: whoever looks at static tables asks for all anew when one has changed.
        "static-changed": before.keys() == now.keys()
        and any(before[name] != version for name, version in pinned.versions.items()),
        "table-replaced": are_others(ids, pinned, last),
        "found-wrong": must_be_whole(project, table.name, request.definition),
        "definition-changed": told
        and (
            facts.get("definition", "") != request.definition
            or before.keys() != now.keys()
            or not same_names(transaction.partition_columns, table.partitioned_by)
            or ("emitted_us" in facts) != (table.emit == "final")
        ),
        "settings-changed": told and facts.get("settings") != settings_of(session, project, table),
        "requested": request.full,
        "configured": table.refresh == "full",
        "python": bool(table.programs),
        "no-parents": not table.parents,
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
    return "changed-by-others" if changed_by_others(path, last, transaction.version) else None
