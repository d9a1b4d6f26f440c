"""Thirteen reports together at a fixed rate (figure 7): who meets which deadlines, at what cost.

Source: Chandrasekaran and Sudarshan 2024, section 7.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.common import report_grid
from experiments.common.experiment import Experiment, Finding, Row
from experiments.common.report_grid import Bars, Cell
from experiments.common.reports import FACTORS, Scene
from experiments.common.size import Size
from freshline.reports.policies import ReportPolicy

HERE = Path(__file__).parent
PAPER = ("edf", "llf", "sjf", "rr")
AUTO, JOINT = "llf auto", "joint"
SPREAD = "llf, starts spread"
CASES = tuple(f"{factor:g}D" for factor in FACTORS)


def cells(size: Size) -> list[Cell]:
    """A cell for every deadline and policy; the dear ones with fewer orders."""
    result: list[Cell] = []
    for case, factor in zip(CASES, FACTORS, strict=True):
        scene = Scene(factor)
        result += [Cell(case, name, scene, ReportPolicy(name)) for name in PAPER]
        result.append(Cell(case, SPREAD, Scene(factor, spread=True), ReportPolicy("llf"), orders=5))
        if not size.quick or factor in (1.0, 0.1):
            auto = ReportPolicy("llf", slack_factor=None)
            result.append(Cell(case, AUTO, scene, auto, orders=5))
            result.append(Cell(case, JOINT, scene, ReportPolicy(JOINT), orders=10))
    return result


def play(size: Size) -> list[Row]:
    """A row for every cell."""
    return report_grid.play(cells(size), size)


def findings(rows: Sequence[Row]) -> list[Finding]:
    """Section 7.4's sentences on figure 7, and what we say of auto and joint."""
    bars = Bars(rows)
    most = CASES[:-1]
    costs = [bars.cost(case, policy) for case in CASES for policy in PAPER]
    ours = [case for case in CASES if bars.has(case, JOINT)]
    joint = [bars.cost(case, JOINT) for case in ours]
    auto = [bars.cost(case, AUTO) for case in ours]
    return [
        Finding(
            "edf and llf meet all deadlines but those of 0.1D",
            f"1D to 0.1D: {bars.quoted(('edf', 'llf'), CASES)}",
            all(bars.all_met(case, policy) for case in most for policy in ("edf", "llf"))
            and not any(bars.all_met("0.1D", policy) for policy in ("edf", "llf")),
        ),
        Finding(
            "sjf meets them from 1D to 0.4D, not at 0.2D and 0.1D",
            bars.quoted(("sjf",), CASES),
            [bars.all_met(case, "sjf") for case in CASES] == [True] * 4 + [False] * 2,
        ),
        Finding(
            "rr meets them from 1D to 0.6D, not from 0.4D on",
            bars.quoted(("rr",), CASES),
            [bars.all_met(case, "rr") for case in CASES] == [True] * 3 + [False] * 3,
        ),
        Finding(
            "the cost is 1.5 times that of single batches",
            f"{min(costs):.3f} to {max(costs):.3f}",
            min(costs) >= 1.4 and max(costs) <= 1.6,
        ),
        Finding(
            "ours: joint meets every deadline, 0.1D too, at 1.20 or less",
            f"{min(joint):.3f} to {max(joint):.3f}",
            all(bars.all_met(case, JOINT) for case in ours) and max(joint) <= 1.2,
        ),
        Finding(
            "ours: a slack factor chosen by simulation meets every deadline, 0.1D too",
            f"{min(auto):.3f} at 1D to {max(auto):.3f}",
            all(bars.all_met(case, AUTO) for case in ours),
        ),
    ]


EXPERIMENT = Experiment(HERE, play, findings, report_grid.draw, report_grid.numbers)
