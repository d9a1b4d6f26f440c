"""The driver: feeds and durations on one side, the product's scheduler on the other.

Completions stand in a heap by (finish, track), files in a sequence by (arrival, table
order); at one instant completions come first, which is the total order of an instant
(docs/reference/scenario-updates.md, semantics 2; G17). All events of one instant go to the
scheduler together; an update that takes no time comes up again in a further round of the same
instant, because its end is pushed after the instant's events were taken off.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from freshline.core.assembly import make_scheduler
from freshline.core.commands import StartUpdate
from freshline.core.events import Event, FileArrived, UpdateFinished
from freshline.core.instant import TIME_EPSILON_S
from freshline.core.model import TableSpec
from freshline.core.objective.compliance import Compliance
from freshline.core.objective.targets import stated_lags
from freshline.core.policy import Policy
from freshline.core.scheduler import Scheduler
from freshline.core.staleness import Staleness, staleness_of
from freshline.sim.arrivals import Arrivals, File
from freshline.sim.scenario.durations import ends, noise_stream
from freshline.sim.scenario.flows import Flows, flows_of
from freshline.sim.scenario.model import Scenario
from freshline.sim.trace import Finished, InOrder

_NEVER = float("inf")
_REPORT_EVERY = 4096

Instant = Callable[[float, Sequence[Event], Sequence[StartUpdate]], None]
"""Called with each instant's events and what the scheduler answered."""


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a run.

    Attributes:
        staleness: Per table, over [0, horizon].
        settled_s2: Per table, the integral of staleness up to its last finish.
        freshness_s: Per table, at the horizon.
        weighted_staleness_s2: Sum of own priority * integral of staleness.
        stretch: Largest (finish - previous timestamp) / (timestamp - previous timestamp) over
            base files loaded by finished updates (Bateni et al. 2.1, B4); None without one.
        low_s2: Sum of (timestamp - previous timestamp)^2 over base files that arrived (B4).
        penalty_s2: Sum of (finish - from)^2 over finished updates of base tables (B4).
        updates: Updates finished.
        events: Files arrived and updates finished.
        findings: What the policy has to tell beside this, under its name.
        kept: Per table, how its target was kept and what it took; None where nobody stated a
            target and nobody asked.
    """

    staleness: dict[str, Staleness]
    settled_s2: dict[str, float]
    freshness_s: dict[str, float]
    weighted_staleness_s2: float
    stretch: float | None
    low_s2: float
    penalty_s2: float
    updates: int
    events: int
    findings: dict[str, object]
    kept: dict[str, Compliance] | None = None


class _Side:
    """What the driver knows of a table: its true costs, and its flows if it has a feed."""

    __slots__ = ("alpha_s", "beta", "chance", "flows", "follows", "kept", "name")

    def __init__(self, spec: TableSpec, chance: int, flows: Flows | None) -> None:
        self.name = spec.name
        self.alpha_s = spec.alpha_s
        self.beta = spec.beta
        self.chance = chance
        self.flows = flows
        self.follows = flows if flows is not None and flows.follows_files else None
        self.kept: Compliance | None = None


_Running = tuple[float, int, _Side, StartUpdate, float]
"""Finish, track, table, command, start."""


class Driver:
    """Plays one scenario on the scheduler.

    Args:
        scenario: What to play.
        on_finished: Called with every finished update, by (finish, track).
        on_instant: Called with every instant (for replays and tests).
        on_progress: Called now and then with the virtual time.
        measures: Whether executor seconds and targets are accounted for; without it, where the
            scenario states a target or asks for the objective cost.

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
        measures: bool = False,
    ) -> None:
        self.scenario = scenario
        self.scheduler: Scheduler = make_scheduler(
            scenario.tables,
            tracks=scenario.tracks,
            settings=scenario.settings,
            seed=scenario.seed,
            worst_factor=scenario.high,
        )
        self._on_finished = None if on_finished is None else InOrder(on_finished)
        self._on_instant = on_instant
        self._on_progress = on_progress
        feeds = [scenario.feeds.get(spec.name) for spec in scenario.tables]
        merging = self.scheduler.merges_all
        self._sides = [
            _Side(
                spec,
                noise_stream(scenario, spec.name),
                None if feed is None else flows_of(feed, merging=merging),
            )
            for spec, feed in zip(scenario.tables, feeds, strict=True)
        ]
        lags_s = stated_lags(scenario.tables)
        self._measures = measures or bool(lags_s) or scenario.settings.objective != "staleness"
        if self._measures:
            for side in self._sides:
                side.kept = Compliance(lags_s.get(side.name))
                side.kept.begin(0.0, 0.0)
        # By table order, so that a file need not touch its table's record.
        self._names = [side.name for side in self._sides]
        self._follows = [side.follows for side in self._sides]
        self._side_of = {side.name: side for side in self._sides}
        self._end = ends(scenario)
        self._arrivals = Arrivals(feeds, scenario.horizon_s)
        self._running: list[_Running] = []
        self._updates = 0
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
        # A policy with dates of its own adds up the same periods as feeds and updates do, in
        # another order: for it, times that differ by rounding alone are one instant.
        slack_s = TIME_EPSILON_S if self._wakes else 0.0
        end_s = horizon_s + slack_s
        running = self._running
        window: list[File] = []
        at = instants = 0
        while True:
            # The next thing to happen: a file, an end, or a date of the policy.
            if at == len(window):
                window, at = self._arrivals.window(), 0
            now_s = window[at][0] if window else _NEVER
            if running and running[0][0] < now_s:
                now_s = running[0][0]
            if self._wakes:
                now_s = min(now_s, self.scheduler.next_wakeup_s())
            if now_s > end_s:
                break
            until_s = now_s + slack_s
            events: list[Event] = []
            if running and running[0][0] <= until_s:
                self._finish(now_s, until_s, events)
            if window and window[at][0] <= until_s:
                at = self._arrive(window, at, until_s, events)
            commands = handle(now_s, events)
            if self._on_instant is not None:
                self._on_instant(now_s, events, commands)
            if now_s < horizon_s:
                for command in commands:
                    self._start(command, now_s)
            instants += 1
            if self._on_progress is not None and instants % _REPORT_EVERY == 0:
                self._on_progress(now_s)

    def _arrive(self, window: Sequence[File], at: int, until_s: float, events: list[Event]) -> int:
        """Hand over the files that arrive now; returns the place of the next one."""
        names, follows, end = self._names, self._follows, len(window)
        while at < end and window[at][0] <= until_s:
            _, order, timestamp_s = window[at]
            at += 1
            flows = follows[order]
            if flows is not None:
                flows.arrived(timestamp_s)
            events.append(FileArrived(names[order], timestamp_s))
        return at

    def _start(self, command: StartUpdate, now_s: float) -> None:
        side = self._side_of[command.table]
        seconds = side.alpha_s + side.beta * (command.to_s - command.from_s)
        finish_s = self._end(now_s, seconds, side.chance, command.number)
        if side.follows is not None:
            side.follows.started(command.to_s)
        heappush(self._running, (finish_s, command.track, side, command, now_s))

    def _finish(self, now_s: float, until_s: float, events: list[Event]) -> None:
        """Hand over the updates that finish now."""
        running = self._running
        while running and running[0][0] <= until_s:
            _, track, side, command, start_s = heappop(running)
            self._updates += 1
            from_s, to_s = command.from_s, command.to_s
            if side.flows is not None:
                side.flows.finished(from_s, to_s, now_s)
            if side.kept is not None:
                side.kept.finished(now_s, now_s - start_s, to_s)
            events.append(UpdateFinished(command.table))
            if self._on_finished is not None:
                release_s, mode = command.release_s, command.mode
                self._on_finished(
                    Finished(command.table, track, release_s, start_s, now_s, from_s, to_s, mode)
                )

    def _played(self) -> Played:
        horizon_s = self.scenario.horizon_s
        staleness, weighted_s2 = {}, 0.0
        for table in self.scheduler.tables:
            measured = staleness_of(table, horizon_s)
            assert measured is not None, "a simulated table is known from the start"
            staleness[table.name] = measured
            weighted_s2 += table.priority * measured.integral_s2
        flows = [side.flows for side in self._sides if side.flows is not None]
        stretch = max([flow.stretch for flow in flows], default=0.0)
        policy = self.scheduler.policy
        findings = policy.findings()
        return Played(
            staleness,
            {table.name: table.staleness_area_s2 for table in self.scheduler.tables},
            {table.name: table.freshness_s for table in self.scheduler.tables},
            weighted_s2,
            stretch or None,
            self._arrivals.low_s2,
            sum(flow.penalty_s2 for flow in flows),
            self._updates,
            self._arrivals.count + self._updates,
            {policy.name: findings} if findings else {},
            self._accounts(horizon_s) if self._measures else None,
        )

    def _accounts(self, horizon_s: float) -> dict[str, Compliance]:
        """What was kept and spent; of updates that still run, the seconds up to now."""
        for _, _, side, _, start_s in self._running:
            if side.kept is not None:
                side.kept.executor_s += horizon_s - start_s
        return {side.name: side.kept for side in self._sides if side.kept is not None}


def play(
    scenario: Scenario,
    *,
    on_finished: Callable[[Finished], None] | None = None,
    on_instant: Instant | None = None,
    on_progress: Callable[[float], None] | None = None,
    measures: bool = False,
) -> Played:
    """Play ``scenario``; the arguments are the driver's."""
    return Driver(
        scenario,
        on_finished=on_finished,
        on_instant=on_instant,
        on_progress=on_progress,
        measures=measures,
    ).run()
