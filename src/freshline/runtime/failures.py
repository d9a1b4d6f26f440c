"""What happens to updates that fail and to files that cannot be read.

A file that cannot be read is taken out of its table's pending work, so that the others go
on at once; it comes back after growing delays and, after its attempts, goes into
quarantine, where only ``freshline retry`` takes it out. A file that is gone is noted as
vanished and comes back if it is listed again. An update that fails for any other reason is
tried again after growing delays, for ever: its data must not be lost.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush

from freshline.core.events import Event, FileArrived, FilesWithdrawn, TableResumed, UpdateFailed
from freshline.core.scheduler import Scheduler
from freshline.executor.records import FeedFile, UnreadableFilesError
from freshline.runtime.feeds.backoff import Backoff
from freshline.runtime.feeds.pending import PendingFiles, file_of
from freshline.runtime.journal.writer import Ledger, forget_failure
from freshline.runtime.notices import Hears, one_line
from freshline.runtime.requests.backfills import note_ended
from freshline.runtime.tracks import Outcome

_INFINITY = float("inf")


class FailureHandling:
    """Counts failures, decides on retries and quarantine."""

    def __init__(
        self, ledger: Ledger, pending: PendingFiles, backoff: Backoff, hears: Hears
    ) -> None:
        self._ledger = ledger
        self._pending = pending
        self._backoff = backoff
        self._hears = hears
        self._failures: dict[str, int] = {}
        self._attempts: dict[tuple[str, str], int] = {}
        self._due: list[tuple[float, str, str, FeedFile]] = []
        self._accepted: dict[str, int] = {}

    def attempt(self, table: str) -> int:
        """Which attempt the next update of ``table`` is, 1 for the first."""
        return self._failures.get(table, 0) + 1

    def given_up(self, table: str) -> bool:
        """Whether ``table`` failed so often in a row that nobody should wait for it."""
        return self._failures.get(table, 0) >= self._backoff.attempts

    def accepted(self, table: str) -> int | None:
        """Up to which version what others did to ``table`` was accepted, -1 for a drop."""
        return self._accepted.get(table)

    def accept(self, table: str, version: int) -> None:
        """What others did to ``table`` up to ``version`` holds until its next update."""
        self._accepted[table] = version

    def waits_for_files(self) -> bool:
        """Whether files that could not be read will be tried again."""
        return bool(self._due)

    def next_due_s(self) -> float:
        """When the next of them is tried; infinite if none."""
        return self._due[0][0] if self._due else _INFINITY

    def due(self, now_s: float) -> list[Event]:
        """Files whose delay is over."""
        events: list[Event] = []
        while self._due and self._due[0][0] <= now_s:
            _, table, _, file = heappop(self._due)
            self._pending.put_back(table, file)
            self._ledger.file_retried(table, file.name)
            events.append(FileArrived(table, min(file.timestamp_s, now_s), file.name))
        return events

    def succeeded(self, table: str, *, is_upkeep: bool) -> None:
        """An update of ``table`` was committed.

        Upkeep loads nothing: failures still count, and what others did stays accepted, until
        something is loaded.
        """
        if is_upkeep:
            return
        self._failures.pop(table, None)
        if self._accepted.pop(table, None) is not None:
            self._ledger.journal.put("tables", {"name": table}, accepted_version=None)

    def failed(
        self, outcome: Outcome, now_s: float, forget: Callable[[str, str], None]
    ) -> tuple[list[Event], float]:
        """An update failed.

        Args:
            outcome: What was tried and how it failed.
            now_s: The instant.
            forget: Called with (table, name) of each unreadable file that is gone.

        Returns:
            Events for the core, and when the table may be tried again.
        """
        table = outcome.command.table
        error = outcome.error
        is_backfill = outcome.command.backfill is not None
        if isinstance(error, UnreadableFilesError) and not is_backfill:
            waiting = [item for item in error.files if self._pending.is_waiting(table, item[0])]
            for name, reason in waiting:
                if name in outcome.gone:
                    forget(table, name)
                self._file_failed(table, name, reason, now_s, gone=name in outcome.gone)
            self._journal_failure(outcome, one_line(error), now_s, now_s)
            loaded = [item for item in error.files if item not in waiting]
            if loaded:
                self._hears.notice(
                    f"{table} is not reloaded and keeps its rows: {loaded[0][0]}, which is in it,"
                    f" cannot be read: {loaded[0][1]}",
                    level="warning", table=table,
                )  # fmt: skip
            names = tuple(name for name, _ in waiting)
            failed = UpdateFailed(table, now_s, gives_up=bool(loaded))
            if loaded:
                self._ledger.full_asked(table, still=False)
            else:  # where all of them vanished, nothing follows
                forget_failure(self._ledger.journal, table)
            return [failed, FilesWithdrawn(table, names)], now_s
        failures = self._failures.get(table, 0) + 1
        self._failures[table] = failures
        retry_s = now_s + self._backoff.delay_s(failures)
        self._journal_failure(outcome, one_line(error), now_s, retry_s)
        range_s = outcome.command.backfill
        gives_up = range_s is not None and failures >= self._backoff.attempts
        if range_s is not None and gives_up:
            self._failures.pop(table)
            note_ended(self._ledger.journal, table, range_s, now_s, given_up=one_line(error))
            forget_failure(self._ledger.journal, table)
            self._hears.notice(
                f"{table}: the backfill is given up after {failures} attempts",
                level="error", table=table,
            )  # fmt: skip
        return [UpdateFailed(table, retry_s, gives_up)], retry_s

    def retry(self, scheduler: Scheduler, table: str, now_s: float) -> tuple[list[Event], int]:
        """Take a table's files out of quarantine, and its next attempt out of its delay.

        Returns:
            Events for the core, and how many files come back.
        """
        journal = self._ledger.journal
        rows = journal.rows(
            "SELECT * FROM files WHERE table_name=? AND state IN ('quarantined','retrying')",
            (table,),
        )
        names = {row["name"] for row in rows}
        self._due = [item for item in self._due if not (item[1] == table and item[2] in names)]
        heapify(self._due)
        events: list[Event] = []
        for row in rows:
            file = file_of(row)
            if self._pending.is_loaded_lately(table, file.name):
                continue  # the journal could not be written since
            self._attempts.pop((table, file.name), None)
            self._ledger.file_retried(table, file.name)
            if self._pending.is_waiting(table, file.name):
                continue  # already pending: a second event would load it twice
            self._pending.put_back(table, file)
            events.append(FileArrived(table, min(file.timestamp_s, now_s), file.name))
        self._failures.pop(table, None)
        running, has_news = scheduler.table(table).running, scheduler.table(table).has_news
        if not has_news and (running is None or running.command.upkeep):
            forget_failure(journal, table)
        if not scheduler.table(table).paused:
            events.append(TableResumed(table))
        return events, len(rows)

    def restored(self) -> None:
        """Attempts of former runs count."""
        for row in self._ledger.journal.each(
            "SELECT table_name, name, attempts FROM files WHERE attempts>0 AND state<>'loaded'"
        ):
            self._attempts[row["table_name"], row["name"]] = row["attempts"]
        for row in self._ledger.journal.each(
            "SELECT name, accepted_version FROM tables WHERE accepted_version IS NOT NULL"
        ):
            self._accepted[row["name"]] = row["accepted_version"]

    def _file_failed(
        self,
        table: str,
        name: str,
        reason: str,
        now_s: float,
        *,
        gone: bool,
    ) -> None:
        (file,) = self._pending.get(table, [name])
        self._pending.withdrawn(table, name)
        if gone:
            self._pending.forget(table, name)
            self._attempts.pop((table, name), None)  # what comes under its name is another file
            self._ledger.file_unreadable(table, name, "vanished", 0, reason, None)
            self._hears.notice(
                f"{table}: the file {name} vanished before it was loaded",
                level="warning", table=table,
            )  # fmt: skip
            return
        attempts = self._attempts.get((table, name), 0) + 1
        self._attempts[table, name] = attempts
        if attempts >= self._backoff.attempts:
            self._ledger.file_unreadable(table, name, "quarantined", attempts, reason, None)
            self._hears.notice(
                f"{table}: the file {name} is in quarantine after {attempts} attempts: {reason};"
                f" `freshline retry {table}` tries it again",
                level="error", table=table,
            )  # fmt: skip
            return
        retry_s = now_s + self._backoff.delay_s(attempts)
        self._ledger.file_unreadable(table, name, "retrying", attempts, reason, retry_s)
        heappush(self._due, (retry_s, table, file.name, file))

    def _journal_failure(self, outcome: Outcome, error: str, now_s: float, retry_s: float) -> None:
        table = outcome.command.table
        failures = self._failures.get(table, 0)
        self._ledger.update_failed(table, error, failures, retry_s, outcome.seconds, now_s)
