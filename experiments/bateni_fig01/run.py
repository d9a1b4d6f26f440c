"""Staleness, flow, stretch, LOW and penalty of one table: Bateni et al. 2009, figure 1.

The figure has no numbers; these are ours, and each quantity stands beside its formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.common.experiment import Experiment, Row
from experiments.common.size import Size
from experiments.common.worked import (
    Fed,
    Run,
    beside,
    compared,
    draw_runs,
    findings,
    scenario,
)
from freshline.core.assembly import PolicySettings

R1, R2, R3 = 4.0, 9.0, 12.0
BETA = 0.5
HORIZON_S = 17.0
# They keep the processor busy until s = 5 and from 7 to s' = 13.
OTHERS = (
    Fed("other", (2.0,), period_s=2.0, alpha_s=3.0),
    Fed("long", (6.0,), period_s=6.0, alpha_s=6.0),
)


def _run(*releases: float) -> Run:
    table = Fed("i", releases, period_s=4.0, beta=BETA)
    policy = PolicySettings("myopic")
    return Run(scenario([table, *OTHERS], horizon_s=HORIZON_S, policy=policy))


def play(_size: Size) -> list[Row]:
    """Each quantity of section 2 by its formula, and as the simulator measures it."""
    run, merged = _run(R1, R2, R3), _run(R1, R3)
    first, second = run.of("i")
    f1, f2 = first.finish_s, second.finish_s
    low_s2 = R1**2 + (R2 - R1) ** 2 + (R3 - R2) ** 2
    penalty_s2 = f1**2 + (f2 - R1) ** 2
    stretch = max(f1 / R1, (f2 - R1) / (R2 - R1), (f2 - R2) / (R3 - R2))
    area_s2 = f1**2 / 2 + ((f2 - R1) ** 2 - (f1 - R1) ** 2) / 2
    measured_s2 = run.area_s2("i", 0.0, f2)
    others = _others(run)
    return [
        compared("f = s + alpha_i (r1 - r0)", first.start_s + BETA * R1, f1),
        compared("f' = s' + alpha_i (r3 - r1)", second.start_s + BETA * (R3 - R1), f2),
        compared(
            "updates 2 and 3 in one batch", "(4, 12]", f"({second.from_s:g}, {second.to_s:g}]"
        ),
        compared("total staleness up to f', by areas", area_s2, measured_s2),
        compared("LOW of table i", low_s2, run.played.low_s2 - others[0]),
        compared("penalty of table i", penalty_s2, run.played.penalty_s2 - others[1]),
        compared("stretch: the largest of the three quotients", stretch, _stretch(run)),
        compared(
            "LOW/2 <= staleness <= penalty/2",
            "yes",
            "yes" if low_s2 / 2 <= measured_s2 <= penalty_s2 / 2 else "no",
        ),
        compared(
            "one update for (r1, r3] instead of two: staleness",
            "the same",
            "the same" if merged.area_s2("i", 0.0, f2) == measured_s2 else "another",
        ),
    ]


def _others(run: Run) -> tuple[float, float]:
    """What the other tables add to LOW and penalty."""
    low_s2 = penalty_s2 = 0.0
    for spec in run.scenario.tables:
        if spec.name != "i":
            before_s = 0.0
            for _, timestamp_s in run.scenario.feeds[spec.name].arrivals or ():
                low_s2 += (timestamp_s - before_s) ** 2
                before_s = timestamp_s
            penalty_s2 += sum((u.finish_s - u.from_s) ** 2 for u in run.of(spec.name))
    return low_s2, penalty_s2


def _stretch(run: Run) -> float:
    stretch = run.played.stretch
    assert stretch is not None
    return stretch


def draw(_rows: Sequence[Row], path: Path) -> None:
    """Figure 1."""
    draw_runs({"": _run(R1, R2, R3)}, path, ["i"])


EXPERIMENT = Experiment(Path(__file__).parent, play, findings, draw, beside)
