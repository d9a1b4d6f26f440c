"""Streaming against batches (figure 5, and the last of 7.2): micro-batches by trigger interval.

Source: Chandrasekaran and Sudarshan 2024, section 7.2. Costs are those of batches: what a
streaming engine adds to them (state, checkpoints, the symmetric join) is not in the models.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from experiments.common.experiment import Experiment, Finding, Row
from experiments.common.picture import axes_of
from experiments.common.reports import (
    PREDICTED_S,
    TUPLES,
    WINDOW_S,
    Query,
    Scene,
    run,
    thirteen,
)
from experiments.common.size import Size
from freshline.reports.policies import ReportPolicy

HERE = Path(__file__).parent
DEFAULT, ONE_SHOT, REPORTS = "default", "one shot", "llf 50 %"
MINUTES = (5, 10, 30, 40)
TOGETHER = "all thirteen"


def default_trigger_s(query: Query) -> tuple[int, float]:
    """Batches and their cost if each starts when the one before ends, with what is there."""
    now_s, taken, batches, cost_s = 0.0, 0, 0, 0.0
    while taken < TUPLES:
        now_s = max(now_s, PREDICTED_S[taken])
        there = min(TUPLES, int(now_s))  # one tuple a second
        length_s = query.cost(there - taken)
        now_s, taken = now_s + length_s, there
        batches, cost_s = batches + 1, cost_s + length_s
    return batches, cost_s


def interval_s(query: Query, every_s: float) -> tuple[int, float]:
    """The same with a trigger interval."""
    size = round(every_s * TUPLES / WINDOW_S)
    full, rest = divmod(TUPLES, size)
    return full + (1 if rest else 0), full * query.cost(size) + query.cost(rest)


def play(_size: Size) -> list[Row]:
    """A row for every query and trigger, their sums, and the reports' cost under llf."""
    rows: list[Row] = []
    totals: dict[str, tuple[int, float]] = {}
    queries = thirteen()
    for query in queries:
        triggers = {DEFAULT: default_trigger_s(query)}
        triggers |= {f"{minutes} min": interval_s(query, 60.0 * minutes) for minutes in MINUTES}
        triggers[ONE_SHOT] = (1, query.single_s)
        for trigger, (batches, cost_s) in triggers.items():
            rows.append(_row(query.name, trigger, batches, cost_s, query.single_s))
            before = totals.get(trigger, (0, 0.0))
            totals[trigger] = (before[0] + batches, before[1] + cost_s)
    single_s = sum(query.single_s for query in queries)
    for trigger, (batches, cost_s) in totals.items():
        rows.append(_row(TOGETHER, trigger, batches, cost_s, single_s))
    came = run(Scene(1.0), ReportPolicy("llf", reanchor=False))
    rows.append(_row(TOGETHER, REPORTS, came.batches, came.normalised * single_s, single_s))
    return rows


def _row(query: str, trigger: str, batches: int, cost_s: float, single_s: float) -> Row:
    return {
        "query": query,
        "trigger": trigger,
        "batches": f"{batches}",
        "cost_s": f"{cost_s:.2f}",
        "normalised": f"{cost_s / single_s:.3f}",
    }


def findings(rows: Sequence[Row]) -> list[Finding]:
    """Section 7.2's sentences."""
    cost = {(row["query"], row["trigger"]): float(row["normalised"]) for row in rows}
    names = [name for name in dict.fromkeys(row["query"] for row in rows) if name != TOGETHER]
    triggers = [DEFAULT, *(f"{minutes} min" for minutes in MINUTES), ONE_SHOT]
    falls = all(
        cost[name, shorter] >= cost[name, longer]
        for name in names
        for shorter, longer in pairwise(triggers)
    )
    least = min(cost[name, ONE_SHOT] for name in names)
    defaults = [cost[name, DEFAULT] for name in names]
    default = cost[TOGETHER, DEFAULT] / cost[TOGETHER, REPORTS]
    ten = cost[TOGETHER, "10 min"] / cost[TOGETHER, REPORTS]
    return [
        Finding(
            "the longer the interval, the cheaper",
            f"default {min(defaults):.0f} to {max(defaults):.0f} times a single batch, then less",
            falls,
        ),
        Finding(
            "even in one shot streaming costs 1.76 times a single batch or more",
            f"{least:.2f} times: the models have no streaming engine",
            least >= 1.76,
        ),
        Finding(
            "thirteen queries by the default trigger cost 60 times as much as under llf",
            f"{default:.0f} times",
            50.0 <= default <= 70.0,
        ),
        Finding(
            "with an interval of ten minutes 12 times as much",
            f"{ten:.2f} times: batches alone would be cheaper than llf's",
            10.0 <= ten <= 14.0,
        ),
    ]


def draw(rows: Sequence[Row], path: Path) -> None:
    """Normalised cost over the trigger, a line a query, on a logarithmic scale."""
    with axes_of(path, figsize=(7.0, 4.0)) as (axis,):
        for name in dict.fromkeys(row["query"] for row in rows):
            own = [row for row in rows if row["query"] == name and row["trigger"] != REPORTS]
            axis.plot(
                [row["trigger"] for row in own],
                [float(row["normalised"]) for row in own],
                "k.-" if name == TOGETHER else ".-",
                label=name,
            )
        axis.set(xlabel="trigger", ylabel="cost / cost of a single batch", yscale="log")
        axis.legend(fontsize=7, ncols=2)


EXPERIMENT = Experiment(HERE, play, findings, draw)
