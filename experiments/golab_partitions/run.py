"""Four jobs on two tracks: the partitioning example of Golab et al. 2011, 3.2.4."""

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
from freshline.core.assembly import PolicySettings, make_scheduler
from freshline.core.model import Table
from freshline.core.partitions.edf_partitioned import EdfPartitioned
from freshline.core.partitions.proportional import Proportional, clustered
from freshline.core.placement import nominal_s

TRACKS = 2
HORIZON_S = 400.0
TABLES = (
    Fed("J1", period_s=4.0, alpha_s=1.0),
    Fed("J2", period_s=4.0, alpha_s=1.0),
    Fed("J3", period_s=8.0, alpha_s=2.0),
    Fed("J4", period_s=10.0, alpha_s=1.25),
)
PARTITIONED = PolicySettings("max-benefit", "edf-partitioned")
PROPORTIONAL = PolicySettings("max-benefit", "proportional", clustering=0.3, allocation="all")
GIVEN = scenario(TABLES, horizon_s=HORIZON_S, policy=PolicySettings(), tracks=TRACKS)


def play(_size: Size) -> list[Row]:
    """Home tracks, promotions and clusters."""
    scheduler = make_scheduler(GIVEN.tables, tracks=TRACKS, settings=PolicySettings())
    tables = scheduler.tables
    homes = EdfPartitioned()
    homes.lay(tables, TRACKS)
    shares = [nominal_s(table) / (table.period_s or 1.0) for table in tables]
    loads = [
        sum(u for u, home in zip(shares, homes.home, strict=True) if home == track)
        for track in range(TRACKS)
    ]
    spread = Proportional(clustering=0.3, allocation="all")
    spread.lay(tables, TRACKS)
    runs = {name: _run(policy) for name, policy in _policies().items()}
    rows = [
        compared("home track of J1 to J4, from 0", "0 0 1 1", _spaced(homes.home)),
        compared("loads of the two tracks", "0.5 0.375", _spaced(loads)),
        compared("may be promoted", "J4", _spaced(_promotable(homes))),
        compared("U", 0.875, sum(shares)),
        compared("clusters with k = 2", "{J1 J2} {J3 J4}", _clusters(tables, 2.0)),
        compared("clusters with k = 0.3", "{J1 J2} {J3 J4}", _clusters(tables, 0.3)),
        compared("home tracks of the long cluster", "one", _count(spread.bounds[2])),
        compared("home tracks of the short cluster", "both", _count(spread.bounds[0])),
    ]
    for name, run in runs.items():
        rows.append(compared(f"mean staleness of J1, {name}", "", _mean_s(run, "J1")))
        rows.append(compared(f"mean staleness of J3, {name}", "", _mean_s(run, "J3")))
    return [*rows, bound_row(runs["none"])]


def _policies() -> dict[str, PolicySettings]:
    return {
        "none": PolicySettings("max-benefit"),
        "EDF partitioned": PARTITIONED,
        "proportional": PROPORTIONAL,
    }


def _run(policy: PolicySettings) -> Run:
    return Run(scenario(TABLES, horizon_s=HORIZON_S, policy=policy, tracks=TRACKS))


def _mean_s(run: Run, table: str) -> float:
    return round(run.area_s2(table, 0.0, HORIZON_S) / HORIZON_S, 3)


def _spaced(values: Sequence[object]) -> str:
    return " ".join(f"{v:g}" if isinstance(v, float) else str(v) for v in values)


def _promotable(homes: EdfPartitioned) -> list[str]:
    return [table.name for table, to in zip(TABLES, homes.promotable, strict=True) if to]


def _clusters(tables: Sequence[Table], clustering: float) -> str:
    found = clustered(tables, clustering)
    return " ".join(
        "{" + " ".join(sorted(table.name for table in cluster)) + "}" for cluster in found
    )


def _count(bounds: tuple[int, int]) -> str:
    return {1: "one", 2: "both"}[bounds[1] - bounds[0] + 1]


def draw(_rows: Sequence[Row], path: Path) -> None:
    """The first 60 s under each."""
    runs = {
        name: Run(scenario(TABLES, horizon_s=60.0, policy=policy, tracks=TRACKS))
        for name, policy in _policies().items()
    }
    draw_runs(runs, path, ["J1", "J3"])


EXPERIMENT = Experiment(Path(__file__).parent, play, findings, draw, beside)
