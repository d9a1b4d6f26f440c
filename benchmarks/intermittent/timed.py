"""Many reports by the clock: the product's planner says what starts, its executor runs it.

One track, as in the warehouse. Slices arrive at their times whatever Spark does: what has
arrived while a batch ran is told to the planner when that batch has ended, which is when it
next decides.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from benchmarks.common.metered import Tasks
from benchmarks.intermittent.batches import Reports, Spent
from freshline.reports.costs import CostModel, FinalCost
from freshline.reports.events import (
    BatchFinished,
    Event,
    InputClosed,
    Report,
    ReportDone,
    StartBatch,
    Submitted,
    TuplesArrived,
)
from freshline.reports.learned import FIRST_BATCH, FIRST_FINAL, learned_cost, learned_final
from freshline.reports.policies import ReportPolicy
from freshline.reports.scheduler import ReportScheduler
from freshline.runtime.reports.driver import POLICY

SLACK_FACTOR = 0.5
"""The paper's delta_RSF."""
_MOST_LATE_S = 120.0


def policy(name: str) -> ReportPolicy:
    """A policy as it takes part: the paper's four without C_max, since no batch here is long."""
    if name == "joint":
        return POLICY
    return ReportPolicy(name, slack_factor=SLACK_FACTOR, max_batch_time_s=None)


@dataclass(frozen=True, slots=True)
class Learned:
    """What a report's batches cost, from those that were measured."""

    cost: CostModel
    final: FinalCost

    @classmethod
    def of(cls, measured: Sequence[Spent]) -> Learned:
        """The product's learned costs; it puts every result together from its state."""
        cost = learned_cost([size for each in measured for size in each.sizes], FIRST_BATCH)
        final = learned_final([(each.batches, each.final_s) for each in measured], FIRST_FINAL)
        return cls(cost, replace(final, of_one=True))


@dataclass(frozen=True, slots=True)
class Wanted:
    """One report of the set: when it is wanted, in seconds after the window's start."""

    query: str
    deadline_s: float
    learned: Learned


@dataclass(slots=True)
class Outcome:
    """What came of the set under one way of making it.

    Attributes:
        how: The way's name.
        late_s: Of each report, how much after its deadline it was complete; negative: before.
        batches: Of each.
        tasks: Seconds of tasks, of all together.
    """

    how: str
    late_s: dict[str, float] = field(default_factory=dict)
    batches: dict[str, int] = field(default_factory=dict)
    tasks: Tasks = field(default_factory=Tasks)

    @property
    def met(self) -> int:
        """Deadlines met."""
        return sum(late_s <= 0.0 for late_s in self.late_s.values())


def deadlines_s(costs_s: Mapping[str, float], window_s: float, room: float) -> dict[str, float]:
    """When each report is wanted: one after the other, each with its cost in one batch.

    Args:
        costs_s: Seconds of each report in one batch, in the order in which they are wanted.
        window_s: Length of the window.
        room: Times the cost.
    """
    found, due_s = {}, window_s
    for query, cost_s in costs_s.items():
        due_s += room * cost_s
        found[query] = due_s
    return found


def run(reports: Reports, wanted: Sequence[Wanted], how: ReportPolicy, window_s: float) -> Outcome:
    """Make all reports of the set once, by the clock.

    Raises:
        RuntimeError: The planner waits for nothing, or a result is wrong.
    """
    slices = reports.slices.count
    times_s = tuple(window_s * (number + 1) / slices for number in range(slices))
    planner = ReportScheduler(how, tracks=1)
    windows = {each.query: reports.window(each.query) for each in wanted}
    taken = dict.fromkeys(windows, 0)
    outcome = Outcome(how.name)
    due_s = {each.query: each.deadline_s for each in wanted}
    events: list[Event] = [
        Submitted(
            Report(
                each.query, 0.0, window_s, each.deadline_s, times_s,
                each.learned.cost, each.learned.final,
            ),
            order,
        )
        for order, each in enumerate(wanted)
    ]  # fmt: skip
    before, told = reports.tasks(), 0
    began_s = time.monotonic()
    while len(outcome.late_s) < len(wanted):
        now_s = time.monotonic() - began_s
        arrived = sum(at_s <= now_s for at_s in times_s)
        if arrived > told:
            last_s = times_s[arrived - 1]
            events += [TuplesArrived(query, arrived, last_s) for query in windows]
            if arrived == slices:
                events += [InputClosed(query) for query in windows]
            told = arrived
        commands = planner.step(now_s, events)
        events = []
        for command in commands:
            match command:
                case ReportDone(query):
                    outcome.late_s[query] = now_s - due_s[query]
                case StartBatch(query, track, tuples, final, _):
                    taken[query] += tuples
                    made = reports.batch(windows[query], taken[query], final=final)
                    outcome.batches[query] = made.batches
                    events.append(BatchFinished(track))
        if not events:
            _wait(planner, times_s[told] if told < slices else None, began_s, window_s)
    outcome.tasks = reports.tasks() - before
    for query in windows:
        reports.slices.check(query, reports.result(query))
    return outcome


def _wait(planner: ReportScheduler, next_s: float | None, began_s: float, window_s: float) -> None:
    """Sleep until something is to happen."""
    now_s = time.monotonic() - began_s
    if now_s > window_s + _MOST_LATE_S:
        raise RuntimeError("the planner has reports left and starts none of them")
    wakeups_s = [planner.next_wakeup_s(), now_s + 0.5, *([next_s] if next_s is not None else [])]
    time.sleep(max(0.001, min(wakeups_s) - now_s))
