"""The policy whittle on graphs against every rival, those with d^2 among them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from statistics import fmean, stdev
from typing import ClassVar

from experiments.common.experiment import Experiment, Finding, Row
from experiments.common.picture import axes_of
from experiments.common.size import Size, each
from freshline.core.assembly import PolicySettings
from freshline.core.model import Table, TableSpec
from freshline.core.policy import Policy
from freshline.core.scheduler import Scheduler
from freshline.sim.driver import Driver
from freshline.sim.scenario.model import FeedSpec, Scenario
from freshline.sim.theory.lower_bound import lower_bound_s2

# ---- parameters ----

TABLES = 30
HORIZON_S, FULL_HORIZON_S, QUICK_HORIZON_S = 800.0, 1000.0, 200.0
SHAPES = ("chains", "trees", "diamonds", "several", "wide", "deep")
LOADS = (1.0, 1.5, 3.0)
SHARES = ("0.0", "0.3", "0.9", "mixed")
"""Start-up in the seconds that one period's data takes; mixed: each table draws its own."""
SETTINGS = ("equal", "skewed")
"""Priorities 1 and periods 10 s; priorities 1-9 and periods 2-20 s."""
TRACKS = (1, 2, 4)
"""Taken in turn by a cell's seeds."""
SEEDS, FULL_SEEDS, QUICK_SEEDS = 3, 8, 2
SMALL_LOADS, SMALL_SHARES = (1.5, 3.0), ("0.9", "mixed")
"""Without ``--full``: where rivals with d^2 were better, and where tables differ."""
QUICK_SHAPES, QUICK_SHARES = ("several",), ("0.9",)
RULES = ("none", "max", "sum")
OTHERS = {
    f"{name} {rule}": PolicySettings(name, inherit=rule)
    for name, rule in product(("max-benefit", "edf-p", "squared"), RULES)
}
WHITTLE = PolicySettings("whittle")
CERTAIN = 2.0
"""Standard errors from which on a difference counts."""

HERE = Path(__file__).parent
HEAD = ("shape", "load", "share", "setting", "best other", "ratio", "error", "to bound")

Cell = tuple[str, float, str, str]


@dataclass(slots=True)
class Squared(Policy):
    """p * d^2 / E, with Golab et al.'s inherited priorities for p."""

    name: ClassVar[str] = "squared"

    def key(self, table: Table) -> float:
        """The largest first."""
        amount_s, seconds = table.amount_s, table.expected_s
        return -(table.weight * amount_s * amount_s / seconds) if seconds > 0.0 else -float("inf")


def played_s2(scenario: Scenario, settings: PolicySettings) -> float:
    """Weighted staleness of ``scenario`` under ``settings``."""
    if settings.policy != Squared.name:
        return Driver(replace(scenario, settings=settings)).run().weighted_staleness_s2
    driver = Driver(scenario)
    driver.scheduler = Scheduler(
        scenario.tables, tracks=scenario.tracks, policy=Squared(), inherit_rule=settings.inherit
    )
    return driver.run().weighted_staleness_s2


def scenario(cell: Cell, seed: int, horizon_s: float) -> Scenario:
    """A scenario of ``cell``: the seed draws priorities, periods, costs, phases and sources."""
    shape, load, share, setting = cell
    chance = random.Random(f"{shape} {seed}")
    tracks = TRACKS[seed % len(TRACKS)]
    bases = TABLES // 6 if shape == "deep" else TABLES // 3
    skewed = setting == "skewed"
    periods = [chance.uniform(2.0, 20.0) if skewed else 10.0 for _ in range(bases)]
    sources = [()] * bases + [_sources(shape, at, bases, chance) for at in range(bases, TABLES)]
    for order in range(bases, TABLES):
        periods.append(max(periods[source] for source in sources[order]))
    seconds = [period * chance.uniform(0.5, 1.5) for period in periods]
    used = sum(second / period for second, period in zip(seconds, periods, strict=True))
    tables, feeds = [], {}
    for order in range(TABLES):
        whole_s = seconds[order] * load * tracks / used
        names = tuple(f"t{source}" for source in sources[order])
        priority = float(chance.randint(1, 9)) if skewed else 1.0
        start = chance.random() if share == "mixed" else float(share)
        beta = (1.0 - start) * whole_s / periods[order]
        spec = TableSpec(f"t{order}", names, periods[order], priority, start * whole_s, beta)
        tables.append(spec)
        if order < bases:
            feeds[spec.name] = FeedSpec(chance.uniform(0.1, 1.0) * periods[order], periods[order])
    return Scenario(horizon_s, seed, tracks, WHITTLE, 1.0, 1.0, None, tuple(tables), feeds)


def _sources(shape: str, order: int, bases: int, chance: random.Random) -> tuple[int, ...]:
    if shape == "chains":
        return (order - bases,)
    if shape == "trees":
        return (chance.randrange(order),)
    if shape == "deep":
        layer = order // bases * bases
        return tuple(chance.sample(range(layer - bases, layer), 2))
    among = range(bases if shape == "wide" else order)
    return tuple(chance.sample(among, 2 if shape == "diamonds" else chance.randint(1, 3)))


def measured(job: tuple[Cell, int, float]) -> dict[str, float]:
    """Weighted staleness of every policy on one scenario, by that of squared with inherit max."""
    base = scenario(*job)
    found = {
        name: played_s2(base, settings) for name, settings in {**OTHERS, "whittle": WHITTLE}.items()
    }
    found["bound"] = lower_bound_s2(base)
    unit_s2 = found["squared max"]
    return {name: value / unit_s2 for name, value in found.items()}


def row(cell: Cell, runs: list[dict[str, float]]) -> Row:
    """The line of a cell; "best other" has the least mean over the seeds."""
    means = {name: fmean(run[name] for run in runs) for name in runs[0]}
    best = min(OTHERS, key=lambda name: means[name])
    differences = [(run["whittle"] - run[best]) / means[best] for run in runs]
    error = stdev(differences) / len(runs) ** 0.5
    ratio, bound = means["whittle"] / means[best], means["whittle"] / means["bound"]
    line = [*cell, best, f"{ratio:.4f}", f"{error:.4f}", f"{bound:.4f}"]
    return dict(zip(HEAD, map(str, line), strict=True))


def play_grid(size: Size) -> list[Row]:
    """Every cell, shape by shape."""
    if size.quick:
        grid = product(QUICK_SHAPES, SMALL_LOADS[:1], QUICK_SHARES, SETTINGS)
        count, horizon_s = QUICK_SEEDS, QUICK_HORIZON_S
    elif size.name == "full":
        grid = product(SHAPES, LOADS, SHARES, SETTINGS)
        count, horizon_s = FULL_SEEDS, FULL_HORIZON_S
    else:
        grid = product(SHAPES, SMALL_LOADS, SMALL_SHARES, SETTINGS)
        count, horizon_s = SEEDS, HORIZON_S
    cells = list(grid)
    jobs = [(cell, seed, horizon_s) for cell in cells for seed in range(1, count + 1)]
    runs = each(measured, jobs, size)
    return [row(cell, runs[at * count : (at + 1) * count]) for at, cell in enumerate(cells)]


def is_worse(line: Row) -> bool:
    """Whether the best other policy is better by more than chance explains."""
    return float(line["ratio"]) - 1.0 > CERTAIN * float(line["error"])


def findings(rows: Sequence[Row]) -> list[Finding]:
    """What we claim of whittle on graphs."""
    ratios = [float(line["ratio"]) for line in rows]
    worse = [line for line in rows if is_worse(line)]
    part = {
        share: [float(line["ratio"]) for line in rows if line["share"] == share] for share in SHARES
    }
    means = ", ".join(f"{share}: {fmean(ratios):.3f}" for share, ratios in part.items() if ratios)
    return [
        Finding(
            "better than every rival in the mean of the cells",
            f"{fmean(ratios):.3f} of the best of {len(OTHERS)}; by share of start-up {means}",
            all(fmean(ratios) < 1.0 for ratios in part.values() if ratios),
        ),
        Finding(
            f"in no cell is a rival better by more than {CERTAIN:g} standard errors",
            f"in {len(worse)} of {len(rows)} cells one is; worst {max(ratios):.3f}",
            not worse,
        ),
    ]


def numbers(rows: Sequence[Row]) -> list[str]:
    """By shape, load and share of start-up."""
    lines = [
        "| cells | number | mean | worst | above 1 | certainly | above 1.03 | to the bound |",
        "|---|---|---|---|---|---|---|---|",
    ]
    parts = [("shape", shape) for shape in SHAPES]
    parts += [("load", str(load)) for load in LOADS]
    parts += [("share", share) for share in SHARES]
    parts += [("setting", setting) for setting in SETTINGS]
    for key, value in parts:
        chosen = [line for line in rows if line[key] == value]
        if not chosen:
            continue
        ratios = [float(line["ratio"]) for line in chosen]
        bounds = [float(line["to bound"]) for line in chosen]
        lines.append(
            f"| {key} {value} | {len(chosen)} | {fmean(ratios):.3f} | {max(ratios):.3f} | "
            f"{sum(ratio > 1.0 for ratio in ratios)} | {sum(map(is_worse, chosen))} | "
            f"{sum(ratio > 1.03 for ratio in ratios)} | {fmean(bounds):.2f} |"
        )
    return lines


def draw(rows: Sequence[Row], path: Path) -> None:
    """Whittle over the best other policy, by share of start-up; each point a cell."""
    with axes_of(path) as axes:
        (axis,) = axes
        for at, shape in enumerate(SHAPES):
            part = [line for line in rows if line["shape"] == shape]
            places = [SHARES.index(line["share"]) + 0.08 * at for line in part]
            axis.plot(places, [float(line["ratio"]) for line in part], ".", label=shape)
        axis.axhline(1.0, color="grey", linewidth=0.8)
        axis.set(xlabel="share of start-up", ylabel="whittle / best other")
        axis.set_xticks([place + 0.2 for place in range(len(SHARES))], SHARES)
        axis.legend()


EXPERIMENT = Experiment(HERE, play_grid, findings, draw, numbers)
