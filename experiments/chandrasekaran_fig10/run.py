"""The tightest deadlines, input other than predicted (figure 10): 0.1D, delta_RSF 100 %.

Source: Chandrasekaran and Sudarshan 2024, section 7.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.common import report_grid
from experiments.common.experiment import Experiment, Finding, Row
from experiments.common.report_grid import Bars
from experiments.common.report_profiles import JOINT, PAPER, REANCHORED, SLOWER, cells
from experiments.common.size import Size

HERE = Path(__file__).parent
FASTER = ("VR1", "VR2")


def play(size: Size) -> list[Row]:
    """A row for every profile and policy."""
    return report_grid.play(list(cells(size, 0.1, 1.0)), size)


def findings(rows: Sequence[Row]) -> list[Finding]:
    """Section 7.4's sentences on figure 10, and ours."""
    bars = Bars(rows)
    cases = bars.cases
    costs = [bars.cost("FR", policy) for policy in PAPER]
    slower = [bars.batches("VR4", policy) for policy in ("edf", "llf")]
    ours = [case for case in cases if bars.has(case, JOINT)]
    joint = [bars.cost(case, JOINT) for case in ours]
    return [
        Finding(
            "edf and llf meet every deadline under every profile",
            f"{', '.join(cases)}: {bars.quoted(('edf', 'llf'), cases)}",
            all(bars.all_met(case, policy) for case in cases for policy in ("edf", "llf")),
        ),
        Finding(
            "sjf and rr meet them under VR1 and VR2",
            bars.quoted(("sjf", "rr"), FASTER),
            all(bars.all_met(case, policy) for case in FASTER for policy in ("sjf", "rr")),
        ),
        Finding(
            "sjf and rr fail under FR, VR3 and VR4",
            bars.quoted(("sjf", "rr"), ("FR", *SLOWER)),
            not any(
                bars.all_met(case, policy) for case in ("FR", *SLOWER) for policy in ("sjf", "rr")
            ),
        ),
        Finding(
            "the cost is twice that of single batches",
            f"{min(costs):.3f} to {max(costs):.3f} under FR",
            min(costs) >= 1.9 and max(costs) <= 2.1,
        ),
        Finding(
            "slower input makes more batches: VR4 410, FR 329",
            f"VR4 {min(slower)} to {max(slower)}, FR {bars.batches('FR', 'llf')}",
            min(slower) > bars.batches("FR", "llf"),
        ),
        Finding(
            "ours: joint meets every deadline under every profile at 1.20 or less",
            f"{bars.quoted((JOINT,), ours)}; {min(joint):.3f} to {max(joint):.3f}",
            all(bars.all_met(case, JOINT) for case in ours) and max(joint) <= 1.2,
        ),
        Finding(
            "ours: re-anchored batch sizes lose the start that the paper's rule has",
            f"VR3: {bars.quoted((REANCHORED, 'llf'), ('VR3',))}",
            not bars.all_met("VR3", REANCHORED),
        ),
    ]


EXPERIMENT = Experiment(HERE, play, findings, report_grid.draw, report_grid.numbers)
