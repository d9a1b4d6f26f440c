"""When tables are maintained: work is offered to the core, which knows when tracks are idle.

A table is looked at (its files, from the log, a few milliseconds) at the start of a run and
after every few updates, and only while nothing waits. Old files are removed once a day, later
where a view's first build or a report still reads them. What failed is not tried again before the
table has changed, or an hour has passed. A compaction or an audit that runs when an update needs
its track or its table is ended before its commit, and offered again later.
"""

from __future__ import annotations

from freshline.core.background.upkeep import COMPACT, TRY, VACUUM, VERIFY
from freshline.core.errors import FreshlineError
from freshline.core.events import Event, UpdateFailed, UpkeepOffered
from freshline.core.model import Table
from freshline.core.scheduler import Scheduler
from freshline.delta.retention import UNRECORDED
from freshline.delta.small_files import files_of, worth_merging
from freshline.executor.records import Executor
from freshline.project.model import Project
from freshline.runtime.health.clock_jumps import ClockJumps
from freshline.runtime.journal.store import Journal
from freshline.runtime.journal.writer import Ledger
from freshline.runtime.notices import Hears, one_line
from freshline.runtime.reports.windows import read_since_s
from freshline.runtime.tracks import Outcome
from freshline.runtime.upkeep.audits import Audits
from freshline.runtime.upkeep.trials import Trials
from freshline.times import brief_s

LOOK_EVERY_UPDATES = 8
"""An update adds a file or a few; the rule wants sixteen of a size."""

VACUUM_EVERY_S = 86_400.0
VACUUM_RETRY_S = 3600.0

_BYTES_PER_S = 30e6
_COMMIT_S = 1.0


class Maintenance:
    """Offers compaction, VACUUM, audits and trials of the project's tables.

    Args:
        project: Its tables, and whether they are to be maintained.
        journal: Of earlier runs, and of the reports to be made.
        ledger: Told of failures.
        scheduler: Looked at, never changed.
        hears: Told of failures.
        jumps: Tells when the clock was set.
        until_idle: Whether the run ends when idle.
        whole: The project with the tables that this run leaves out, too, which reports may read.

    Attributes:
        trials: Of its views.
    """

    def __init__(
        self,
        project: Project,
        journal: Journal,
        ledger: Ledger,
        scheduler: Scheduler,
        hears: Hears,
        jumps: ClockJumps | None = None,
        *,
        until_idle: bool = False,
        whole: Project | None = None,
    ) -> None:
        self._project = project
        self._whole = whole or project
        self._journal = journal
        self._ledger = ledger
        self._scheduler = scheduler
        self._hears = hears
        self._jumps = jumps or ClockJumps()
        self._audits = Audits(project, journal, scheduler, hears)
        self.trials = Trials(project, journal, scheduler, hears, until_idle=until_idle)
        self._looked: dict[str, int] = {}
        self._gave_way: set[str] = set()
        # A run that started later than now did so by a clock that was ahead.
        begun = "SELECT min(started_s) AS at_s FROM runs WHERE started_s<=?"
        first = journal.row(begun, (scheduler.now_s,))
        since_s = scheduler.now_s if first is None or first["at_s"] is None else first["at_s"]
        self._vacuumed_s = {table.name: since_s for table in project.tables}
        for row in journal.rows(
            "SELECT table_name, max(last_s) AS at_s FROM strategies WHERE strategy=?"
            " GROUP BY table_name",
            (VACUUM,),
        ):
            self._vacuumed_s[row["table_name"]] = min(row["at_s"], scheduler.now_s)
        # Later than now: by a clock that was ahead then. Else each start would count a day anew.
        journal.write(
            "UPDATE strategies SET last_s=?1 WHERE strategy=?2 AND last_s>?1",
            (scheduler.now_s, VACUUM),
        )

    def offers(self, now_s: float) -> list[Event]:
        """Trials that are due, else what would pay now: at most one thing, if nothing waits."""
        self._tell_of_jumps()
        if trials := self.trials.due():
            return trials
        settings, scheduler = self._project.maintenance, self._scheduler
        background = scheduler.background
        if len(scheduler.running()) == scheduler.track_count or scheduler.first() is not None:
            return []
        if background is not None and (background.active or background.upkeep.busy):
            return []
        for table in scheduler.tables:
            if table.version is None or table.running is not None or table.paused:
                continue
            if table.deferred_until_s > now_s or not self._project.has_table(table.name):
                continue
            if settings.compact and self._is_to_be_looked_at(table):
                expected_s = self._compaction_s(table)
                if expected_s is not None:
                    return [UpkeepOffered(table.name, COMPACT, table.number, expected_s)]
            if settings.vacuum and self._may_vacuum(table, now_s):
                return [UpkeepOffered(table.name, VACUUM, table.number)]
        return self._audits.offer(now_s)

    def make_way(self, executor: Executor) -> None:
        """End a compaction or audit that keeps an update waiting; said again until it has ended."""
        scheduler = self._scheduler
        running = scheduler.running()
        crowded = len(running) == scheduler.track_count and scheduler.first() is not None
        for table in running:
            command = table.running.command if table.running is not None else None
            if command is None or command.upkeep not in (COMPACT, VERIFY):
                continue
            if crowded or table.has_news or table.asked:
                self._gave_way.add(table.name)
                executor.give_up(command.table, command.number)

    def done(self, outcome: Outcome, now_s: float) -> list[Event]:
        """An update of any kind was committed, or an audit ended; what follows."""
        command = outcome.command
        self._gave_way.discard(command.table)
        if command.upkeep == VACUUM:
            self._vacuumed_s[command.table] = now_s
            if outcome.result is not None and outcome.result.code == UNRECORDED:
                self._hears.notice(
                    f"{command.table}: vacuum {outcome.result.reason}",
                    level="warning", table=command.table,
                )  # fmt: skip
        elif command.upkeep == COMPACT:
            self._looked.pop(command.table, None)  # there may be more than one budget's worth
        elif command.upkeep == VERIFY:
            return self._audits.done(outcome, now_s)
        elif command.upkeep == TRY:
            self.trials.done(outcome, now_s)
        else:
            self._audits.updated(outcome)
            self.trials.updated(outcome)
        return []

    def gave_way(self, table: str) -> bool:
        """Whether a table's upkeep was told to end; one that then ends has not failed."""
        return table in self._gave_way

    def failed(self, outcome: Outcome, now_s: float) -> list[Event]:
        """Upkeep failed or gave way: the table is as it was, and its updates go on."""
        command = outcome.command
        if command.table in self._gave_way:
            self._gave_way.remove(command.table)
            if command.upkeep == VERIFY:
                self._audits.gave_way(outcome)
            else:
                self._looked.pop(command.table, None)
            why = "it gave way to an update"
            self._ledger.upkeep_failed(command.table, why, outcome.seconds, now_s)
            text = f"{command.table}: {command.upkeep} gave way to an update"
            self._hears.notice(text, level="debug", table=command.table)
            return [UpdateFailed(command.table, now_s)]
        if command.upkeep == VERIFY:
            self._audits.failed(outcome, now_s)
        elif command.upkeep == VACUUM:
            self._vacuumed_s[command.table] = now_s - VACUUM_EVERY_S + VACUUM_RETRY_S
        reason = one_line(outcome.error)
        self._ledger.upkeep_failed(command.table, reason, outcome.seconds, now_s)
        self._hears.notice(
            f"{command.table}: {command.upkeep} failed: {reason}",
            level="warning", table=command.table,
        )  # fmt: skip
        if command.upkeep == TRY:
            return self.trials.failed(outcome, now_s)
        return [UpdateFailed(command.table, now_s)]

    def _may_vacuum(self, table: Table, now_s: float) -> bool:
        """Whether it is time, and nobody reads what only this process knows to be read.

        What finished updates of children need stands in their commits (``delta/retention.py``).
        """
        if now_s - self._vacuumed_s[table.name] < VACUUM_EVERY_S or self._jumps.doubtful:
            return False
        if any(child.running is not None and child.version is None for child in table.children):
            return False  # a first build: no commit says yet which version it reads
        read_s = read_since_s(self._whole, self._journal).get(table.name, now_s)
        if read_s < now_s - self._project.maintenance.retention_s:
            self._vacuumed_s[table.name] = now_s - VACUUM_EVERY_S + VACUUM_RETRY_S
            return False
        return True

    def _tell_of_jumps(self) -> None:
        jump_s = self._jumps.look()
        if jump_s > 0.0:
            self._hears.notice(
                f"the clock was set forward by {brief_s(jump_s)}: no table is vacuumed for a week,"
                " or until the next start; check the clock before it",
                level="warning",
            )
        elif jump_s < 0.0:
            self._hears.notice(
                f"the clock was set back by {brief_s(-jump_s)}: delays go on, but staleness is"
                " measured by a time that is ahead until the clock has caught up or the next start",
                level="warning",
            )

    def _is_to_be_looked_at(self, table: Table) -> bool:
        looked = self._looked.get(table.name)
        return looked is None or table.number - looked >= LOOK_EVERY_UPDATES

    def _compaction_s(self, table: Table) -> float | None:
        """Seconds that a compaction should take; None where it would not pay."""
        self._looked[table.name] = table.number
        try:
            chosen = worth_merging(files_of(self._project.table_path(table.name)))
        except FreshlineError as error:
            self._hears.notice(
                f"{table.name}: not compacted: {one_line(error)}",
                level="warning", table=table.name,
            )  # fmt: skip
            return None
        if not chosen:
            return None
        return _COMMIT_S + sum(file.size_bytes for file in chosen) / _BYTES_PER_S
