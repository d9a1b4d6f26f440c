"""Which of two updates goes first: Golab et al. 2011, 3.1 and figure 3."""

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

TAU_S = 10.0
END_S = TAU_S + 5.0
# At tau both have news: 10 s for table 1, 5 s for table 2, which was loaded once before.
TABLES = (
    Fed("T1", (10.0,), period_s=10.0, alpha_s=3.0),
    Fed("T2", (5.0, 10.0), period_s=5.0, alpha_s=2.0),
)


def _run(policy: str) -> Run:
    return Run(scenario(TABLES, horizon_s=END_S, policy=PolicySettings(policy)))


def play(_size: Size) -> list[Row]:
    """The areas under the curves from tau to tau + 5."""
    by_benefit, by_deadline = _run("max-benefit"), _run("edf")
    return [
        compared("max benefit starts first", "T1", _first(by_benefit)),
        compared(
            "J1 first: weighted staleness of table 1",
            42.5,
            by_benefit.area_s2("T1", TAU_S, END_S),
        ),
        compared(
            "J1 first: weighted staleness of table 2",
            37.5,
            by_benefit.area_s2("T2", TAU_S, END_S),
        ),
        compared("J1 first: total", 80, by_benefit.weighted_s2(TAU_S, END_S)),
        compared("J2 first (what EDF does): total", 85, by_deadline.weighted_s2(TAU_S, END_S)),
        compared("EDF starts first", "", _first(by_deadline)),
        bound_row(by_benefit),
    ]


def _first(run: Run) -> str:
    return next(update.table for update in run.trace if update.start_s >= TAU_S)


def draw(_rows: Sequence[Row], path: Path) -> None:
    """Figure 3, and the other order beside it."""
    runs = {"J1 first (max benefit)": _run("max-benefit"), "J2 first (EDF)": _run("edf")}
    draw_runs(runs, path)


EXPERIMENT = Experiment(Path(__file__).parent, play, findings, draw, beside)
