"""Work that waits until nobody else needs the tracks, yet gets its share of them.

Backfills (a range that is loaded or computed again), the gaps of tables that catch up newest
first, trials of views, and upkeep. Which of it is next stands here; when it may start, in
``share.py``; what its end means for tables and their children, in ``scheduler.py``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from heapq import heappop
from math import inf, nextafter

from freshline.core.background.share import BackgroundShare
from freshline.core.background.upkeep import TRY, Offer, Upkeep, upkeep_started
from freshline.core.commands import StartUpdate
from freshline.core.instant import TIME_EPSILON_S
from freshline.core.model import PendingFile, Running, Table

MOST_GAP_FILES = 1000
"""Of one update: one that runs cannot be stopped."""


@dataclass(frozen=True, slots=True)
class Backfill:
    """A range of a table to load or compute again: data of [from_s, to_s)."""

    table: Table
    from_s: float
    to_s: float


@dataclass(frozen=True, slots=True)
class GapFill:
    """The oldest files that a table lacks."""

    table: Table


@dataclass(frozen=True, slots=True)
class Trial:
    """The strategies of a view are to be tried on generated inputs.

    Attributes:
        table: The view.
        expected_s: What it should take.
    """

    table: Table
    expected_s: float


Work = Backfill | GapFill | Trial


class Background:
    """All background work of a scheduler.

    An update of background work leaves the freshness, what is pending and the policy's state
    alone. A backfill brings a version and no freshness; older files of a table that loads the
    newest first raise up to where it is complete; upkeep brings at most a version with the
    same rows.

    Attributes:
        wakeup_s: When its share allows the next one that waits, or something else becomes late,
            which changes who pays; infinite where neither matters.

    Args:
        tables: All tables.
        share: Part of the tracks' time that it gets, and never exceeds while others are late.
        tracks: How many there are.
        now_s: The clock.
    """

    def __init__(self, tables: Sequence[Table], share: float, tracks: int, now_s: float) -> None:
        self._newest_first = [table for table in tables if table.spec.newest_first]
        self.share = BackgroundShare(share, tracks, now_s)
        self.upkeep = Upkeep()
        self._backfills: deque[Backfill] = deque()
        self._trials: deque[Trial] = deque()
        self._running: dict[str, Work] = {}
        self._took_s: dict[str, float] = {}
        self._gap_was_last = False
        self._tables = tables
        self.wakeup_s = float("inf")

    def add(self, work: Backfill) -> None:
        """One more; the same range of a table that waits already is not done twice."""
        if work not in self._backfills:
            self._backfills.append(work)

    def add_trial(self, trial: Trial) -> None:
        """One more; a view that waits for its trial already is tried once."""
        if all(each.table is not trial.table for each in self._trials):
            self._trials.append(trial)

    @property
    def wanted(self) -> bool:
        """Whether background work waits; that of a paused table waits until it is resumed.

        Else nobody's files would be compacted for as long as one view is paused.
        """
        waiting = [work.table for work in self._trials]
        waiting += [work.table for work in self._computable]
        waiting += [table for table in self._newest_first if table.gap]
        return any(not table.paused for table in waiting)

    @property
    def _computable(self) -> list[Backfill]:
        """Backfills that have something to compute their rows from."""
        return [work for work in self._backfills if _has_read_all(work.table)]

    @property
    def active(self) -> bool:
        """Whether it waits or runs."""
        return bool(self._running) or self.wanted

    @property
    def pending(self) -> list[Table]:
        """Tables with background work that runs or waits, trials that could start, in order."""
        found = {work.table.order: work.table for work in self._computable}
        trials = [work.table for work in self._trials]
        found |= {table.order: table for table in trials if _can_start(table, self.share.now_s)}
        found |= {work.table.order: work.table for work in self._running.values()}
        found |= {table.order: table for table in self._newest_first if table.gap}
        return [found[order] for order in sorted(found)]

    def next(self, now_s: float) -> Work | None:
        """What would start next, backfills and gaps in turn; None where nothing can.

        Trials come first, one at a time: views are computed in full until theirs has passed.
        """
        if not any(isinstance(work, Trial) for work in self._running.values()):
            for trial in self._trials:
                if _can_start(trial.table, now_s) and trial.table.version is not None:
                    return trial
        backfill = next((work for work in self._computable if _can_start(work.table, now_s)), None)
        gap = next(
            (
                GapFill(table)
                for table in self._newest_first
                if table.gap and _can_start(table, now_s)
            ),
            None,
        )
        if backfill is None or gap is None:
            return backfill or gap
        return backfill if self._gap_was_last else gap

    def expected_s(self, work: Work) -> float:
        """What it should take: what the last of the table's took, else by its costs."""
        if isinstance(work, Trial):
            return work.expected_s
        table = work.table
        if isinstance(work, Backfill):
            if table.name in self._took_s:
                return self._took_s[table.name]
            return table.cost.expected_s(work.to_s - work.from_s)
        oldest_s = table.complete_s
        files = table.gap
        newest_s = files[min(len(files), MOST_GAP_FILES) - 1].timestamp_s
        return table.cost.expected_s(max(0.0, newest_s - oldest_s))

    def start(
        self,
        now_s: float,
        free: list[int],
        first: Callable[[], Table | None],
        *,
        asked: bool,
        until_s: float = inf,
    ) -> list[StartUpdate]:
        """Start background work as far as its share allows; asked before and after the rest.

        Before, others wait or are late and its accounts pay; after, what is free is free.
        Upkeep comes when nothing else is left to start.

        Args:
            now_s: The clock.
            free: A heap of the free tracks; those that are used are taken out of it.
            first: The best of the tables that wait; None when nothing waits.
            asked: Whether people asked for an update that has not started.
            until_s: By then it has to end, as far as is known.
        """
        commands = self._start_shared(now_s, free, first, until_s)
        if not (self.active or not free or asked or first() is not None):
            offer = self.upkeep.take(now_s, until_s)
            if offer is not None:
                commands.append(upkeep_started(offer, heappop(free), now_s))
        return commands

    def _start_shared(
        self, now_s: float, free: list[int], first: Callable[[], Table | None], until_s: float
    ) -> list[StartUpdate]:
        """Start backfills, old files and trials as the share allows."""
        self.wakeup_s = float("inf")
        commands: list[StartUpdate] = []
        if not self.active:
            self.share.see(wanted=False, others_wait=False, others_late=False)
            return commands
        others_late = any_late(self._tables, now_s)
        while True:
            work = self.next(now_s)
            self.share.see(
                wanted=self.wanted, others_wait=first() is not None, others_late=others_late
            )
            if work is None or not free or now_s + self.expected_s(work) > until_s:
                return commands
            wait_s = self.share.wait_s(self.expected_s(work))
            if wait_s > 0.0:
                self.wakeup_s = _just_after(now_s + wait_s)
                return commands
            self._started(work)
            commands.append(self._command(work, heappop(free), now_s))

    def await_lateness(self, now_s: float) -> None:
        """Wake up when the first of the others becomes late, at the end of an instant.

        Nothing else happens then, and from then on background work is paid for otherwise.
        """
        if self.active and not self.share.others_late:
            dates_s = [late_from_s(table) for table in self._tables]
            late_s = min(
                [_just_after(date_s) for date_s in dates_s if date_s >= now_s], default=inf
            )
            self.wakeup_s = min(self.wakeup_s, late_s)

    def _started(self, work: Work) -> None:
        self.share.started(work.table.name, self.expected_s(work))
        self._running[work.table.name] = work
        if isinstance(work, Trial):
            self._trials.remove(work)
            return
        self._gap_was_last = isinstance(work, GapFill)
        if isinstance(work, Backfill):
            self._backfills.remove(work)

    def _command(self, work: Work, track: int, now_s: float) -> StartUpdate:
        """Start background work: it leaves what is pending, and the policy's state, alone."""
        table = work.table
        if isinstance(work, Trial):
            offer = Offer(table, TRY, table.number, work.expected_s)
            return upkeep_started(offer, track, now_s, "its trial is due")
        table.next_to_s = table.freshness_s
        files: list[PendingFile]
        backfill: tuple[float, float] | None
        if isinstance(work, GapFill):
            files = taken_from_gap(table)
            to_s = files[-1].timestamp_s
            if not table.gap:
                to_s = max(to_s, table.freshness_s)
            backfill, score = None, "older files, in the background"
            amount_s = to_s - table.complete_s
        else:
            files, to_s = [], table.complete_s
            backfill, score = (work.from_s, work.to_s), "backfill, in the background"
            amount_s = work.to_s - work.from_s
        from_s = table.complete_s
        command = StartUpdate(
            table.name,
            table.number + 1,
            track,
            min([file.arrival_s for file in files], default=now_s),
            from_s,
            to_s,
            table.cost.expected_s(amount_s),
            tuple(file.name for file in files if file.name is not None),
            tuple(sorted((table.pins or {}).items())) if table.sources else (),
            score=score,
            backfill=backfill,
        )
        running = Running(command, now_s, amount_s, 0.0, files)
        running.background = True
        running.to_s = table.freshness_s
        table.running = running
        table.stamp += 1
        table.key = None
        return command

    def ended(self, table: Table, running: Running, now_s: float, *, again: bool) -> None:
        """Its update of ``table`` ended; ``again``: it failed and is to be tried again.

        Upkeep that failed is not kept for another time: whoever offers it looks again.
        """
        if running.command.upkeep not in {"", TRY}:
            self.upkeep.running = False
            return
        work = self._running.pop(table.name)
        self.share.ended(table.name, now_s)
        if isinstance(work, Trial) and again:
            self._trials.appendleft(work)
        if isinstance(work, Backfill):
            if again:
                self._backfills.appendleft(work)
            else:
                self._took_s[table.name] = now_s - running.start_s


def taken_from_gap(table: Table) -> list[PendingFile]:
    """Take out of a gap what one update loads; files of one timestamp stay together."""
    taken: list[PendingFile] = []
    gap = table.gap
    while gap and (len(taken) < MOST_GAP_FILES or gap[0].timestamp_s == taken[-1].timestamp_s):
        taken.append(gap.popleft())
    return taken


def late_from_s(table: Table) -> float:
    """After which moment work of ``table`` that is no background is late; infinite: there is none.

    The deadline of pending work is its release plus the table's period (Golab et al. 3.1);
    what people asked for is late at once.
    """
    running = table.running
    if running is not None:
        return inf if running.background else running.command.release_s + table.period_s
    if table.asked:
        return -inf
    return inf if table.key is None else table.release_s + table.period_s


def is_late(table: Table, now_s: float) -> bool:
    """Whether work of ``table`` that is no background waits or runs beyond its deadline."""
    return late_from_s(table) < now_s


def any_late(tables: Iterable[Table], now_s: float) -> bool:
    """Whether anything is."""
    return any(is_late(table, now_s) for table in tables)


def _just_after(moment_s: float) -> float:
    """A moment after another one, whatever is rounded: nobody wakes up too early again and again.

    In seconds since 1970 a nanosecond is less than the last digit.
    """
    return max(moment_s + TIME_EPSILON_S, nextafter(moment_s, inf))


def _has_read_all(table: Table) -> bool:
    """Whether a backfill has something to compute a view from: the versions that it was made of.

    A view that was never built has none; by another query it may read a table without data.
    """
    return all(source.name in (table.pins or {}) for source in table.sources)


def _can_start(table: Table, now_s: float) -> bool:
    return (
        table.running is None
        and table.known
        and not table.paused
        and not table.asked
        and table.deferred_until_s <= now_s
    )
