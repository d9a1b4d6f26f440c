"""Durations as people write them: ``60 seconds``, ``10 minutes``, ``1h 30m``, ``2 days``."""

from __future__ import annotations

import re

RULE = "a duration is numbers with units, like '90s', '10 minutes', '1h 30m' or '2 days'"

_UNITS_S = {
    "ms": 0.001, "millisecond": 0.001,
    "s": 1.0, "sec": 1.0, "second": 1.0,
    "m": 60.0, "min": 60.0, "minute": 60.0,
    "h": 3600.0, "hr": 3600.0, "hour": 3600.0,
    "d": 86400.0, "day": 86400.0,
    "w": 604800.0, "week": 604800.0,
}  # fmt: skip
_MOST_S = 100 * 366 * 86400.0
"""Moments that a duration leads to are still dates."""
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)")


def duration_s(text: object) -> float:
    """Seconds of a duration.

    Raises:
        ValueError: It is none; the message says what is wrong with it.

    Example:
        >>> duration_s("1h 30m")
        5400.0
    """
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        raise ValueError(f"{text!r} is no duration")  # noqa: TRY004 - one error for the caller
    written = str(text).strip()
    total, at = 0.0, 0
    given: set[float] = set()
    while at < len(written):
        part = _PART.match(written, at)
        if part is None:
            raise ValueError(f"'{written}' is no duration")
        unit = part[2].lower()
        if not unit:
            raise ValueError(f"'{written}' has no unit")
        seconds = _UNITS_S.get(unit) or _UNITS_S.get(unit.removesuffix("s"))
        if seconds is None:
            raise ValueError(f"'{written}' has the unknown unit '{part[2]}'")
        if seconds in given:
            raise ValueError(f"'{written}' gives the unit '{part[2]}' twice")
        given.add(seconds)
        total += float(part[1]) * seconds
        at = part.end()
    if total > _MOST_S:
        raise ValueError(f"'{written}' is longer than a hundred years")
    if total <= 0:
        raise ValueError(f"'{written}' is not longer than zero")
    return total
