"""The index policy against every other one, over a grid of scenarios.

``python -m experiments.index_grid.run [PART ...]`` from the root writes results.csv and
picture.svg beside this file. A part is an environment or environment/shape; parts that are named
replace only their own rows. With QUICK=1 a small part of the grid, printed only.
"""

from __future__ import annotations

import csv
import os
import random
import sys
import tomllib
from collections.abc import Sequence
from itertools import product
from multiprocessing import Pool
from pathlib import Path
from statistics import fmean
from typing import Any

from freshline.core.assembly import PolicySettings
from freshline.core.model import TableSpec
from freshline.sim.driver import play
from freshline.sim.ideal import ideal_weighted_staleness_s2
from freshline.sim.lower_bound import lower_bound_s2
from freshline.sim.scenario import FeedSpec, Scenario, Slowdown

HERE = Path(__file__).parent
INHERITANCE = ("none", "max", "sum", "max-plus")
OTHERS = {
    **{name: PolicySettings(name=name) for name in ("fifo", "random", "edf", "myopic")},
    **{
        f"{name} {rule}": PolicySettings(name=name, inherit=rule, inherit_factor=2.0)
        for name in ("edf-p", "max-benefit")
        for rule in INHERITANCE
    },
    **{
        f"lookahead {rule}": PolicySettings(name="lookahead", inherit=rule)
        for rule in ("none", "max")
    },
}
INDEX = PolicySettings(name="index")
ENVIRONMENTS = ("plain", "slow", "outage")
SLOW = Slowdown(3.0, 100.0, 100.0)
OUTAGES = {0: ((200.0, 400.0),), 3: ((600.0, 700.0),), 5: ((300.0, 350.0),)}
COLUMNS = ("environment", "shape", "spread", "share", "load", "index", "best other", "which")
AIM, DEAR, BUSY = 1.03, 0.9, 1.5
MORE = ("index / best other", "index / max-benefit none", "index / max-benefit max")
HEAD = (*COLUMNS, *MORE, "index / lower bound")

Cell = tuple[str, str, str, float, float]


def scenario(cell: Cell, seed: int, params: dict[str, Any]) -> Scenario:
    """A scenario of ``cell``: the seed draws priorities, periods, costs, phases and sources."""
    environment, shape, spread, share, load = cell
    chance = random.Random(seed)
    count = params["tables"]
    bases = count if shape == "flat" else count // 3
    wide = spread == "wide"
    periods = [chance.uniform(2.0, 20.0) if wide else 10.0 for _ in range(bases)]
    sources = [()] * bases + [
        _sources(shape, order, bases, chance) for order in range(bases, count)
    ]
    for order in range(bases, count):
        periods.append(max(periods[source] for source in sources[order]))
    seconds = [period * chance.uniform(0.5, 1.5) for period in periods]
    used = sum(second / period for second, period in zip(seconds, periods, strict=True))
    scale = load * params["tracks"] / used
    tables, feeds = [], {}
    for order in range(count):
        whole_s = seconds[order] * scale
        name = f"t{order}"
        names = tuple(f"t{source}" for source in sources[order])
        priority = float(chance.randint(1, 9)) if wide else 1.0
        beta = (1.0 - share) * whole_s / periods[order]
        tables.append(TableSpec(name, names, periods[order], priority, share * whole_s, beta))
        if order < bases:
            phase_s = chance.uniform(0.0, periods[order])
            outages = OUTAGES.get(order, ()) if environment == "outage" else ()
            feeds[name] = FeedSpec(phase_s, periods[order], None, outages)
    slowdown = SLOW if environment == "slow" else None
    horizon_s, tracks = params["horizon_s"], params["tracks"]
    return Scenario(horizon_s, seed, tracks, INDEX, 1.0, 1.0, slowdown, tuple(tables), feeds)


def _sources(shape: str, order: int, bases: int, chance: random.Random) -> tuple[int, ...]:
    if shape == "chain":
        return (order - bases,)
    if shape == "tree":
        return (chance.randrange(order),)
    return tuple(chance.sample(range(order), 2))


def measured(job: tuple[Cell, int, dict[str, Any]]) -> dict[str, float]:
    """Relative lateness of every policy on one scenario, and that of the bound."""
    cell, seed, params = job
    base = scenario(cell, seed, params)
    ideal_s2 = ideal_weighted_staleness_s2(base)
    result = {"lower bound": lower_bound_s2(base) / ideal_s2}
    for name, policy in {**OTHERS, "index": INDEX}.items():
        own = Scenario(
            base.horizon_s,
            seed,
            base.tracks,
            policy,
            1.0,
            1.0,
            base.slowdown,
            base.tables,
            base.feeds,
        )
        result[name] = play(own).weighted_staleness_s2 / ideal_s2
    return result


def row(cell: Cell, runs: list[dict[str, float]]) -> list[Any]:
    """The line of a cell; "best other" is the policy with the least mean."""
    means = {name: fmean(run[name] for run in runs) for name in runs[0]}
    best = min(OTHERS, key=lambda name: means[name])
    index = means["index"]
    ratios = [
        index / means[best],
        index / means["max-benefit none"],
        index / means["max-benefit max"],
        index / means["lower bound"],
    ]
    return [*cell, f"{index:.4f}", f"{means[best]:.4f}", best, *(f"{r:.4f}" for r in ratios)]


def cells(params: dict[str, Any], *, quick: bool) -> list[Cell]:
    """Every cell of the grid."""
    found: list[Cell] = []
    for environment in ENVIRONMENTS:
        part = params["quick"] if quick else params[environment]
        shapes = params["quick"]["shapes"] if quick else params["shapes"]
        found += [
            (environment, *rest)
            for rest in product(shapes, params["spreads"], part["shares"], part["loads"])
        ]
    return found


def summary(rows: list[dict[str, str]]) -> list[str]:
    """What the page quotes."""
    ratio = [float(item["index / best other"]) for item in rows]
    dear = [r for r in rows if float(r["share"]) >= DEAR and float(r["load"]) >= BUSY]
    within = sum(r <= AIM for r in ratio)
    lines = [f"{len(rows)} cells; at most 3 % above the best other in {within}"]
    lines.append(f"worst {max(ratio):.3f}, mean {fmean(ratio):.3f}")
    for spread in ("equal", "wide", ""):
        chosen = [item for item in dear if spread in item["spread"]]
        for rule in ("none", "max"):
            mean = fmean(float(item[f"index / max-benefit {rule}"]) for item in chosen)
            lines.append(
                f"start-up >= 0.9, load >= 1.5, {spread or 'all'}: {mean:.3f} of "
                f"max-benefit's, inherit {rule}"
            )
        bound = fmean(float(item["index / lower bound"]) for item in chosen)
        lines.append(f"  and {bound:.3f} of the lower bound")
    for item in sorted(rows, key=lambda item: -float(item["index / best other"]))[:12]:
        if float(item["index / best other"]) > AIM:
            lines.append("  " + ", ".join(item[name] for name in (*COLUMNS, MORE[0])))  # noqa: PERF401
    return lines


def draw(rows: list[dict[str, str]]) -> None:
    """Left: index over the best other policy, right: over the bound; each point a cell."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "index_grid"
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4), constrained_layout=True)
    for axis, key in zip(axes, ("index / best other", "index / lower bound"), strict=True):
        for environment in ENVIRONMENTS:
            part = [item for item in rows if item["environment"] == environment]
            fluid = [(1.0 - float(i["share"])) * float(i["load"]) for i in part]
            axis.plot(fluid, [float(i[key]) for i in part], ".", label=environment)
        axis.axhline(1.0, color="grey", linewidth=0.8)
        axis.set_xlabel("seconds of work per second and track that no waiting saves")
        axis.set_title(key)
        axis.legend()
    figure.savefig(HERE / "picture.svg", metadata={"Date": None})


def played(environment: str, shape: str, wanted: Sequence[str]) -> bool:
    """Whether a cell belongs to the parts that were asked for; all do where none was."""
    return not wanted or environment in wanted or f"{environment}/{shape}" in wanted


def kept(wanted: Sequence[str]) -> list[dict[str, str]]:
    """The rows of results.csv that are not played again."""
    path = HERE / "results.csv"
    if not path.exists():
        return []
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [item for item in rows if not played(item["environment"], item["shape"], wanted)]


def main() -> None:
    """Play the grid and write what came of it."""
    params = tomllib.loads((HERE / "params.toml").read_text())
    quick = os.environ.get("QUICK") == "1"
    if quick:
        params.update(seeds=params["quick"]["seeds"], horizon_s=params["quick"]["horizon_s"])
    wanted = sys.argv[1:]
    grid = [cell for cell in cells(params, quick=quick) if played(cell[0], cell[1], wanted)]
    jobs = [(cell, seed, params) for cell in grid for seed in params["seeds"]]
    with Pool(2) as pool:
        runs = pool.map(measured, jobs, chunksize=4)
    each = len(params["seeds"])
    lines = [row(cell, runs[at * each : (at + 1) * each]) for at, cell in enumerate(grid)]
    rows = [dict(zip(HEAD, map(str, line), strict=True)) for line in lines]
    if not quick:
        rows = kept(wanted) + rows
        rows.sort(
            key=lambda item: (
                ENVIRONMENTS.index(item["environment"]),
                params["shapes"].index(item["shape"]),
            )
        )
        with (HERE / "results.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, HEAD, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        draw(rows)
    sys.stdout.write("\n".join(summary(rows)) + "\n")


if __name__ == "__main__":
    main()
