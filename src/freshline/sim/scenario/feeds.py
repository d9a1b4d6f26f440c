"""The files of a feed, one after the other: periodic or given, moved out of outages.

docs/reference/scenario-updates.md, semantics 1; rules G17 (dates by one fixed expression)
and G19 (outages that touch or overlap chain, and move given arrivals too).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import count

from freshline.sim.scenario.model import FeedSpec


def chained(outages: tuple[tuple[float, float], ...]) -> list[tuple[float, float]]:
    """``outages`` ascending, those that touch or overlap as one; empty ones left out."""
    result: list[tuple[float, float]] = []
    for start_s, end_s in sorted(outages):
        if end_s <= start_s:
            continue
        if result and start_s <= result[-1][1]:
            result[-1] = (result[-1][0], max(result[-1][1], end_s))
        else:
            result.append((start_s, end_s))
    return result


def files(feed: FeedSpec) -> Iterator[tuple[float, float]]:
    """(arrival, timestamp) of each file in order of arrival; periodic feeds never end.

    Files that hold nothing are among them: they count as events.
    """
    due = _periodic(feed) if feed.arrivals is None else iter(feed.arrivals)
    outages = chained(feed.outages)
    return _moved(due, outages) if outages else due


def _periodic(feed: FeedSpec) -> Iterator[tuple[float, float]]:
    phase_s, period_s = feed.phase_s, feed.period_s
    for number in count(1):
        due_s = phase_s + (number - 1) * period_s  # ``date_s``, without the call
        yield due_s, due_s


def _moved(
    due: Iterator[tuple[float, float]], outages: list[tuple[float, float]]
) -> Iterator[tuple[float, float]]:
    starts = [start_s for start_s, _ in outages]
    for arrival_s, timestamp_s in due:
        index = bisect_right(starts, arrival_s) - 1
        if index >= 0 and arrival_s < outages[index][1]:
            yield outages[index][1], timestamp_s
        else:
            yield arrival_s, timestamp_s
