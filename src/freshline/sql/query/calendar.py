"""Lengths of intervals and of calendar units as bounds in microseconds.

A day may last longer or shorter where clocks are put back or forward, a month has 28 to 31
days: what a query's ``+ interval 1 month`` moves a time by is a range, not a number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

from sqlglot import exp

from freshline.sql.query.zone import DAY_US, HOUR_US, MINUTE_US, Zone

_SECOND_US = 1_000_000
_UNITS_US = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": _SECOND_US,
    "MINUTE": MINUTE_US,
    "HOUR": HOUR_US,
}
_DAYS = {"DAY": 1, "WEEK": 7}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_SPELLINGS = {
    "DD": "DAY",
    "MON": "MONTH",
    "MM": "MONTH",
    "YYYY": "YEAR",
    "YY": "YEAR",
}
_LONGEST_DAYS = {"DAY": 1, "WEEK": 7, "MONTH": 31, "QUARTER": 92, "YEAR": 366}
_PIECE = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*([a-z]+)", re.IGNORECASE)
_NUMBER = re.compile(r"\s*[+-]?\d+(?:\.\d+)?\s*\Z")
_DAY_TO_TIME = re.compile(
    r"\s*([+-])?(?:(\d+)(?:\s+|\Z))?(?:(\d+):(\d+)(?::(\d+(?:\.\d+)?))?)?\s*\Z"
)


@dataclass(frozen=True, slots=True)
class Span:
    """An interval: months, days and microseconds, added in this order as Spark does."""

    months: int = 0
    days: int = 0
    micros: int = 0

    def __add__(self, other: Span) -> Span:
        return Span(self.months + other.months, self.days + other.days, self.micros + other.micros)

    def __neg__(self) -> Span:
        return Span(-self.months, -self.days, -self.micros)

    @property
    def is_fixed(self) -> bool:
        """Whether it lasts as long everywhere; 24 hours are to Spark a day of the calendar."""
        return not self.months and not self.days and abs(self.micros) < DAY_US

    def bounds_us(self, zone: Zone | None) -> tuple[int, int]:
        """By how much adding it can move a time (``zone``: of its wall clock, None: none)."""
        lo_days, hi_days = _month_days(self.months)
        bend_us = 0 if zone is None or self.is_fixed else zone.spread_us
        return (
            (lo_days + self.days) * DAY_US + self.micros - bend_us,
            (hi_days + self.days) * DAY_US + self.micros + bend_us,
        )


def unit_name(unit: str) -> str | None:
    """The one spelling of a unit to truncate by, such as MONTH for mm; None: Spark knows none.

    Truncated by what Spark does not know, such as hours, everything is NULL.
    """
    name = unit.upper()
    name = _SPELLINGS.get(name, name)
    return name if name in _UNITS_US or name in _LONGEST_DAYS else None


def truncation_us(unit: str, zone: Zone) -> tuple[int, int] | None:
    """Bounds of date_trunc(unit, t) - t, or None where the unit is unknown."""
    name = unit_name(unit)
    if name is None:
        return None
    if name in {"MICROSECOND", "MILLISECOND", "SECOND"}:
        return 1 - _UNITS_US[name], 0
    length_us = _UNITS_US.get(name) or _LONGEST_DAYS[name] * DAY_US
    if length_us <= DAY_US:
        return 1 - length_us - zone.longer_us(length_us), zone.later_us(length_us)
    return 1 - length_us - zone.spread_us, zone.later_us(DAY_US)


def unit_step_us(unit: str) -> int:
    """The step of a grid on which all starts of a unit lie: a day's for those longer."""
    return _UNITS_US.get(unit_name(unit) or "DAY", DAY_US)


def date_us(zone: Zone) -> tuple[int, int]:
    """Bounds of the start of t's date, less t."""
    return 1 - DAY_US - zone.back_us, 0


def span_of(node: exp.Expr | None) -> Span | None:
    """The interval that a literal says, or None for anything else."""
    if isinstance(node, exp.Paren):
        return span_of(node.this)
    if isinstance(node, exp.Neg):
        inner = span_of(node.this)
        return None if inner is None else -inner
    if isinstance(node, exp.Add | exp.Sub):
        left, right = span_of(node.this), span_of(node.expression)
        if left is None or right is None:
            return None
        return left + right if isinstance(node, exp.Add) else left + -right
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal):
        return None
    if not isinstance(node, exp.Interval) or not isinstance(node.this, exp.Literal | exp.Neg):
        return None
    negative = isinstance(node.this, exp.Neg)
    text = node.this.this.name if negative else node.this.name
    unit = node.args.get("unit")
    span = _ranged(text, unit) if isinstance(unit, exp.IntervalSpan) else _plain(text, unit)
    return -span if negative and span is not None else span


def span_of_text(text: str) -> Span | None:
    """The interval that a string says: ``1 hour 30 minutes``, with or without ``interval``."""
    body = re.sub(r"\A\s*interval\b", "", text, flags=re.IGNORECASE)
    total, end = Span(), 0
    for piece in _PIECE.finditer(body):
        unit = _one(piece[1], piece[2])
        if unit is None or body[end : piece.start()].strip():
            return None
        total, end = total + unit, piece.end()
    return total if end and not body[end:].strip() else None


def _plain(text: str, unit: exp.Expr | None) -> Span | None:
    if unit is None:
        return span_of_text(text)
    return _one(text, unit.name) if _NUMBER.match(text) else None


def _one(number: str, unit: str) -> Span | None:
    name = unit.upper().strip()
    name = name.removesuffix("S")
    if name in _UNITS_US:
        micros = float(number) * _UNITS_US[name] if "." in number else int(number) * _UNITS_US[name]
        return Span(micros=int(micros)) if micros == int(micros) else None
    if "." in number:
        return None
    if name in _DAYS:
        return Span(days=int(number) * _DAYS[name])
    return Span(months=int(number) * _MONTHS[name]) if name in _MONTHS else None


def _ranged(text: str, unit: exp.IntervalSpan) -> Span | None:
    """``INTERVAL '1 02:03:04' DAY TO SECOND`` and ``INTERVAL '1-2' YEAR TO MONTH``."""
    first, last = unit.this.name.upper(), unit.expression.name.upper()
    if (first, last) == ("YEAR", "MONTH"):
        found = re.fullmatch(r"\s*([+-])?(\d+)-(\d+)\s*", text)
        if found is None:
            return None
        span = Span(months=int(found[2]) * 12 + int(found[3]))
        return -span if found[1] == "-" else span
    found = _DAY_TO_TIME.match(text) if (first, last) in _DAY_TO else None
    if found is None:
        return None
    sign, days, hours, minutes, seconds = found.groups(default="0")
    if (last == "HOUR") or (first == "MINUTE"):
        return None  # written without the colon, or with another meaning of it
    if last == "MINUTE" and found[5] is not None:
        return None
    whole, _, fraction = seconds.partition(".")
    micros = int(hours) * HOUR_US + int(minutes) * MINUTE_US + int(whole) * _SECOND_US
    micros += int(fraction[:6].ljust(6, "0")) if fraction else 0
    span = Span(days=int(days), micros=micros)
    return -span if sign == "-" else span


_DAY_TO = {("DAY", "MINUTE"), ("DAY", "SECOND"), ("HOUR", "MINUTE"), ("HOUR", "SECOND")}


@lru_cache(maxsize=128)
def _month_days(months: int) -> tuple[int, int]:
    """The least and the most days that adding ``months`` months moves a date by."""
    if months == 0:
        return 0, 0
    starts = (date(2096, 1, 1) + timedelta(days=day) for day in range(9 * 366))  # 2100: no leap day
    moved = [_moved_days(start, months) for start in starts]
    more = abs(months) // 48  # leap days that these years do not show
    return min(moved) - more, max(moved) + more


def _moved_days(start: date, months: int) -> int:
    at = start.year * 12 + start.month - 1 + months
    year, month = at // 12, at % 12 + 1
    following = date(year + month // 12, month % 12 + 1, 1)
    last = (following - timedelta(days=1)).day
    return (date(year, month, min(start.day, last)) - start).days
