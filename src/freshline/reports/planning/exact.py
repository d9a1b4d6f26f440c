"""The exact plan: fewest batches, then least cost, for any nondecreasing cost and arrivals.

Forwards, the recursion finds how many batches suffice and the earliest deadline; backwards,
with that number fixed, the sizes that cost least (rule C4).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from freshline.reports.costs import TOLERANCE_S, Piece
from freshline.reports.planning.filling import fill
from freshline.reports.planning.model import Infeasible, Objective, Plan, Window, late_plan
from freshline.reports.planning.recursion import (
    cheapest_any,
    cheapest_charged,
    cheapest_free,
    cheapest_next,
    earliest_first,
    earliest_next,
)

_FURTHER = 24
"""How far beyond twice its own number of batches a recursion is continued to bound others."""


def solve(window: Window, objective: Objective) -> Plan | Infeasible:
    """The best plan by ``objective``, or the earliest feasible deadline."""
    if window.tuples == 0:
        if window.end_s > window.deadline_s + TOLERANCE_S:
            return Infeasible(window.end_s, window.slack_s)
        return Plan((), 0.0, 0.0, window.slack_s)
    search = _Search(window)
    sizes = search.sizes(objective)
    if sizes is None:
        return Infeasible(search.earliest_deadline_s(), window.slack_s)
    return late_plan(window, sizes)


def earliest_deadline_s(window: Window) -> float:
    """The earliest deadline that any plan can meet."""
    if window.tuples == 0:
        return window.end_s
    return _Search(window).earliest_deadline_s()


_CHARGE_S = 4 * TOLERANCE_S
"""On each batch, where plans that cost the same are told apart by their number of batches."""

_ROUNDING_S = 1e-6
"""Much more than sums of costs are off by rounding: what is left out is dearer by that."""


class _Search:
    """The layers of both recursions, each made once and kept."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.arrivals_s = window.indexed_arrivals_s()
        self.pieces: list[Piece] = window.cost.pieces(window.tuples)
        self.unlimited_s = earliest_first(self.arrivals_s, self.pieces)[-1]
        self._suffixes: dict[float, list[list[float]]] = {}
        self._places: list[int] | None = None  # where batches may begin and end; None: anywhere

    def sizes(self, objective: Objective) -> list[int] | None:
        """Sizes of the best plan by ``objective``; None: no plan meets the deadline."""
        if len(self.pieces) == 1 and self.pieces[0].offset_s >= 0:
            return fill(self.window)  # affine: fewest is also cheapest, and filling finds it
        if objective == "cost":
            return self.cheapest()
        fewest = self.fewest_batches()
        return None if fewest is None else self.fewest(fewest)

    def _earliest_ends(self) -> Iterator[tuple[int, float]]:
        """Earliest end of all tuples with at most 1, 2, ... batches, until more do not help."""
        before_s = [-math.inf] + [math.inf] * self.window.tuples
        for batches in range(1, self.window.tuples + 1):
            done_s = earliest_next(before_s, self.arrivals_s, self.pieces)
            yield batches, done_s[-1]
            if done_s == before_s:
                return
            before_s = done_s

    def fewest_batches(self) -> int | None:
        """The least number of batches that meets the deadline; None: no number does."""
        deadline_s = self.window.deadline_s + TOLERANCE_S
        final = self.window.final
        for batches, end_s in self._earliest_ends():
            if end_s + final(batches) <= deadline_s:
                return batches
            if self.unlimited_s + final(batches + 1) > deadline_s:
                return None
        return None

    def earliest_deadline_s(self) -> float:
        """The least end of the final aggregation over all numbers of batches."""
        final = self.window.final
        if final.per_batch_s == 0.0:  # from two batches on, their number is free
            single_s = self.arrivals_s[-1] + self.window.cost(self.window.tuples)
            return min(single_s, self.unlimited_s + final(2))
        best_s = math.inf
        for batches, end_s in self._earliest_ends():
            best_s = min(best_s, end_s + final(batches))
            if self.unlimited_s + final(batches + 1) >= best_s:
                break
        return best_s

    def fewest(self, fewest: int) -> list[int] | None:
        """Sizes of the cheapest plan with the fewest batches."""
        for batches in range(fewest, self.window.tuples + 1):
            sizes = self._sizes(batches)
            if sizes is not None:
                return sizes
        return None

    def cheapest(self) -> list[int] | None:
        """Sizes of the cheapest plan of all; of equal ones, that with fewer batches.

        Where the relaxed plan is not in time, all numbers of batches are in question; those
        whose bound is not below the best plan so far are left out. Where the final depends on
        the number each needs a recursion of its own, as it leaves another end; so that of a
        number in the middle serves all above it as a bound too: less time never makes them
        cheaper. It takes turns with the number of the least bound.
        """
        suffix_s = self._relaxed()
        relaxed = self._fewest_of_cheapest(suffix_s)
        if relaxed is not None:
            return relaxed
        fewest = self.fewest_batches()
        best = None if fewest is None else self.fewest(fewest)
        if best is None:
            return None
        best_s = late_plan(self.window, best).cost_s
        self._narrow(suffix_s, best_s)
        floor_s = suffix_s[0] + self.window.final.overhead_s
        open_s = {
            batches: max(bound_s, floor_s)
            for bound_s, batches in self._lower_bounds_s(len(best) + 1)
            if max(bound_s, floor_s) < best_s - TOLERANCE_S
        }
        alternate = self.window.final.per_batch_s > 0.0
        tighten = False
        while open_s:
            if tighten:
                near = sorted(number for number in open_s if number <= 2 * len(best) + _FURTHER)
                batches = near[len(near) // 2] if near else min(open_s)
            else:
                batches = min(open_s, key=lambda number: (open_s[number], number))
            del open_s[batches]
            sizes = self._sizes(batches)
            if sizes is not None:
                cost_s = late_plan(self.window, sizes).cost_s
                fewer = len(sizes) < len(best)
                if cost_s < best_s - TOLERANCE_S or (fewer and cost_s <= best_s + TOLERANCE_S):
                    best, best_s = sizes, cost_s
            if tighten:
                self._tighten(open_s, batches)
            open_s = {
                number: bound_s
                for number, bound_s in open_s.items()
                if bound_s < best_s - TOLERANCE_S
                or (bound_s <= best_s + TOLERANCE_S and number < len(best))
            }
            tighten = alternate and not tighten
        return best

    def _tighten(self, open_s: dict[int, float], batches: int) -> None:
        """Raise the bounds of numbers above ``batches`` to what its end would let them cost."""
        final = self.window.final
        above = [number for number in open_s if batches < number <= 2 * batches + _FURTHER]
        layers = self._layers(max(above, default=0), final(batches))
        for number in above:
            open_s[number] = max(open_s[number], layers[number][0] + final(number))

    def _charged(self) -> list[Piece]:
        """The costs with each batch's part of the final aggregation."""
        per_batch_s = self.window.final.per_batch_s
        return [
            Piece(p.from_tuples, p.to_tuples, p.offset_s + per_batch_s, p.slope_s)
            for p in self.pieces
        ]

    def _relaxed(self) -> list[float]:
        """Bounds below the cost of what follows ``j`` in every plan of two batches or more.

        The final aggregation is charged to the batches: ``per_batch_s`` each, and as late as
        their own successors leave it. What a plan's earlier batches add to the final comes on
        top, so this is a relaxation; with ``per_batch_s`` 0 it is exact. The final's overhead
        is left out.
        """
        end_s = self.window.deadline_s - self.window.final.overhead_s
        return cheapest_any(self.arrivals_s, self._charged(), end_s)

    def _fewest_of_cheapest(self, suffix_s: list[float]) -> list[int] | None:
        """Sizes of the best plan by cost where the relaxed one is in time; None: it is not.

        No plan is cheaper than the relaxed one. With a charge on each batch it has the fewest
        batches among equals; and as the charge is more than what counts as equal, no plan with
        fewer costs as little.
        """
        final, window = self.window.final, self.window
        end_s = window.deadline_s - final.overhead_s
        sizes = cheapest_charged(suffix_s, self.arrivals_s, self._charged(), end_s, _CHARGE_S)
        if sum(sizes) != window.tuples or not self._holds(sizes):
            return None
        cost_s = late_plan(window, sizes).cost_s
        single_s = window.cost(window.tuples) if self._holds([window.tuples]) else math.inf
        if single_s <= cost_s + TOLERANCE_S:
            return [window.tuples]
        return sizes if cost_s <= suffix_s[0] + final.overhead_s + TOLERANCE_S else None

    def _holds(self, sizes: list[int]) -> bool:
        """Whether every batch finds its tuples when it starts as late as it may."""
        done = 0
        for batch in late_plan(self.window, sizes).batches:
            done += batch.tuples
            if batch.start_s < self.arrivals_s[done] - TOLERANCE_S:
                return False
        return True

    def _narrow(self, suffix_s: list[float], known_s: float) -> None:
        """Leave out the tuples at which no plan as cheap as ``known_s`` begins a batch.

        What is before costs at least what it would if all of it were there, what follows at
        least ``suffix_s``.
        """
        tuples = self.window.tuples
        before_s = cheapest_free(tuples, self._charged())
        most_s = known_s - self.window.final.overhead_s + _ROUNDING_S
        self._places = [
            0,
            *(j for j in range(1, tuples) if before_s[j] + suffix_s[j] <= most_s),
            tuples,
        ]
        self._suffixes.clear()

    def _lower_bounds_s(self, fewest: int) -> list[tuple[float, int]]:
        """Least cost of n batches whatever arrives when: n times the convex hull at N / n."""
        tuples, final = self.window.tuples, self.window.final
        hull = _lower_hull([(size, self.window.cost(size)) for size in range(1, tuples + 1)])
        bounds: list[tuple[float, int]] = []
        edge = len(hull) - 1
        for batches in range(fewest, tuples + 1):
            mean = tuples / batches
            while edge > 0 and hull[edge][0] > mean:
                edge -= 1
            (x0, y0) = hull[edge]
            (x1, y1) = hull[min(edge + 1, len(hull) - 1)]
            at_s = y0 if x1 == x0 else y0 + (mean - x0) * (y1 - y0) / (x1 - x0)
            bounds.append((batches * at_s + final(batches), batches))
        return bounds

    def _layers(self, batches: int, final_s: float) -> list[list[float]]:
        """Least costs of the last 0 to ``batches`` batches, before a final of ``final_s``."""
        end_s = self.window.deadline_s - final_s
        layers = self._suffixes.setdefault(end_s, [[math.inf] * self.window.tuples + [0.0]])
        while len(layers) <= batches:
            before_s = layers[-1]
            layers.append(
                cheapest_next(before_s, self.arrivals_s, self.pieces, end_s, self._places)
            )
        return layers

    def _sizes(self, batches: int) -> list[int] | None:
        """Sizes of the cheapest plan with exactly ``batches`` batches; None: there is none."""
        final_s = self.window.final(batches)
        layers, end_s = self._layers(batches, final_s), self.window.deadline_s - final_s
        if layers[batches][0] == math.inf:
            return None
        sizes: list[int] = []
        done = 0
        for layer in range(batches, 0, -1):
            size = self._size_at(layers[layer - 1], layers[layer][done], done, end_s)
            sizes.append(size)
            done += size
        return sizes

    def _size_at(self, suffix_s: list[float], cost_s: float, done: int, end_s: float) -> int:
        """The size that reaches ``cost_s``: found again by search, so no layer keeps choices."""
        best, best_gap_s = 0, math.inf
        for piece in self.pieces:
            largest = min(piece.to_tuples, self.window.tuples - done)
            for size in range(piece.from_tuples, largest + 1):
                total_s = suffix_s[done + size] + piece.offset_s + piece.slope_s * size
                gap_s = abs(total_s - cost_s)
                spare_s = end_s - total_s - self.arrivals_s[done + size]
                if gap_s < best_gap_s and spare_s >= -2 * TOLERANCE_S:
                    best, best_gap_s = size, gap_s
        return best


def _lower_hull(points: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """The lower convex hull of points with increasing x."""
    hull: list[tuple[int, float]] = []
    for x, y in points:
        while len(hull) > 1:
            (x0, y0), (x1, y1) = hull[-2], hull[-1]
            if (y1 - y0) * (x - x0) < (y - y0) * (x1 - x0):
                break
            hull.pop()
        hull.append((x, y))
    return hull
