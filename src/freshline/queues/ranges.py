"""Sets of positions kept as ranges: what costs is the number of runs, not of positions."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from freshline.core.errors import InternalError


class RangeSet:
    """A set of whole numbers as sorted runs ``[start, stop)`` that never touch each other.

    Example:
        >>> positions = RangeSet()
        >>> positions.add(4, 8)
        >>> positions.add(8, 10)
        >>> list(positions), positions.size
        ([(4, 10)], 6)
    """

    __slots__ = ("_starts", "_stops", "size")

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._stops: list[int] = []
        self.size = 0
        """How many positions are in the set."""

    def __bool__(self) -> bool:
        return self.size > 0

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self._starts, self._stops, strict=True)

    @property
    def first(self) -> tuple[int, int]:
        """The lowest run; the set must not be empty."""
        return self._starts[0], self._stops[0]

    @property
    def last(self) -> tuple[int, int]:
        """The highest run; the set must not be empty."""
        return self._starts[-1], self._stops[-1]

    def add(self, start: int, stop: int) -> None:
        """Add ``[start, stop)``, none of which may be in the set; joins the runs beside it."""
        at = bisect_left(self._starts, start)
        joins_left = at > 0 and self._stops[at - 1] == start
        joins_right = at < len(self._starts) and self._starts[at] == stop
        if self.overlaps(start, stop) or start >= stop:
            raise InternalError("bad-range", f"cannot add [{start}, {stop}) to {list(self)}")
        if joins_left and joins_right:
            self._stops[at - 1] = self._stops.pop(at)
            del self._starts[at]
        elif joins_left:
            self._stops[at - 1] = stop
        elif joins_right:
            self._starts[at] = start
        else:
            self._starts.insert(at, start)
            self._stops.insert(at, stop)
        self.size += stop - start

    def remove(self, start: int, stop: int) -> None:
        """Take out ``[start, stop)``, all of which must lie within one run."""
        at = bisect_right(self._starts, start) - 1
        if at < 0 or start >= stop or stop > self._stops[at]:
            raise InternalError("bad-range", f"cannot remove [{start}, {stop}) from {list(self)}")
        old_start, old_stop = self._starts[at], self._stops[at]
        del self._starts[at], self._stops[at]
        if stop < old_stop:
            self._starts.insert(at, stop)
            self._stops.insert(at, old_stop)
        if old_start < start:
            self._starts.insert(at, old_start)
            self._stops.insert(at, start)
        self.size -= stop - start

    def discard_below(self, limit: int) -> None:
        """Forget every position below ``limit``."""
        while self._starts and self._starts[0] < limit:
            self.remove(self._starts[0], min(self._stops[0], limit))

    def shared(self, start: int, stop: int) -> int:
        """How many positions of ``[start, stop)`` are in the set."""
        total = 0
        at = max(0, bisect_right(self._starts, start) - 1)
        while at < len(self._starts) and self._starts[at] < stop:
            total += max(0, min(stop, self._stops[at]) - max(start, self._starts[at]))
            at += 1
        return total

    def overlaps(self, start: int, stop: int) -> bool:
        """Whether any position of ``[start, stop)`` is in the set."""
        at = bisect_left(self._starts, stop)
        return at > 0 and self._stops[at - 1] > start

    def gaps_newest_first(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """The runs of ``[start, stop)`` that are not in the set, the highest first."""
        for at in range(len(self._starts) - 1, -1, -1):
            if self._stops[at] < stop:
                yield max(start, self._stops[at]), stop
            stop = min(stop, self._starts[at])
            if stop <= start:
                return
        if start < stop:
            yield start, stop
