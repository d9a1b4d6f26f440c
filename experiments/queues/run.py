"""Spilling algorithms against the cheapest way to play the same input, random and adversarial.

``python -m experiments.queues.run`` from the root writes results.csv and picture.svg beside this
file; with ``--check`` it compares with the results.csv that is there instead.
"""

from __future__ import annotations

import csv
import io
import random
import sys
import tomllib
from pathlib import Path
from typing import Any

from freshline.queues.settings import SpillSettings
from freshline.queues.spilling import SpillingQueues
from tests.unit.queues.optimum import optimum

HERE = Path(__file__).parent
ONE_QUEUE = ("half", "half-lazy", "buffered-head", "buffered-head-lazy", "lru", "greedy")
EXTENDED = ("greedy-chunk", "hybrid", "half", "greedy")
TWO_QUEUES = ("buffered-head", "buffered-head-lazy", "lru")
Row = tuple[str, str, str, str]


def played_cost(name: str, settings: SpillSettings, ticks: list[list[int]]) -> float:
    """Extended cost of an algorithm, served in rounds and drained at the end."""
    queues = SpillingQueues(name, settings)
    every = range(settings.queues)
    for tick in ticks + [[0] * settings.queues] * sum(map(sum, ticks)):
        for queue in every:
            queues.enter(queue, tick[queue])
        for queue in every:
            if queues.length(queue):
                queues.bring(queue)
                queues.consume(queue)
    counted = queues.statistics()
    accesses, moved = counted.reads + counted.writes, counted.moved_in + counted.moved_out
    return settings.c0 * accesses + settings.c1 * moved


def random_inputs(params: dict[str, Any], queues: int) -> list[list[list[int]]]:
    """Bursts that are small enough for the optimum; the same for every algorithm."""
    chance = random.Random(params["seed"] + queues)
    inputs: list[list[list[int]]] = []
    while len(inputs) < params["inputs"]:
        ticks = []
        for _ in range(params["ticks"]):
            tick = [0] * queues
            tick[chance.randrange(queues)] = chance.choice(params["burst"])
            ticks.append(tick)
        if params["memory"] < sum(map(sum, ticks)) <= params["most_tuples"]:
            inputs.append(ticks)
    return inputs


def against_optimum(
    label: str, names: tuple[str, ...], settings: SpillSettings, inputs: list[list[list[int]]]
) -> list[Row]:
    """For each algorithm: total cost over total optimum, and the worst single ratio."""
    c0, c1 = int(settings.c0), int(settings.c1)
    least = [
        optimum(settings.memory, ticks, queues=settings.queues, c0=c0, c1=c1) for ticks in inputs
    ]
    rows = []
    for name in names:
        costs = [played_cost(name, settings, ticks) for ticks in inputs]
        ratios = [cost / best for cost, best in zip(costs, least, strict=True) if best]
        rows.append((label, name, "total", f"{sum(costs) / sum(least):.3f}"))
        rows.append((label, name, "worst", f"{max(ratios):.3f}"))
        unpaid = sum(cost for cost, best in zip(costs, least, strict=True) if not best)
        rows.append((label, name, "cost where the optimum is 0", f"{unpaid:g}"))
    return rows


def swinging_cost(rounds: int, *, told: bool) -> int:
    """Accesses of buffered-head with 3M/2 = 24 while queue 0 idles (reading note M1)."""
    queues = SpillingQueues("buffered-head", SpillSettings(24, queues=2))
    queues.set_idle(0, idle=told)
    queues.enter(0, 10)
    queues.enter(1, 7)
    for _ in range(rounds):
        queues.enter(1, 9)
        for _ in range(9):
            queues.bring(1)
            queues.consume(1)
    counted = queues.statistics()
    return counted.reads + counted.writes


def results(params: dict[str, Any]) -> list[Row]:
    """Every row of results.csv."""
    memory = params["memory"]
    single, double = random_inputs(params, 1), random_inputs(params, 2)
    extended = SpillSettings(memory, c0=memory // 2 - 1, c1=1)
    rows = against_optimum("one queue, unit cost", ONE_QUEUE, SpillSettings(memory), single)
    rows += against_optimum(f"one queue, T = {memory // 2 - 1}", EXTENDED, extended, single)
    two = SpillSettings(memory, queues=2)
    rows += against_optimum("two queues, unit cost", TWO_QUEUES, two, double)
    for rounds in params["swings"]:
        rows.append(("idle queue", "3M/2", str(rounds), str(swinging_cost(rounds, told=False))))
        told = str(swinging_cost(rounds, told=True))
        rows.append(("idle queue", "3M/2, idle named", str(rounds), told))
        rows.append(("idle queue", "M, future known", str(rounds), "1"))
    return rows


def draw(rows: list[Row], path: Path) -> None:
    """Left: ratios to the optimum; right: accesses over the swings."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "queues"  # the same picture for the same numbers
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), width_ratios=(3, 2))
    random_rows = [row for row in rows if row[0] != "idle queue"]
    bars = [row for row in random_rows if row[2] == "total"]
    worst = [float(row[3]) for row in random_rows if row[2] == "worst"]
    places = list(range(len(bars)))[::-1]
    left.barh(places, [float(row[3]) for row in bars], color="#4c78a8", label="all inputs together")
    left.plot(worst, places, "k|", markersize=12, label="worst input")
    left.set_yticks(places, [f"{row[1]} ({row[0]})" for row in bars], fontsize=8)
    left.axvline(1, color="grey", linewidth=0.8)
    left.set_xlabel("cost / optimum")
    left.legend(fontsize=8)
    for name in dict.fromkeys(row[1] for row in rows if row[0] == "idle queue"):
        line = [(int(row[2]), int(row[3])) for row in rows if row[:2] == ("idle queue", name)]
        style = "--" if name.startswith("M,") else "-"
        right.plot(*zip(*line, strict=True), style, marker="o", label=name)
    right.set(xlabel="swings of the busy queue", ylabel="accesses", yscale="log")
    right.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> int:
    """Write the table and the picture, or compare the table with the one that is there."""
    rows = results(tomllib.loads((HERE / "params.toml").read_text()))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([("input", "algorithm", "what", "value"), *rows])
    table = HERE / "results.csv"
    if "--check" in sys.argv:
        return 0 if table.read_text() == text.getvalue() else 1
    table.write_text(text.getvalue())
    draw(rows, HERE / "picture.svg")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
