"""Many runs of the thirteen reports: cases, policies, and orders of deadlines as seeds.

What figures 7, 8, 10 and 11 of Chandrasekaran and Sudarshan 2024 are made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from experiments.common.experiment import Row
from experiments.common.picture import axes_of
from experiments.common.reports import Came, Scene, run
from experiments.common.size import Size, each
from freshline.reports.policies import ReportPolicy


@dataclass(frozen=True, slots=True)
class Cell:
    """A bar of a figure.

    Attributes:
        case, policy: Its labels.
        scene, settings: What is run.
        orders: How many orders of deadlines it is run with.
    """

    case: str
    policy: str
    scene: Scene
    settings: ReportPolicy
    orders: int = 20


def play(cells: Sequence[Cell], size: Size) -> list[Row]:
    """A row a cell: over the orders, how many runs met every deadline, and the means."""
    jobs = [
        replace(cell, scene=replace(cell.scene, order=order))
        for cell in cells
        for order in _orders(cell, size)
    ]
    found = iter(each(_run, jobs, size))
    rows: list[Row] = []
    for cell in cells:
        runs = [next(found) for _ in _orders(cell, size)]
        row = {
            "case": cell.case,
            "policy": cell.policy,
            "runs": len(runs),
            "met": sum(1 for came in runs if came.missed == 0),
            "most late": max(came.missed for came in runs),
            "latest_s": f"{max(came.latest_s for came in runs):.2f}",
            "batches": f"{fmean(came.batches for came in runs):.0f}",
            "cost": f"{fmean(came.normalised for came in runs):.3f}",
        }
        rows.append({key: str(value) for key, value in row.items()})
    return rows


def _orders(cell: Cell, size: Size) -> range:
    return range(1, 1 + (1 if size.quick else cell.orders))


def _run(cell: Cell) -> Came:
    return run(cell.scene, cell.settings)


class Bars:
    """The rows of `play` by case and policy."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = {(row["case"], row["policy"]): row for row in rows}
        self.cases = list(dict.fromkeys(row["case"] for row in rows))
        self.policies = list(dict.fromkeys(row["policy"] for row in rows))

    def has(self, case: str, policy: str) -> bool:
        """Whether that was run."""
        return (case, policy) in self._rows

    def all_met(self, case: str, policy: str) -> bool:
        """Whether every run met every deadline."""
        row = self._rows[case, policy]
        return row["met"] == row["runs"]

    def met(self, case: str, policy: str) -> str:
        """Runs that met every deadline, of all: ``4/20``."""
        row = self._rows[case, policy]
        return f"{row['met']}/{row['runs']}"

    def cost(self, case: str, policy: str) -> float:
        """Normalised, the mean over the runs."""
        return float(self._rows[case, policy]["cost"])

    def batches(self, case: str, policy: str) -> int:
        """Of all reports, the mean over the runs."""
        return int(self._rows[case, policy]["batches"])

    def quoted(self, policies: Sequence[str], cases: Sequence[str]) -> str:
        """Runs that met every deadline: ``edf 20/20, 0/20``, in the order of the cases."""
        return "; ".join(
            f"{policy} " + ", ".join(self.met(case, policy) for case in cases)
            for policy in policies
        )


def numbers(rows: Sequence[Row]) -> list[str]:
    """The page's tables: runs that met every deadline, and the normalised cost."""
    bars = Bars(rows)
    head = ["| policy | " + " | ".join(bars.cases) + " |", "|---" * (len(bars.cases) + 1) + "|"]
    lines = ["Runs that met every deadline, and normalised cost:", "", *head]
    for policy in bars.policies:
        texts = [
            f"{bars.met(case, policy)}, {bars.cost(case, policy):.2f}"
            if bars.has(case, policy)
            else ""
            for case in bars.cases
        ]
        lines.append(f"| {policy} | " + " | ".join(texts) + " |")
    return lines


def draw(rows: Sequence[Row], path: Path) -> None:
    """Bars of the normalised cost; dashed where a deadline was missed, as in the paper."""
    bars = Bars(rows)
    width = 0.8 / len(bars.policies)
    with axes_of(path, figsize=(9.5, 3.6)) as (axis,):
        for number, policy in enumerate(bars.policies):
            for place, case in enumerate(bars.cases):
                if not bars.has(case, policy):
                    continue
                met = bars.all_met(case, policy)
                axis.bar(
                    place + (number + 0.5) * width - 0.4,
                    bars.cost(case, policy),
                    width * 0.9,
                    color=f"C{number}",
                    alpha=0.9 if met else 0.35,
                    edgecolor="black",
                    linestyle="solid" if met else "dashed",
                    linewidth=0.6,
                    label=policy if place == 0 else None,
                )
        axis.axhline(1.0, color="black", linewidth=0.6)
        axis.set_xticks(range(len(bars.cases)), bars.cases)
        axis.set(ylabel="cost / cost of single batches")
        axis.legend(fontsize=8, ncols=2)
