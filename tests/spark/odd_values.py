"""Texts that a column's value can be written as, and what each means, as Python reads it."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

ZONE = ZoneInfo("Europe/Berlin")
"""Of the tests' session."""

TEXTS = [
    "0", "-0", "+5", "007", "5", "1.0", "1.5", "-1.005", "0.125", ".5", "5.", "1e3", "1E+3", "1e-3",
    "127", "128", "200", "255", "-128", "-129", "32768", "70000", "2147483648", "3000000000",
    "9223372036854775807", "9223372036854775808", "18446744073709551615", "1e40",
    "12345678901234567890.12345678901234567890", "9999999.99", "9999999.994", "9999999.995",
    "12,50", "1,250", "1,250.00", "1.250,00", "1 000", "1_000", "1'000", "0x10", "1e", "--1",
    "NaN", "Infinity", "-Infinity", "inf", "nan", "\u0663", "\u00bd", " 5", "5 ", "true", "True",
    "FALSE", "yes", "t", "2026-01-31", "2026-1-3", "2026-02-30", "31.01.2026", "01/31/2026",
    "20260131", "202601", "12026-01-31", "+12026-01-31T00:00:00Z", "0001-01-01", "9999-12-31",
    "0000-00-00", "2026-01-31T12:00:00Z", "2026-01-31 12:00:00", "2026-01-31T12:00:00+02:00",
    "2026-01-31 12:00:00.123456", "2026-07-31T12:00:00", "2026-01-31T24:00:00Z", "1767225600",
    "1767225600000", "1767225600000000", "1767225600000000000", "-1", "now", "epoch", "null",
    "caf\u00e9", "\u4e2d\U0001f600", "a;b", 'say "hi"', "\\", "\\n", "x\ty", "{}", "[]", "#",
]  # fmt: skip
"""Not among them: what Spark is known to read in its own way (docs/design/0310)."""

JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def _whole(bits: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        number = Decimal(text.strip())
        if number != int(number) or not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
            raise ValueError(text)
        return int(number)

    return read


def _decimal(precision: int, scale: int) -> Callable[[str], Decimal]:
    def read(text: str) -> Decimal:
        digits = Context(prec=100, rounding=ROUND_HALF_UP)
        number = Decimal(text.strip()).quantize(Decimal(1).scaleb(-scale), context=digits)
        if abs(number) >= 10 ** (precision - scale):
            raise ValueError(text)
        return number

    return read


def _single(text: str) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(float(text)))


def _date(text: str) -> dt.date:
    """Spark's own rule: a month and a day may be missing, and a time of the day is left out."""
    found = re.fullmatch(r"(\d{4})(?:-(\d\d?)(?:-(\d\d?)(?:[T ].*)?)?)?", text, re.ASCII)
    if found is None:
        raise ValueError(text)
    return dt.date(int(found[1]), int(found[2] or 1), int(found[3] or 1))


def _moment(text: str) -> dt.datetime:
    if re.fullmatch(r"\d{4}-\d\d?-\d\d?", text):
        day = _date(text)
        return dt.datetime(day.year, day.month, day.day, tzinfo=ZONE)
    if re.fullmatch(r"\d{5,}|\d\d?:\d\d.*", text):
        raise ValueError(text)
    moment = dt.datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=ZONE)


def _boolean(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


READERS: dict[str, Callable[[str], Any]] = {
    "TINYINT": _whole(8),
    "SMALLINT": _whole(16),
    "INT": _whole(32),
    "BIGINT": _whole(64),
    "FLOAT": _single,
    "DOUBLE": float,
    "DECIMAL(9,2)": _decimal(9, 2),
    "DECIMAL(38,18)": _decimal(38, 18),
    "BOOLEAN": _boolean,
    "DATE": _date,
    "TIMESTAMP": _moment,
    "STRING": str,
}


def meaning(kind: str, text: str, *, is_number: bool = False) -> Any:
    """What a text means in a column of this type.

    Args:
        kind: A type.
        text: The text.
        is_number: It is a number of json, not a text: a time is in seconds since 1970.

    Raises:
        ValueError: Nothing.
    """
    try:
        if kind == "TIMESTAMP" and is_number:
            return dt.datetime.fromtimestamp(int(text), dt.UTC)
        return READERS[kind](text)
    except (ValueError, KeyError, InvalidOperation, OverflowError, OSError) as error:
        raise ValueError(text) from error


PLAIN = {
    "TINYINT": ["0", "5", "127", "-128"],
    "SMALLINT": ["200", "5"],
    "INT": ["70000", "-129"],
    "BIGINT": ["3000000000", "9223372036854775807"],
    "FLOAT": ["1.5", "0.125"],
    "DOUBLE": ["1.5", "1e40"],
    "DECIMAL(9,2)": ["5", "1.5", "-1.005", "9999999.99", "1e3"],
    "DECIMAL(38,18)": ["12345678901234567890.12345678901234567890"],
    "BOOLEAN": ["true"],
    "DATE": ["2026-01-31", "0001-01-01", "9999-12-31"],
    "TIMESTAMP": ["2026-01-31T12:00:00Z", "2026-01-31 12:00:00", "9999-12-31"],
    "STRING": TEXTS,
}
"""By type, what has to be loaded: a reader that rejects everything would be right otherwise."""
