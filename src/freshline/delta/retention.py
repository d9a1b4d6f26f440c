"""Which of a table's old files are still needed; read from the logs without Spark.

Three things need a file that is no longer in the newest version: the retention, by which every
version of the last days can be read; a child, which goes on from the version that its last
commit names, however long ago that was; and a report, which reads its windows batch by batch.
All three are moments: what was removed from the table later than that is kept.
"""

from __future__ import annotations

from collections.abc import Iterator

from freshline.delta.loaded import folded
from freshline.delta.log import commit_at, last_commit, last_update
from freshline.delta.log import version as newest_version
from freshline.project.model import Project, TableDef

DAY_S = 86_400.0

KNOWN = "delta.deletedFileRetentionDuration"
KNOWN_S = 7 * DAY_S
"""So long Delta knows which files a table no longer has, unless its property says otherwise."""

UNRECORDED = "unrecorded"
"""Code of a VACUUM that removed nothing: so long back Delta does not know of removed files."""

_MARGIN_S = 3600.0
"""Files of a commit are written, and marked as removed, a while before it is made."""

_LOG_BEFORE = 80
"""A version is read from a checkpoint before it; of our tables there is one every forty commits."""


def files_needed_since_s(project: Project, table: TableDef, now_s: float) -> float | None:
    """What was removed from ``table`` before this moment is needed by nobody.

    Returns:
        Seconds since the epoch; None where that cannot be told, so nothing may go.

    Raises:
        PlatformError: A log cannot be read.
    """
    since_s = now_s - versions_kept_s(project, table)
    for pin in _pins(project, table):
        needed_s = _left_s(project.table_path(table.name), pin)
        if needed_s is None:
            return None
        since_s = min(since_s, needed_s)
    return since_s


def versions_kept_s(project: Project, table: TableDef) -> float:
    """How long each version of a table can be read, whatever its children do."""
    return max(project.maintenance.retention_s, _of_reports_s(project, table))


def state_needed_since_s(project: Project, path: str, version: int, now_s: float) -> float | None:
    """The same for a merging state, of which the view's last commit names one version.

    Nobody reads an older one, so a longer retention than Delta knows of by itself is not for it.
    """
    needed_s = _left_s(path, version)
    kept_s = min(project.maintenance.retention_s, KNOWN_S)
    return None if needed_s is None else min(needed_s, now_s - kept_s)


def log_kept_since_s(project: Project, path: str, now_s: float) -> float:
    """Commits of a table that no other reads, made before this moment, are needed by nobody."""
    return _with_ours_s(path, now_s - project.maintenance.retention_s - DAY_S)


def log_needed_since_s(project: Project, table: TableDef, now_s: float) -> float | None:
    """Commits of ``table`` made before this moment are needed by nobody.

    Those of a base table are the record of what was loaded until that is folded (loaded.py).

    Raises:
        PlatformError: A log cannot be read.
    """
    path = project.table_path(table.name)
    since_s = _with_ours_s(path, now_s - versions_kept_s(project, table) - DAY_S)
    for pin in _pins(project, table):
        commit = commit_at(path, max(0, pin - _LOG_BEFORE))
        if commit is None:
            return None
        since_s = min(since_s, commit.timestamp_s - _MARGIN_S)
    if table.kind == "base":
        fold = folded(project, table.name)
        commit = None if fold is None else commit_at(path, fold.version)
        if commit is None:
            return None
        since_s = min(since_s, commit.timestamp_s - _MARGIN_S)
    return since_s


def _with_ours_s(path: str, since_s: float) -> float:
    """That moment, or an earlier one: our last update stays, however much others commit behind it.

    It says what the table is made of, and the number of the next update follows from it. Commits
    of compactions and fences carry that on, but what others did just before them is known only by
    the update in front.
    """
    last = last_update(path) or last_commit(path)
    return since_s if last is None else min(since_s, last.timestamp_s - _MARGIN_S)


def _pins(project: Project, table: TableDef) -> Iterator[int]:
    """The versions of ``table`` that its children were made of."""
    for child in project.children(table.name):
        commit = last_commit(project.table_path(child.name))
        pin = None if commit is None else commit.metadata.get("parents", {}).get(table.name)
        if pin is not None:
            yield int(pin)


def _left_s(path: str, pin: int) -> float | None:
    """Until when version ``pin`` was the newest, with a margin; None: its commit is gone."""
    if newest_version(path) == pin:
        return float("inf")
    commit = commit_at(path, pin)
    return None if commit is None else commit.timestamp_s - _MARGIN_S


def _of_reports_s(project: Project, table: TableDef) -> float:
    """How far back a report over ``table`` may read: two of its windows and a day."""
    windows = [
        report.report.window_s
        for report in project.reports
        if report.report is not None and table.name in report.parents
    ]
    return 2 * max(windows) + DAY_S if windows else 0.0
