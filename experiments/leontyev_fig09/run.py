"""Two classes of tables after an outage: aus against the proportional partition (figure 9).

``python -m experiments.leontyev_fig09.run`` from the root writes results.csv and picture.svg
beside this file; with ``--check`` it compares with the results.csv that is there instead.
"""

from __future__ import annotations

import csv
import io
import random
import sys
import tomllib
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from freshline.core.assembly import PolicySettings
from freshline.core.model import TableSpec
from freshline.sim.driver import Driver
from freshline.sim.scenario import FeedSpec, Scenario

HERE = Path(__file__).parent
Row = tuple[str, str, str, str, str]
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
        policy=PolicySettings(**variant),
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


def results(params: dict[str, Any]) -> list[Row]:
    """Every row of results.csv: least and largest over the seeds."""
    rows: list[Row] = []
    outage_end = params["outage"][1]
    late = [f"V{number + 1}" for number in range(params["struck"])]
    watched = [f"V{number}" for number in params["watched"]]
    slow = float(params["periods"][1])
    for phases in params["phases"]:
        for label, variant in params["variants"].items():
            runs = [
                played(scenario(params, variant, phases, seed))
                for seed in range(1, params["seeds"] + 1)
            ]
            again = [sorted(run.fresh_again_s(name, outage_end) for name in late) for run in runs]
            measures = {
                "first of V1-V4 fresh": [times[0] for times in again],
                "last of V1-V4 fresh": [times[-1] for times in again],
                "V8-V11 behind at most": [run.most_behind_s(watched) for run in runs],
                "V8, V9 disturbed until": [
                    run.disturbed_until_s(["V8", "V9"], slow) for run in runs
                ],
                "V13, V14 behind at most": [run.most_behind_s(["V13", "V14"]) for run in runs],
            }
            for what, values in measures.items():
                rows.append((phases, label, what, f"{min(values):.0f}", f"{max(values):.0f}"))
    return rows


def draw(params: dict[str, Any], path: Path) -> None:
    """TE - F of the late and of the healthy tables, under aus and under the partition."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "leontyev"  # the same picture for the same numbers
    from matplotlib import pyplot as plt

    late = [f"V{number + 1}" for number in range(params["struck"])]
    watched = [f"V{number}" for number in params["watched"]]
    shown = params["picture"]
    figure, axes = plt.subplots(2, 2, figsize=(11, 6), sharex=True, sharey="col")
    for line, label in zip(axes, ("proportional", "aus average"), strict=True):
        variant = params["variants"][label]
        run = played(scenario(params, variant, shown["phases"], shown["seed"]))
        for axis, names in zip(line, (late, watched), strict=True):
            for name in names:
                times, values = zip(*run.behind[name], strict=True)
                axis.step(times, values, where="post", linewidth=0.9, label=name)
            axis.set_title(f"{label}: {names[0]}-{names[-1]}", fontsize=9)
            axis.set_ylabel("trailing edge - freshness (s)", fontsize=8)
            axis.legend(fontsize=7, loc="upper right")
    for axis in axes[-1]:
        axis.set_xlabel("time (s)")
        axis.set_xlim(4000, 20000)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> int:
    """Write the table and the picture, or compare the table with the one that is there."""
    params = tomllib.loads((HERE / "params.toml").read_text())
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([("phases", "policy", "what", "least", "largest"), *results(params)])
    table = HERE / "results.csv"
    if "--check" in sys.argv:
        return 0 if table.read_text() == text.getvalue() else 1
    table.write_text(text.getvalue())
    draw(params, HERE / "picture.svg")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
