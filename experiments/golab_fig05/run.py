"""Max benefit against EDF-P where costs differ: Golab et al. 2011, figure 5."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.common.experiment import Experiment, Finding, Row
from experiments.common.sweep import Lateness, Sweep, draw, numbers
from experiments.common.workload import Chains, Workload, evenly
from freshline.core.assembly import PolicySettings

JOBS = (Chains(15, beta=0.1), Chains(15, beta=0.01))
POLICIES = ("max-benefit", "edf-p", "lookahead", "index")
SWEEP = Sweep(
    {
        "alternating": Workload(JOBS),
        "always slow": Workload(JOBS, always_slow=True),
        "even": evenly(Workload(JOBS)),
    },
    {name: PolicySettings(name) for name in POLICIES},
    loads=(0.4, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2),
    quick_loads=(0.7, 0.8, 1.0, 1.1, 1.2),
)


def findings(rows: Sequence[Row]) -> list[Finding]:
    """What the figure shows of the claims."""
    lateness = Lateness(rows)
    onset = (0.7, 0.8)
    pair = ("edf-p", "max-benefit")

    def edf_better(workload: str, load: float) -> bool:
        return lateness(workload, load, "edf-p") < lateness(workload, load, "max-benefit")

    return [
        Finding(
            "where lateness sets in, EDF-P is better",
            "; ".join(lateness.quoted("alternating", load, pair) for load in onset),
            all(edf_better("alternating", load) for load in onset),
        ),
        Finding(
            "at high load max benefit is better",
            lateness.quoted("alternating", 1.2, pair),
            not edf_better("alternating", 1.2),
        ),
        Finding(
            "the same crossing in the first type of experiment, always slow",
            "; ".join(lateness.quoted("always slow", load, pair) for load in (1.0, 1.1)),
            edf_better("always slow", 1.0) and not edf_better("always slow", 1.1),
        ),
        Finding(
            "lookahead gains very little over max benefit (4.2)",
            "; ".join(
                lateness.quoted("alternating", load, ("lookahead", "max-benefit"))
                for load in (0.8, 1.2)
            ),
            all(
                0.95 * lateness("alternating", load, "max-benefit")
                <= lateness("alternating", load, "lookahead")
                for load in (0.8, 1.2)
            ),
        ),
    ]


EXPERIMENT = Experiment(Path(__file__).parent, SWEEP.play, findings, draw, numbers)
