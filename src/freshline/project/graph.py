"""The order in which tables can be updated, and the cycles that make it impossible."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence


def parents_first(parents: Mapping[str, Sequence[str]]) -> list[str]:
    """The tables with parents before children, ties in the mapping's order.

    Tables in a circle, and those that read them, are left out.
    """
    rank = {name: index for index, name in enumerate(parents)}
    names = list(parents)
    missing = {name: len(set(parents[name])) for name in parents}
    children: dict[str, list[str]] = {name: [] for name in parents}
    for name, reads in parents.items():
        for parent in set(reads):
            children[parent].append(name)
    ready = [rank[name] for name, count in missing.items() if count == 0]
    heapq.heapify(ready)
    order = []
    while ready:
        name = names[heapq.heappop(ready)]
        order.append(name)
        for child in children[name]:
            missing[child] -= 1
            if missing[child] == 0:
                heapq.heappush(ready, rank[child])
    return order


def circles(parents: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Circles of reading, at least one for each group of tables that read each other.

    Each is the names from its first table (in the mapping's order) on, every one read by the
    one before it, the first by the last.
    """
    ordered = set(parents_first(parents))
    left = {name: [p for p in parents[name] if p not in ordered] for name in parents}
    found: list[list[str]] = []
    seen = set(ordered)
    for start in parents:
        path: list[str] = []
        name = start
        while name not in seen:
            seen.add(name)
            path.append(name)
            name = left[name][0]
        if name in path:
            found.append(_turned(path[path.index(name) :], list(parents)))
    return found


def _turned(circle: list[str], order: list[str]) -> list[str]:
    first = min(range(len(circle)), key=lambda index: order.index(circle[index]))
    return circle[first:] + circle[:first]
