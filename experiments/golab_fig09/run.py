"""Periods of 100 s beside 10,000 s: Golab et al. 2011, figure 9."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.common.experiment import Experiment, Finding, Row
from experiments.common.sweep import Lateness, Sweep, draw, numbers
from experiments.common.workload import Chains, Workload, evenly
from freshline.core.assembly import PolicySettings

# Priorities are the inverse of the periods, so that a period's wait counts the same.
JOBS = (Chains(15, (100.0,), period_s=100.0), Chains(15, (1.0,), period_s=10_000.0))
GLOBAL, PARTITIONED, PROPORTIONAL = "max-benefit", "partitioned", "proportional"
POLICIES = {
    GLOBAL: PolicySettings("max-benefit"),
    PARTITIONED: PolicySettings("max-benefit", "edf-partitioned", aggressive=False),
    PROPORTIONAL: PolicySettings(
        "max-benefit", "proportional", clustering=1.0, allocation="basic", aggressive=False
    ),
    "index": PolicySettings("index"),
}
SWEEP = Sweep(
    {"alternating": Workload(JOBS), "even": evenly(Workload(JOBS))},
    POLICIES,
    loads=(0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1),
    quick_loads=(0.5, 0.7, 1.0),
    lengthened=3,
)


def findings(rows: Sequence[Row]) -> list[Finding]:
    """What the figure shows of the claims."""
    lateness = Lateness(rows)
    papers = (GLOBAL, PARTITIONED, PROPORTIONAL)

    def at(load: float, curve: str) -> float:
        return lateness("alternating", load, curve)

    return [
        Finding(
            "at lower load the partition is better than none",
            lateness.quoted("alternating", 0.5, papers),
            at(0.5, PARTITIONED) < at(0.5, GLOBAL),
        ),
        Finding(
            "at higher load the partition is worse than none",
            lateness.quoted("alternating", 1.0, papers),
            at(1.0, PARTITIONED) > at(1.0, GLOBAL),
        ),
        Finding(
            "proportional is the best of the three",
            f"{lateness.quoted('alternating', 0.7, papers)}; "
            f"{lateness.quoted('alternating', 1.0, papers)}",
            all(at(x, PROPORTIONAL) <= min(at(x, name) for name in papers) for x in (0.7, 1.0)),
        ),
        Finding(
            "also at half load",
            lateness.quoted("alternating", 0.5, papers),
            at(0.5, PROPORTIONAL) <= min(at(0.5, name) for name in papers),
        ),
    ]


EXPERIMENT = Experiment(Path(__file__).parent, SWEEP.play, findings, draw, numbers)
