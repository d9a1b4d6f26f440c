"""Times and durations, as people and JSON read them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_S = -62_135_596_800.0
_LAST_S = 253_402_300_799.0
_OFFSET = re.compile(
    r"Z|UTC|GMT|UT|(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?([0-5]\d))?(?::?([0-5]\d))?", re.ASCII
)
_LARGEST_OFFSET = timedelta(hours=18)
"""Of any zone in java.time."""


def brief_s(seconds: float) -> str:
    """Seconds for people: ``0.4 s``, ``12 s``, ``3 min``, ``2 h 5 min``, ``4 d``."""
    if seconds < 9.95:  # noqa: PLR2004 - below it, a tenth tells something
        return f"{seconds:.1f} s"
    if seconds < 120.0:  # noqa: PLR2004 - two minutes
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60.0)
    if minutes < 60:  # noqa: PLR2004 - an hour
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    if hours < 48:  # noqa: PLR2004 - two days
        return f"{hours} h {rest} min" if rest else f"{hours} h"
    return f"{round(hours / 24)} d"


def rfc3339(moment_s: float) -> str:
    """Seconds since the epoch as RFC 3339 in UTC, with microseconds.

    Rounded to the nearest microsecond, so that reading it gives the same float back. What lies
    outside of the years 1 to 9999 is shown as their first or last moment.
    """
    moment = datetime_of(moment_s)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def datetime_of(moment_s: float) -> datetime:
    """Seconds since the epoch as a date in UTC, within the years 1 to 9999."""
    within_s = min(max(moment_s, _FIRST_S), _LAST_S)
    return _EPOCH + timedelta(microseconds=round(within_s * 1_000_000))


def seconds(moment: str) -> float:
    """The inverse of :func:`rfc3339`."""
    return (datetime.fromisoformat(moment) - _EPOCH) / timedelta(microseconds=1) / 1_000_000


def fixed_offset(zone: str) -> timedelta | None:
    """From UTC, by the name of a time zone that says it: ``Z``, ``GMT``, ``+02:00``, ``UTC-3``.

    None: it says none that Spark would take.
    """
    found = _OFFSET.fullmatch(zone)
    if found is None:
        return None
    sign, *parts = found.groups()
    hours, minutes, seconds = (int(each or 0) for each in parts)
    length = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    if length > _LARGEST_OFFSET:
        return None
    return -length if sign == "-" else length
