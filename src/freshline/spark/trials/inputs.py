"""Rows made for a query: at, beside and between its constants, with keys that match or do not.

Pure: a seed decides everything. Times are whole microseconds since 1970 (days for dates), as
Arrow keeps them, so that no value is lost to what Python's own times can hold.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, localcontext
from typing import Any, Literal
from zoneinfo import ZoneInfo

import pyarrow as pa

from freshline.spark.trials.constants import Constants

Row = dict[str, Any]

_DAY_US = 86_400_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ANCHOR = datetime(2026, 4, 1)  # noqa: DTZ001 - on the wall of the session's zone
"""A month, a quarter, a day and an hour begin there."""

_FIRST = datetime(1, 1, 1)  # noqa: DTZ001
_LAST = datetime(9999, 12, 31, 23, 59, 59)  # noqa: DTZ001
_KEYS = 6
_WORDS = ("a", "b", "k1", "A", "o'hara", "")
_DIGITS = 60  # of our own arithmetic: DECIMAL has up to 38
_NEAR, _MATCHING, _SAME_NAME, _OTHER_NAME, _MOVED = 0.3, 0.6, 0.8, 0.5, 0.4
"""Chances: that a row is a near copy, or a match of another table's; by which columns."""

_BENT = 5
"""Where a query counts days, one in so many times begins days that last longer or shorter."""
_MISSING, _SINGLE = 0.08, 0.22
_TURNS = 4
"""A column lacks its value in one of so many times two rows, or in fewer."""
_JSON = ('{"a": 1}', '{"a": 2, "b": "x"}', '{"b": null}')
_LIKE = str.maketrans({"%": "x", "_": "y"})

Texts = Literal["words", "digits", "times", "json"]


@dataclass(frozen=True, slots=True)
class Regime:
    """What kind of values a trial uses; the next one where the query itself fails on this one.

    Attributes:
        texts: What strings look like: queries cast them to numbers and times, or parse them.
        extremes: Whether the first and last times, zeros and empty strings are among them.
        distinct: Whether values of a column differ wherever its type allows.
    """

    texts: Texts = "words"
    extremes: bool = True
    distinct: bool = False


REGIMES = (
    Regime(),
    Regime(extremes=False),
    Regime("digits", extremes=False),
    Regime("times", extremes=False),
    Regime("json", extremes=False),
)


class Inputs:
    """Makes the rows of a trial's tables, step by step.

    Args:
        schemas: Columns of each table, by name.
        constants: Of the query.
        zone: The session's time zone.
        regime: The kind of values.
        seed: Decides everything that is left to chance.
    """

    def __init__(
        self,
        schemas: Mapping[str, pa.Schema],
        constants: Constants,
        zone: str,
        regime: Regime,
        seed: int,
    ) -> None:
        self._schemas = schemas
        self._regime = regime
        self._chance = random.Random(seed)
        self._rows: dict[str, list[Row]] = {name: [] for name in schemas}
        self._orders = {name: order for order, name in enumerate(schemas)}
        self._lacks = 0
        self._next = 100
        self._spans_us = constants.spans_us or (60_000_000, 3_600_000_000)
        self._walls_us = _walls(constants, zone, extremes=regime.extremes)
        self._bent_us = _bent(constants, zone)
        self._times = 0
        with localcontext(prec=_DIGITS):
            self._numbers = _numbers(constants, extremes=regime.extremes)
        self._texts = _texts(constants, regime)
        self._names = [*constants.names, *constants.texts]
        self._zone = _zone(zone)

    def rows(self, name: str, count: int) -> list[Row]:
        """``count`` new rows of a table: new ones, near copies of its own, matches of others'."""
        with localcontext(prec=_DIGITS):
            return [self._row(name) for _ in range(count)]

    # ---- rows ----

    def _row(self, name: str) -> Row:
        self._lacks = self._orders[name]
        row = {field.name: self._value(field.type) for field in self._schemas[name]}
        is_near = self._chance.random() < _NEAR and not self._regime.distinct
        if is_near and self._rows[name]:
            row = self._beside(name, self._chance.choice(self._rows[name]))
        elif self._chance.random() < _MATCHING:
            others = [other for other, rows in self._rows.items() if other != name and rows]
            if others:
                other = self._chance.choice(others)
                row = self._matching(name, row, other, self._chance.choice(self._rows[other]))
        lacking = self._lacking(name, row)
        self._rows[name].append(row)  # whole, so that copies of it do not lack the same
        return lacking

    def _lacking(self, name: str, row: Row) -> Row:
        """Every other row without the value of one column, in turn.

        By chance alone a column that is averaged has a value in every row of some trials.
        """
        turn, is_second = divmod(len(self._rows[name]), 2)
        columns = self._schemas[name].names
        at = turn % max(len(columns), _TURNS)
        return {**row, columns[at]: None} if is_second and at < len(columns) else row

    def _beside(self, name: str, row: Row) -> Row:
        """A copy of a row that differs by the least in a column or two, or in none."""
        near = dict(row)
        for field in self._chance.sample(list(self._schemas[name]), k=len(row)):
            if self._chance.random() < 1.2 / len(row):
                near[field.name] = self._near(near[field.name], field.type)
        return near

    def _matching(self, name: str, row: Row, other: str, its_row: Row) -> Row:
        """``row`` with the values of another table's row, by name and by type."""
        matching = dict(row)
        its_fields = {field.name.lower(): field for field in self._schemas[other]}
        for field in self._schemas[name]:
            alike = [each for each in its_fields.values() if each.type.equals(field.type)]
            same = its_fields.get(field.name.lower())
            if same is not None and same in alike and self._chance.random() < _SAME_NAME:
                alike = [same]
            elif self._chance.random() < _OTHER_NAME:
                continue
            if not alike:
                continue
            value = its_row[self._chance.choice(alike).name]
            if _is_time(field.type) and self._chance.random() < _MOVED:
                value = self._near(value, field.type)
            matching[field.name] = value
        return matching

    # ---- values ----

    def _value(self, kind: pa.DataType) -> Any:
        """A value of a type: missing, known to the query, shared by all tables, or new."""
        chance = self._chance.random()
        if chance < _MISSING:
            return None
        if self._regime.distinct or chance < _SINGLE:
            self._next += 1
            return self._new(kind, self._next)
        if _is_time(kind):
            return self._time(kind)
        if pa.types.is_boolean(kind):
            return self._chance.random() < 0.5  # noqa: PLR2004
        if _is_text(kind):
            return _as_text(self._skewed(self._texts), kind)
        if _is_number(kind):
            return _as_number(self._skewed(self._numbers), kind)
        return self._nested(kind)

    def _new(self, kind: pa.DataType, number: int) -> Any:
        """A value that no other row has, where the type allows."""
        if pa.types.is_date(kind):
            return self._at(_wall_us(_ANCHOR)) // _DAY_US + number % 60
        if _is_time(kind):
            return self._as_time(_wall_us(_ANCHOR) + number * 7_000_001 * 60, kind)
        if _is_text(kind):
            spelt = {
                "words": f"n{number}",
                "digits": f"{number}",
                "times": str(date(2026, 4, 1) + timedelta(days=number % 60)),
                "json": f'{{"a": {number}}}',
            }
            return _as_text(spelt[self._regime.texts], kind)
        if pa.types.is_boolean(kind):
            return number % 2 == 0
        if _is_number(kind):
            return _as_number(Decimal(number) + Decimal(number % 8) / 8, kind)
        return self._nested(kind)

    def _nested(self, kind: pa.DataType) -> Any:
        if pa.types.is_struct(kind):
            return {field.name: self._value(field.type) for field in kind}
        if pa.types.is_map(kind):
            keys = [self._new(kind.key_type, number) for number in range(self._chance.randrange(3))]
            if _is_text(kind.key_type):  # those that the query may ask for
                held = [name for name in self._names if self._chance.random() < _MATCHING]
                keys += [_as_text(name, kind.key_type) for name in held]
            return [(key, self._value(kind.item_type)) for key in dict.fromkeys(keys)]
        if pa.types.is_list(kind) or pa.types.is_large_list(kind):
            return [self._value(kind.value_type) for _ in range(self._chance.randrange(4))]
        raise NotImplementedError(f"no values of type {kind}")

    def _near(self, value: Any, kind: pa.DataType) -> Any:
        """The value just beside, or an interval away."""
        if value is None:
            return self._value(kind)
        if pa.types.is_date(kind):
            days = value + self._chance.choice((-1, 1, 0, 7))
            return self._within(days * _DAY_US, kind) // _DAY_US
        if _is_time(kind):
            span_us = self._chance.choice(self._spans_us)
            step_us = self._chance.choice((0, 0, span_us, -span_us, span_us // 2, -span_us // 2))
            return self._within(value + step_us + self._chance.choice((-1, 0, 0, 1)), kind)
        if _is_number(kind):
            least = Decimal(1).scaleb(-_scale(kind)) if pa.types.is_decimal(kind) else Decimal(1)
            if isinstance(value, float) and value != value:  # noqa: PLR0124 - NaN
                return value
            return _as_number(Decimal(value) + self._chance.choice((least, -least)), kind)
        return self._value(kind)

    def _time(self, kind: pa.DataType) -> int:
        turn, rest = divmod(self._times, _BENT)
        self._times += 1
        if self._bent_us and not rest:
            return self._as_time(self._bent_us[turn % len(self._bent_us)], kind)
        wall_us = self._chance.choice(self._walls_us)
        chance = self._chance.random()
        span_us = self._chance.choice(self._spans_us)
        if chance < 0.5:  # noqa: PLR2004
            wall_us += self._chance.choice((span_us, -span_us, 2 * span_us, span_us // 2))
        elif chance < 0.6:  # noqa: PLR2004
            wall_us += self._chance.randrange(span_us)
        return self._as_time(wall_us + self._chance.choice((0, 0, 0, -1, 1)), kind)

    def _as_time(self, wall_us: int, kind: pa.DataType) -> int:
        wall_us = max(_FIRST_US, min(_LAST_US, wall_us))
        if pa.types.is_date(kind):
            return wall_us // _DAY_US
        return wall_us if kind.tz is None else self._at(wall_us)

    def _within(self, time_us: int, kind: pa.DataType) -> int:
        """The time, or the nearest that clocks of the session's zone can show."""
        has_zone = pa.types.is_timestamp(kind) and kind.tz is not None
        first_us = self._at(_FIRST_US) if has_zone else _FIRST_US
        last_us = self._at(_LAST_US) if has_zone else _LAST_US
        return max(first_us, min(last_us, time_us))

    def _at(self, wall_us: int) -> int:
        """The instant at which clocks of the session's zone show this."""
        try:
            moment = (_EPOCH + timedelta(microseconds=wall_us)).replace(tzinfo=self._zone)
            offset = moment.utcoffset()
        except OverflowError:
            offset = None
        return wall_us - (0 if offset is None else offset // timedelta(microseconds=1))

    def _skewed(self, pool: Sequence[Any]) -> Any:
        """A value of a pool, the first ones more often: then counts of groups differ.

        Each table leaves one of the first ones out, which the others have.
        """
        place = min(int(self._chance.expovariate(2.5) * len(pool)), len(pool) - 1)
        return pool[(place + 1) % len(pool) if place == self._lacks else place]


def _wall_us(moment: datetime) -> int:
    return (moment.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)


_FIRST_US, _LAST_US = _wall_us(_FIRST), _wall_us(_LAST)
"""Clocks of any zone show the years 1 to 9999: SQL text has no others."""


def _walls(constants: Constants, zone: str, *, extremes: bool) -> list[int]:
    """Times to be near to, as clocks on the wall show them."""
    anchor_us = _wall_us(_ANCHOR)
    turns = [_wall_us(turn) for turn in _turns(zone)]
    known = list(constants.walls_us)
    many = known * 3 + [anchor_us] * 6 + [anchor_us + 10 * 3_600_000_000] * 4 + turns
    return many + ([_FIRST_US, _LAST_US] if extremes else [])


def _bent(constants: Constants, zone: str) -> list[int]:
    """Times from which the shortest span of days that a query has reaches over a change of clocks.

    By chance alone none of a trial's rows may lie there.
    """
    days = [span_us for span_us in constants.spans_us if span_us >= _DAY_US]
    return [_wall_us(turn) - min(days) // 2 for turn in _turns(zone)] if days else []


def _turns(zone: str) -> list[datetime]:
    """Midnights of the days in 2026 on which the zone's clocks are changed."""
    clocks, found = _zone(zone), []
    day = datetime(2026, 1, 1)  # noqa: DTZ001
    while day.year == 2026:  # noqa: PLR2004
        after = day + timedelta(days=1)
        if day.replace(tzinfo=clocks).utcoffset() != after.replace(tzinfo=clocks).utcoffset():
            found.append(day)
        day = after
    return found


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ValueError, KeyError, OSError):  # an offset such as +02:00
        return ZoneInfo("UTC")


def _numbers(constants: Constants, *, extremes: bool) -> list[Decimal]:
    """Shared keys first, then the constants with their neighbours."""
    keys = [Decimal(number) for number in range(1, _KEYS)]
    thirds = [Decimal(1) / 3, Decimal(22) / 7]
    known = [
        beside
        for number in constants.numbers
        for beside in (number, number + 1, number - 1, number + Decimal("0.25"))
    ]
    zeros = [Decimal(0), Decimal(-1), Decimal("-0.5")] if extremes else []
    return [*keys[:3], *known, *keys[3:], *thirds, *zeros]


def _texts(constants: Constants, regime: Regime) -> list[str]:
    """Shared keys first, then the constants with what they nearly are."""
    if regime.texts == "digits":
        digits = [text for text in constants.texts if text.isdigit()]
        return ["1", "2", "3", *digits, "10"]
    if regime.texts == "times":
        return ["2026-04-01", "2026-04-02", "2026-04-01 10:00:00", "2026-03-29"]
    if regime.texts == "json":
        return list(_JSON)
    known = [
        beside
        for text in constants.texts
        for beside in (text, text.translate(_LIKE), f"{text}x", text[:-1], text.swapcase())
    ]
    words = _WORDS if regime.extremes else _WORDS[:-1]
    return [*words[:3], *dict.fromkeys(known), *words[3:]]


def _as_text(text: str, kind: pa.DataType) -> str | bytes:
    is_binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    return text.encode() if is_binary else text


def _as_number(number: Decimal, kind: pa.DataType) -> int | float | Decimal:
    """The number as a value of the type; beyond its range, what is left modulo ten."""
    if pa.types.is_decimal(kind):
        scale, whole = _scale(kind), kind.precision - _scale(kind)
        if abs(number) >= Decimal(10) ** whole:
            number %= Decimal(10) ** min(whole, 1)
        digits = int(number.scaleb(scale)) if whole else int(number.scaleb(scale)) % 10
        return Decimal(digits).scaleb(-scale)
    if pa.types.is_integer(kind):
        whole_number = int(number)
        return whole_number if abs(whole_number) < 2 ** (kind.bit_width - 1) else whole_number % 10
    return float(number)


def _scale(kind: pa.DataType) -> int:
    return int(kind.scale)


def _is_time(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def _is_text(kind: pa.DataType) -> bool:
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(is_text or pa.types.is_binary(kind) or pa.types.is_large_binary(kind))
