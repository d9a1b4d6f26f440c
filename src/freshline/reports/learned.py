"""Costs of batches and of the final, learned from those that ran.

A batch's cost is piecewise linear in its tuples and the final's linear in the batches
(Chandrasekaran and Sudarshan, section 6.2; rules C9). Measurements scatter, so near sizes
are put together and a larger batch never costs less than a smaller one; what was measured
lately counts more than what was long ago, since data and machines change.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from freshline.reports.costs import CostModel, FinalCost, LinearCost, PiecewiseCost

FIRST_BATCH = LinearCost(per_tuple_s=5e-6, overhead_s=3.0)
"""Taken before anything was measured: a small Spark job and a commit; per row."""
FIRST_FINAL = FinalCost(per_batch_s=0.05, overhead_s=3.0)

NEWEST = 64
"""Measurements that count."""
_NEAR = 2.0
"""Sizes within this factor of each other are put together."""
_FADING = 0.8
"""Weight of a measurement against the next newer one of about the same size."""


def learned_cost(measured: Iterable[tuple[int, float]], first: LinearCost) -> CostModel:
    """Seconds of a batch by its tuples.

    Args:
        measured: Tuples and seconds of finished batches, oldest first.
        first: What is taken where nothing was measured.
    """
    points = _points([(float(n), s) for n, s in list(measured)[-NEWEST:] if n > 0])
    if not points:
        return first
    if len(points) == 1:
        ((tuples, seconds),) = points
        # Half for the tuples, half for the batch: rather too dear than too late, until a second
        # size was measured.
        return LinearCost(0.5 * seconds / tuples, 0.5 * seconds)
    return PiecewiseCost(tuple(points))


def learned_final(measured: Iterable[tuple[int, float]], first: FinalCost) -> FinalCost:
    """Seconds of the final by the batches it combines.

    Args:
        measured: Batches and seconds of finished ones, oldest first.
        first: What is taken where nothing was measured.
    """
    points = _points([(float(n), s) for n, s in list(measured)[-NEWEST:] if n > 0], near=1.0)
    if not points:
        return first
    if len(points) == 1:
        ((batches, seconds),) = points
        per_batch_s = min(first.per_batch_s, seconds / batches)
        return FinalCost(per_batch_s, max(0.0, seconds - per_batch_s * batches))
    mean_n = sum(n for n, _ in points) / len(points)
    mean_s = sum(s for _, s in points) / len(points)
    spread = sum((n - mean_n) ** 2 for n, _ in points)
    slope_s = max(0.0, sum((n - mean_n) * (s - mean_s) for n, s in points) / spread)
    return FinalCost(slope_s, max(0.0, mean_s - slope_s * mean_n))


def scaled(cost: CostModel, rows: int) -> CostModel:
    """The same where one tuple stands for so many rows."""
    if isinstance(cost, LinearCost):
        return LinearCost(cost.per_tuple_s * rows, cost.overhead_s)
    assert isinstance(cost, PiecewiseCost)
    return PiecewiseCost(tuple((tuples / rows, seconds) for tuples, seconds in cost.points))


def _points(
    measured: Sequence[tuple[float, float]], near: float = _NEAR
) -> list[tuple[float, float]]:
    """One point a size, sizes increasing and seconds nondecreasing."""
    groups: list[list[tuple[float, float, int]]] = []
    numbered = [(n, s, place) for place, (n, s) in enumerate(measured)]
    for each in sorted(numbered):
        if groups and each[0] <= groups[-1][0][0] * near:
            groups[-1].append(each)
        else:
            groups.append([each])
    points: list[tuple[float, float]] = []
    for group in groups:
        newest_first = sorted(group, key=lambda each: -each[2])
        weights = [_FADING**age for age in range(len(newest_first))]
        whole = math.fsum(weights)
        pairs = list(zip(newest_first, weights, strict=True))
        tuples = math.fsum(each[0] * weight for each, weight in pairs) / whole
        seconds = math.fsum(each[1] * weight for each, weight in pairs) / whole
        points.append((tuples, max(seconds, points[-1][1] if points else 0.0)))
    return points
