"""The constants of a query: values that generated rows lie at, beside and between.

Read from the tokens of the text, so every query that Spark accepts is covered, and nothing here
shares a reading of the query with the analysis that a trial judges. A constant too many does no
harm: it is one more value in the pool.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from itertools import pairwise

from freshline.sql.text.tokens import SqlTextError, Token, tokens

_SECOND_US = 1_000_000
_DAY_US = 86_400 * _SECOND_US
_UNITS_US = {
    "MICROSECOND": (1,),
    "MILLISECOND": (1_000,),
    "SECOND": (_SECOND_US,),
    "MINUTE": (60 * _SECOND_US,),
    "HOUR": (3_600 * _SECOND_US,),
    "DAY": (_DAY_US,),
    "WEEK": (7 * _DAY_US,),
    "MONTH": (28 * _DAY_US, 30 * _DAY_US, 31 * _DAY_US),
    "QUARTER": (91 * _DAY_US,),
    "YEAR": (365 * _DAY_US, 366 * _DAY_US),
}
"""Lengths to try for a unit: those of months and years differ."""

_PIECE = re.compile(r"(\d+(?:\.\d+)?)\s*'?\s*([A-Za-z]+)")
_CLOCK = re.compile(r"\A(?:(\d+)\s+)?(\d+):(\d+)(?::(\d+))?\Z")
_NUMBER = re.compile(r"\A\d+(\.\d+)?\Z")
_MOST_SPANS = 12
_MOST_DAYS = 400


@dataclass(frozen=True, slots=True)
class Constants:
    """What a query's text compares, adds and limits by.

    Attributes:
        numbers: Each once, in the order of the text.
        texts: String literals, likewise.
        walls_us: String literals that are times: microseconds since 1970 of a clock on the wall.
        spans_us: Lengths of intervals, of their sums and differences, and of the units that times
            are truncated to, in microseconds.
        names: Words behind a point, as they are written and in small letters: ``attrs.Color`` can
            be the key of a map.
    """

    numbers: tuple[Decimal, ...]
    texts: tuple[str, ...]
    walls_us: tuple[int, ...]
    spans_us: tuple[int, ...]
    names: tuple[str, ...] = ()


def constants_of(query: str) -> Constants:
    """The constants of a query; none where its text cannot be cut into tokens."""
    try:
        words = tokens(query)
    except SqlTextError:
        words = []
    texts = [token.value for token in words if token.kind == "string"]
    numbers = [*_numbers(words), *(Decimal(text) for text in texts if _NUMBER.match(text))]
    walls = [wall for text in texts if (wall := _wall_us(text)) is not None]
    named = [word.name for point, word in pairwise(words) if point.is_symbol(".") and word.is_name]
    return Constants(
        tuple(dict.fromkeys(numbers)),
        tuple(dict.fromkeys(texts)),
        tuple(dict.fromkeys(walls)),
        _spans_us(words, texts, numbers),
        tuple(dict.fromkeys(spelt for name in named for spelt in (name, name.lower()))),
    )


def _numbers(words: list[Token]) -> list[Decimal]:
    """Numbers outside of strings; the token for 1.5 is three: 1, a point and 5."""
    text = " ".join(token.text for token in words if token.kind in ("word", "symbol"))
    text = text.replace(" . ", ".")
    plain = (each.rstrip("LlSsYyDdFfBb") for each in text.split())
    return [number for each in plain if _NUMBER.match(each) and (number := _decimal(each))]


def _decimal(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def _spans_us(words: list[Token], texts: list[str], numbers: list[Decimal]) -> tuple[int, ...]:
    """Single lengths first, then their sums and differences."""
    single: dict[int, None] = {}
    text = " ".join(token.value if token.kind == "string" else token.text for token in words)
    for amount, unit in _PIECE.findall(text):
        for length_us in _UNITS_US.get(unit.upper().removesuffix("S"), ()):
            single[int(Decimal(amount) * length_us)] = None
    for each in texts:
        for length_us in _UNITS_US.get(each.strip().upper(), ()):  # date_trunc('HOUR', at)
            single[length_us] = None
        if clock := _CLOCK.match(each.strip()):
            days, hours, minutes, seconds = (int(part or 0) for part in clock.groups())
            single[days * _DAY_US + ((hours * 60 + minutes) * 60 + seconds) * _SECOND_US] = None
    for number in numbers:  # date_add(day, 7)
        if number == int(number) and 0 < number <= _MOST_DAYS and "date" in text.lower():
            single[int(number) * _DAY_US] = None
    spans = [span for span in single if span]
    pairs = [pair for one in spans for other in spans for pair in (one + other, one - other)]
    every = dict.fromkeys([*spans, *(pair for pair in pairs if pair > 0)])
    return tuple(every)[: max(_MOST_SPANS, len(spans))]


def _wall_us(text: str) -> int | None:
    """A text like 2026-04-01 or 2026-04-01 10:00:00 as a clock on the wall shows it."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return round(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()) * _SECOND_US
