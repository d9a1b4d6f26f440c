"""The index policy against every other one, over a grid of scenarios (docs/whittle-policy.md)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import fmean

from experiments.common.experiment import Experiment, Finding, Row
from experiments.common.picture import axes_of
from experiments.common.size import Size, each
from experiments.common.sweep import TOO_FEW_TRACKS
from freshline.core.assembly import PolicySettings
from freshline.core.errors import UserError
from freshline.core.model import TableSpec
from freshline.sim.driver import play
from freshline.sim.scenario.model import FeedSpec, Scenario, Slowdown
from freshline.sim.theory.ideal import ideal_weighted_staleness_s2
from freshline.sim.theory.lower_bound import lower_bound_s2

# ---- parameters ----

TRACKS, TABLES = 2, 30  # flat: all are base tables; else 10 of them and 20 derived ones
HORIZON_S, QUICK_HORIZON_S = 1000.0, 400.0
SHAPES = ("flat", "chain", "tree", "diamond")
SPREADS = ("equal", "wide")  # priorities 1 and periods 10 s; 1-9 and 2-20 s
PARTS = {
    # Shares of start-up in the seconds that one period's data takes, and loads: sum of
    # E(period) / period, over the tracks.
    "plain": ((0.1, 0.3, 0.5, 0.7, 0.9, 0.95), (0.5, 0.8, 1.0, 1.5, 2.0, 3.0)),
    "near": ((0.1, 0.3), (0.9, 1.1, 1.25)),  # plain, too: about full load, data is dear
    "slow": ((0.1, 0.5, 0.9), (0.5, 1.0, 1.5, 3.0)),
    "outage": ((0.1, 0.5, 0.9), (0.5, 1.0, 1.5, 3.0)),
}
QUICK_SHAPES = ("flat", "tree")
QUICK_PARTS = {
    "plain": ((0.3, 0.9), (1.0, 2.0)),
    "near": ((0.1,), (1.1,)),
    "slow": ((0.9,), (2.0,)),
    "outage": ((0.9,), (2.0,)),
}
SLOW = Slowdown(3.0, 100.0, 100.0)
OUTAGES = {0: ((200.0, 400.0),), 3: ((600.0, 700.0),), 5: ((300.0, 350.0),)}
SEEDS, QUICK_SEEDS = (1, 2), (1,)
SIMPLE = ("fifo", "random", "edf", "myopic", "group-and-run", "aus")
PRIORITISED = ("edf-p", "max-benefit")
RULES = ("none", "max", "sum", "max-plus")
PARTITIONS = ("edf-partitioned", "proportional")
CHOP = 2.0
OTHERS = {
    **{name: PolicySettings(name) for name in SIMPLE},
    **{
        f"{name} {rule}": PolicySettings(name, inherit=rule, inherit_factor=2.0)
        for name, rule in product(PRIORITISED, RULES)
    },
    **{f"lookahead {rule}": PolicySettings("lookahead", inherit=rule) for rule in RULES[:2]},
    **{
        f"{name} {partition}": PolicySettings(name, inherit="max", partition=partition)
        for name, partition in product(PRIORITISED, PARTITIONS)
    },
    **{f"{name} chop": PolicySettings(name, inherit="max", chop=CHOP) for name in PRIORITISED},
}
INDEX = PolicySettings("index")
AIM, DEAR, BUSY, GAIN = 1.03, 0.9, 1.5, 0.2

# ---- what is played and claimed ----

HERE = Path(__file__).parent
COLUMNS = ("environment", "shape", "spread", "share", "load", "index", "best other", "which")
MORE = ("index / best other", "index / max-benefit none", "index / max-benefit max")
HEAD = (*COLUMNS, *MORE, "index / lower bound")

Cell = tuple[str, str, str, float, float]


def scenario(cell: Cell, seed: int, horizon_s: float) -> Scenario:
    """A scenario of ``cell``: the seed draws priorities, periods, costs, phases and sources."""
    environment, shape, spread, share, load = cell
    chance = random.Random(seed)
    count = TABLES
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
    scale = load * TRACKS / used
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
    return Scenario(horizon_s, seed, TRACKS, INDEX, 1.0, 1.0, slowdown, tuple(tables), feeds)


def _sources(shape: str, order: int, bases: int, chance: random.Random) -> tuple[int, ...]:
    if shape == "chain":
        return (order - bases,)
    if shape == "tree":
        return (chance.randrange(order),)
    return tuple(chance.sample(range(order), 2))


def measured(job: tuple[Cell, int, float]) -> dict[str, float]:
    """Relative lateness of every policy on one scenario, and that of the bound.

    Infinite where a policy or partition needs more tracks than there are.
    """
    base = scenario(*job)
    ideal_s2 = ideal_weighted_staleness_s2(base)
    result = {"lower bound": lower_bound_s2(base) / ideal_s2}
    for name, policy in {**OTHERS, "index": INDEX}.items():
        try:
            result[name] = play(replace(base, settings=policy)).weighted_staleness_s2 / ideal_s2
        except UserError as error:
            if error.code != TOO_FEW_TRACKS:
                raise
            result[name] = float("inf")
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


def cells(*, quick: bool) -> list[Cell]:
    """Every cell of the grid."""
    shapes, parts = (QUICK_SHAPES, QUICK_PARTS) if quick else (SHAPES, PARTS)
    return [
        (environment, shape, spread, share, load)
        for environment, (shares, loads) in parts.items()
        for shape, spread, share, load in product(shapes, SPREADS, shares, loads)
    ]


def play_grid(size: Size) -> list[Row]:
    """Every cell, environment by environment."""
    grid = cells(quick=size.quick)
    seeds, horizon_s = (QUICK_SEEDS, QUICK_HORIZON_S) if size.quick else (SEEDS, HORIZON_S)
    runs = each(measured, [(cell, seed, horizon_s) for cell in grid for seed in seeds], size)
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
    for environment in PARTS:
        chosen = [row for row in rows if row["environment"] == environment]
        if not chosen:
            continue
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
            for environment in PARTS:
                part = [row for row in rows if row["environment"] == environment]
                fluid = [(1.0 - float(row["share"])) * float(row["load"]) for row in part]
                axis.plot(fluid, _ratios(part, key), ".", label=environment)
            axis.axhline(1.0, color="grey", linewidth=0.8)
            axis.set_xlabel("seconds of work per second and track that no waiting saves")
            axis.set_title(key)
            axis.legend()


EXPERIMENT = Experiment(HERE, play_grid, findings, draw, numbers)
