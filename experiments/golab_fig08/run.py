"""Chains of views and what they inherit: Golab et al. 2011, figure 8."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.common.experiment import Experiment, Finding, Row
from experiments.common.sweep import Lateness, Sweep, draw, numbers
from experiments.common.workload import Chains, Workload, evenly
from freshline.core.assembly import PolicySettings

# Base tables, a level of priority 1, and a third of 1, 10 or 100.
CHAINS = tuple(Chains(3, (0.001, 1.0, top)) for top in (1.0, 10.0, 100.0))
RULES = {
    "none": PolicySettings("max-benefit"),
    "max": PolicySettings("max-benefit", inherit="max"),
    "sum": PolicySettings("max-benefit", inherit="sum"),
    "max-plus, K = 2": PolicySettings("max-benefit", inherit="max-plus", inherit_factor=2.0),
    "max-plus, K = 10": PolicySettings("max-benefit", inherit="max-plus", inherit_factor=10.0),
}
SWEEP = Sweep(
    {"alternating": Workload(CHAINS), "even": evenly(Workload(CHAINS))},
    {**RULES, "index": PolicySettings("index")},
    loads=(0.4, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2),
    quick_loads=(0.8, 1.0, 1.2),
)


def findings(rows: Sequence[Row]) -> list[Finding]:
    """What the figure shows of the claims."""
    lateness = Lateness(rows)
    points = (0.8, 1.0, 1.2)
    inherited = [rule for rule in RULES if rule != "none"]

    def at(load: float, curve: str) -> float:
        return lateness("alternating", load, curve)

    def quoted(curves: Sequence[str]) -> str:
        return "; ".join(lateness.quoted("alternating", load, curves) for load in points)

    return [
        Finding(
            "without inheritance it is worst",
            quoted(("none", "max")),
            all(at(x, "none") > max(at(x, rule) for rule in inherited) for x in points),
        ),
        Finding(
            "max is the best of the rules, within 1 %",
            quoted(inherited),
            all(at(x, "max") <= 1.01 * min(at(x, rule) for rule in inherited) for x in points),
        ),
        Finding(
            "sum is the worst rule that inherits",
            quoted(("sum", "max-plus, K = 10")),
            all(at(x, "sum") >= max(at(x, rule) for rule in inherited) for x in points),
        ),
    ]


EXPERIMENT = Experiment(Path(__file__).parent, SWEEP.play, findings, draw, numbers)
