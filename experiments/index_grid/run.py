"""The index policy against every other one, over a grid of scenarios (docs/index-policy.md)."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

from experiments.common.experiment import Experiment, Finding, Row
from experiments.common.picture import axes_of
from experiments.common.size import Size, each
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
AIM, DEAR, BUSY, GAIN = 1.03, 0.9, 1.5, 0.2
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
        own = replace(base, policy=policy)
        result[name] = play(own).weighted_staleness_s2 / ideal_s2
    return result


def row(cell: Cell, runs: list[dict[str, float]]) -> Row:
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
    line = [*cell, f"{index:.4f}", f"{means[best]:.4f}", best, *(f"{r:.4f}" for r in ratios)]
    return dict(zip(HEAD, map(str, line), strict=True))


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


def play_grid(size: Size) -> list[Row]:
    """Every cell, environment by environment."""
    params = tomllib.loads((HERE / "params.toml").read_text())
    if size.quick:
        params.update(seeds=params["quick"]["seeds"], horizon_s=params["quick"]["horizon_s"])
    grid = cells(params, quick=size.quick)
    seeds = params["seeds"]
    runs = each(measured, [(cell, seed, params) for cell in grid for seed in seeds], size)
    count = len(seeds)
    return [row(cell, runs[at * count : (at + 1) * count]) for at, cell in enumerate(grid)]


def _ratios(rows: Sequence[Row], name: str) -> list[float]:
    return [float(row[name]) for row in rows]


def possible(row: Row) -> float:
    """Bound / max benefit: no policy, whatever it knows, is better by more than what is left."""
    return float(row["index / max-benefit none"]) / float(row["index / lower bound"])


def findings(rows: Sequence[Row]) -> list[Finding]:
    """What we claim of the index."""
    others = _ratios(rows, "index / best other")
    dear = [row for row in rows if float(row["share"]) >= DEAR and float(row["load"]) >= BUSY]
    wide = [row for row in dear if row["spread"] == "wide"]
    equal = [row for row in dear if row["spread"] == "equal"]
    gain = {
        name: fmean(_ratios(part, "index / max-benefit none"))
        for name, part in (("all", dear), ("wide", wide), ("equal", equal))
    }
    out = [row for row in equal if possible(row) > 1.0 - GAIN]
    flat = [row for row in equal if (row["environment"], row["shape"]) == ("plain", "flat")]
    least = min(map(possible, flat)) if flat else 0.0
    return [
        Finding(
            "best or within 3 % of the best policy in every cell",
            f"{sum(ratio <= AIM for ratio in others)} of {len(others)} cells, worst "
            f"{max(others):.3f}, mean {fmean(others):.3f}",
            max(others) <= AIM,
        ),
        Finding(
            "20 % better than max benefit where start-up >= 0.9, load >= 1.5: unequal priorities",
            f"{100.0 * (1.0 - gain['wide']):.0f} % ({len(wide)} cells)",
            gain["wide"] <= 1.0 - GAIN,
        ),
        Finding(
            "the same, in the mean of all such cells",
            f"{100.0 * (1.0 - gain['all']):.0f} % ({len(dear)} cells; equal priorities "
            f"{100.0 * (1.0 - gain['equal']):.0f} %)",
            gain["all"] <= 1.0 - GAIN,
        ),
        Finding(
            "with equal priorities and periods no policy can be 20 % better: the bound forbids it",
            f"in {len(out)} of {len(equal)} cells; in plain flat ones it is above "
            f"{100.0 * least:.0f} % of max benefit's",
            bool(flat) and least > 1.0 - GAIN,
        ),
    ]


def numbers(rows: Sequence[Row]) -> list[str]:
    """By environment against the best other policy, and against max benefit where it is dear."""
    lines = ["| environment | cells | within 3 % | worst | mean |", "|---|---|---|---|---|"]
    for environment in ENVIRONMENTS:
        chosen = [row for row in rows if row["environment"] == environment]
        ratios = _ratios(chosen, MORE[0])
        within = sum(ratio <= AIM for ratio in ratios)
        figures = f"{len(ratios)} | {within} | {max(ratios):.3f} | {fmean(ratios):.3f}"
        lines.append(f"| {environment} | {figures} |")
    lines += [
        "",
        "Means of ratios, start-up >= 0.9, load >= 1.5:",
        "",
        "| spread | to max benefit | the same, inherit max | to best other | to lower bound |",
        "|---|---|---|---|---|",
    ]
    dear = [row for row in rows if float(row["share"]) >= DEAR and float(row["load"]) >= BUSY]
    for spread in ("wide", "equal"):
        part = [row for row in dear if row["spread"] == spread]
        names = (MORE[1], MORE[2], MORE[0], HEAD[-1])
        means = " | ".join(f"{fmean(_ratios(part, name)):.3f}" for name in names)
        lines.append(f"| {spread} | {means} |")
    return lines


def draw(rows: Sequence[Row], path: Path) -> None:
    """Left: index over the best other policy, right: over the bound; each point a cell."""
    with axes_of(path, columns=2) as axes:
        for axis, key in zip(axes, ("index / best other", "index / lower bound"), strict=True):
            for environment in ENVIRONMENTS:
                part = [row for row in rows if row["environment"] == environment]
                fluid = [(1.0 - float(row["share"])) * float(row["load"]) for row in part]
                axis.plot(fluid, _ratios(part, key), ".", label=environment)
            axis.axhline(1.0, color="grey", linewidth=0.8)
            axis.set_xlabel("seconds of work per second and track that no waiting saves")
            axis.set_title(key)
            axis.legend()


EXPERIMENT = Experiment(HERE, play_grid, findings, draw, numbers)
