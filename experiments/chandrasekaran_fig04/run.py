"""What many batches cost (figure 4): every query in 1 to 60 batches.

Source: Chandrasekaran and Sudarshan 2024, section 7.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from experiments.common.experiment import Experiment, Finding, Row
from experiments.common.picture import axes_of
from experiments.common.reports import TUPLES, thirteen
from experiments.common.size import Size
from freshline.reports.costs import in_batches_s

HERE = Path(__file__).parent
SIZES = (4500, 2250, 1125, 500, 300, 150, 90, 75)
"""Files a batch, as in 7.2."""
MOST = "60"


def play(_size: Size) -> list[Row]:
    """A row for every query and batch size."""
    return [
        {
            "query": query.name,
            "batches": f"{-(-TUPLES // size)}",
            "cost_s": f"{(cost_s := in_batches_s(query.cost, query.final, TUPLES, size)):.3f}",
            "final_s": f"{query.final(-(-TUPLES // size)):.3f}",
            "normalised": f"{cost_s / query.single_s:.3f}",
        }
        for query in thirteen()
        for size in SIZES
    ]


def findings(rows: Sequence[Row]) -> list[Finding]:
    """Section 7.2's sentences."""
    by = {(row["query"], row["batches"]): row for row in rows}
    names = list(dict.fromkeys(row["query"] for row in rows))
    rises = all(
        float(before["normalised"]) < float(after["normalised"])
        for before, after in pairwise(rows)
        if before["query"] == after["query"]
    )
    dearest = float(by["TPC-Q10", MOST]["normalised"])
    times = float(by["CQ2", MOST]["cost_s"]) / float(by["CQ1", MOST]["cost_s"])
    finals = [float(by[name, MOST]["final_s"]) for name in ("CQ3", "CQ4")]
    worst = max(names, key=lambda name: float(by[name, MOST]["normalised"]))
    return [
        Finding("the more batches, the dearer", f"for all {len(names)} queries", rises),
        Finding(
            "TPC-Q10 costs almost 6 times as much in 60 batches",
            f"{dearest:.2f} times; the dearest is {worst}",
            5.0 <= dearest <= 6.5,
        ),
        Finding(
            "CQ2, with groups, costs 2.7 times as much as CQ1 in 60 batches",
            f"{times:.2f} times",
            abs(times - 2.7) < 0.2,
        ),
        Finding(
            "the final aggregation of 60 batches costs 3 for CQ3 and 7 for CQ4",
            f"{finals[0]:.1f} s and {finals[1]:.1f} s",
            abs(finals[0] - 3.0) < 0.5 and abs(finals[1] - 7.0) < 0.5,
        ),
    ]


def draw(rows: Sequence[Row], path: Path) -> None:
    """Normalised cost over the batches, a line a query."""
    with axes_of(path, figsize=(7.0, 4.0)) as (axis,):
        for name in dict.fromkeys(row["query"] for row in rows):
            own = [row for row in rows if row["query"] == name]
            batches = [int(row["batches"]) for row in own]
            axis.plot(batches, [float(row["normalised"]) for row in own], marker=".", label=name)
        axis.set(xlabel="batches", ylabel="cost / cost of a single batch")
        axis.legend(fontsize=7, ncols=2)


EXPERIMENT = Experiment(HERE, play, findings, draw)
