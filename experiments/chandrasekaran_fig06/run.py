"""One report alone (figure 6): how many batches each deadline needs, and what they cost.

Source: Chandrasekaran and Sudarshan 2024, section 7.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.common.experiment import Experiment, Finding, Row
from experiments.common.picture import axes_of
from experiments.common.reports import FACTORS, WINDOW_S, Query, thirteen
from experiments.common.size import Size
from freshline.reports.planning.model import Infeasible
from freshline.reports.planning.planner import plan_window

HERE = Path(__file__).parent
PAPER, OURS = "sweep", "exact"
"""Algorithm 1 with its corrections, and the recursion that also looks for the least cost."""
TIGHTEST = "0.1"
THREE = {"TPC-Q3", "TPC-Q9", "TPC-Q10"}
"""Those that the paper runs in three batches at 0.1D."""


def play(_size: Size) -> list[Row]:
    """A row for every query, deadline and solver; infeasible: the least factor that is not."""
    return [
        _row(query, factor, solver)
        for query in thirteen()
        for factor in FACTORS
        for solver in (PAPER, OURS)
    ]


def _row(query: Query, factor: float, solver: str) -> Row:
    row = {"query": query.name, "deadline_D": f"{factor:g}", "solver": solver}
    plan = plan_window(query.window(factor), solver=solver)
    if isinstance(plan, Infeasible):
        least = (plan.earliest_deadline_s - WINDOW_S) / query.single_s
        return row | {"batches": "", "sizes": "", "normalised": "", "feasible_D": f"{least:.4f}"}
    sizes = [str(batch.tuples) for batch in plan.batches]
    return row | {
        "batches": str(len(sizes)),
        "sizes": " ".join(sizes),
        "normalised": f"{plan.cost_s / query.single_s:.3f}",
        "feasible_D": "",
    }


def findings(rows: Sequence[Row]) -> list[Finding]:
    """Section 7.3's sentences, and what the exact plan does better."""
    paper = [row for row in rows if row["solver"] == PAPER]
    ours = [row for row in rows if row["solver"] == OURS and row["batches"]]
    infeasible = [row for row in paper if not row["batches"]]
    between = [row for row in paper if row["deadline_D"] not in ("1", TIGHTEST)]
    tight = [row for row in paper if row["deadline_D"] == TIGHTEST]
    three = {row["query"] for row in tight if row["batches"] == "3"}
    counts = sorted({row["batches"] for row in between})
    after: dict[str, list[int]] = {}
    for row in paper:
        if row["sizes"]:
            after.setdefault(row["query"], []).append(int(row["sizes"].split()[-1]))
    at_tight = [row["normalised"] for row in tight if row["batches"]]
    ours_tight = [row["normalised"] for row in ours if row["deadline_D"] == TIGHTEST]
    cheaper = all(
        float(mine["normalised"]) <= float(theirs["normalised"])
        for mine, theirs in zip(ours, [row for row in paper if row["batches"]], strict=True)
    )
    few = [int(row["sizes"].split()[-1]) for row in ours if row["batches"] == "2"]
    return [
        Finding(
            "every deadline can be met",
            "all but "
            + "; ".join(
                f"{row['query']} at {row['deadline_D']}D (from {row['feasible_D']}D on)"
                for row in infeasible
            )
            if infeasible
            else "all",
            not infeasible,
        ),
        Finding(
            "two batches are enough from 0.8D to 0.2D",
            f"{', '.join(counts)} batches",
            counts == ["2"],
        ),
        Finding(
            "at 0.1D TPC-Q3, TPC-Q9 and TPC-Q10 need three",
            f"{', '.join(sorted(three)) or 'none'} {'needs' if len(three) == 1 else 'need'} three",
            three == THREE,
        ),
        Finding(
            "the earlier the deadline, the fewer tuples are left to after the window",
            f"for all {len(after)} queries",
            all(sizes == sorted(sizes, reverse=True) for sizes in after.values()),
        ),
        Finding(
            "ours: the exact plan is never dearer than Algorithm 1's",
            f"at {TIGHTEST}D {min(ours_tight)} to {max(ours_tight)}, "
            f"Algorithm 1 {min(at_tight)} to {max(at_tight)}; "
            f"it leaves {min(few)} to {max(few)} tuples to the second batch",
            cheaper,
        ),
    ]


def draw(rows: Sequence[Row], path: Path) -> None:
    """Algorithm 1: bars of the normalised cost, a group a query, its batches on top."""
    names = list(dict.fromkeys(row["query"] for row in rows))
    width = 0.8 / len(FACTORS)
    with axes_of(path, figsize=(10.0, 3.6)) as (axis,):
        for number, factor in enumerate(FACTORS):
            own = [
                row
                for row in rows
                if row["solver"] == PAPER
                if row["deadline_D"] == f"{factor:g}" and row["batches"]
            ]
            places = [names.index(row["query"]) + (number + 0.5) * width - 0.4 for row in own]
            axis.bar(
                places, [float(row["normalised"]) for row in own], width, label=f"{factor:g} D"
            )
            for place, row in zip(places, own, strict=True):
                axis.text(place, float(row["normalised"]), row["batches"], ha="center", fontsize=6)
        axis.set_xticks(range(len(names)), names, fontsize=7)
        axis.set(ylabel="cost / cost of a single batch", ylim=(0.9, None))
        axis.legend(fontsize=8, ncols=3)


EXPERIMENT = Experiment(HERE, play, findings, draw)
