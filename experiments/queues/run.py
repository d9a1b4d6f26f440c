"""Spilling algorithms against the cheapest way to play the same input, random and adversarial.

Source of the claims: Motwani and Thomas 2004.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.common.experiment import Experiment, Finding, Row
from experiments.common.picture import axes_of
from experiments.common.size import Size
from freshline.queues.settings import SpillSettings
from freshline.queues.spilling import SpillingQueues
from tests.support.queue_optimum import optimum

HERE = Path(__file__).parent
ONE_QUEUE = ("half", "half-lazy", "buffered-head", "buffered-head-lazy", "lru", "greedy")
EXTENDED = ("greedy-chunk", "hybrid", "half", "greedy")
UNIT, TWO, IDLE = "one queue, unit cost", "two queues, unit cost", "idle queue"
TWO_QUEUES = ("buffered-head", "buffered-head-lazy", "lru")
COLUMNS = ("input", "algorithm", "what", "value")


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
) -> list[tuple[str, ...]]:
    """For each algorithm: total cost over total optimum, and the worst single ratio."""
    c0, c1 = int(settings.c0), int(settings.c1)
    least = [
        optimum(settings.memory, ticks, queues=settings.queues, c0=c0, c1=c1) for ticks in inputs
    ]
    rows: list[tuple[str, ...]] = []
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


def play(size: Size) -> list[Row]:
    """Every row of results.csv."""
    params = tomllib.loads((HERE / "params.toml").read_text())
    if size.quick:
        params.update(params["quick"])
    memory = params["memory"]
    single, double = random_inputs(params, 1), random_inputs(params, 2)
    extended = SpillSettings(memory, c0=memory // 2 - 1, c1=1)
    rows = against_optimum(UNIT, ONE_QUEUE, SpillSettings(memory), single)
    rows += against_optimum(f"one queue, T = {memory // 2 - 1}", EXTENDED, extended, single)
    rows += against_optimum(TWO, TWO_QUEUES, SpillSettings(memory, queues=2), double)
    for rounds in params["swings"]:
        rows.append((IDLE, "3M/2", str(rounds), str(swinging_cost(rounds, told=False))))
        told = str(swinging_cost(rounds, told=True))
        rows.append((IDLE, "3M/2, idle named", str(rounds), told))
        rows.append((IDLE, "M, future known", str(rounds), "1"))
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows]


def findings(rows: Sequence[Row]) -> list[Finding]:
    """What is proven, and what is claimed and false (reading notes M1, M5)."""
    value = {(row["input"], row["algorithm"], row["what"]): row["value"] for row in rows}
    swings = max((row for row in rows if row["input"] == IDLE), key=lambda row: int(row["what"]))

    def at_most(claim: str, where: str, algorithm: str, limit: float) -> Finding:
        worst = value[where, algorithm, "worst"]
        return Finding(claim, f"worst {worst}", float(worst) <= limit)

    idle = value[IDLE, "3M/2", swings["what"]]
    return [
        at_most("half costs at most twice the optimum (Theorem 2.1)", UNIT, "half", 2.0),
        at_most("so does half-lazy (footnote 2)", UNIT, "half-lazy", 2.0),
        at_most(
            "greedy-chunk costs at most four times (Theorem 3.2)",
            "one queue, T = 2",
            "greedy-chunk",
            4.0,
        ),
        at_most(
            "buffered-head, served in rounds, at most 2n times (Theorem 4.2)",
            TWO,
            "buffered-head",
            4.0,
        ),
        Finding(
            "with M/2 more memory also when a queue idles (Theorem 4.5)",
            f"{idle} accesses in {swings['what']} swings, where 1 is enough",
            int(idle) <= 4,
        ),
    ]


def draw(rows: Sequence[Row], path: Path) -> None:
    """Left: ratios to the optimum; right: accesses over the swings."""
    with axes_of(path, columns=2, figsize=(11, 4.5), width_ratios=(3, 2)) as (left, right):
        played = [row for row in rows if row["input"] != IDLE]
        bars = [row for row in played if row["what"] == "total"]
        worst = [float(row["value"]) for row in played if row["what"] == "worst"]
        places = list(range(len(bars)))[::-1]
        values = [float(row["value"]) for row in bars]
        left.barh(places, values, color="#4c78a8", label="all inputs together")
        left.plot(worst, places, "k|", markersize=12, label="worst input")
        left.set_yticks(places, [f"{row['algorithm']} ({row['input']})" for row in bars])
        left.axvline(1, color="grey", linewidth=0.8)
        left.set_xlabel("cost / optimum")
        left.legend(fontsize=8)
        swings = [row for row in rows if row["input"] == IDLE]
        for name in dict.fromkeys(row["algorithm"] for row in swings):
            line = [row for row in swings if row["algorithm"] == name]
            style = "--" if name.startswith("M,") else "-"
            rounds = [int(row["what"]) for row in line]
            right.plot(rounds, [int(row["value"]) for row in line], f"o{style}", label=name)
        right.set(xlabel="swings of the busy queue", ylabel="accesses", yscale="log")
        right.legend(fontsize=8)


EXPERIMENT = Experiment(HERE, play, findings, draw)
