"""Variants of the proportional partition: Golab et al. 2011, figure 10."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.common.experiment import Experiment, Finding, Row
from experiments.common.sweep import Lateness, Sweep, draw, numbers
from experiments.common.workload import Workload, evenly
from experiments.golab_fig09.run import JOBS
from freshline.core.assembly import PolicySettings


def _proportional(allocation: str, *, aggressive: bool) -> PolicySettings:
    return PolicySettings("max-benefit", "proportional", 1.0, allocation, aggressive)


POLICIES = {
    "basic": _proportional("basic", aggressive=False),
    "all": _proportional("all", aggressive=False),
    "all, aggressive": _proportional("all", aggressive=True),
}
SWEEP = Sweep(
    {"alternating": Workload(JOBS), "even": evenly(Workload(JOBS))},
    POLICIES,
    loads=(0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1),
    quick_loads=(0.5, 0.8, 1.1),
    lengthened=3,
)


def findings(rows: Sequence[Row]) -> list[Finding]:
    """What the figure shows of the claims."""
    lateness = Lateness(rows)

    def at(load: float, curve: str) -> float:
        return lateness("alternating", load, curve)

    return [
        Finding(
            "at low load it is better to divide all tracks",
            lateness.quoted("alternating", 0.5, ("basic", "all")),
            at(0.5, "all") < at(0.5, "basic"),
        ),
        Finding(
            "all and aggressive is good at every load: within 3 % of the best variant",
            "; ".join(lateness.quoted("alternating", x, tuple(POLICIES)) for x in (0.5, 0.8, 1.1)),
            all(
                at(x, "all, aggressive") <= 1.03 * min(at(x, name) for name in POLICIES)
                for x in (0.5, 0.8, 1.1)
            ),
        ),
        Finding(
            "aggressive promotion helps at high load",
            lateness.quoted("alternating", 1.1, ("all", "all, aggressive")),
            at(1.1, "all, aggressive") < at(1.1, "all"),
        ),
    ]


EXPERIMENT = Experiment(Path(__file__).parent, SWEEP.play, findings, draw, numbers)
