"""JSON values to Arrow arrays, a column at a time, exactly or not at all.

Nothing is guessed: a number is no text and a text no number, with the exceptions that JSON
makes necessary. A DECIMAL may be a number or a text, and reaches Arrow digit by digit; a DOUBLE
may be ``"NaN"``, ``"Infinity"`` or ``"-Infinity"``, for which JSON has no number, or the word
without quotes, as Python writes it; times are RFC 3339 texts; BINARY is base64.

Most columns hold what Arrow takes as it is: one look at the set of their Python types decides,
and only columns with something else are read value by value.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import math
import re
from collections.abc import Callable, Sequence
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from freshline.ingest.records.arrow_types import arrow_type
from freshline.ingest.refusals import shown
from freshline.project.ddl import Column, Type

_NULL = type(None)
_PLAIN: dict[str, frozenset[type]] = {
    "integer": frozenset({int, _NULL}),
    "real": frozenset({float, int, _NULL}),
    "decimal": frozenset({Decimal, int, _NULL}),
    "boolean": frozenset({bool, _NULL}),
    "string": frozenset({str, _NULL}),
}
"""Python types that Arrow turns into a column without any doubt about the result."""

_ONLY_NULLS = frozenset({_NULL})
_ARROW_FAULTS = (pa.ArrowException, UnicodeEncodeError, OverflowError, ValueError, TypeError)
_FIRST_DAY = dt.date(1, 1, 1)
_UTC_RE = r"^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,6})?([Zz]|[+-]\d\d:\d\d)$"
_LOCAL_RE = r"^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,6})?$"
_DATE_RE = r"^\d{4}-\d\d-\d\d$"
_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)?", re.ASCII
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,6})?", re.ASCII)
_NOT_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_MOST_NUMBER_CHARACTERS = 400
_MOST_DIGITS = 38
"""Of a DECIMAL."""

_MANY = 64
"""For fewer times Arrow's preparation takes longer than reading them one by one."""

_FLOAT_MAX = 3.4028235677973366e38
"""From here on a number rounds to an infinite 32-bit one."""


class LongNumber(Decimal):
    """A number that Arrow may take for another one, so that it is fitted here first.

    Arrow moves the point of a DECIMAL by at most 38 places. Further away it gives some number
    without a word: 0.10 with forty noughts behind it becomes 0.00, and what is next to
    nothing (2.315130345696916839620059590e-43) a number with 24 digits before the point.
    """


def exact_number(text: str) -> Decimal:
    """A number of JSON that has a point or an exponent, digit by digit."""
    if len(text) > _MOST_DIGITS or "e" in text or "E" in text:
        return LongNumber(text)
    return Decimal(text)


class NotANumber(float):
    """NaN or an infinity without quotes, as Python writes it: for FLOAT and DOUBLE alone.

    The text ``"NaN"`` would do for a STRING as well, where it is most often a missing value.
    """

    def __str__(self) -> str:
        return next(word for word, number in _NOT_NUMBERS.items() if repr(number) == repr(self))


def not_a_number(word: str) -> NotANumber:
    """What one of the words NaN, Infinity and -Infinity stands for."""
    return NotANumber(_NOT_NUMBERS[word])


class RoundedError(Exception):
    """A whole number is wanted where one with a point or an exponent was read as a float.

    Digits may be gone: 9007199254740993.0 is no float, nor is 4503599627370497.3.
    """


class MisfitError(Exception):
    """A record does not fit: which one of those given, and why."""

    def __init__(self, index: int, reason: str) -> None:
        self.index = index
        self.reason = reason
        super().__init__(reason)


def column_array(column: Column, values: Sequence[Any]) -> pa.Array:
    """One column's values as Arrow.

    Args:
        column: Its type, and whether null is allowed.
        values: As ``json`` reads them, with Decimal or float for numbers with a fraction.

    Raises:
        MisfitError: The first value that does not fit.
        RoundedError: The numbers have to be read as Decimal.
    """
    type_ = column.type
    kinds = set(map(type, values))
    if column.nullable or _NULL not in kinds:
        array = _whole(type_, values, kinds)
        if array is not None:
            return array
    read = _READERS[type_.kind]
    found = []
    for index, value in enumerate(values):
        try:
            if value is None and not column.nullable:
                raise ValueError("null where the schema says NOT NULL")
            found.append(None if value is None else read(type_, value))
        except ValueError as error:
            raise MisfitError(index, _placed(f"column {column.name}", error)) from error
    return pa.array(found, arrow_type(type_))


def _whole(type_: Type, values: Sequence[Any], kinds: set[type]) -> pa.Array | None:
    """The column in one go; None where every value has to be looked at."""
    if kinds <= _ONLY_NULLS:
        return pa.nulls(len(values), arrow_type(type_))
    plain = _PLAIN.get(type_.kind)
    try:
        if plain is not None and kinds <= plain:
            array = pa.array(values, arrow_type(type_))
            infinite = type_.kind == "real" and pc.any(pc.is_inf(array)).as_py()
            return None if infinite else array
        if type_.kind in _TIME_FORMS and kinds <= _PLAIN["string"] and len(values) >= _MANY:
            return _times(type_, pa.array(values, pa.string()))
    except _ARROW_FAULTS:
        pass  # one of them does not fit, or needs care: the slow way finds out which
    return None


_TIME_FORMS = {"date": _DATE_RE, "timestamp": _UTC_RE, "timestamp_ntz": _LOCAL_RE}


def _times(type_: Type, texts: pa.Array) -> pa.Array | None:
    """Dates and timestamps all written in the common form; Arrow's own reader takes more."""
    form = _TIME_FORMS[type_.kind]
    if not pc.all(pc.match_substring_regex(texts, form)).as_py():
        return None
    array = texts.cast(arrow_type(type_))
    ends = pc.min_max(array)
    ends["max"].as_py()  # Python has no time beyond the year 9999, and says so; Arrow has
    least = ends["min"].as_py()
    day = least.date() if isinstance(least, dt.datetime) else least
    return array if day is None or day > _FIRST_DAY else None


# ---- one value, with the reason why it does not fit ----


def _integer(type_: Type, value: Any) -> int:
    whole: int | None = None
    if isinstance(value, Decimal):
        # Its exponent may be a million: look before making an integer of it.
        if value.adjusted() < 20 and value == value.to_integral_value():  # noqa: PLR2004
            whole = int(value)
    elif isinstance(value, float) and not isinstance(value, NotANumber):
        raise RoundedError
    elif isinstance(value, int) and not isinstance(value, bool):
        whole = value
    if whole is None:
        raise _no(type_, value)
    limit = 1 << (type_.bits - 1)
    if not -limit <= whole < limit:
        raise ValueError(f"{shown(value)} is outside the range of {type_.name}")
    return whole


def _real(type_: Type, value: Any) -> float:
    if isinstance(value, NotANumber):
        return float(value)
    if isinstance(value, str):
        if value not in _NOT_NUMBERS:
            raise _no(type_, value)
        return _NOT_NUMBERS[value]
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise _no(type_, value)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    most = _FLOAT_MAX if type_.bits == 32 else math.inf  # noqa: PLR2004
    if not abs(number) < most:
        raise ValueError(f"{shown(value)} is outside the range of {type_.name}")
    return number


def _decimal(type_: Type, value: Any) -> Decimal:
    if isinstance(value, str):
        if len(value) > _MOST_NUMBER_CHARACTERS or not _NUMBER.fullmatch(value):
            raise _no(type_, value)
        number = Decimal(value)
    elif isinstance(value, int | Decimal) and not isinstance(value, bool):
        number = Decimal(value)
    else:
        raise _no(type_, value)
    precision, scale = type_.precision, type_.scale
    exact = Context(prec=precision, traps=[Inexact, InvalidOperation])
    try:
        return number.quantize(Decimal(1).scaleb(-scale), context=exact)
    except Inexact:
        raise ValueError(
            f"{shown(value)} has more than {scale} digits behind the point of {type_.name}"
        ) from None
    except InvalidOperation:
        raise ValueError(f"{shown(value)} is outside the range of {type_.name}") from None


def _boolean(type_: Type, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise _no(type_, value)


def _string(type_: Type, value: Any) -> str:
    if not isinstance(value, str):
        raise _no(type_, value)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair is no text") from None
    return value


def _binary(type_: Type, value: Any) -> bytes:
    if not isinstance(value, str):
        raise _no(type_, value)
    try:
        return base64.b64decode(value.encode(), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        raise ValueError(f"{shown(value)} is no base64") from None


def _date(_: Type, value: Any) -> dt.date:
    if isinstance(value, str) and _DATE.fullmatch(value):
        try:
            return dt.date.fromisoformat(value)
        except ValueError:
            pass
    raise ValueError(f"{shown(value)} is no DATE like '2026-01-31'")


def _timestamp(type_: Type, value: Any) -> dt.datetime:
    """A time as RFC 3339 writes it.

    Digits below the microsecond are cut off, as Spark does; a leap second is the second after
    it, as in POSIX time.
    """
    with_zone = type_.kind == "timestamp"
    form = "2026-01-31T12:00:00Z" if with_zone else "2026-01-31T12:00:00"
    found = _TIME.fullmatch(value) if isinstance(value, str) else None
    if found is None or (found[8] is not None) != with_zone:
        rule = "with its offset" if with_zone else "without an offset"
        raise ValueError(f"{shown(value)} is no {type_.name} {rule}, like '{form}'")
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    leap = second == 60  # noqa: PLR2004
    micros = int((found[7] or "")[:6].ljust(6, "0"))
    try:
        moment = dt.datetime(year, month, day, hour, minute, second - leap, micros)  # noqa: DTZ001
        if leap:
            moment += dt.timedelta(seconds=1)
        if not with_zone:
            return moment
        return (moment - _offset(found[8])).replace(tzinfo=dt.UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"{shown(value)} is a time that does not exist") from None


def _offset(text: str) -> dt.timedelta:
    if text in "Zz":
        return dt.timedelta(0)
    hours, minutes = int(text[1:3]), int(text[4:6])
    if hours > 23 or minutes > 59:  # noqa: PLR2004
        raise ValueError
    offset = dt.timedelta(hours=hours, minutes=minutes)
    return -offset if text[0] == "-" else offset


def _array(type_: Type, value: Any) -> list[Any]:
    assert type_.element is not None
    if not isinstance(value, list):
        raise _no(type_, value)
    return [_inside(f"[{i}]", type_.element, each) for i, each in enumerate(value)]


def _map(type_: Type, value: Any) -> list[tuple[str, Any]]:
    assert type_.element is not None
    if not isinstance(value, dict):
        raise _no(type_, value)
    return [
        (_string(type_, key), _inside(f".{shown(key)}", type_.element, each))
        for key, each in value.items()
    ]


def _struct(type_: Type, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _no(type_, value)
    names = {field.name for field in type_.fields}
    for name in value:
        if name not in names:
            raise ValueError(f"the unknown field {shown(name)}")
    found = {}
    for field in type_.fields:
        each = value.get(field.name)
        if each is None and not field.nullable:
            raise ValueError(f".{field.name}: null where the schema says NOT NULL")
        found[field.name] = _inside(f".{field.name}", field.type, each)
    return found


def _inside(where: str, type_: Type, value: Any) -> Any:
    """A value within another one; its place goes in front of the reason."""
    if value is None:
        return None
    try:
        return _READERS[type_.kind](type_, value)
    except ValueError as error:
        raise ValueError(_placed(where, error)) from error


def _placed(where: str, error: ValueError) -> str:
    """``.b[2]: 'x' is no INT`` gets what is around it in front."""
    reason = str(error)
    return f"{where}{reason}" if reason.startswith((".", "[")) else f"{where}: {reason}"


def _no(type_: Type, value: Any) -> ValueError:
    return ValueError(f"{shown(value)} is no {type_.name}")


_READERS: dict[str, Callable[[Type, Any], Any]] = {
    "integer": _integer,
    "real": _real,
    "decimal": _decimal,
    "boolean": _boolean,
    "string": _string,
    "binary": _binary,
    "date": _date,
    "timestamp": _timestamp,
    "timestamp_ntz": _timestamp,
    "array": _array,
    "map": _map,
    "struct": _struct,
}
