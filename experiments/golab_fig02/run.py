"""Staleness of a base table over time: Golab et al. 2011, 2.3 and figure 2."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.common.experiment import Experiment, Row
from experiments.common.size import Size
from experiments.common.worked import (
    Fed,
    Run,
    beside,
    bound_row,
    compared,
    draw_runs,
    findings,
    scenario,
)
from freshline.core.assembly import PolicySettings

HORIZON_S = 12.0
# The system is busy with another table from 5 to 10.
BUSY = Fed("other", (5.0,), period_s=5.0, alpha_s=5.0)
SECOND, THIRD = (7.0, 7.0), (9.0, 9.0)


def _run(*later: tuple[float, float]) -> Run:
    table = Fed("T", ((4.0, 3.0), *later), period_s=3.0, alpha_s=1.0)
    return Run(scenario([table, BUSY], horizon_s=HORIZON_S, policy=PolicySettings("fifo")))


def play(_size: Size) -> list[Row]:
    """What 2.3 and 2.4 say of the figure."""
    run, without = _run(SECOND, THIRD), _run(THIRD)
    first, second = run.of("T")
    area_s2 = run.area_s2("T", 0.0, HORIZON_S)
    return [
        compared("first update finishes at", 5, first.finish_s),
        compared("staleness then drops to", 2, first.finish_s - first.to_s),
        compared("freshness delta at 7, when the second batch is there", 4, 7.0 - first.to_s),
        compared("both batches are in at", 11, second.finish_s),
        compared("staleness then drops to", 2, second.finish_s - second.to_s),
        compared(
            "without the second batch, the data in the third: staleness",
            "the same",
            "the same" if without.area_s2("T", 0.0, HORIZON_S) == area_s2 else "another",
        ),
        compared("integral of the staleness of T to 12", "", area_s2),
        bound_row(run),
    ]


def draw(_rows: Sequence[Row], path: Path) -> None:
    """Figure 2."""
    draw_runs({"": _run(SECOND, THIRD)}, path, ["T"])


EXPERIMENT = Experiment(Path(__file__).parent, play, findings, draw, beside)
