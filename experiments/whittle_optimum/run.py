"""Whittle on two to five tables and one track against the best schedule there is."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from statistics import fmean

from experiments.common.experiment import Experiment, Finding, Row
from experiments.common.optimum import Small, optimum
from experiments.common.picture import axes_of
from experiments.common.size import Size, each
from experiments.common.small import rate_of
from freshline.core.assembly import PolicySettings

# ---- parameters ----

GRAPHS: dict[str, tuple[tuple[int, ...], ...]] = {
    "two": ((), ()),
    "two, many files": ((), ()),
    "three": ((), (), ()),
    "source and view": ((), (0,)),
    "chain of three": ((), (0,), (1,)),
    "two and their join": ((), (), (0, 1)),
    "diamond": ((), (0,), (0,), (1, 2)),
    "two, join, two views": ((), (), (0, 1), (2,), (2,)),
}
"""Sources by place. Feeds of unrelated tables are a third of a period apart, others together."""
PERIODS = {2: 20, 3: 20, 4: 10, 5: 10}
MOST_FILES = {2: 40, 3: 12, 4: 8, 5: 6}
PRIORITIES = {"equal": (1, 1, 1, 1, 1), "rising": (1, 3, 9, 9, 3), "falling": (9, 3, 1, 1, 3)}
SHARES = {
    "0.0": (0.0,) * 5,
    "0.3": (0.3,) * 5,
    "0.6": (0.6,) * 5,
    "0.9": (0.9,) * 5,
    "mixed": (0.9, 0.3, 0.6, 0.9, 0.3),
    "all": (1.0,) * 5,
}
LOADS = (1.0, 1.5, 2.0, 4.0)
MANY = (4, 60, ("0.9", "all", "mixed"), (5.0, 10.0, 20.0))
"""Two tables whose updates load many files: period, most files, shares, loads."""
LARGER = (("0.9", "mixed"), (1.5, 2.0), ("uneven",))
"""Shares, loads and costs of more than two tables, whose best schedules take longer to find."""
COSTS = {"even": (1.0,) * 5, "uneven": (0.5, 1.5, 1.0, 0.6, 1.4)}
MOST_SLOPE = 0.9
"""Sum of slopes: above, no schedule comes to rest within the files that are counted."""
CYCLES, QUICK_CYCLES = 200, 50
OTHERS = ("fifo", "edf-p", "max-benefit")
WITHIN = 1.01

COARSE, FINE, *BIGGER = GRAPHS
HERE = Path(__file__).parent
HEAD = ("tables", "priorities", "share", "load", "costs", "optimum", "waiting gains")
MORE = ("whittle", "best other", "which")

Cell = tuple[str, str, str, float, str]


def _period(graph: str) -> int:
    return MANY[0] if graph == FINE else PERIODS[len(GRAPHS[graph])]


def tables_of(cell: Cell) -> list[Small]:
    """The machine of ``cell`` in whole steps of a second; empty where it cannot come to rest."""
    graph, priorities, share, load, costs = cell
    sources = GRAPHS[graph]
    count, period = len(sources), _period(graph)
    related = any(sources)
    scale = load * period / sum(COSTS[costs][:count])
    tables = []
    for place in range(count):
        whole, start = COSTS[costs][place] * scale, SHARES[share][place]
        tables.append(
            Small(
                PRIORITIES[priorities][place],
                round(start * whole),
                round((1.0 - start) * whole),
                period,
                0 if related else place * period // 3,
                sources[place],
            )
        )
    slope = sum(table.each / table.period for table in tables)
    if slope > MOST_SLOPE or any(table.start + table.each == 0 for table in tables):
        return []
    return tables


def measured(job: tuple[Cell, int]) -> Row | None:
    """The line of a cell; None where the best schedule does not come to rest."""
    cell, cycles = job
    tables = tables_of(cell)
    if not tables:
        return None
    most = MANY[1] if cell[0] == FINE else MOST_FILES[len(tables)]
    eager = optimum(tables, most_files=most, idles=False)
    if eager.most_files >= most:
        return None
    best = optimum(tables, most_files=most)
    rates = {name: rate_of(tables, PolicySettings(name, inherit="max"), cycles) for name in OTHERS}
    which = min(rates, key=lambda name: rates[name])
    whittle = rate_of(tables, PolicySettings("whittle"), cycles)
    line = [*cell, f"{eager.rate:.4f}", f"{eager.rate / best.rate:.4f}"]
    line += [f"{whittle / eager.rate:.4f}", f"{rates[which] / eager.rate:.4f}", which]
    return dict(zip((*HEAD, *MORE), map(str, line), strict=True))


def cells(size: Size) -> list[Cell]:
    """The grid; without ``--full`` uneven costs only, and rising priorities of many tables."""
    if size.quick:
        return list(product((COARSE,), PRIORITIES, *LARGER))
    is_full = size.name == "full"
    costs = tuple(COSTS) if is_full else ("uneven",)
    shares = [share for share in SHARES if share != "all"]
    two = product((COARSE,), PRIORITIES, shares, LOADS, costs)
    many = product((FINE,), PRIORITIES, MANY[2], MANY[3], costs)
    larger = product(BIGGER, tuple(PRIORITIES) if is_full else ("rising",), *LARGER)
    return [*two, *many, *larger]


def play_grid(size: Size) -> list[Row]:
    """Every cell that comes to rest."""
    cycles = QUICK_CYCLES if size.quick else CYCLES
    lines = each(measured, [(cell, cycles) for cell in cells(size)], size)
    return [line for line in lines if line is not None]


def _values(rows: Sequence[Row], name: str) -> list[float]:
    return [float(row[name]) for row in rows]


def findings(rows: Sequence[Row]) -> list[Finding]:
    """What the issue asks of two tables, and of more."""
    found = []
    for claim, graphs in (
        ("two tables, one to some files an update: within 1 % of the best schedule", (COARSE,)),
        ("two tables, many files an update: within 1 %", (FINE,)),
        ("three to five tables: within 1 %", tuple(BIGGER)),
    ):
        part = [row for row in rows if row["tables"] in graphs]
        if not part:
            continue
        ratios = _values(part, "whittle")
        within = sum(ratio <= WITHIN for ratio in ratios)
        found.append(
            Finding(
                claim,
                f"{within} of {len(ratios)} cells, mean {fmean(ratios):.3f}, worst "
                f"{max(ratios):.3f}; the best of {', '.join(OTHERS)} in each cell: mean "
                f"{fmean(_values(part, 'best other')):.3f}",
                within == len(ratios),
            )
        )
    return found


def numbers(rows: Sequence[Row]) -> list[str]:
    """By tables, load and share of start-up."""
    lines = [
        "| cells | number | whittle: mean | worst | within 1 % | best other | waiting gains |",
        "|---|---|---|---|---|---|---|",
    ]
    parts = [("tables", graph) for graph in GRAPHS]
    parts += [("load", str(load)) for load in (*LOADS, *MANY[3])]
    parts += [("share", share) for share in SHARES]
    parts += [("priorities", priorities) for priorities in PRIORITIES]
    for key, value in parts:
        part = [row for row in rows if row[key] == value]
        if part:
            ratios = _values(part, "whittle")
            within = sum(ratio <= WITHIN for ratio in ratios)
            gains = 100.0 * (fmean(_values(part, "waiting gains")) - 1.0)
            lines.append(
                f"| {key} {value} | {len(part)} | {fmean(ratios):.3f} | {max(ratios):.3f} | "
                f"{within} | {fmean(_values(part, 'best other')):.3f} | {gains:.1f} % |"
            )
    return lines


def draw(rows: Sequence[Row], path: Path) -> None:
    """Whittle over the optimum, by load; each point a cell."""
    with axes_of(path) as axes:
        (axis,) = axes
        for graph in GRAPHS:
            part = [row for row in rows if row["tables"] == graph]
            axis.plot(_values(part, "load"), _values(part, "whittle"), ".", label=graph)
        axis.axhline(1.0, color="grey", linewidth=0.8)
        axis.set(xlabel="load", ylabel="whittle / best schedule that never waits")
        axis.legend()


EXPERIMENT = Experiment(HERE, play_grid, findings, draw, numbers)
