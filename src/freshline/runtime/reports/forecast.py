"""What a report's streams are expected to bring: the rest of its window, as earlier ones had it.

A stream's place in a window is its freshness, not the time. So what came is held against what
was brought up to the same freshness in an earlier window: the rows tell how many are to come,
the delay of the newest how much later. A stream that lags brings the same later; one that slows
down brings less.

Source: Chandrasekaran and Sudarshan, section 4.4; rules C13, C14.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

from freshline.reports.progress import pace
from freshline.runtime.journal.store import Journal
from freshline.runtime.reports.store import Arrival, arrivals, brought, newest_arrival

WINDOWS = 5
"""So many earlier windows are looked at for the one that is expected again."""

_MOST_PIECES = 500
"""Into which a rate is cut."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """One stream in one window: what it brought and what it should bring, by freshness.

    Attributes:
        start_s, end_s: The window.
        arrivals: Its updates, by freshness; those to come as they are expected.
    """

    start_s: float
    end_s: float
    arrivals: tuple[Arrival, ...]

    @property
    def grain_s(self) -> float:
        """Seconds of the window that an update brings, in the mean."""
        return (self.end_s - self.start_s) / max(1, len(self.arrivals))

    @property
    def rows(self) -> int:
        """Of the whole window."""
        return sum(each.rows for each in self.arrivals)

    def rows_upto(self, to_s: float) -> float:
        """Rows up to a freshness; an update's are spread evenly over what it brought."""
        tos_s = [each.to_s for each in self.arrivals]
        counts = [0, *accumulate(each.rows for each in self.arrivals)]
        at = bisect_left(tos_s, to_s)
        if at == len(tos_s):
            return float(counts[-1])
        from_s = tos_s[at - 1] if at else self.start_s
        share = (to_s - from_s) / (tos_s[at] - from_s) if tos_s[at] > from_s else 1.0
        return counts[at] + max(0.0, share) * self.arrivals[at].rows

    def lag_s(self, newest: Arrival) -> float:
        """How much longer an update was on its way than the one expected at its freshness."""
        if not self.arrivals:
            return 0.0
        at = bisect_left([each.to_s for each in self.arrivals], newest.to_s)
        expected = self.arrivals[min(at, len(self.arrivals) - 1)]
        return (newest.at_s - newest.to_s) - (expected.at_s - expected.to_s)


def typical_start_s(
    journal: Journal,
    streams: list[str],
    start_s: float,
    end_s: float,
    start_before_s: Callable[[float], float] | None = None,
) -> float | None:
    """The start of the earlier window that is expected again; None: there is none.

    Of the last ones in which the streams brought anything, the one with the median number of
    rows, and of those with as many the one with the median delay: one odd day changes nothing.

    Args:
        start_before_s: The start of the window before the one that starts then: days are of 23
            and of 25 hours, too. None: each is as long as this one.
    """
    length_s = end_s - start_s
    found = []
    from_s = start_s
    for _ in range(WINDOWS):
        until_s = from_s
        from_s = until_s - length_s if start_before_s is None else start_before_s(until_s)
        what = brought(journal, streams, from_s, until_s)
        if what is not None:
            rows, delay_s = what
            found.append((rows, delay_s, from_s))
    return sorted(found)[len(found) // 2][2] if found else None


def forecast(
    journal: Journal,
    stream: str,
    start_s: float,
    end_s: float,
    now_s: float,
    *,
    typical_s: float | None,
    closed: bool = False,
) -> Forecast:
    """What one stream brought in a window, and what it should still bring.

    Args:
        typical_s: Start of the window that is expected again; None: by the rate so far.
        closed: Nothing more is waited for.
    """
    here = arrivals(journal, [stream], start_s, end_s)
    newest = newest_arrival(journal, stream)
    reached_s = start_s if newest is None else max(start_s, newest.to_s)
    if closed or reached_s >= end_s:
        return Forecast(start_s, end_s, tuple(here))
    before = _moved(journal, stream, typical_s, start_s, end_s)
    if before.rows:
        rest = _as_before(here, before, reached_s, now_s)
    else:
        rest = _at_this_rate(here, start_s, end_s, reached_s, now_s)
    return Forecast(start_s, end_s, (*here, *rest))


def _moved(
    journal: Journal, stream: str, typical_s: float | None, start_s: float, end_s: float
) -> Forecast:
    """An earlier window's arrivals, as if they were this one's."""
    if typical_s is None:
        return Forecast(start_s, end_s, ())
    by_s = start_s - typical_s
    found = arrivals(journal, [stream], typical_s, typical_s + (end_s - start_s))
    return Forecast(
        start_s,
        end_s,
        tuple(Arrival(each.at_s + by_s, each.rows, each.to_s + by_s) for each in found),
    )


def _as_before(
    here: list[Arrival], before: Forecast, reached_s: float, now_s: float
) -> list[Arrival]:
    """The rest of an earlier window, at today's pace and with today's lag."""
    rest = [each for each in before.arrivals if each.to_s > reached_s]
    if not rest:
        return []
    had = before.rows_upto(reached_s)
    times = pace(sum(each.rows for each in here), had, before.rows)
    lag_s = before.lag_s(here[-1]) if here else 0.0
    lag_s = max(lag_s, now_s - rest[0].at_s - before.grain_s)  # or it would be there
    result, given = [], 0
    for each in rest:
        upto = round(times * (before.rows_upto(each.to_s) - had))
        # No sooner than it happens.
        at_s = max(now_s, each.to_s, each.at_s + lag_s)
        result.append(Arrival(at_s, upto - given, each.to_s))
        given = upto
    return result


def _at_this_rate(
    here: list[Arrival], start_s: float, end_s: float, reached_s: float, now_s: float
) -> list[Arrival]:
    """The same number of rows a second of the stream up to the window's end."""
    rows = sum(each.rows for each in here)
    if not rows:
        return []
    from_s = min(start_s, *(each.from_s for each in here if each.from_s is not None), reached_s)
    # As fine as the updates that came, or the pause between two of them would look like a lag.
    pieces = math.ceil((end_s - reached_s) * len(here) / max(1.0, reached_s - from_s))
    pieces = min(max(1, pieces), _MOST_PIECES)
    piece_s = (end_s - reached_s) / pieces
    piece = rows / max(1.0, reached_s - from_s) * piece_s
    delay_s = max(0.0, here[-1].at_s - here[-1].to_s)
    result = []
    for number in range(1, pieces + 1):
        to_s = reached_s + piece_s * number
        new = round(piece * number) - round(piece * (number - 1))
        result.append(Arrival(max(now_s, to_s + delay_s), new, to_s))
    return result
