"""At the start of a run: what the Delta log says, compared with the journal.

A commit either happened or did not, whatever died around it; the journal may be behind (the
process died after the commit), ahead (a table was put back from a copy), or gone. For each
table the newest commit that carries our metadata decides:

  the log is at the journal's update   nothing to do
  the log is ahead                     take over the commits that the journal lacks
  the log is behind, or gone           what later updates loaded is pending again
  the journal has no such table        take over all commits
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from freshline.core.errors import PlatformError
from freshline.core.events import TableRestored
from freshline.delta.flushed import flush_version
from freshline.delta.histories import put_back
from freshline.delta.loaded import Loaded, folded, is_covered, is_of_feed, loaded_until_now
from freshline.delta.log import (
    CommitRecord,
    commit_at,
    commit_mark,
    commits_there,
    last_commit,
    local_log,
    same_rows,
    since_update,
)
from freshline.delta.log import version as newest_version
from freshline.delta.metadata import loaded_names
from freshline.delta.standing import CODES, last_number, rows_changed
from freshline.executor.source import Held
from freshline.failpoints import failpoint
from freshline.project.definition import definition_of
from freshline.project.model import Project, TableDef
from freshline.runtime.accepting import (
    feed_path,
    left_behind,
    lost_standing,
    moved_feed,
    version_to_read,
)
from freshline.runtime.journal.folding import forget_overtaken, note_folded, says_too_much
from freshline.runtime.journal.mending import mend, reopen_report
from freshline.runtime.journal.reading import LOST
from freshline.runtime.journal.store import Journal, Row
from freshline.runtime.journal.strategies import note_commit
from freshline.runtime.journal.writer import Ledger
from freshline.times import seconds

_DEPARTED = tuple(f"[{code}]" for code in CODES)
"""How the errors begin that say that a table is not what its updates made."""


@dataclass(slots=True)
class Recovered:
    """What a run starts from.

    Attributes:
        events: The first events for the core, parents before children.
        notes: What people should hear, a sentence each.
        reload: Base tables over Delta tables whose query changed since they were loaded.
        made: What the last commits of the other views say, by view.
    """

    events: list[TableRestored] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    reload: list[str] = field(default_factory=list)
    made: dict[str, Mapping[str, Any]] = field(default_factory=dict)


def recover(
    project: Project, journal: Journal, ledger: Ledger, reloaded: Collection[str] = ()
) -> Recovered:
    """Compare every table's log with the journal, and repair both: first logs that are torn.

    Args:
        project: The tables, parents first.
        journal, ledger: Read from, and written to.
        reloaded: Base tables that this run loads again from their feeds.

    Raises:
        UserError: A feed is in another folder than before, or a base table has another name.
        PlatformError: A table's log cannot be read, or the journal not be written.
    """
    asked = journal.rows("SELECT name FROM reports WHERE query IS NOT NULL")
    reopen = partial(reopen_report, journal)
    found = Recovered(notes=mend(project, [name for (name,) in asked], reopen))
    rows = {row["name"]: row for row in journal.rows("SELECT * FROM tables")}
    if (left := left_behind(project, rows, reloaded)) is not None:
        raise left
    stands: dict[str, int | None] = {}
    journal.write(f"UPDATE updates SET state='lost', error='{LOST}' WHERE state='running'")
    for table in project.tables:
        failpoint("recovery.before_table")
        row = rows.get(table.name)
        commit = last_commit(project.table_path(table.name))
        definition = definition_of(table)
        moved = moved_feed(project, table, row, commit)
        if moved is not None and table.name not in reloaded:
            raise moved
        reads_delta = table.kind == "base" and project.feeds[table.feed or ""].kind == "delta"
        stale = _declare(table, row, commit, definition, ledger, found, is_reloaded=reads_delta)
        if commit is not None and table.kind == "derived" and not stale:
            found.made[table.name] = commit.metadata
        lost = lost_standing(project, table, row, commit)
        stands[table.name] = version_to_read(project, table, row, commit)
        is_gone = commit is None and row is not None and bool(row["number"])
        # A view that is gone is computed again; of a base table somebody chooses what becomes.
        is_kept = is_gone and table.kind == "base"
        if not is_kept:
            # Whoever reloads a table need not know what was loaded.
            known = table.name not in reloaded
            _repair(project, table, row, commit, journal, ledger, must_know=known)
        _leave_out_others(project, table, journal)
        found.notes += _forget_orders(project, table, row, journal)
        _note_standing(project, table, row, lost, journal, found, is_moved=moved is not None)
        failpoint("recovery.after_table")
        if is_kept and row is not None:
            found.events.append(_as_journalled(row, stands[table.name]))
            continue
        found.events.append(_restored(project, table, row, commit, stands, stale=stale))
    gone = [name for name in rows if not project.has_table(name)]
    ledger.tables_dropped(gone)
    found.notes += [
        f"table {name} is no longer in the project; its data is left alone"
        for name in sorted(gone)
        if not rows[name]["dropped"]
    ]
    if not (journal.flush_patiently() or journal.damage):
        raise PlatformError(
            "journal",
            f"the journal {journal.path} cannot be written",
            rule="files that commits have loaded, and it does not know of, would be loaded again",
            next_step="Check the disk, its room and permissions, and who else locks the journal.",
        )
    return found


def _leave_out_others(project: Project, table: TableDef, journal: Journal) -> None:
    """Files of the feed that a table read before wait for nothing where it reads another kind."""
    feed = project.feeds.get(table.feed or "")
    if feed is None:
        return
    names = journal.rows(
        "SELECT name FROM files WHERE table_name=? AND state IN"
        " ('pending','retrying','quarantined')",
        (table.name,),
    )
    for (name,) in names:
        if not is_of_feed(feed.kind, name):
            journal.write(
                "UPDATE files SET state='vanished', retry_s=NULL, reason=?"
                " WHERE table_name=? AND name=?",
                (f"its feed is of kind {feed.kind} now", table.name, name),
            )


def _forget_orders(
    project: Project, table: TableDef, row: Row | None, journal: Journal
) -> list[str]:
    """What was asked of a table, and its feed of now cannot do; what people should hear of it.

    Who asks for it is refused. Of a topic it would take the place of the rows of the feed before.
    """
    kind = project.feeds[table.feed].kind if table.feed else ""
    notes = []
    if kind == "kafka" and row is not None and row["full_asked"]:
        journal.put("tables", {"name": table.name}, full_asked=0)
        notes.append(f"table {table.name} is not loaded again, as was asked: it reads a topic now")
    waiting = "FROM backfills WHERE table_name=? AND state='waiting'"
    what = "a topic" if kind == "kafka" else "a Delta table"
    if kind in ("kafka", "delta") and journal.row(f"SELECT 1 {waiting}", (table.name,)):
        # Without an error: it is told once, and nobody could make up for it.
        journal.write(
            "UPDATE backfills SET state='given up', ended_s=?"
            " WHERE table_name=? AND state='waiting'",
            (time.time(), table.name),
        )
        notes.append(f"backfills of table {table.name} are given up: it reads {what} now")
    return notes


def _note_standing(
    project: Project,
    table: TableDef,
    row: Row | None,
    lost: PlatformError | None,
    journal: Journal,
    found: Recovered,
    *,
    is_moved: bool,
) -> None:
    """Say that a table is not what its updates made; it stays so until somebody chooses.

    Where its feed has moved it is of the former folder until the reload is committed.
    """
    if table.kind == "base" and not is_moved:
        path = feed_path(project, table) or None
        journal.put("tables", {"name": table.name}, feed_path=path)
    if lost is not None:
        found.notes.append(lost.render())
        journal.put("tables", {"name": table.name}, failures=1, error=lost.render())
    elif row is not None and str(row["error"]).startswith(_DEPARTED):
        # It was put back, so nobody has to choose any more.
        journal.put("tables", {"name": table.name}, failures=0, error=None)


def _as_journalled(row: Row, version: int | None) -> TableRestored:
    """A table that is gone, as the journal knew it: no update may take it for a new one.

    Args:
        row: Of the journal.
        version: Of the table in its place that was accepted; None: nothing was.
    """
    return TableRestored(
        row["name"], row["freshness_s"], row["version"] if version is None else version,
        row["number"], row["alpha_s"], row["beta"],
    )  # fmt: skip


def _declare(
    table: TableDef,
    row: Row | None,
    commit: CommitRecord | None,
    definition: str,
    ledger: Ledger,
    found: Recovered,
    *,
    is_reloaded: bool,
) -> bool:
    """Note the table's definition; whether it must be made anew."""
    made_by = None
    if commit is not None:
        made_by = commit.metadata.get("definition") or (row["definition"] if row else None)
    changed = commit is not None and made_by != definition
    note = None
    if commit is not None and table.kind == "derived" and "window" in commit.metadata:
        changed, note = True, "rebuilt: it was a report, whose newest window is in it"
        found.notes.append(f"view {table.name} is rebuilt: it was a report")
    elif changed and table.kind == "derived":
        note = "rebuilt: its query changed since it was made"
        found.notes.append(f"view {table.name} is rebuilt: its query changed")
    elif changed and is_reloaded:
        found.reload.append(table.name)
        note = "loaded again: its query changed since it was loaded"
        found.notes.append(f"table {table.name} is loaded again: its query changed")
    elif changed:
        note = "its query changed: rows loaded from now on follow it"
        found.notes.append(
            f"table {table.name}: {note}; `freshline refresh {table.name} --full` loads all again"
        )
    period_s = row["period_s"] if row else None
    ledger.table_declared(table.name, table.kind, definition, period_s, note)
    return changed and table.kind == "derived"


def _repair(
    project: Project,
    table: TableDef,
    row: Row | None,
    commit: CommitRecord | None,
    journal: Journal,
    ledger: Ledger,
    *,
    must_know: bool,
) -> None:
    known = row["number"] if row else 0
    there = int(commit.metadata["update"]) if commit else 0
    if (known > there and _is_in_log_alone(project, table, there, journal)) or _is_other_history(
        project, table, row, commit
    ):
        journal.write(
            "DELETE FROM files WHERE table_name=? AND state IN ('loaded','pending')", (table.name,)
        )
        known, row = 0, None
    if known > there or (known and commit is None):
        if table.kind == "base" and commit is not None:
            _as_in_log(project, table, there, journal, ledger)
        journal.write(
            "UPDATE files SET state='pending', number=NULL"
            " WHERE table_name=? AND state='loaded' AND number>?",
            (table.name, there),
        )
        # Of these a rebuilt journal knows the name alone: the feed's listing tells of them again.
        journal.write(
            "DELETE FROM files WHERE table_name=? AND state='pending' AND timestamp_s IS NULL",
            (table.name,),
        )
    if there > known:
        # Its process died before it told us, maybe before it flushed it.
        flush_version(project.table_path(table.name), commit.version if commit else 0)
        since = _since(project, table, row)
        taken: list[str] = []
        if table.kind == "base" and not is_covered(project, table.name, since):
            fold = _folded(project, table, must_know=must_know)
            if fold is not None:
                taken += _take_over(fold, table.name, known, ledger)
                if project.reads_topic(table):
                    note_folded(journal, table.name, fold.names)
                since = fold.version
        for record in commits_there(project.table_path(table.name), since):
            number = int(record.metadata["update"])
            if number <= known:
                continue
            note_commit(journal, table.name, record)
            if table.kind == "base":
                if record.metadata.get("full") and Held.in_commit(record.metadata) is None:
                    # Of these the name alone is known: the feed's listing tells of them again.
                    journal.write(
                        "DELETE FROM files WHERE table_name=? AND state='loaded'"
                        " AND timestamp_s IS NULL",
                        (table.name,),
                    )
                    journal.write(
                        "UPDATE files SET state='pending' WHERE table_name=? AND state='loaded'",
                        (table.name,),
                    )
                full = bool(record.metadata.get("full"))
                names = loaded_names(record.metadata)
                ledger.files_loaded(table.name, names, number, full=full)
                taken += names
        forget_overtaken(journal, table.name, taken)
    ledger.table_restored(
        table.name,
        last_number(table, project.table_path(table.name), commit, known),
        commit.version if commit else None,
        seconds(commit.metadata["to"]) if commit else None,
        json.dumps(commit.metadata.get("parents", {}) if commit else {}),
    )
    note_mark(ledger, project, table.name, None if commit is None else commit.version)
    journal.flush()


def note_mark(ledger: Ledger, project: Project, table: str, version: int | None) -> None:
    """Note by what a base table's commit is known; a log that cannot be read leaves the last one.

    Of one in a store nothing is noted. The caller flushes the journal.
    """
    if version is None or project.table(table).kind != "base":
        return
    with contextlib.suppress(PlatformError):
        mark = commit_mark(project.table_path(table), version)
        if mark:
            ledger.table_marked(table, version, mark)


def _is_other_history(
    project: Project, table: TableDef, row: Row | None, newest: CommitRecord | None
) -> bool:
    """Whether the journal is of commits that the table has not: both were put back, or one twice.

    The numbers of updates say nothing then: others have loaded other files under them. In a store
    it is not looked for: each start would read the whole log there.
    """
    path = project.table_path(table.name)
    if table.kind != "base" or row is None or row["mark"] is None or local_log(path) is None:
        return False
    version = row["marked_version"]
    commit = commit_at(path, version)
    if commit is not None:
        return bool(commit.mark != row["mark"])
    if newest is None:
        return False
    # Others have that version, or it is gone; or the table went back behind it and on again, and
    # updates of the same numbers have loaded other files.
    return bool(newest.version > version or newest.update >= row["number"])


def _is_in_log_alone(project: Project, table: TableDef, there: int, journal: Journal) -> bool:
    """Whether the journal does not tell what is in a table that went back to update ``there``.

    Ranges of a topic may be joined over it, or be of another history.
    """
    if says_too_much(journal, table.name, there):
        return True
    return project.reads_topic(table) and _tells_all(project, table)


def _tells_all(project: Project, table: TableDef) -> bool:
    """Whether a base table's log, and what was folded of it, say all that is loaded."""
    fold = folded(project, table.name)
    return is_covered(project, table.name, -1 if fold is None else fold.version)


def _as_in_log(
    project: Project, table: TableDef, there: int, journal: Journal, ledger: Ledger
) -> None:
    """Of a table that went back to update ``there``: what is loaded is what its log says.

    A file has the number of the update that loaded it: one that loaded all files again took them
    over in the journal, and may be gone from the log.
    """
    names = loaded_until_now(project, table.name)
    if project.feeds[table.feed or ""].kind in ("kafka", "delta"):
        for name, number in names.items():
            journal.write(
                "UPDATE files SET number=? WHERE table_name=? AND name=? AND number>?",
                (number, table.name, name, there),
            )
        return
    if _tells_all(project, table):
        # Else a former history of the table may have loaded it.
        journal.write(
            "UPDATE files SET state='pending' WHERE table_name=? AND state='loaded'", (table.name,)
        )
    for name, number in names.items():
        ledger.files_loaded(table.name, [name], number)


def _since(project: Project, table: TableDef, row: Row | None) -> int:
    """The version of the last update that the journal knows; -1 where it is not in the log."""
    if row is None or row["version"] is None or not row["number"]:
        return -1
    commit = commit_at(project.table_path(table.name), row["version"])
    return row["version"] if commit is not None and commit.update == row["number"] else -1


def _folded(project: Project, table: TableDef, *, must_know: bool) -> Loaded | None:
    """What commits loaded that are gone from the log.

    Raises:
        PlatformError: Nobody knows, and must (``loaded-unknown``).
    """
    fold = folded(project, table.name)
    if fold is not None and is_covered(project, table.name, fold.version):
        return fold
    if not must_know:
        return None
    raise PlatformError(
        "loaded-unknown",
        f"the journal does not tell what was loaded, and commits of table {table.name} that do are"
        " gone from its log",
        where=table.place,
        rule="a file whose commit is not known would be loaded twice",
        next_step="Put the journal or the log back from a copy. Where all files are still in the"
        f" feed, `freshline refresh {table.name} --full` loads them again.",
    )


def _take_over(fold: Loaded, table: str, known: int, ledger: Ledger) -> list[str]:
    """Note as loaded what was folded of later updates than ``known``; its names."""
    later = {name: number for name, number in fold.names.items() if number > known}
    for name, number in later.items():
        ledger.files_loaded(table, [name], number)
    return list(later)


def _is_changed_by_others(project: Project, table: TableDef, commit: CommitRecord) -> bool:
    """Whether others changed a view's rows since our update; in a store it is not looked for."""
    path = project.table_path(table.name)
    if local_log(path) is None:
        return False
    spans = since_update(path, commit, newest_version(path) or 0)
    return any(rows_changed(table, path, *span) for span in spans)


def _restored(
    project: Project,
    table: TableDef,
    row: Row | None,
    commit: CommitRecord | None,
    stands: Mapping[str, int | None],
    *,
    stale: bool,
) -> TableRestored:
    late_s, path = 0.0, project.table_path(table.name)
    if commit is not None and table.kind == "derived":
        pins: Mapping[str, Any] = commit.metadata.get("parents", {})
        others = put_back(project, commit.metadata)
        if _is_changed_by_others(project, table, commit):
            late_s = table.period_s or 1.0
        for name in table.parents:
            version, pin, path_there = stands[name], pins.get(name), project.table_path(name)
            has_news = version is not None and (
                pin is None or not same_rows(path_there, pin, version)
            )
            if has_news or name in others:
                late_s = table.period_s or 1.0  # whether it brought freshness, F and TE tell
    return TableRestored(
        table.name,
        seconds(commit.metadata["to"]) if commit else None,
        stands[table.name],
        last_number(table, path, commit, row["number"] if row else 0),
        row["alpha_s"] if row else None,
        row["beta"] if row else None,
        late_s,
        stale,
    )
