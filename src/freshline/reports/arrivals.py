"""When the tuples of a window arrive.

Source: Chandrasekaran and Sudarshan, section 3; rules C7.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

COUNT_TOLERANCE = 1e-9
"""Added before a count is rounded down: 0.1 * 30 is a little less than 3 in floating point."""


@dataclass(frozen=True, slots=True)
class ConstantRate:
    """Tuple ``i`` (from 1) arrives ``i / rate`` seconds after the window's start."""

    rate: float

    def times_s(self, start_s: float, end_s: float) -> list[float]:
        """Arrival times of the ``floor(length * rate)`` tuples in ``(start_s, end_s]`` (C7)."""
        count = math.floor((end_s - start_s) * self.rate + COUNT_TOLERANCE)
        return [start_s + number / self.rate for number in range(1, count + 1)]


@dataclass(frozen=True, slots=True)
class ListedArrivals:
    """Arrival times one by one, nondecreasing, in seconds."""

    at_s: tuple[float, ...]

    def times_s(self, start_s: float, end_s: float) -> list[float]:
        """The list itself; the window was checked when it was read."""
        return list(self.at_s)


Arrivals = ConstantRate | ListedArrivals
