"""Two classes of priorities: Golab et al. 2011, figure 7."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.common.experiment import Experiment, Finding, Row
from experiments.common.sweep import Lateness, Sweep, draw, numbers
from experiments.common.workload import Chains, Workload, evenly
from freshline.core.assembly import PolicySettings

JOBS = (Chains(15, (1.0,)), Chains(15, (10.0,)))
POLICIES = ("max-benefit", "edf-p", "edf", "random", "index")
SWEEP = Sweep(
    {"alternating": Workload(JOBS), "even": evenly(Workload(JOBS))},
    {name: PolicySettings(name) for name in POLICIES},
    loads=(0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1),
    quick_loads=(0.6, 0.8, 1.0),
)


def findings(rows: Sequence[Row]) -> list[Finding]:
    """What the figure shows of the claims."""
    lateness = Lateness(rows)

    def at(load: float, curve: str) -> float:
        return lateness("alternating", load, curve)

    points = (0.8, 1.0)
    blind = ("edf", "random")
    return [
        Finding(
            "max benefit is far better than EDF and random, which do not see priorities",
            "; ".join(lateness.quoted("alternating", x, ("max-benefit", *blind)) for x in points),
            all(at(x, "max-benefit") < 0.8 * at(x, name) for x in points for name in blind),
        ),
        Finding(
            "EDF-P and max benefit give identical results",
            "; ".join(lateness.quoted("alternating", x, ("edf-p", "max-benefit")) for x in points),
            all(abs(at(x, "edf-p") / at(x, "max-benefit") - 1.0) < 0.03 for x in points),
        ),
        Finding(
            "ours: index is at least as good as max benefit, within 3 %",
            "; ".join(lateness.quoted("alternating", x, ("index", "max-benefit")) for x in points),
            all(at(x, "index") <= 1.03 * at(x, "max-benefit") for x in points),
        ),
    ]


EXPERIMENT = Experiment(Path(__file__).parent, SWEEP.play, findings, draw, numbers)
