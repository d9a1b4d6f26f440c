"""Without a least batch size (figure 8): edf and llf taking whatever is there.

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
PLAIN = ("edf", "llf")
SPREAD = ("edf, starts spread", "llf, starts spread")
CASES = tuple(f"{factor:g}D" for factor in FACTORS)
PASSED = CASES[:3]
"""Where the paper's runs met every deadline; at 0.4D both failed."""


def play(size: Size) -> list[Row]:
    """A row for every deadline and policy, all windows at once and spread."""
    cells = [
        Cell(
            case,
            label,
            Scene(factor, spread=label in SPREAD),
            ReportPolicy(label[:3], min_batch=False),
            orders=5,
        )
        for case, factor in zip(CASES, FACTORS, strict=True)
        if not size.quick or case in ("1D", "0.6D", "0.4D")
        for label in (*PLAIN, *SPREAD)
    ]
    return report_grid.play(cells, size)


def findings(rows: Sequence[Row]) -> list[Finding]:
    """Section 7.4's sentences on figure 8."""
    bars = Bars(rows)
    passed = [case for case in bars.cases if case in PASSED]
    at_once = [bars.cost(case, policy) for case in bars.cases for policy in PLAIN]
    spread = [max(bars.cost(case, policy) for case in bars.cases) for policy in SPREAD]
    listed = f"{bars.cases[0]} to {bars.cases[-1]}: "
    return [
        Finding(
            "edf and llf without a least batch fail at 0.4D",
            bars.quoted((*PLAIN, *SPREAD), ("0.4D",)),
            not any(bars.all_met("0.4D", policy) for policy in (*PLAIN, *SPREAD)),
        ),
        Finding(
            "until 0.6D they meet every deadline",
            listed + bars.quoted((*PLAIN, *SPREAD), bars.cases),
            all(bars.all_met(case, policy) for case in passed for policy in (*PLAIN, *SPREAD)),
        ),
        Finding(
            "edf costs 15, llf 10 times as much as single batches",
            f"all windows at once {min(at_once):.1f} to {max(at_once):.1f}; "
            f"spread, at most edf {spread[0]:.1f}, llf {spread[1]:.1f}",
            13.0 <= spread[0] <= 17.0 and 8.0 <= spread[1] <= 12.0,
        ),
        Finding(
            "ours: a least batch size makes it several times cheaper (figure 7: 1.5)",
            f"without, at least {min(at_once):.1f}",
            min(at_once) > 3.0,
        ),
    ]


EXPERIMENT = Experiment(HERE, play, findings, report_grid.draw, report_grid.numbers)
