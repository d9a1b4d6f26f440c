"""What the running warehouse writes into its journal, one method per thing that happens.

All SQL that changes tables, files, updates, instants and requests stands here (and in
``recovery.py``, which repairs them). Nothing is decided here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from freshline.core.commands import StartUpdate
from freshline.core.events import Event
from freshline.core.model import Table
from freshline.delta.standing import CODES
from freshline.executor.records import FeedFile, UpdateResult
from freshline.runtime.journal.codec import encoded
from freshline.runtime.journal.store import Journal, Row
from freshline.runtime.journal.strategies import CHECKS, UPKEEP, note_use


def accept_changes(journal: Journal, table: str) -> None:
    """What a table's loaded files are now counts as loaded; the caller flushes."""
    journal.write(
        "UPDATE files SET (size_bytes, modified_s) = (SELECT c.size_bytes, c.modified_s"
        " FROM changed_files c WHERE c.table_name=files.table_name AND c.name=files.name)"
        " WHERE table_name=?1 AND name IN (SELECT name FROM changed_files WHERE table_name=?1)",
        (table,),
    )
    journal.write("DELETE FROM changed_files WHERE table_name=?", (table,))


def forget_failure(journal: Journal, table: str) -> None:
    """A table's failure, after which nothing is to be tried again, is not reported any more.

    It is where files, a backfill or a rebuild wait, or a view's update, or where somebody has to
    choose what becomes of the table. A view that failed and was never built waits, whatever is
    known of its parents. The caller flushes.
    """
    journal.write(
        "UPDATE tables SET failures=0, error=NULL, retry_s=NULL WHERE name=?1"
        + "".join(f" AND coalesce(error, '') NOT LIKE '[{code}]%'" for code in CODES)
        + " AND NOT EXISTS (SELECT 1 FROM files WHERE table_name=?1"
        " AND state IN ('pending','retrying','quarantined'))"
        " AND NOT EXISTS (SELECT 1 FROM backfills WHERE table_name=?1 AND state='waiting')"
        " AND coalesce(full_asked, 0)=0"
        # The work of a base table is its files.
        " AND (coalesce(kind, 'base')='base' OR (version IS NOT NULL AND since_s IS NULL"
        " AND coalesce(trailing_edge_s, freshness_s) <= freshness_s))",
        (table,),
    )


def forget_given_up(journal: Journal, table: str) -> None:
    """Backfills of a table that were given up are not reported any more; the caller flushes."""
    journal.write("DELETE FROM backfills WHERE table_name=? AND state='given up'", (table,))


class Ledger:
    """Writes for one run.

    Args:
        journal: The open journal; what is written here is flushed by the caller.
        run: Number of this run, from ``begin_run``.
    """

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        last = journal.row("SELECT max(id) AS id FROM runs")
        self.run = (last["id"] or 0) + 1 if last else 1
        newest = journal.row("SELECT max(id) AS id FROM updates")
        self._next_update = (newest["id"] or 0) + 1 if newest else 1
        self._update_ids: dict[str, int] = {}

    # ---- the run ----

    def begin_run(self, pid: int, now_s: float, setting: dict[str, Any]) -> None:
        """A run starts."""
        ids = self.journal.row("SELECT max(id) AS newest FROM instants")
        newest = (ids["newest"] or 0) if ids else 0
        self.journal.write(
            "INSERT INTO runs (id, pid, started_s, setting) VALUES (?,?,?,?)",
            (self.run, pid, now_s, json.dumps({**setting, "first_instant": newest + 1})),
        )
        # Else whoever looks at once takes what a former run saw for what this one sees.
        self.journal.write("DELETE FROM watched")
        self.journal.write("DELETE FROM misfits")

    def run_ready(self, now_s: float | None) -> None:
        """Spark is ready, updates can start; None: it is gone and started again."""
        self.journal.write("UPDATE runs SET ready_s=? WHERE id=?", (now_s, self.run))

    def end_run(self, now_s: float) -> None:
        """The run ended by itself, not by a kill."""
        self.journal.write("UPDATE runs SET stopped_s=? WHERE id=?", (now_s, self.run))

    def instant(
        self, now_s: float, events: Sequence[Event], commands: Iterable[StartUpdate]
    ) -> None:
        """What the core was told at one instant and what it commanded, to be replayed."""
        self.journal.write(
            "INSERT INTO instants (run, now_s, events, commands) VALUES (?,?,?,?)",
            (
                self.run,
                now_s,
                json.dumps([encoded(event) for event in events]),
                json.dumps([encoded(command) for command in commands]),
            ),
        )

    # ---- files ----

    def file_arrived(self, table: str, file: FeedFile, now_s: float) -> None:
        """A complete file was seen for the first time."""
        self.journal.write(
            "INSERT INTO files (table_name, name, size_bytes, modified_s, timestamp_s, arrived_s,"
            " state) VALUES (?,?,?,?,?,?,'pending') ON CONFLICT DO UPDATE SET state='pending',"
            " size_bytes=excluded.size_bytes, modified_s=excluded.modified_s, reason=NULL,"
            " timestamp_s=excluded.timestamp_s, arrived_s=excluded.arrived_s",
            (table, file.name, file.size_bytes, file.modified_s, file.timestamp_s, now_s),
        )

    def file_lost(self, table: str, name: str, now_s: float) -> None:
        """A range of offsets was gone before it was loaded."""
        self.journal.write(
            "INSERT INTO files (table_name, name, arrived_s, state) VALUES (?,?,?,'lost')"
            " ON CONFLICT DO UPDATE SET state='lost'",
            (table, name, now_s),
        )

    def files_loaded(
        self,
        table: str,
        names: Iterable[str],
        number: int,
        read: Mapping[str, tuple[int, float]] | None = None,
        *,
        full: bool = False,
    ) -> None:
        """Files are in the table since update ``number``.

        Args:
            table: The table.
            names: Of the files.
            number: Of the update.
            read: Size and modification time of those that were not read as they were listed.
            full: They were read again, whatever was loaded before.
        """
        if full:
            self.changes_accepted(table)
        for name in names:
            self.journal.write(
                "INSERT INTO files (table_name, name, state, number) VALUES (?,?,'loaded',?)"
                " ON CONFLICT DO UPDATE SET state='loaded', number=excluded.number, reason=NULL,"
                " retry_s=NULL",
                (table, name, number),
            )

        for name, (size_bytes, modified_s) in (read or {}).items():
            self.file_read(table, name, size_bytes, modified_s)

    def file_as_loaded(self, table: str, name: str) -> Row | None:
        """The row of a file that is in a table; None where it is not."""
        return self.journal.row(
            "SELECT * FROM files WHERE table_name=? AND name=? AND state='loaded'", (table, name)
        )

    def file_read(self, table: str, name: str, size_bytes: int, modified_s: float) -> None:
        """What a file was when it was loaded."""
        self.journal.write(
            "UPDATE files SET size_bytes=?, modified_s=? WHERE table_name=? AND name=?",
            (size_bytes, modified_s, table, name),
        )

    def file_changed(self, table: str, now: FeedFile, reason: str, now_s: float) -> None:
        """A loaded file is no longer as it was."""
        self.journal.put(
            "changed_files", {"table_name": table, "name": now.name},
            size_bytes=now.size_bytes, modified_s=now.modified_s, reason=reason, seen_s=now_s,
        )  # fmt: skip

    def file_unchanged(self, table: str, name: str) -> None:
        """A loaded file is again as it was."""
        self.journal.write("DELETE FROM changed_files WHERE table_name=? AND name=?", (table, name))

    def changes_accepted(self, table: str) -> None:
        """What loaded files are now counts as loaded."""
        accept_changes(self.journal, table)

    def file_unreadable(
        self, table: str, name: str, state: str, attempts: int, reason: str, retry_s: float | None
    ) -> None:
        """A file could not be read: ``state`` is retrying, quarantined or vanished."""
        self.journal.write(
            "UPDATE files SET state=?, attempts=?, reason=?, retry_s=?"
            " WHERE table_name=? AND name=?",
            (state, attempts, reason, retry_s, table, name),
        )

    def file_retried(self, table: str, name: str) -> None:
        """A file that could not be read is pending again; somebody may have mended it."""
        self.journal.write(
            "UPDATE files SET state='pending', retry_s=NULL, size_bytes=NULL, modified_s=NULL"
            " WHERE table_name=? AND name=?",
            (table, name),
        )

    # ---- updates ----

    def update_started(self, command: StartUpdate, attempt: int, now_s: float, files: int) -> None:
        """An update is handed to its track."""
        update_id = self._next_update
        self._next_update += 1
        self._update_ids[command.table] = update_id
        over = [[candidate.table, candidate.score] for candidate in command.over]
        self.journal.write(
            "INSERT INTO updates (id, run, table_name, number, attempt, track, release_s, start_s,"
            " from_s, to_s, expected_s, state, score, passed_over, files, parents, full, strategy)"
            " VALUES (?,?,?,?,?,?,?,?,?,?,?,'running',?,?,?,?,?,?)",
            (
                update_id,
                self.run,
                command.table,
                command.number,
                attempt,
                command.track,
                command.release_s,
                now_s,
                command.from_s,
                command.to_s,
                command.expected_s,
                command.score,
                json.dumps(over),
                files,
                json.dumps(dict(command.parents)),
                int(command.full),
                command.upkeep or None,  # it may fail, or make way, and is no update for anybody
            ),
        )

    def update_finished(
        self,
        command: StartUpdate,
        result: UpdateResult,
        seconds: float,
        now_s: float,
        *,
        full: bool = False,
        to_s: float | None = None,
    ) -> None:
        """An update is committed.

        Args:
            command: What was started.
            result: What its commit did.
            seconds: How long it held its track.
            now_s: The instant.
            full: It is the rebuild that somebody asked for.
            to_s: How fresh the commit is, where an earlier attempt made it, whose data may end
                earlier; None: as was started.
        """
        table = command.table
        note_use(self.journal, table, command.number, result, seconds, now_s)
        self.journal.write(
            "UPDATE updates SET state='done', finish_s=?, seconds=?, rows=?, rejected_rows=?,"
            " version=?, strategy=?, reason=?, parents=?, to_s=coalesce(?, to_s) WHERE id=?",
            (
                now_s,
                seconds,
                result.rows,
                result.rejected_rows,
                result.version,
                result.strategy,
                result.reason,
                json.dumps(dict(result.parents)),
                to_s,
                self._update_ids.get(table),
            ),
        )
        # A reload replaces the table of rejected rows, too.
        before = "0" if command.full else "rejected_rows"
        # Upkeep loads nothing: what the table is reported for stays until an update succeeds.
        mended = "" if result.strategy in UPKEEP else "failures=0, error=NULL, retry_s=NULL, "
        self.journal.write(
            f"UPDATE tables SET {mended}updates=updates+?, busy_s=busy_s+?,"
            f" rejected_rows={before}+? WHERE name=?",
            (int(result.strategy not in CHECKS), seconds, result.rejected_rows, table),
        )
        if full:
            self.full_asked(table, still=False)
        if full or (result.strategy == "full" and command.backfill is None):
            # Their ranges were made again, too.
            forget_given_up(self.journal, table)

    def full_asked(self, table: str, *, still: bool = True) -> None:
        """Somebody was told that a table will be rebuilt in full: the next run keeps that word."""
        self.journal.put("tables", {"name": table}, full_asked=int(still))

    def pause_asked(self, table: str, *, paused: bool) -> None:
        """Somebody was told that a table is paused, or goes on: the next run keeps that word."""
        self.journal.put("tables", {"name": table}, paused=int(paused))

    def update_failed(
        self, table: str, error: str, failures: int, retry_s: float, seconds: float, now_s: float
    ) -> None:
        """An update failed; nothing of it is visible."""
        self.upkeep_failed(table, error, seconds, now_s)
        self.journal.write(
            "UPDATE tables SET failures=?, error=?, retry_s=?, busy_s=busy_s+? WHERE name=?",
            (failures, error, retry_s, seconds, table),
        )

    def upkeep_failed(self, table: str, error: str, seconds: float, now_s: float) -> None:
        """Work on a table's files failed, which says nothing of its updates."""
        self.journal.write(
            "UPDATE updates SET state='failed', finish_s=?, seconds=?, error=? WHERE id=?",
            (now_s, seconds, error, self._update_ids.get(table)),
        )

    # ---- tables ----

    def table_declared(
        self, name: str, kind: str, definition: str, period_s: float | None, note: str | None
    ) -> None:
        """A table of the project, as it is declared now."""
        self.journal.put(
            "tables",
            {"name": name},
            kind=kind,
            definition=definition,
            period_s=period_s,
            dropped=0,
            note=note,
            **({} if kind == "base" else {"marked_version": None, "mark": None}),
        )

    def table_restored(
        self, name: str, number: int, version: int | None, freshness_s: float | None, parents: str
    ) -> None:
        """What the Delta log says of a table."""
        self.journal.put(
            "tables",
            {"name": name},
            number=number,
            version=version,
            freshness_s=freshness_s,
            parents=parents,
        )

    def table_marked(self, name: str, version: int, mark: str) -> None:
        """What tells the commit of a version from one of another history of the table."""
        self.journal.put("tables", {"name": name}, marked_version=version, mark=mark)

    def table_state(self, table: Table, now_s: float) -> None:
        """Where a table stands after an instant."""
        cost = table.cost
        waits_since_s = table.pending[0].arrival_s if table.pending else None
        self.journal.write(
            "UPDATE tables SET freshness_s=?, trailing_edge_s=?, version=?, number=?, alpha_s=?,"
            " beta=?, cost_samples=?, cost_error=?, period_s=?, paused=?, priority=?, since_s="
            # What is pending stands by its own time: one that came later may stand first.
            "CASE WHEN ? IS NULL THEN min(?, coalesce(since_s, ?)) ELSE ? END,"
            " max_staleness_s=?, staleness_area_s2=?, measured_s=? WHERE name=?",
            (
                table.complete_s if table.known else None,
                table.trailing_edge_s if table.known else None,
                table.version,
                table.number,
                cost.alpha_s,
                cost.beta,
                cost.samples,
                cost.error_ratio,
                table.period_s,
                int(table.paused),
                table.priority,
                table.version,
                *(waits_since_s, waits_since_s, waits_since_s),
                table.max_staleness_s,
                table.staleness_area_s2,
                table.area_since_s,
                table.name,
            ),
        )

    def tables_dropped(self, names: Iterable[str]) -> None:
        """Tables that the project no longer has; they are left alone."""
        for name in names:
            self.journal.write("UPDATE tables SET dropped=1 WHERE name=?", (name,))

    # ---- requests ----

    def answer(self, request: int, now_s: float, answer: dict[str, Any]) -> None:
        """Answer what another process asked."""
        self.journal.write(
            "UPDATE requests SET answered_s=?, answer=? WHERE id=?",
            (now_s, json.dumps(answer), request),
        )
