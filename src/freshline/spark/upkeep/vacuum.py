"""Removing what no version needs any more: data files, change files, old commits.

``VACUUM`` itself makes no commit here (``spark.databricks.delta.vacuum.logging.enabled`` is
false). It keeps the files of the newest version and those removed since a moment;
:mod:`freshline.delta.retention` says which. A table whose slow child needs more than Delta
still knows of (``delta.deletedFileRetentionDuration``, a week) is left alone until the child
has caught up: what was removed longer ago than that, Delta would take for garbage.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import SparkSession

from freshline.core.errors import PlatformError
from freshline.delta.loaded import fold
from freshline.delta.log import last_commit
from freshline.delta.rejected import forget_rejected
from freshline.delta.retention import (
    DAY_S,
    KNOWN,
    KNOWN_S,
    UNRECORDED,
    files_needed_since_s,
    log_kept_since_s,
    log_needed_since_s,
    state_needed_since_s,
    versions_kept_s,
)
from freshline.delta.states import remove_given_up, remove_of_others
from freshline.executor.records import UpdateResult
from freshline.failpoints import failpoint
from freshline.project.model import Project, TableDef
from freshline.project.names import rejected_name
from freshline.spark.engine import jvm
from freshline.spark.engine.errors import SparkError, update_failed
from freshline.spark.engine.pins import location, newest

VACUUM = "vacuum"
_ASKED_ELSEWHERE = (
    # The least that Delta takes for safe is a week; here the children are asked.
    "spark.databricks.delta.retentionDurationCheck.enabled",
    # By default VACUUM takes the table's own retention for what it is told.
    "spark.databricks.delta.vacuum.retentionWindowIgnore.enabled",
)
_SLACK_S = 60.0
_HOUR_MS = 3_600_000
_LONGER = (
    "its versions are to be readable for {days} days, so make its record as long:"
    f" ALTER TABLE delta.`{{path}}` SET TBLPROPERTIES ('{KNOWN}' = 'interval {{days}} days')"
)


def vacuum(
    session: SparkSession,
    project: Project,
    table: TableDef,
    clock: Callable[[], float] = time.time,
) -> UpdateResult:
    """Remove what nobody needs of ``table``, and of the states that belong to it.

    Args:
        session: The update's own.
        project: Of the table.
        table: Any table of it.
        clock: Wall-clock seconds since the epoch.

    Raises:
        FreshlineError: It failed; what was removed until then was not needed either.
    """
    started_s, now_s = time.monotonic(), clock()
    path = project.table_path(table.name)
    last = last_commit(path)
    if last is None:
        raise PlatformError("no-table", f"table {table.name} has no commit made by freshline")
    for setting in _ASKED_ELSEWHERE:
        session.conf.set(setting, "false")
    try:
        failpoint("vacuum.before")
        done = _remove(session, path, files_needed_since_s(project, table, now_s), now_s)
        for partial, version in _states(last.metadata):
            state = f"{project.own_path}/state/{table.name}/{partial}"
            _remove(session, state, state_needed_since_s(project, state, version, now_s), now_s)
        if table.kind == "base":
            fold(project, table.name)
            if forget_rejected(project, table.name, now_s):
                rejected = project.table_path(rejected_name(table.name))
                since_s = now_s - min(project.maintenance.retention_s, KNOWN_S)
                _remove(session, rejected, since_s, now_s)
                _forget(session, rejected, log_kept_since_s(project, rejected, now_s), now_s)
        remove_given_up(project, table.name, dict(_states(last.metadata)), now_s)
        remove_of_others(project, now_s)
        _forget(session, path, log_needed_since_s(project, table, now_s), now_s)
        failpoint("vacuum.after")
    except SparkError as error:
        raise update_failed(project, table, error) from error
    reason, code = "files that no version needs were removed", "retention"
    if not done:
        reason = "kept everything: what is still needed goes back further than Delta's record"
        code = "needed"
        kept_s = versions_kept_s(project, table)
        if kept_s > _known_s(session, path) + _SLACK_S:
            days = math.ceil(kept_s / DAY_S)
            code, reason = UNRECORDED, f"{reason}; {_LONGER.format(path=path, days=days)}"
    return UpdateResult(
        version=last.version,
        rows=0,
        rejected_rows=0,
        seconds=time.monotonic() - started_s,
        strategy=VACUUM,
        reason=reason,
        repeated=False,
        parents={},
        schema_changed=False,
        code=code,
    )


def _remove(session: SparkSession, path: str, since_s: float | None, now_s: float) -> bool:
    """Remove the files that were out of every version since a moment; whether that is safe."""
    if since_s is None:
        return False
    if now_s - since_s > _known_s(session, path) + _SLACK_S:
        return False
    _collect_garbage(session, path, math.floor(min(since_s, now_s) * 1000))
    return True


def _known_s(session: SparkSession, path: str) -> float:
    """So long Delta knows which files a table no longer has."""
    snapshot = newest(session, _log(session, path))
    delta_log = jvm.named(session, "org.apache.spark.sql.delta.DeltaLog")
    return int(delta_log.tombstoneRetentionMillis(snapshot.metadata())) / 1000


def _collect_garbage(session: SparkSession, path: str, since_ms: int) -> None:
    """What VACUUM does, with the moment itself.

    The statement counts back from when it gets to run, so what it keeps would begin later than
    the moment that was found.
    """
    now_ms = since_ms + _HOUR_MS
    nothing = jvm.none(session)
    table = jvm.named(session, "org.apache.spark.sql.delta.catalog.DeltaTableV2.apply")(
        jvm.java_session(session),
        jvm.named(session, "org.apache.hadoop.fs.Path")(location(path)),
        jvm.scala_map(session, {}),
        "VACUUM",
    )
    clock = jvm.named(session, "org.apache.spark.util.ManualClock")(now_ms)
    jvm.named(session, "org.apache.spark.sql.delta.commands.VacuumCommand.gc")(
        jvm.java_session(session),
        table,
        False,
        jvm.some(session, 1.0),
        nothing,
        nothing,
        jvm.scala_map(session, {}),
        clock,
    )


def _forget(session: SparkSession, path: str, since_s: float | None, now_s: float) -> None:
    """Remove log files of versions before a moment; Delta keeps what later ones are read from."""
    if since_s is None:
        return
    log = _log(session, path)
    kept_ms = jvm.some_long(session, round((now_s - since_s) * 1000))
    day = getattr(log, "cleanUpExpiredLogs$default$4")()
    log.cleanUpExpiredLogs(newest(session, log), jvm.none(session), kept_ms, day)


def _states(metadata: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Name and version of each state that a view's commit counts on."""
    return sorted(metadata.get("state", {}).get("versions", {}).items())


def _log(session: SparkSession, path: str) -> Any:
    jvm.activate(session)
    for_table = jvm.named(session, "org.apache.spark.sql.delta.DeltaLog.forTable")
    return for_table(jvm.java_session(session), location(path))
