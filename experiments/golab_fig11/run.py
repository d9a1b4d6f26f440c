"""Chopping long updates after an overload: Golab et al. 2011, figure 11."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.common.experiment import Experiment, Finding, Row
from experiments.common.sweep import Lateness, Sweep, draw, numbers
from experiments.common.workload import PERIOD_S, Chains, Workload, evenly
from freshline.core.assembly import PolicySettings

CHAINS = (Chains(15, (1.0, 10.0)),)
CHOP = 3.0
POLICIES = {
    "whole": PolicySettings("max-benefit"),
    "chopped": PolicySettings("max-benefit", chop=CHOP),
    "whole, inherit max": PolicySettings("max-benefit", inherit="max"),
    "chopped, inherit max": PolicySettings("max-benefit", inherit="max", chop=CHOP),
}
SHORT, LONG = "stretches of 10 periods", "stretches of 50 periods"
SWEEP = Sweep(
    {
        SHORT: Workload(CHAINS),
        LONG: Workload(CHAINS, normal_s=50.0 * PERIOD_S, slow_s=50.0 * PERIOD_S),
        "even": evenly(Workload(CHAINS)),
    },
    POLICIES,
    loads=(0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 1.0, 1.1, 1.2),
    quick_loads=(0.75, 1.0, 1.2),
)


def findings(rows: Sequence[Row]) -> list[Finding]:
    """What the figure shows of the claims."""
    lateness = Lateness(rows)

    def compared(workload: str, loads: Sequence[float], suffix: str = "") -> Finding:
        pair = (f"whole{suffix}", f"chopped{suffix}")
        return Finding(
            f"chopping helps, {workload}{suffix}",
            "; ".join(lateness.quoted(workload, load, pair) for load in loads),
            all(lateness(workload, x, pair[1]) < lateness(workload, x, pair[0]) for x in loads),
        )

    high = (1.0, 1.2)
    return [
        compared(SHORT, high),
        compared(LONG, high),
        compared(LONG, (0.75,), ", inherit max"),
    ]


EXPERIMENT = Experiment(Path(__file__).parent, SWEEP.play, findings, draw, numbers)
