"""Isotonic pooling on a forest: which tables share one interval, or one amount.

Minimise a sum of convex costs whose best argument is cost/weight for each node (and the sum
of costs over the sum of weights for nodes that must agree), subject to: no node's argument
below its parent's. Nodes that would violate this are pooled with their parent, lowest ratio
first (pool adjacent violators; on trees the same steps as Horn 1972, "Single-machine job
sequencing with treelike precedence ordering", SIAM J. Appl. Math. 23).
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from math import inf
from typing import NamedTuple


class Block(NamedTuple):
    """Nodes that agree: their summed weight and cost, and who they are."""

    weight: float
    cost: float
    members: list[int]


def _ratio(weight: float, cost: float) -> float:
    if weight > 0.0:
        return cost / weight
    return inf if cost > 0.0 else 0.0


def blocks(parents: Sequence[int], weights: Sequence[float], costs: Sequence[float]) -> list[Block]:
    """The pools of a forest, O(n log^2 n).

    Args:
        parents: Each node's parent, which stands before it; -1: a root.
        weights, costs: >= 0 each.
    """
    weight, cost = list(weights), list(costs)
    members = [[node] for node in range(len(parents))]
    below: list[list[tuple[float, int]]] = [[] for _ in parents]
    pooled = [False] * len(parents)
    for node in range(len(parents) - 1, -1, -1):
        while below[node] and below[node][0][0] < _ratio(weight[node], cost[node]):
            child = heappop(below[node])[1]
            pooled[child] = True
            weight[node] += weight[child]
            cost[node] += cost[child]
            members[node] = _joined(members[node], members[child])
            below[node] = _merged(below[node], below[child])
        if parents[node] >= 0:
            heappush(below[parents[node]], (_ratio(weight[node], cost[node]), node))
    return [
        Block(weight[node], cost[node], members[node])
        for node in range(len(parents))
        if not pooled[node]
    ]


def _joined(first: list[int], second: list[int]) -> list[int]:
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    longer.extend(shorter)
    return longer


def _merged(
    first: list[tuple[float, int]], second: list[tuple[float, int]]
) -> list[tuple[float, int]]:
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    for item in shorter:
        heappush(longer, item)
    return longer
