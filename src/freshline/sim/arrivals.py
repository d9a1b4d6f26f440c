"""All feeds' files in one sequence by (arrival, table order), made a window at a time.

A heap of one next file a table would touch a dozen far-apart entries for every file; with
ten thousand tables that costs more than the scheduler itself. Making some thousands of
files table by table and sorting them costs less at any number of tables, and memory stays
that of a window.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, nextafter
from operator import itemgetter
from typing import Protocol

from freshline.sim.scenario.feeds import files
from freshline.sim.scenario.model import FeedSpec

_LEAST_WINDOW = 4096
"""Files in a window, about; at least two a table, so that each visit of a table pays."""

File = tuple[float, int, float]
"""Arrival, table order, timestamp."""


class _Feed(Protocol):
    count: int
    low_s2: float

    def before(self, end_s: float, into: list[File]) -> None:
        """Append the files that arrive before ``end_s`` and were not appended yet."""


class Arrivals:
    """Windows of files up to a horizon. Files that hold nothing are counted and left out.

    Args:
        feeds: The feed of each table in table order; None for derived tables.
        horizon_s: Files that arrive later are not made; those at it are.
    """

    def __init__(self, feeds: Sequence[FeedSpec | None], horizon_s: float) -> None:
        self._feeds: list[_Feed] = []
        rate_hz = 0.0
        for order, feed in enumerate(feeds):
            if feed is None:
                continue
            if feed.arrivals is None:
                rate_hz += 1.0 / feed.period_s
            plain = feed.arrivals is None and not feed.outages
            self._feeds.append((_Periodic if plain else _Walked)(order, feed))
        self._end_s = 0.0
        self._last_s = nextafter(horizon_s, inf)
        wanted = max(_LEAST_WINDOW, 2 * len(self._feeds))
        self._window_s = wanted / rate_hz if rate_hz else inf

    def window(self) -> list[File]:
        """The next files by (arrival, table order); empty at the end, and not before."""
        found: list[File] = []
        while not found and self._end_s < self._last_s:
            self._end_s = min(self._last_s, self._end_s + self._window_s)
            for feed in self._feeds:
                feed.before(self._end_s, found)
        # Stable: files of one instant stay in table order, and those of a table in their own.
        found.sort(key=itemgetter(0))
        return found

    @property
    def count(self) -> int:
        """Files of the windows so far, those that hold nothing as well."""
        return sum(feed.count for feed in self._feeds)

    @property
    def low_s2(self) -> float:
        """Sum of (timestamp - previous timestamp)^2 over them (LOW of Bateni et al. 2.2)."""
        return sum(feed.low_s2 for feed in self._feeds)


class _Periodic:
    """A feed without outages: file j is due, and arrives, at phase + (j - 1) * period."""

    __slots__ = ("_before_s", "_order", "_period_s", "_phase_s", "count", "low_s2")

    def __init__(self, order: int, feed: FeedSpec) -> None:
        self._order = order
        self._phase_s = feed.phase_s
        self._period_s = feed.period_s
        self._before_s = 0.0
        self.count = 0
        self.low_s2 = 0.0

    def before(self, end_s: float, into: list[File]) -> None:
        phase_s, period_s, order = self._phase_s, self._period_s, self._order
        number, before_s, low_s2 = self.count, self._before_s, self.low_s2
        due_s = phase_s + number * period_s
        while due_s < end_s:
            if due_s > before_s:  # only a first file due at 0 holds nothing
                into.append((due_s, order, due_s))
            low_s2 += (due_s - before_s) * (due_s - before_s)
            before_s = due_s
            number += 1
            due_s = phase_s + number * period_s
        self.count, self._before_s, self.low_s2 = number, before_s, low_s2


class _Walked:
    """Any feed, file by file."""

    __slots__ = ("_before_s", "_files", "_next", "_order", "count", "low_s2")

    def __init__(self, order: int, feed: FeedSpec) -> None:
        self._order = order
        self._before_s = 0.0
        self.count = 0
        self.low_s2 = 0.0
        self._files: Iterator[tuple[float, float]] = files(feed)
        self._next = next(self._files, None)

    def before(self, end_s: float, into: list[File]) -> None:
        while self._next is not None and self._next[0] < end_s:
            arrival_s, timestamp_s = self._next
            self.count += 1
            length_s = timestamp_s - self._before_s
            if length_s > 0.0:
                into.append((arrival_s, self._order, timestamp_s))
                self.low_s2 += length_s * length_s
                self._before_s = timestamp_s
            self._next = next(self._files, None)
