"""Whether a base table still has what our updates loaded into it; read without Spark.

Which files were loaded is known by their names alone. So when a table is gone, or others took
rows out of it, nothing would load those rows again, and nobody would notice. Views are computed
from their parents, whatever became of them; but rows of others that are in the place of a view are
not replaced.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from freshline.core.errors import PlatformError
from freshline.delta.arrivals import read_commit
from freshline.delta.changelog import ChangesGoneError, logged_changes
from freshline.delta.log import (
    CommitRecord,
    application,
    last_commit,
    last_transaction,
    last_update,
    local_log,
    version,
)
from freshline.executor.source import Held
from freshline.project.model import TableDef

CODES = ("table-vanished", "table-replaced", "table-changed")

_ONCE = "files are loaded into a base table once, so what is missing does not come back"
_STAYS = "rows that are there would stay beside those that are loaded from now on"

_TAKES_COLUMNS = frozenset({"DROP COLUMNS", "RENAME COLUMN", "REPLACE COLUMNS"})
"""Operations after which rows have no longer their values in some column."""


def departure(
    table: TableDef,
    path: str,
    found: tuple[int, str | None] | None,
    known: tuple[int, str] | None,
    accepted: int | None,
    feed_kind: str = "files",
    *,
    filled: bool = True,
) -> PlatformError | None:
    """Why nothing more should be loaded into a table.

    Args:
        table: The base table.
        path: Where it is.
        found: Its newest version, and its identity where that is known; None: nothing is there.
        known: Both as our last update left them, where that is known.
        accepted: Up to which version what others did was accepted, -1 for their dropping it;
            None: nothing was. A table that went back behind it, or is gone since, was not accepted.
        feed_kind: Of the feed that the table reads.
        filled: Updates of ours have filled it, as far as is known: else what is in its place must
            be empty.

    Returns:
        An error with one of :data:`CODES`; None: it has what was loaded.

    Raises:
        PlatformError: The log cannot be read.
    """
    if found is None:
        if accepted == -1 or not filled:
            return None
        what = f"table {table.name} is gone: updates were committed to it, and {path} holds none"
        return _error("table-vanished", what, table, feed_kind)
    version, identity = found
    if accepted is not None and version < accepted:
        accepted = None  # what was accepted is not there any more
    last = last_commit(path)
    if not filled and (
        last is not None or (accepted is None and not rows_changed(table, path, -1, version))
    ):
        return None
    if accepted is None and (last is None or (known and identity not in (None, known[1]))):
        what = f"another table, at {path}, is in the place of table {table.name}"
        return _error("table-replaced", what, table, feed_kind, _ONCE if filled else _STAYS)
    if known is not None and version < known[0] and accepted is None:
        what = f"table {table.name} went back from version {known[0]} to {version}"
        return _error("table-changed", what, table, feed_kind)
    # A fence or a compaction may have come after what others did.
    made = last_update(path) or last
    since = max(-1 if made is None else made.version, -1 if accepted is None else accepted)
    if since < version and rows_changed(table, path, since, version):
        what = f"others changed rows or columns of table {table.name} after version {since}"
        return _error("table-changed", what, table, feed_kind)
    if made is None or (accepted is not None and accepted >= made.version):
        return None
    return _by_our_update(table, path, made, feed_kind)


def of_others(
    table: TableDef,
    path: str,
    accepted: int | None,
    *,
    counted_as: str = "",
    asked: bool = False,
) -> PlatformError | None:
    """Why a view or report is not made over the table in its place: its rows are of others.

    A commit of ours tells a view of ours, also where the journal is lost; where old commits were
    cleaned up, the transaction's number that Delta keeps. Under a report that was submitted it has
    to be a report's: the storage keeps tables that left the project, until somebody deletes them.

    Args:
        table: The view or report.
        path: Where it is.
        accepted: Up to which version what is there was accepted; None: nothing was.
        counted_as: The name by which Delta counts our commits, where it is not the table's.
        asked: It is a report that was submitted, whose name the project does not know.

    Raises:
        PlatformError: The log cannot be read.
    """
    newest = version(path)
    if newest is None:
        return None
    last = last_commit(path)
    if last is not None and (not asked or "window" in last.metadata):
        return None
    since = -1 if accepted is None or newest < accepted else accepted
    if not (since < newest and rows_changed(table, path, since, newest)):
        return None
    counted = application(counted_as or table.name)
    if last is None and last_transaction(path, counted) is not None:
        return None
    kind = "report" if asked or table.report is not None else "view"
    accept = f"; `freshline accept {table.name}` replaces its rows" if kind == "view" else ""
    there = "a table of others" if last is None else "a table that is no report's"
    return PlatformError(
        "table-replaced",
        f"{there}, at {path}, is in the place of {kind} {table.name}",
        where=table.place,
        rule=f"the first result of a {kind} would replace all rows that are there",
        next_step=f"Give the {kind} another name, or move that table away{accept}.",
    )


def last_number(table: TableDef, path: str, commit: CommitRecord | None, noted: int) -> int:
    """The number of a table's last update, also where its commit is gone from the log.

    Delta knows it for ever, and takes an update of the same or a smaller number for one that was
    committed already.

    Args:
        table: Any of a project.
        path: Where it is.
        commit: Its newest commit of ours.
        noted: The number in the journal, for a table that delta-rs cannot read.

    Raises:
        PlatformError: The log cannot be read.
    """
    if commit is not None or version(path) is None:
        return 0 if commit is None else commit.update
    known = last_transaction(path, application(table.name))
    return noted if known is None else known


def _by_our_update(
    table: TableDef, path: str, made: CommitRecord, feed_kind: str
) -> PlatformError | None:
    """What our last update itself says against loading more."""
    other = _filled_otherwise(made.metadata, feed_kind)
    if other is not None:
        what = f"what is in table {table.name} {other}, and it reads a feed of kind {feed_kind} now"
        return _error("table-replaced", what, table, feed_kind, _STAYS)
    after = int(made.metadata.get("after", made.version - 1))
    if after + 1 < made.version and rows_changed(table, path, after, made.version - 1):
        return changed_between(table, made.version, feed_kind)
    return None


def _filled_otherwise(metadata: Mapping[str, Any], feed_kind: str) -> str | None:
    """How a commit filled a table, if not from such a feed; of Delta feeds their plan tells it."""
    if feed_kind == "delta":
        return None
    if Held.in_commit(metadata) is not None:
        return "came from a Delta table"
    if "offsets" in metadata:
        return None if feed_kind == "kafka" else "came from a topic"
    if "files" in metadata:
        return "came from files" if feed_kind == "kafka" else None
    return "was computed as a view"


def changed_between(table: TableDef, version: int, feed_kind: str) -> PlatformError:
    """The error for a commit of others that came while our update was on its way.

    Args:
        table: The base table.
        version: The one that our update made.
        feed_kind: Of the feed that the table reads.
    """
    what = f"others changed rows or columns of table {table.name} just before version {version}"
    return _error("table-changed", what, table, feed_kind)


def _error(
    code: str, what: str, table: TableDef, feed_kind: str, rule: str = _ONCE
) -> PlatformError:
    again = (
        f"`freshline refresh {table.name} --full` loads all files of its feed again"
        if feed_kind != "kafka"
        else "a table with another name reads the topic from `starting:` on"
    )
    return PlatformError(
        code,
        what,
        where=table.place,
        rule=rule,
        next_step=f"`freshline accept {table.name}` goes on from what it has now, {again}",
    )


def rows_changed(table: TableDef, path: str, since: int, until: int) -> bool:
    """Whether commits ``since`` + 1 to ``until`` changed rows; also where nobody can tell.

    A column of the query that is renamed or dropped is taken from the rows: what is loaded next
    would go into another one, in which the rows that are there have NULL.

    Raises:
        PlatformError: The log cannot be read.
    """
    if local_log(path) is None:
        return any(_changed_at(path, version) for version in range(since + 1, until + 1))
    try:
        changes = logged_changes(path, since, until)
    except ChangesGoneError:
        return True
    return changes is None or bool(changes.added) or changes.rewrote or _took(table, changes.lost)


def _changed_at(path: str, version: int) -> bool:
    """Whether a commit in an object store changed rows, or may have taken columns from them."""
    commit = read_commit(path, version)
    if commit is None:
        return True
    return bool(commit.appended) or commit.rewrote or commit.operation in _TAKES_COLUMNS


def _took(table: TableDef, lost: frozenset[str] | None) -> bool:
    """Whether a column of the table's query is among those lost, or may be."""
    if not lost:
        return lost is None
    from freshline.sql.text.outputs import output_columns  # brings sqlglot: 0.3 s

    names = output_columns(table.query)
    if names is None:
        return True
    own = {name.lower() for name in (*names, *(name for name, _ in table.columns))}
    return any(each == name or each.startswith(f"{name}.") for each in lost for name in own)
