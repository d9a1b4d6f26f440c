"""Tight deadlines, input other than predicted (figure 11): 0.2D, delta_RSF 50 %.

Source: Chandrasekaran and Sudarshan 2024, section 7.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.common import report_grid
from experiments.common.experiment import Experiment, Finding, Row
from experiments.common.report_grid import Bars
from experiments.common.report_profiles import JOINT, SLOWER, cells
from experiments.common.size import Size

HERE = Path(__file__).parent


def play(size: Size) -> list[Row]:
    """A row for every profile and policy."""
    return report_grid.play(list(cells(size, 0.2, 0.5)), size)


def findings(rows: Sequence[Row]) -> list[Finding]:
    """Section 7.4's sentences on figure 11, and ours."""
    bars = Bars(rows)
    cases = bars.cases
    ours = [case for case in cases if bars.has(case, JOINT)]
    joint = [bars.cost(case, JOINT) for case in ours]
    return [
        Finding(
            "edf and llf meet every deadline under every profile",
            f"{', '.join(cases)}: {bars.quoted(('edf', 'llf'), cases)}",
            all(bars.all_met(case, policy) for case in cases for policy in ("edf", "llf")),
        ),
        Finding(
            "rr fails under VR3 and VR4",
            bars.quoted(("rr",), SLOWER),
            not any(bars.all_met(case, "rr") for case in SLOWER),
        ),
        Finding(
            "sjf fails under FR", bars.quoted(("sjf",), ("FR",)), not bars.all_met("FR", "sjf")
        ),
        Finding(
            "sjf meets them under VR3 and VR4: less is left for the last batch",
            bars.quoted(("sjf",), SLOWER),
            all(bars.all_met(case, "sjf") for case in SLOWER),
        ),
        Finding(
            "ours: joint meets every deadline under every profile at 1.20 or less",
            f"{bars.quoted((JOINT,), ours)}; {min(joint):.3f} to {max(joint):.3f}",
            all(bars.all_met(case, JOINT) for case in ours) and max(joint) <= 1.2,
        ),
    ]


EXPERIMENT = Experiment(HERE, play, findings, report_grid.draw, report_grid.numbers)
