"""Where the tables of a graph are drawn: layers from left to right, few crossings.

A table's layer is the longest path to it. Within a layer tables are ordered by the mean place of
their neighbours (barycentre), sweeping right and left; the order with the fewest crossings is kept.
Everything is linear in tables and edges, times the sweeps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_SWEEPS = 8


@dataclass(frozen=True, slots=True)
class Placed:
    """Column from 0, and place from the top; places of a column are a row apart, and centred."""

    layer: int
    place: float


def layout(parents: Mapping[str, Sequence[str]]) -> dict[str, Placed]:
    """Places for every table.

    Args:
        parents: Of each table, parents before children; parents that are no keys are left out.
    """
    layers = _layers(parents)
    if not layers:
        return {}
    children: dict[str, list[str]] = {name: [] for name in parents}
    above = {name: [each for each in of if each in parents] for name, of in parents.items()}
    for name, of in above.items():
        for each in of:
            children[each].append(name)
    columns: list[list[str]] = [[] for _ in range(max(layers.values()) + 1)]
    for name, layer in layers.items():
        columns[layer].append(name)
    best, fewest = [list(column) for column in columns], _crossings(columns, children)
    for sweep in range(_SWEEPS):
        if not fewest:
            break
        rightwards = sweep % 2 == 0
        order = range(1, len(columns)) if rightwards else range(len(columns) - 2, -1, -1)
        neighbours = above if rightwards else children
        for index in order:
            _sorted_by_neighbours(columns, index, neighbours)
        crossings = _crossings(columns, children)
        if crossings < fewest:
            best, fewest = [list(column) for column in columns], crossings
    return {
        name: Placed(layer, place - (len(column) - 1) / 2.0)
        for layer, column in enumerate(best)
        for place, name in enumerate(column)
    }


def _layers(parents: Mapping[str, Sequence[str]]) -> dict[str, int]:
    layers: dict[str, int] = {}
    for name, of in parents.items():
        layers[name] = max((layers[each] + 1 for each in of if each in layers), default=0)
    return layers


def _sorted_by_neighbours(
    columns: list[list[str]], index: int, neighbours: Mapping[str, Sequence[str]]
) -> None:
    places = {
        name: place / max(1, len(column) - 1)
        for column in columns
        for place, name in enumerate(column)
    }
    now = {name: place for place, name in enumerate(columns[index])}

    def key(name: str) -> tuple[float, int]:
        of = neighbours[name]
        mean = sum(places[each] for each in of) / len(of) if of else places[name]
        return mean, now[name]

    columns[index].sort(key=key)


def _crossings(columns: list[list[str]], children: Mapping[str, Sequence[str]]) -> int:
    """Crossings between neighbouring columns; edges over several count by their ends."""
    total = 0
    for index in range(len(columns) - 1):
        places = {name: place for place, name in enumerate(columns[index + 1])}
        ends = [
            places[child]
            for name in columns[index]
            for child in sorted(children[name], key=lambda each: places.get(each, -1))
            if child in places
        ]
        total += _inversions(ends)
    return total


def _inversions(values: list[int]) -> int:
    """Pairs in the wrong order, by counting in a Fenwick tree."""
    size = max(values, default=-1) + 2
    tree = [0] * (size + 1)
    total = 0
    for seen, value in enumerate(values):
        place, smaller = value + 1, 0
        while place:
            smaller += tree[place]
            place -= place & -place
        total += seen - smaller
        place = value + 1
        while place <= size:
            tree[place] += 1
            place += place & -place
    return total
