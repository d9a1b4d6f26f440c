"""A long update starves short ones at 60 % load: Golab et al. 2011, 1.1 (heterogeneity)."""

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

HORIZON_S = 10_000.0
TABLES = (
    Fed("short 1", period_s=10.0, alpha_s=2.0),
    Fed("short 2", period_s=10.0, alpha_s=2.0),
    Fed("long", period_s=100.0, alpha_s=20.0),
)


def _run(tracks: int, horizon_s: float = HORIZON_S) -> Run:
    given = scenario(TABLES, horizon_s=horizon_s, policy=PolicySettings("edf"), tracks=tracks)
    return Run(given)


def play(_size: Size) -> list[Row]:
    """What accumulates behind the long update, on one track and on two."""
    load = sum(table.alpha_s / table.period_s for table in TABLES)
    one, two = _run(1), _run(2)
    return [
        compared("load of the three, percent", 60, 100.0 * load),
        compared(
            "updates of short tables accumulate behind the long one",
            "yes",
            "yes" if _most_files(one) > 1 else "no",
        ),
        compared("files merged into one update of a short table, one track", "", _most_files(one)),
        compared("files merged into one update of a short table, two tracks", "", _most_files(two)),
        compared("largest staleness of short 1, one track", "", _largest_s(one)),
        compared("largest staleness of short 1, two tracks", "", _largest_s(two)),
        bound_row(one),
    ]


def _most_files(run: Run) -> int:
    return round(max((u.to_s - u.from_s) / 10.0 for u in run.trace if u.table != "long"))


def _largest_s(run: Run) -> float:
    return run.played.staleness["short 1"].max_s


def draw(_rows: Sequence[Row], path: Path) -> None:
    """The first 250 s on one track and on two."""
    draw_runs({f"{n} track{'s' * (n > 1)}": _run(n, 250.0) for n in (1, 2)}, path)


EXPERIMENT = Experiment(Path(__file__).parent, play, findings, draw, beside)
