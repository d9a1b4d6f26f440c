"""How the depth of slow stretches matters: Golab et al. 2011, figure 4."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.common.experiment import Experiment, Finding, Row
from experiments.common.picture import GREY, axes_of
from experiments.common.sweep import BOUND, Lateness, Sweep, numbers
from experiments.common.workload import PERIOD_S, Chains, Workload, evenly
from freshline.core.assembly import PolicySettings

JOBS = (Chains(30),)
CYCLE_S = 20.0 * PERIOD_S
POLICY = "max-benefit"


def slowed(factor: float) -> Workload:
    """Stretches that double the mean time of an update, as 4.1 wants: with S = 2, always slow."""
    slow_s = CYCLE_S / (factor - 1.0)
    return Workload(JOBS, factor=factor, normal_s=CYCLE_S - slow_s, slow_s=slow_s)


SLOWED = {f"S = {factor}": slowed(float(factor)) for factor in (2, 3, 5, 9)}
SWEEP = Sweep(
    {**SLOWED, "even": evenly(Workload(JOBS))},
    {POLICY: PolicySettings(POLICY)},
    loads=(0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2),
    quick_loads=(0.3, 0.6, 1.0),
)


def findings(rows: Sequence[Row]) -> list[Finding]:
    """What the figure shows of the claims."""
    lateness = Lateness(rows)

    def at(load: float) -> dict[str, float]:
        return {name: lateness(name, load, POLICY) for name in SLOWED}

    def quoted(load: float) -> str:
        return f"at {load:g}: " + ", ".join(f"{name} {v:.2f}" for name, v in at(load).items())

    middle, top = at(0.6), at(1.0)
    return [
        Finding(
            "S has a significant effect at the same mean load",
            f"{quoted(0.6)}; {quoted(1.0)}",
            max(top.values()) > 1.3 * min(top.values()),
        ),
        Finding(
            "below full load the deepest stretches cost more than none",
            quoted(0.6),
            min(middle, key=lambda name: middle[name]) == "S = 2",
        ),
        Finding(
            "the deeper, the worse, at full load too (not claimed)",
            quoted(1.0),
            _rises(list(top.values())),
        ),
    ]


def _rises(values: Sequence[float]) -> bool:
    return list(values) == sorted(values)


def draw(rows: Sequence[Row], path: Path) -> None:
    """One line for each S, and the bound of the even workload."""
    lateness = Lateness(rows)
    with axes_of(path) as (axis,):
        for name in (*SLOWED, "even"):
            loads = lateness.loads(name)
            axis.plot(loads, [lateness(name, x, POLICY) for x in loads], "o-", label=name)
        bound = [lateness("even", load, BOUND) for load in lateness.loads("even")]
        axis.plot(lateness.loads("even"), bound, "--", color=GREY, label="lower bound, even")
        axis.set(xlabel="load a track", ylabel="relative lateness", title=POLICY)
        axis.legend(fontsize=8)


EXPERIMENT = Experiment(Path(__file__).parent, SWEEP.play, findings, draw, numbers)
