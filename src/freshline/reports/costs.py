"""What a batch of a report costs, in seconds, as a function of its tuples.

Source: Chandrasekaran and Sudarshan, equation 1 and section 6.2; rules C9.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import Protocol

TOLERANCE_S = 1e-9
"""Two times closer than this count as one; sums of costs are never better than that."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of batch sizes on which the cost is ``offset_s + slope_s * tuples``."""

    from_tuples: int
    to_tuples: int
    offset_s: float
    slope_s: float


class CostModel(Protocol):
    """A nondecreasing cost of a batch; nothing costs nothing."""

    def __call__(self, tuples: int) -> float:
        """Seconds for a batch of ``tuples``."""
        ...

    def pieces(self, tuples: int) -> list[Piece]:
        """The sizes 1 to ``tuples``, cut into stretches on which the cost is affine."""
        ...


@dataclass(frozen=True, slots=True)
class LinearCost:
    """Equation 1: ``overhead_s`` for the batch and ``per_tuple_s`` for each tuple."""

    per_tuple_s: float
    overhead_s: float

    def __call__(self, tuples: int) -> float:
        """Seconds for a batch of ``tuples``."""
        return self.overhead_s + self.per_tuple_s * tuples if tuples > 0 else 0.0

    def pieces(self, tuples: int) -> list[Piece]:
        """One stretch: the cost is affine everywhere."""
        return [Piece(1, tuples, self.overhead_s, self.per_tuple_s)] if tuples > 0 else []


@dataclass(frozen=True, slots=True)
class PiecewiseCost:
    """Straight lines between measured points (section 6.2).

    Beyond the last point the last line goes on; before the first point the first line is
    prolonged backwards, but not below zero (C9).

    Args:
        points: At least two pairs of tuples (increasing) and seconds (nondecreasing, >= 0).
    """

    points: tuple[tuple[float, float], ...]

    def __call__(self, tuples: int) -> float:
        """Seconds for a batch of ``tuples``."""
        if tuples <= 0:
            return 0.0
        at = bisect_left(self.points, (tuples, -math.inf), 1, len(self.points) - 1)
        (x0, y0), (x1, y1) = self.points[at - 1], self.points[at]
        return max(0.0, y0 + (tuples - x0) * (y1 - y0) / (x1 - x0))

    def pieces(self, tuples: int) -> list[Piece]:
        """One stretch a line, and one at zero where the first line falls below it."""
        result: list[Piece] = []
        below = 1  # the first size without a piece
        for number in range(1, len(self.points)):
            (x0, y0), (x1, y1) = self.points[number - 1], self.points[number]
            slope_s = (y1 - y0) / (x1 - x0)
            offset_s = y0 - x0 * slope_s
            last = number == len(self.points) - 1
            upto = tuples if last else min(tuples, math.floor(x1))
            while number == 1 and below <= upto and self(below) == 0.0:
                below += 1
            if number == 1 and below > 1:
                result.append(Piece(1, below - 1, 0.0, 0.0))
            if below <= upto:
                result.append(Piece(below, upto, offset_s, slope_s))
                below = upto + 1
        return result


@dataclass(frozen=True, slots=True)
class FinalCost:
    """The final aggregation of the partials: linear in the batches, none for one (C9).

    Args:
        of_one: A single batch needs it too: its partial is written and read like any other.
    """

    per_batch_s: float = 0.0
    overhead_s: float = 0.0
    of_one: bool = False

    def __call__(self, batches: int) -> float:
        """Seconds to combine the partials of ``batches`` batches."""
        needed = batches > 1 or (self.of_one and batches == 1)
        return self.overhead_s + self.per_batch_s * batches if needed else 0.0


def in_batches_s(
    cost: CostModel, final: FinalCost, tuples: int, size: int, *, batches_before: int = 0
) -> float:
    """Cost of ``tuples`` in batches of ``size``, the rest in one more, with the final (C12).

    Args:
        batches_before: Batches already finished, which the final aggregation combines too.
    """
    full, rest = divmod(tuples, size)
    batches = batches_before + full + (1 if rest else 0)
    return full * cost(size) + cost(rest) + final(batches)
