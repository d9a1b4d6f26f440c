"""The driver: feeds and durations on one side, the product's scheduler on the other.

Discrete events on a heap, ordered (time, completions before arrivals, track or table
order), which is the total order of an instant (contract of updates, semantics 2; G17). All
events of one instant go to the scheduler together; an update that takes no time comes up
again in a further round of the same instant, because its end is pushed after the instant's
events were taken off.
"""

from __future__ import annotations

import gc
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush, heapreplace
from operator import itemgetter
from typing import Any

from freshline.core.assembly import make_scheduler
from freshline.core.calendar import date_s
from freshline.core.commands import StartUpdate
from freshline.core.events import Event, FileArrived, UpdateFinished
from freshline.core.model import TableSpec
from freshline.core.policy import Policy
from freshline.core.scheduler import Scheduler
from freshline.core.staleness import Staleness, staleness_of
from freshline.sim.durations import ends, noise_stream
from freshline.sim.feeds import files
from freshline.sim.scenario import FeedSpec, Scenario
from freshline.sim.trace import Finished, InOrder

_FINISHED, _ARRIVED = 0, 1
_REPORT_EVERY = 4096
_timestamp_s = itemgetter(1)

_Entry = tuple[float, int, int, Any]
"""Time; finished or arrived; track or table order; the command and its start, or a timestamp."""

Instant = Callable[[float, Sequence[Event], Sequence[StartUpdate]], None]
"""Called with each instant's events and what the scheduler answered."""


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a run.

    Attributes:
        staleness: Per table, over [0, horizon].
        freshness_s: Per table, at the horizon.
        weighted_staleness_s2: Sum of own priority * integral of staleness.
        stretch: Largest (finish - previous timestamp) / (timestamp - previous timestamp) over
            base files loaded by finished updates (Bateni et al. 2.1, B4); None without one.
        low_s2: Sum of (timestamp - previous timestamp)^2 over base files that arrived (B4).
        penalty_s2: Sum of (finish - from)^2 over finished updates of base tables (B4).
        updates: Updates finished.
        events: Files arrived and updates finished.
        findings: What the policy has to tell beside this, under its name.
    """

    staleness: dict[str, Staleness]
    freshness_s: dict[str, float]
    weighted_staleness_s2: float
    stretch: float | None
    low_s2: float
    penalty_s2: float
    updates: int
    events: int
    findings: dict[str, object]


class _Side:
    """What the driver knows of a table: its feed, its true costs, what was measured."""

    __slots__ = (
        "alpha_s",
        "beta",
        "chance",
        "files",
        "is_base",
        "loading",
        "low_s2",
        "name",
        "number",
        "penalty_s2",
        "period_s",
        "phase_s",
        "stretch",
        "timestamp_s",
        "waiting",
    )

    def __init__(self, spec: TableSpec, chance: int, feed: FeedSpec | None) -> None:
        self.name = spec.name
        self.alpha_s = spec.alpha_s
        self.beta = spec.beta
        self.chance = chance
        self.is_base = feed is not None
        # A plain periodic feed is two numbers and a count; others are walked.
        self.phase_s = self.period_s = 0.0
        self.number = 0
        self.files: Iterator[tuple[float, float]] | None = None
        if feed is None:
            self.files = iter(())
        elif feed.arrivals is None and not feed.outages:
            self.phase_s, self.period_s = feed.phase_s, feed.period_s
        else:
            self.files = files(feed)
        self.timestamp_s = 0.0
        # (previous timestamp, timestamp) of files that arrived, and of those being loaded.
        self.waiting: list[tuple[float, float]] = []
        self.loading: Sequence[tuple[float, float]] = ()
        self.low_s2 = 0.0
        self.penalty_s2 = 0.0
        self.stretch = 0.0

    def next_file(self) -> tuple[float, float] | None:
        """(arrival, timestamp) of the next file; None when no more come."""
        if self.files is not None:
            return next(self.files, None)
        self.number += 1
        due_s = date_s(self.phase_s, self.period_s, self.number)
        return due_s, due_s


class Driver:
    """Plays one scenario on the scheduler.

    Args:
        scenario: What to play.
        on_finished: Called with every finished update, by (finish, track).
        on_instant: Called with every instant (for replays and tests).
        on_progress: Called now and then with the virtual time.

    Raises:
        UserError: The policy does not fit the tables.
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        on_finished: Callable[[Finished], None] | None = None,
        on_instant: Instant | None = None,
        on_progress: Callable[[float], None] | None = None,
    ) -> None:
        self.scenario = scenario
        self.scheduler: Scheduler = make_scheduler(
            scenario.tables,
            tracks=scenario.tracks,
            settings=scenario.policy,
            seed=scenario.seed,
        )
        self._on_finished = None if on_finished is None else InOrder(on_finished)
        self._on_instant = on_instant
        self._on_progress = on_progress
        self._sides = [
            _Side(spec, noise_stream(scenario, spec.name), scenario.feeds.get(spec.name))
            for spec in scenario.tables
        ]
        self._side_of = {side.name: side for side in self._sides}
        self._end = ends(scenario)
        self._files = self._updates = 0
        # Where an update always loads everything, of the waiting files only those matter for
        # the stretch that are shorter than every older one: memory does not grow with them.
        self._thins = self.scheduler.merges_all
        kind = type(self.scheduler.policy)
        self._wakes = kind.next_wakeup_s is not Policy.next_wakeup_s

    def run(self) -> Played:
        """Play from 0 to the horizon."""
        # What exists now lives to the end: the collector need not look at it again and again,
        # which at 10,000 tables is a third of the time.
        gc.freeze()
        try:
            self._play()
        finally:
            gc.unfreeze()
        if self._on_finished is not None:
            self._on_finished.flush()
        return self._played()

    def _play(self) -> None:
        horizon_s = self.scenario.horizon_s
        handle = self.scheduler.handle
        heap = self._first_files()
        instants = 0
        while True:
            now_s = heap[0][0] if heap else float("inf")
            if self._wakes:
                now_s = min(now_s, self.scheduler.next_wakeup_s())
            if now_s > horizon_s or now_s == float("inf"):
                break
            events = self._events_at(now_s, heap)
            commands = handle(now_s, events)
            if self._on_instant is not None:
                self._on_instant(now_s, events, commands)
            if now_s < horizon_s:
                for command in commands:
                    self._start(command, now_s, heap)
            instants += 1
            if self._on_progress is not None and instants % _REPORT_EVERY == 0:
                self._on_progress(now_s)

    def _first_files(self) -> list[_Entry]:
        heap: list[_Entry] = []
        for order, side in enumerate(self._sides):
            first = side.next_file()
            if first is not None:
                heap.append((first[0], _ARRIVED, order, first[1]))
        heapify(heap)
        return heap

    def _events_at(self, now_s: float, heap: list[_Entry]) -> list[Event]:
        """Take everything of one instant off the heap: completions, then arrivals."""
        events: list[Event] = []
        sides = self._sides
        while heap and heap[0][0] == now_s:
            _, kind, order, subject = heap[0]
            if kind == _ARRIVED:
                side = sides[order]
                if side.files is None:
                    number = side.number = side.number + 1
                    due_s = side.phase_s + (number - 1) * side.period_s
                    heapreplace(heap, (due_s, _ARRIVED, order, due_s))
                elif (following := next(side.files, None)) is None:
                    heappop(heap)
                else:
                    heapreplace(heap, (following[0], _ARRIVED, order, following[1]))
                self._files += 1
                if subject > side.timestamp_s:
                    self._measure_file(side, subject)
                    events.append(FileArrived(side.name, subject))
            else:
                heappop(heap)
                side, command, start_s = subject
                self._finish(side, command, start_s, now_s)
                events.append(UpdateFinished(command.table))
        return events

    def _measure_file(self, side: _Side, timestamp_s: float) -> None:
        before_s = side.timestamp_s
        length_s = timestamp_s - before_s
        side.timestamp_s = timestamp_s
        side.low_s2 += length_s * length_s
        waiting = side.waiting
        if self._thins and waiting:
            first_s, last_s = waiting[-1]
            # Dates of one feed differ by rounding alone; that must not count as shorter.
            if length_s >= (last_s - first_s) * (1.0 - 1e-12):
                return
        waiting.append((before_s, timestamp_s))

    def _start(self, command: StartUpdate, now_s: float, heap: list[_Entry]) -> None:
        side = self._side_of[command.table]
        to_s = command.to_s
        seconds = side.alpha_s + side.beta * (to_s - command.from_s)
        finish_s = self._end(now_s, seconds, side.chance, command.number)
        if side.is_base:
            if self._thins:
                side.loading, side.waiting = side.waiting, []
            else:
                waiting = side.waiting
                end = bisect_right(waiting, to_s, key=_timestamp_s)
                side.loading = waiting[:end]
                del waiting[:end]
        heappush(heap, (finish_s, _FINISHED, command.track, (side, command, now_s)))

    def _finish(self, side: _Side, command: StartUpdate, start_s: float, now_s: float) -> None:
        self._updates += 1
        if side.is_base:
            flow_s = now_s - command.from_s
            side.penalty_s2 += flow_s * flow_s
            for before_s, timestamp_s in side.loading:
                stretch = (now_s - before_s) / (timestamp_s - before_s)
                if stretch > side.stretch:  # noqa: PLR1730 - the innermost loop
                    side.stretch = stretch
        if self._on_finished is not None:
            self._on_finished(
                Finished(
                    command.table,
                    command.track,
                    command.release_s,
                    start_s,
                    now_s,
                    command.from_s,
                    command.to_s,
                    command.mode,
                )
            )

    def _played(self) -> Played:
        horizon_s = self.scenario.horizon_s
        staleness, weighted_s2 = {}, 0.0
        for table in self.scheduler.tables:
            measured = staleness_of(table, horizon_s)
            assert measured is not None, "a simulated table is known from the start"
            staleness[table.name] = measured
            weighted_s2 += table.priority * measured.integral_s2
        stretch = max([side.stretch for side in self._sides], default=0.0)
        policy = self.scheduler.policy
        findings = policy.findings()
        return Played(
            staleness,
            {table.name: table.freshness_s for table in self.scheduler.tables},
            weighted_s2,
            stretch or None,
            sum(side.low_s2 for side in self._sides),
            sum(side.penalty_s2 for side in self._sides),
            self._updates,
            self._files + self._updates,
            {policy.name: findings} if findings else {},
        )


def play(
    scenario: Scenario,
    *,
    on_finished: Callable[[Finished], None] | None = None,
    on_instant: Instant | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> Played:
    """Play ``scenario``; the arguments are the driver's."""
    return Driver(
        scenario, on_finished=on_finished, on_instant=on_instant, on_progress=on_progress
    ).run()
