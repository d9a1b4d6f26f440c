"""What one event costs the simulator, as a multiple of a push and pop on a small heap.

A ratio within one run says the same on any machine: at 30 tables an event (a file arrived or
an update finished) may cost 16 times a push and pop of a small tuple on a heap of 30, at
10,000 tables at most twice what it costs at 30. A machine's speed can change by half within a
minute, so each run stands between two measurements of the push and pop, and medians count.
"""

from __future__ import annotations

import heapq
import random
import time
from statistics import fmean, median

from benchmarks.common.report import Goal, Report, asked_quick
from freshline.core.assembly import PolicySettings
from freshline.core.model import TableSpec
from freshline.sim.result import simulate_updates
from freshline.sim.scenario.model import FeedSpec, Scenario

EVENTS = {30: 300_000, 10_000: 1_500_000}
"""By number of tables: enough for making the tables, and their bound, to be a small part."""
POLICIES = ("fifo", "edf", "max-benefit", "index")
LOADS = (0.6, 1.0)
LIMIT_AT_30, LIMIT_GROWTH = 16.0, 2.0
_REPEATS = {30: 5, 10_000: 3}
_TRIES = 3
_QUICK_SHARE = 10
"""A quick run plays so many times fewer events, once, and of one policy."""


def scenario(tables: int, policy: str, *, load: float, events: int, tracks: int = 2) -> Scenario:
    """``tables`` base tables with periods of 50 to 500 s whose updates fill ``load`` tracks.

    They are played until about ``events`` files and updates have come and gone.
    """
    dice = random.Random(1)
    periods = [dice.uniform(50.0, 500.0) for _ in range(tables)]
    unit = load * tracks / sum((1.0 + 0.01 * period) / period for period in periods)
    specs = tuple(
        TableSpec(
            f"t{number}",
            (),
            period_s=period,
            priority=dice.choice([1.0, 3.0, 9.0]),
            alpha_s=unit,
            beta=0.01 * unit,
            phase_s=dice.uniform(0.0, period),
        )
        for number, period in enumerate(periods)
    )
    feeds = {spec.name: FeedSpec(spec.phase_s or 0.0, spec.period_s or 0.0) for spec in specs}
    horizon_s = events / 2.0 / sum(1.0 / period for period in periods)
    settings = PolicySettings(policy=policy)
    return Scenario(horizon_s, 1, tracks, settings, 1.0, 1.0, None, specs, feeds)


def push_and_pop_s() -> float:
    """Seconds of one push and pop of a small tuple on a heap of 30; the best of three."""
    dice = random.Random(1)
    heap = [(dice.random(), number) for number in range(30)]
    heapq.heapify(heap)
    values = [dice.random() for _ in range(200_000)]
    best_s = float("inf")
    for _ in range(_TRIES):
        begun_s = time.process_time()
        for value in values:
            heapq.heappush(heap, (value, 0))
            heapq.heappop(heap)
        best_s = min(best_s, (time.process_time() - begun_s) / len(values))
    return best_s


def event_s(played: Scenario) -> float:
    """Seconds of one event of ``simulate``, its ideal run and its lower bound included."""
    begun_s = time.process_time()
    result = simulate_updates(played)
    return (time.process_time() - begun_s) / result.played.events


def event_in_pushes(played: Scenario, repeats: int) -> float:
    """One event as a multiple of a push and pop; the median of ``repeats``."""
    ratios = []
    before_s = push_and_pop_s()
    for _ in range(repeats):
        seconds = event_s(played)
        after_s = push_and_pop_s()
        ratios.append(seconds / fmean((before_s, after_s)))
        before_s = after_s
    return median(ratios)


def measure(*, quick: bool) -> Report:
    """A line a policy and load."""
    report = Report(
        "simulator",
        "One simulated event against a push and pop on a heap of 30",
        ("policy", "load", "30 tables", "10,000 tables", "growth"),
        [],
        quick=quick,
    )
    share = _QUICK_SHARE if quick else 1
    for policy in POLICIES[-1:] if quick else POLICIES:
        found = []
        for load in LOADS:
            few, many = (
                event_in_pushes(
                    scenario(n, policy, load=load, events=events // share),
                    1 if quick else _REPEATS[n],
                )
                for n, events in EVENTS.items()
            )
            found.append((few, many))
            cells = (f"{few:.1f}", f"{many:.1f}", f"{many / few:.2f}")
            report.rows.append((policy, f"{load:g}", *cells))
        report.data[policy] = found
        worst = max(few for few, _ in found)
        growth = max(many / few for few, many in found)
        report.goals += [
            Goal(f"{policy}: an event at 30 tables", worst, LIMIT_AT_30),
            Goal(f"{policy}: 10,000 tables to 30", growth, LIMIT_GROWTH),
        ]
    report.notes = ["CPU seconds; making the tables, the ideal run and the bound are included."]
    return report


if __name__ == "__main__":
    measure(quick=asked_quick(__doc__)).publish()
