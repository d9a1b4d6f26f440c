"""The answer to an update that was already committed by an earlier try."""

from __future__ import annotations

import time

from freshline.core.errors import PlatformError
from freshline.delta.flushed import flush_version
from freshline.delta.log import CommitRecord, commit_of
from freshline.executor.records import UpdateRequest, UpdateResult
from freshline.project.model import Project, TableDef
from freshline.project.names import rejected_name


def repeated_result(
    project: Project, table: TableDef, request: UpdateRequest, started_s: float
) -> UpdateResult:
    """What the earlier try's commit did.

    Raises:
        PlatformError: A later update is in the table, but not this one: its number was given
            to another update.
        OSError: The commit cannot be flushed.
    """
    commit = commit_of(project.table_path(table.name), request.number)
    if commit is None:
        raise PlatformError(
            "update-overtaken",
            f"update {request.number} of table {table.name} comes after a later one",
            where=table.place,
            rule="the updates of a table have growing numbers",
            next_step="Restart freshline, so that it takes the numbers from the table's log.",
        )
    # Its process may have died before it flushed it.
    flush_version(project.table_path(table.name), commit.version)
    return UpdateResult(
        version=commit.version,
        rows=int(commit.metadata["rows"]),
        rejected_rows=_rejected_rows(project, table, commit),
        seconds=time.monotonic() - started_s,
        strategy=str(commit.metadata["strategy"]),
        reason="an earlier try of this update made its commit",
        repeated=True,
        parents=dict(commit.metadata["parents"]),
        schema_changed=False,
        code=str(commit.metadata.get("reason", "")),
        read_rows=int(commit.metadata.get("read", 0)),
        corrected_rows=int(commit.metadata.get("corrected", 0)),
    )


def _rejected_rows(project: Project, table: TableDef, commit: CommitRecord) -> int:
    if table.kind != "base":
        return 0
    rejected = commit_of(project.table_path(rejected_name(table.name)), commit.update)
    return int(rejected.metadata["rows"]) if rejected else 0
