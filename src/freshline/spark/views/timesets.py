"""Sets of event times as closed intervals, and the SQL that selects the rows within.

Times are instants, in microseconds since the epoch. A DATE and a TIMESTAMP_NTZ mean the instant
at which their wall clock shows them in the session's time zone, as analysis has it
(:mod:`freshline.sql.query.zone`). Which instant that is depends on the zone's history; what is
needed here are sets that are certainly wide enough, for which the zone's least and greatest offset
do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from freshline.sql.query.records import Reads
from freshline.sql.query.zone import DAY_US, zone
from freshline.sql.text.reads import quoted_column

Interval = tuple[int, int]

BEGINNING_US = -(2**63)
"""Not later than any time."""
_FAR_US = 2**62
"""Further from 1970 than any bound that is worth a comparison: 146,000 years."""

MOST_INTERVALS = 32
"""In one predicate: more of them cost more to evaluate than the rows between them."""

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a wall clock's
_FIRST_US = (datetime.min - _EPOCH) // timedelta(microseconds=1)  # noqa: DTZ901 - as _EPOCH
_LAST_US = (datetime.max - _EPOCH) // timedelta(microseconds=1)  # noqa: DTZ901 - as _EPOCH


@dataclass(frozen=True, slots=True)
class TimeSet:
    """A set of event times.

    Attributes:
        intervals: Closed, in order, apart from each other.
        null: Whether NULL belongs to the set.
    """

    intervals: tuple[Interval, ...] = ()
    null: bool = False

    def __bool__(self) -> bool:
        return bool(self.intervals) or self.null

    def until(self, last_us: int) -> TimeSet:
        """Those not later than ``last_us``; NULL stays."""
        kept = ((lo, min(hi, last_us)) for lo, hi in self.intervals if lo <= last_us)
        return TimeSet(tuple(kept), self.null)

    def either(self, other: TimeSet) -> TimeSet:
        """Those in one set or the other, or in both."""
        return time_set((*self.intervals, *other.intervals), null=self.null or other.null)


def time_set(
    intervals: Iterable[Interval], *, null: bool = False, most: int = MOST_INTERVALS
) -> TimeSet:
    """The union of ``intervals``, at most so many: the closest are joined with what is between."""
    merged: list[Interval] = []
    for lo, hi in sorted(intervals):
        if merged and lo <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], hi))
        else:
            merged.append((lo, hi))
    if len(merged) > most:
        gaps = sorted(
            range(1, len(merged)), key=lambda at: merged[at][0] - merged[at - 1][1], reverse=True
        )
        starts = [0, *sorted(gaps[: most - 1]), len(merged)]
        merged = [(merged[first][0], merged[behind - 1][1]) for first, behind in pairwise(starts)]
    return TimeSet(tuple(merged), null)


def changed_by(touched: TimeSet, reads: Reads) -> TimeSet:
    """Buckets that can differ when rows of one source at these times changed.

    A row at t can change the buckets in [t - hi, t - lo], one without a time the bucket
    without one (the contract of :class:`freshline.sql.query.records.Reads`).
    """
    return time_set(
        ((lo - reads.hi_us, hi - reads.lo_us) for lo, hi in touched.intervals),
        null=touched.null,
    )


def read_by(buckets: TimeSet, reads: Reads) -> TimeSet:
    """Times of one source's rows on which these buckets can depend."""
    return time_set(
        ((lo + reads.lo_us, hi + reads.hi_us) for lo, hi in buckets.intervals),
        null=buckets.null,
    )


def replaced_rows(column: str, times: TimeSet) -> dict[str, Any]:
    """What a commit says of the times of the rows that it replaces, for views over this one.

    They need not read the rows then to know of which times they are
    (:class:`freshline.delta.changelog.ReplacedTimes`).

    Args:
        column: Of type TIMESTAMP.
        times: Its values in all of these rows, or more.
    """
    spans = [list(interval) for interval in times.intervals]
    return {"replaced": {"column": column, "us": spans, "null": times.null}}


def spread_us(kind: str, zone: str) -> int:
    """By how much the instant of a column's value is uncertain here."""
    clock = _clock(kind, zone)
    return clock[1] - clock[0]


def covered(kind: str, wanted: TimeSet, zone: str) -> TimeSet:
    """All instants that values of a column can mean which :func:`within` selects."""
    lo_us, hi_us = _clock(kind, zone)
    return time_set(
        ((lo - hi_us, hi - lo_us) for lo, hi in _shown(kind, wanted, zone)), null=wanted.null
    )


def microseconds(column: str, kind: str) -> str:
    """SQL: the instant of a column of type timestamp, timestamp_ntz or date; a BIGINT."""
    name = quoted_column(column)
    return f"unix_micros({name if kind == 'timestamp' else f'CAST({name} AS TIMESTAMP_LTZ)'})"


def within(column: str, kind: str, wanted: TimeSet, zone: str) -> str:
    """SQL: whether a column's instant may lie in the set; never NULL.

    Plain comparisons with literals, so that Delta can skip files by their statistics. Of a
    timestamp exactly; of the other types some more are selected, see :func:`covered`.
    """
    name = quoted_column(column)
    terms = []
    for lo, hi in _shown(kind, wanted, zone):
        bounds = []
        if lo > -_FAR_US:
            bounds.append(f"{name} >= {literal(lo, kind)}")
        if hi < _FAR_US:
            bounds.append(f"{name} <= {literal(hi, kind)}")
        terms.append(" AND ".join(bounds) or f"{name} IS NOT NULL")
    chosen = " OR ".join(f"({term})" for term in terms)
    if wanted.null:
        return f"({chosen} OR {name} IS NULL)" if chosen else f"{name} IS NULL"
    # A comparison with NULL is NULL, which selects nothing and must not.
    return f"({name} IS NOT NULL AND ({chosen}))" if chosen else "false"


def earlier(column: str, kind: str, wanted: TimeSet, zone: str) -> str | None:
    """SQL: whether a column's instant lies before all of the set's, roughly; None: none can."""
    if not wanted.intervals or wanted.intervals[0][0] <= BEGINNING_US:
        return None
    before = TimeSet(((BEGINNING_US, wanted.intervals[0][0] - 1),))
    condition = within(column, kind, before, zone)
    return None if condition == "false" else condition


def _clock(kind: str, zone_name: str) -> tuple[int, int]:
    """Least and greatest distance of what a column shows from its instant."""
    if kind == "timestamp":
        return 0, 0
    clock = zone(zone_name)
    return clock.offset_lo_us, clock.offset_hi_us


def _shown(kind: str, wanted: TimeSet, zone_name: str) -> list[Interval]:
    """Values of a column, as if its clock were UTC's, for the instants wanted."""
    lo_us, hi_us = _clock(kind, zone_name)
    shown = [(lo + lo_us, hi + hi_us) for lo, hi in wanted.intervals]
    if kind == "date":  # the whole days within
        shown = [(-(-lo // DAY_US) * DAY_US, hi // DAY_US * DAY_US) for lo, hi in shown]
    return [(lo, hi) for lo, hi in shown if lo <= hi]


def literal(time_us: int, kind: str) -> str:
    """SQL: a constant of type timestamp, timestamp_ntz or date.

    Literals reach from the year 1 to 9999 in UTC, columns further: at the end of 9999 in New York
    it is the year 10000 in UTC.
    """
    days, rest_us = divmod(time_us, DAY_US)
    if not _FIRST_US <= time_us <= _LAST_US:
        if kind == "timestamp":
            return f"timestamp_micros({time_us})"
        if kind == "date":
            return f"date_from_unix_date({days})"
        seconds = f"{rest_us // 1_000_000}.{rest_us % 1_000_000:06}"
        return f"(TIMESTAMP_NTZ'1970-01-01' + make_dt_interval({days}, 0, 0, {seconds}))"
    moment = _EPOCH + timedelta(microseconds=time_us)
    if kind == "date":
        return f"DATE'{moment.date().isoformat()}'"
    text = moment.isoformat(sep=" ", timespec="microseconds")
    return f"TIMESTAMP_LTZ'{text}Z'" if kind == "timestamp" else f"TIMESTAMP_NTZ'{text}'"
