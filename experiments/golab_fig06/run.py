"""Uniform jobs without slow stretches need no partition: Golab et al. 2011, figure 6."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.common.experiment import Experiment, Finding, Row
from experiments.common.sweep import Lateness, Sweep, draw, numbers
from experiments.common.workload import Chains, Workload
from freshline.core.assembly import PolicySettings

GLOBAL, RANDOM, PARTITIONED, PROPORTIONAL = "max-benefit", "random", "partitioned", "proportional"
POLICIES = {
    GLOBAL: PolicySettings("max-benefit"),
    RANDOM: PolicySettings("random"),
    PARTITIONED: PolicySettings("max-benefit", "edf-partitioned", aggressive=False),
    PROPORTIONAL: PolicySettings("max-benefit", "proportional", allocation="basic"),
}
# Five tracks; the load is made by S, as in the first type of experiment (4.1), so that the
# partition is laid for Table 2's costs: with costs that make the load it fits no five tracks.
SWEEP = Sweep(
    {"no slow stretches": Workload((Chains(30),), tracks=5, always_slow=True)},
    POLICIES,
    loads=(0.7, 0.8, 0.85, 0.9, 0.95, 0.99, 1.03, 1.07),
    quick_loads=(0.7, 0.95, 1.03),
)


def findings(rows: Sequence[Row]) -> list[Finding]:
    """What the figure shows of the claims."""
    lateness = Lateness(rows)
    (name,) = SWEEP.workloads

    def at(load: float, curve: str) -> float:
        return lateness(name, load, curve)

    every = tuple(POLICIES)
    return [
        Finding(
            "well below full load all are about as good",
            lateness.quoted(name, 0.7, every),
            max(at(0.7, curve) for curve in every) < 1.05,
        ),
        Finding(
            "the partition is the worst, worse than random",
            lateness.quoted(name, 0.95, every),
            at(0.95, PARTITIONED) > max(at(0.95, GLOBAL), at(0.95, RANDOM), at(0.95, PROPORTIONAL)),
        ),
        Finding(
            "proportional costs nothing against max benefit on all tracks",
            lateness.quoted(name, 0.95, (PROPORTIONAL, GLOBAL)),
            at(0.95, PROPORTIONAL) <= 1.01 * at(0.95, GLOBAL),
        ),
        Finding(
            "above full load max benefit stays stable",
            lateness.quoted(name, 1.03, (GLOBAL,)),
            at(1.03, GLOBAL) < 2.5,
        ),
        Finding(
            "above full load the partition is still worse than random",
            lateness.quoted(name, 1.03, (PARTITIONED, RANDOM)),
            at(1.03, PARTITIONED) > at(1.03, RANDOM),
        ),
    ]


EXPERIMENT = Experiment(Path(__file__).parent, SWEEP.play, findings, draw, numbers)
