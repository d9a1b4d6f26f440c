"""Two classes of tables after an outage: aus against the proportional partition (figure 9).

Source: Leontyev, Johnson and Anderson 2009, section VII.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from experiments.common.experiment import Experiment, Finding, Row
from experiments.common.picture import axes_of
from experiments.common.size import Size, each
from freshline.core.assembly import PolicySettings
from freshline.core.model import TableSpec
from freshline.sim.driver import Driver
from freshline.sim.scenario.model import FeedSpec, Scenario

HERE = Path(__file__).parent
COLUMNS = ("phases", "policy", "what", "least", "largest")
FIRST, LAST = "first of V1-V4 fresh", "last of V1-V4 fresh"
BEHIND, DISTURBED = "V8-V11 behind at most", "V8, V9 disturbed until"
Series = list[tuple[float, float]]
"""(time, TE - F) at every instant at which it changed."""


@dataclass(frozen=True, slots=True)
class Run:
    """One simulation: TE - F of every table as steps."""

    behind: dict[str, Series]

    def fresh_again_s(self, name: str, after_s: float) -> float:
        """When a table was fresh for the first time after ``after_s``; infinite if never."""
        return next((t for t, d in self.behind[name] if t > after_s and d <= 0), float("inf"))

    def most_behind_s(self, names: list[str]) -> float:
        """The largest TE - F of any of ``names``."""
        return max(d for name in names for _, d in self.behind[name])

    def disturbed_until_s(self, names: list[str], limit_s: float) -> float:
        """When any of ``names`` was last further behind than ``limit_s``; 0 if none ever was."""
        ends = [0.0]
        for name in names:
            steps = self.behind[name]
            # A second for rounding: dates of a feed are sums and products of its period.
            ends += [later for (_, d), (later, _) in pairwise(steps) if d > limit_s + 1.0]
        return max(ends)


def scenario(params: dict[str, Any], variant: dict[str, Any], phases: str, seed: int) -> Scenario:
    """Section VII's tables with one of our policies."""
    chance = random.Random(seed)
    specs, feeds = [], {}
    per_class = params["tables_per_class"]
    for number in range(2 * per_class):
        period = float(params["periods"][number // per_class])
        place = number % per_class
        phase = {
            "equal": period,
            "spread": period * (place + 1) / per_class,
            "random": period * (1.0 - chance.random()),
        }[phases]
        name = f"V{number + 1}"
        start_s, end_s = map(float, params["outage"])
        outages = ((start_s, end_s),) if number < params["struck"] else ()
        specs.append(
            TableSpec(
                name,
                period_s=period,
                phase_s=phase,
                priority=params["periods"][-1] / period,
                alpha_s=params["startup"] * period,
                beta=params["rate"],
            )
        )
        feeds[name] = FeedSpec(phase, period, None, outages)
    spread = params["spread"]
    return Scenario(
        horizon_s=float(params["horizon"]),
        seed=seed,
        tracks=params["tracks"],
        settings=PolicySettings(**variant),
        low=1.0 - spread,
        high=1.0 + spread,
        slowdown=None,
        tables=tuple(specs),
        feeds=feeds,
    )


def played(given: Scenario) -> Run:
    """Play it and watch TE - F."""
    behind: dict[str, Series] = {spec.name: [(0.0, 0.0)] for spec in given.tables}

    def watch(now_s: float, *_: object) -> None:
        for table in driver.scheduler.tables:
            steps = behind[table.name]
            difference_s = table.trailing_edge_s - table.freshness_s
            if difference_s != steps[-1][1]:
                steps.append((now_s, difference_s))

    driver = Driver(given, on_instant=watch)
    driver.run()
    return Run(behind)


@dataclass(frozen=True, slots=True)
class _Job:
    """One run of one variant."""

    params: dict[str, Any]
    variant: str
    phases: str
    seed: int


def measured(job: _Job) -> dict[str, float]:
    """What the rows say of one run, by name."""
    params = job.params
    run = played(scenario(params, params["variants"][job.variant], job.phases, job.seed))
    late = [f"V{number + 1}" for number in range(params["struck"])]
    watched = [f"V{number}" for number in params["watched"]]
    again = [run.fresh_again_s(name, params["outage"][1]) for name in late]
    slow_s = float(params["periods"][1])
    return {
        FIRST: min(again),
        LAST: max(again),
        BEHIND: run.most_behind_s(watched),
        DISTURBED: run.disturbed_until_s(["V8", "V9"], slow_s),
        "V13, V14 behind at most": run.most_behind_s(["V13", "V14"]),
    }


def play(size: Size) -> list[Row]:
    """Every row of results.csv: least and largest over the seeds."""
    params = _params()
    seeds = range(1, 1 + (1 if size.quick else params["seeds"]))
    cases = [(phases, variant) for phases in params["phases"] for variant in params["variants"]]
    jobs = [_Job(params, variant, phases, seed) for phases, variant in cases for seed in seeds]
    found = each(measured, jobs, size)
    rows: list[Row] = []
    for at, (phases, variant) in enumerate(cases):
        runs = found[at * len(seeds) : (at + 1) * len(seeds)]
        for what in runs[0]:
            values = [run[what] for run in runs]
            row = (phases, variant, what, f"{min(values):.0f}", f"{max(values):.0f}")
            rows.append(dict(zip(COLUMNS, row, strict=True)))
    return rows


def _params() -> dict[str, Any]:
    return tomllib.loads((HERE / "params.toml").read_text())


def findings(rows: Sequence[Row]) -> list[Finding]:
    """The paper's claims, over all seeds and choices of phases."""

    def over(policy: str, what: str) -> tuple[float, float]:
        chosen = [row for row in rows if row["policy"] == policy and row["what"] == what]
        return min(float(row["least"]) for row in chosen), max(
            float(row["largest"]) for row in chosen
        )

    average, worst, partition = "aus average", "aus worst", "proportional"
    first, last = over(average, FIRST), over(average, LAST)
    together = over(partition, LAST)
    healthy, slipping = over(average, BEHIND), over(partition, BEHIND)
    disturbed = over(partition, DISTURBED)
    slow = over(worst, LAST)
    return [
        Finding(
            "(a) the partition recovers V1-V4 by 12,500",
            f"the last at {together[0]:.0f}-{together[1]:.0f}",
            together[1] <= 12_500.0,
        ),
        Finding(
            "(a) aus recovers them one after the other by 15,000",
            f"the first at {first[0]:.0f}-{first[1]:.0f}, the last at {last[0]:.0f}-{last[1]:.0f}",
            first[1] < last[0] <= last[1] <= 15_000.0,
        ),
        Finding(
            "(b) aus keeps V8-V11 within 900 s", f"at most {healthy[1]:.0f}", healthy[1] <= 900.0
        ),
        Finding(
            "(b) the partition disturbs V8 and V9",
            f"until {disturbed[0]:.0f}-{disturbed[1]:.0f}, V8-V11 up to {slipping[1]:.0f} behind",
            disturbed[0] > 0.0,
        ),
        Finding(
            "with worst-case recovery periods aus ends near 25,000",
            f"{slow[0]:.0f}-{slow[1]:.0f}",
            abs(slow[1] - 25_000.0) <= 1_000.0,
        ),
    ]


def draw(_rows: Sequence[Row], path: Path) -> None:
    """TE - F of the late and of the healthy tables, under aus and under the partition."""
    params = _params()
    late = [f"V{number + 1}" for number in range(params["struck"])]
    watched = [f"V{number}" for number in params["watched"]]
    shown = params["picture"]
    with axes_of(path, 2, 2, figsize=(11, 6), sharex=True, sharey="col") as axes:
        for line, label in enumerate(("proportional", "aus average")):
            variant = params["variants"][label]
            run = played(scenario(params, variant, shown["phases"], shown["seed"]))
            for axis, names in zip(axes[2 * line : 2 * line + 2], (late, watched), strict=True):
                for name in names:
                    times, values = zip(*run.behind[name], strict=True)
                    axis.step(times, values, where="post", linewidth=0.9, label=name)
                axis.set_title(f"{label}: {names[0]}-{names[-1]}")
                axis.set_ylabel("trailing edge - freshness (s)")
                axis.legend(fontsize=7, loc="upper right")
        for axis in axes[2:]:
            axis.set_xlabel("time (s)")
            axis.set_xlim(4000, 20000)


EXPERIMENT = Experiment(HERE, play, findings, draw)
