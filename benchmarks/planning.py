"""How long one report is planned: 4,500 tuples, as in the paper, against 450. No Spark.

The exact plan, under a cost that was measured at five sizes, for deadlines that need one, two
and five batches. The recursion takes time linear in the tuples of a layer, so ten times the
tuples should take about ten times as long; one quadratic in them takes a hundred times.

Source: Chandrasekaran and Sudarshan 2024, section 7 (4,500 tuples a window); reading note C4.
"""

from __future__ import annotations

import gc
import time
from statistics import median

from benchmarks.common.report import Goal, Report, asked_quick
from freshline.reports.costs import FinalCost, PiecewiseCost
from freshline.reports.planning.model import Objective, Plan, Window
from freshline.reports.planning.planner import plan_window

_SMALL, _LARGE = 450, 4500
_GOAL = 20.0
_MOST_S = 1.0
_LENGTH_S = 60.0
_COST_S = ((0.0, 2.0), (0.1, 6.0), (0.3, 11.0), (0.6, 17.0), (1.0, 24.0))
"""Share of the window's tuples in a batch, and what it takes: large ones are cheaper a tuple."""
_ROOM_S = {"one batch": 30.0, "two batches": 22.0, "five batches": 7.0}
_OBJECTIVES: tuple[Objective, ...] = ("batches", "cost")


def window(tuples: int, room_s: float) -> Window:
    """A window of a minute whose deadline is ``room_s`` behind it."""
    arrivals_s = [_LENGTH_S * (number + 1) / tuples for number in range(tuples)]
    cost = PiecewiseCost(tuple((max(1.0, share * tuples), s) for share, s in _COST_S))
    return Window(0.0, _LENGTH_S, arrivals_s, _LENGTH_S + room_s, cost, FinalCost(0.05, 0.2))


def spent_s(planned: Window, objective: Objective) -> float:
    """CPU seconds of one plan, which there is."""
    before_s = time.thread_time()
    plan = plan_window(planned, objective=objective)
    spent = time.thread_time() - before_s
    assert isinstance(plan, Plan)
    return spent


def measure(*, quick: bool) -> Report:
    """Alternate between the two sizes; medians."""
    rounds = 5 if quick else 25
    report = Report(
        "planning",
        f"Planning one report exactly: {_LARGE:,} tuples against {_SMALL}",
        ("plan", f"{_SMALL} tuples, ms", f"{_LARGE:,} tuples, ms", "ratio"),
        [],
        quick=quick,
    )
    longest_s = 0.0
    for name, room_s in _ROOM_S.items():
        for objective in _OBJECTIVES:
            both = {tuples: window(tuples, room_s) for tuples in (_SMALL, _LARGE)}
            spent: dict[int, list[float]] = {tuples: [] for tuples in both}
            gc.collect()
            for _ in range(rounds):
                for tuples, planned in both.items():
                    spent[tuples].append(spent_s(planned, objective))
            small_s, large_s = median(spent[_SMALL]), median(spent[_LARGE])
            what = f"{name}, {objective}"
            ratio = large_s / small_s
            report.rows.append(
                (what, f"{1000 * small_s:.1f}", f"{1000 * large_s:.1f}", f"{ratio:.1f}")
            )
            report.goals.append(Goal(f"{what}, {_LARGE:,} tuples to {_SMALL}", ratio, _GOAL))
            longest_s = max(longest_s, *spent[_LARGE])
            report.data[what] = {str(tuples): values for tuples, values in spent.items()}
    report.goals.append(Goal("the longest plan", longest_s, _MOST_S, unit=" s"))
    report.notes.append(f"CPU time, medians over {rounds} alternating rounds.")
    return report


if __name__ == "__main__":
    measure(quick=asked_quick(__doc__)).publish()
