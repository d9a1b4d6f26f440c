"""Values that Spark's readers alter without a word: read in a wider type first, then judged.

A reader of Spark keeps the lowest bits of a number that is too large for its TINYINT, leaves out
the commas of a DECIMAL (so that 12,50 is 1250), takes a number of milliseconds for one of seconds,
and puts U+FFFD where bytes are no text. Here each such value is found, at any depth of its column,
and its record does not fit (docs/design/0310).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    ByteType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    IntegerType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
)

from freshline.project.sections.reader_options import csv_signs, option
from freshline.spark.engine import jvm
from freshline.sql.text.reads import backquoted

NO_TEXT = "\ufffd"
"""What a reader puts where bytes are no text in the encoding."""

LONG_NUMBER = r"[:\[,]\s*-?(?:(?=[0-9]*\.)(?:[0-9]\.?){17,}|[0-9.]+[eE][+-]?[0-9]{3})"
"""Of json with a number that a double does not hold."""

_ESCAPED = r"\\[\s\S]"
_EXPONENT = r"[eE][-+]?0*[1-9][0-9]{3}"
_HUGE = rf"[:\[,]\s*[-+]?[0-9.]+{_EXPONENT}"
_HUGE_TEXT = rf"\s*[-+]?[0-9.]+{_EXPONENT}[0-9]*\s*"
_HUGE_VALUE = rf"""["']{_HUGE_TEXT}["'](?!\s*:)"""  # no key of a map
_HARMLESS = rf"(?!{_HUGE})[\[{{](?:(?!{_HUGE}|{_HUGE_VALUE})[^\[\]{{}}])*[\]}}]"
"""A list or map with none in it that holds no huge number, in a record without other texts."""

TEXT_TYPES = (StringType, VarcharType, CharType)


@dataclass(frozen=True, slots=True)
class HugeNumbers:
    """Tells json with a number that has thousands of digits, or of zeros behind its point.

    Into a DECIMAL, Spark's parser computes all of them. Such a number counts wherever it stands,
    but a text only where the schema has a DECIMAL: ids such as ``12e45678`` are no numbers, and
    what stands within a text is none either.

    Attributes:
        texts: Pattern of each text of a record. Its first group is the text where it matters: a
            name of a column with a DECIMAL, or what may be a huge number.
        found: Pattern of a huge number in a record of which only such texts are left.
        rounds: How often lists and maps without one are taken out, the innermost first: then none
            is left within a value that could hide where it ends.
    """

    texts: str
    found: str
    rounds: int

    @classmethod
    def of(cls, schema: StructType) -> HugeNumbers | None:
        """Those of a feed; None: without a DECIMAL nothing computes digits."""
        depths = dict[int, set[str]]()
        waiting: list[tuple[str, DataType, int]] = [("", schema, 0)]
        while waiting:
            name, kind, depth = waiting.pop()
            if isinstance(kind, DecimalType):
                depths.setdefault(depth, set()).add(name)
            elif isinstance(kind, StructType):
                waiting += [(each.name, each.dataType, 0) for each in kind]
            elif isinstance(kind, ArrayType):
                waiting.append((name, kind.elementType, depth + 1))
            elif isinstance(kind, MapType):
                waiting.append((name, kind.valueType, depth + 1))
        if not depths:
            return None
        every = _names(set().union(*depths.values()))
        found = [
            rf"""["'](?:{_names(names)})["']\s*:\s*{_as_text(depth)}"""
            for depth, names in sorted(depths.items())
        ]
        texts = _texts_but(f"{_HUGE_TEXT}|{every}")
        return cls(texts, "|".join([_HUGE, *found]), max(depths) - 1)

    def are_in(self, record: str) -> bool:
        """Whether a record has one."""
        if re.search(_EXPONENT, record) is None:
            return False
        left = re.sub(self.texts, r"\1", re.sub(_ESCAPED, "", record))
        for _ in range(self.rounds):
            left = re.sub(_HARMLESS, "", left)
        return re.search(self.found, left) is not None

    def are_among(self, records: Column) -> Column:
        """Whether each record has one."""
        left = _left(records, self.texts)
        for _ in range(self.rounds):
            left = F.regexp_replace(left, F.lit(_HARMLESS), F.lit(""))
        return records.rlike(_EXPONENT) & left.rlike(self.found)


def _texts_but(kept: str) -> str:
    """Pattern of each text of json without escapes; its first group is one of ``kept``.

    Of texts with escapes it would need a group that repeats: in Java each round takes stack, or
    in Python before 3.11.5 it matches wrongly.
    """
    return rf"""((["'])(?:{kept})\2)|"[^"]*+"|'[^']*+'"""


def _left(records: Column, texts: str) -> Column:
    """Json without escapes, and of its texts with those in the first group of ``texts`` alone."""
    plain = F.regexp_replace(records, F.lit(_ESCAPED), F.lit(""))
    return F.regexp_replace(plain, F.lit(texts), F.lit("$1"))


def _names(names: Iterable[str]) -> str:
    """Pattern of names as json writes them, with escapes taken out."""
    written = {
        re.sub(_ESCAPED, "", each)
        for name in names
        for each in (name, json.dumps(name)[1:-1], json.dumps(name, ensure_ascii=False)[1:-1])
    }
    return "|".join(map(re.escape, sorted(written)))


def _as_text(depth: int) -> str:
    """Pattern of a value, so many lists or maps deep, from its begin to a huge number as a text."""
    if depth == 0:
        return _HUGE_VALUE
    # Where so many end at once, the value ends, and where none begins within it before it ends.
    end = rf"(?:[\]}}]\s*){{{depth}}}"
    begin = r"[\[{]" if depth == 1 else r"[\[{](?=[^\[\]{}]*[\[{])"
    return rf"{begin}(?>(?:(?!{end}|{_HUGE_VALUE})[\s\S])*){_HUGE_VALUE}"


_WIDER: Mapping[str, Mapping[type[DataType], DataType]] = {
    # Parquet has no types of its own for these: a number of any size can stand there.
    "parquet": {ByteType: IntegerType(), ShortType: IntegerType()},
    # Jackson takes 200 for a byte, too.
    "json": {ByteType: ShortType(), DecimalType: StringType()},
    "csv": {DecimalType: StringType()},
}
_DAY_S = 86_400
_FIRST_S, _LAST_S = -62_135_596_800, 253_402_300_799
"""From the year 1 to 9999 in UTC."""


@dataclass(frozen=True, slots=True)
class _Judged:
    """One column: in which type it is read, and which of its values are right."""

    field: StructField
    wide: DataType
    fits: str | None

    @property
    def kind(self) -> DataType:
        """The schema's type, as a reader gives it: all that is in it may be NULL."""
        return _widened(self.field.dataType, {})

    @property
    def is_changed(self) -> bool:
        """Whether what is read is not yet the column: a text stays what it is."""
        return self.fits is not None and not isinstance(self.kind, (*TEXT_TYPES, BinaryType))


class ExactColumns:
    """A schema as a reader of Spark is to be told, and the way back.

    Args:
        schema: Of the feed; every column may be NULL.
        file_format: csv, json or parquet.
        options: Of the feed. What it says itself (``locale``, ``encoding``) is not judged.
        keeps_numbers: Whether the reader gives a number of json as a text as it stands. Else a
            DECIMAL cannot be read as text: its digits would be those of a double.
    """

    def __init__(
        self,
        schema: StructType,
        file_format: str,
        options: Mapping[str, str],
        *,
        keeps_numbers: bool = True,
    ) -> None:
        wider = dict(_WIDER.get(file_format, {}))
        if option(options, "locale") is not None or (file_format == "json" and not keeps_numbers):
            wider.pop(DecimalType, None)
        rules = {kind: _RULES[kind] for kind in wider}
        if file_format != "parquet":
            rules |= _OF_TIMES
        if file_format == "csv" and option(options, "encoding", "charset") is None:
            rules |= dict.fromkeys(TEXT_TYPES, _is_text)
            rules[BinaryType] = lambda value, _: _is_text(f"CAST({value} AS STRING)", StringType())
        self._columns = [
            _Judged(
                each,
                _widened(each.dataType, wider),
                _fits(backquoted(each.name), each.dataType, rules),
            )
            for each in schema
        ]
        self._format = file_format
        self._options = options

    @property
    def wide(self) -> StructType:
        """The columns as they are to be read."""
        return StructType(
            [
                StructField(each.field.name, each.wide, True, each.field.metadata)
                for each in self._columns
            ]
        )

    def strict(self, frame: DataFrame) -> DataFrame:
        """The schema's columns; a value that is not right is an error that names its column."""
        if all(each.fits is None for each in self._columns):
            return frame
        columns = []
        for each in self._columns:
            value, kind = F.col(backquoted(each.field.name)), each.field.dataType
            if each.fits is not None:
                shown = value if not isinstance(kind, _NESTED) else F.lit("a number in it")
                name = kind.simpleString().upper()
                why = F.concat(F.lit(f"column {each.field.name}: "), shown, F.lit(f" is no {name}"))
                checked = F.when(F.expr(each.fits), value).otherwise(F.raise_error(why))
                value = checked.cast(each.kind)
                value = value.alias(each.field.name, metadata=each.field.metadata)
            columns.append(value)
        return frame.select(columns)

    def marked(
        self,
        frame: DataFrame,
        corrupt: str,
        *,
        record: str | None = None,
        wrong: str | None = None,
        more: Sequence[str] = (),
    ) -> DataFrame:
        """The schema's columns, and ``corrupt``: the text of each record that does not fit.

        Args:
            frame: With the columns of :attr:`wide`.
            corrupt: The column that has the text where Spark found that it does not fit.
            record: The column that has a record's text; without it, one is written from its values.
            wrong: A column, never NULL, that says what else does not fit.
            more: Further columns to keep.
        """
        fits = [each.fits for each in self._columns if each.fits is not None]
        if not (fits or wrong):
            return frame
        is_right = " AND ".join(fits + ([f"NOT {wrong}"] if wrong else []))
        text = record or self._written()
        marks = f"coalesce({corrupt}, CASE WHEN NOT ({is_right}) THEN {text} END) AS {corrupt}"
        columns = [self._value(each) for each in self._columns]
        # As text it is one message to the JVM, however many columns there are.
        texts = [each for each in columns if isinstance(each, str)]
        if len(texts) == len(columns):
            return jvm.selected(frame, [*texts, marks, *more])
        mixed = (F.expr(each) if isinstance(each, str) else each for each in columns)
        return frame.select(*mixed, F.expr(marks), *more)

    def _value(self, column: _Judged) -> str | Column:
        """What a column becomes: SQL, unless its type is nested or the schema has notes on it."""
        name, kind = column.field.name, column.kind
        known, metadata = backquoted(name), column.field.metadata
        if not column.is_changed:
            return known
        if isinstance(kind, _NESTED):
            right = F.when(F.expr(str(column.fits)), F.col(known).cast(kind))
            return right.alias(name, metadata=metadata)
        if isinstance(kind, DecimalType):  # a cast that can fail says both at once
            value = f"try_cast({known} AS {kind.simpleString()})"
        else:
            cast = known if column.wide == kind else f"CAST({known} AS {kind.simpleString()})"
            value = f"CASE WHEN {column.fits} THEN {cast} END"
        if metadata:
            return F.expr(value).alias(name, metadata=metadata)
        return f"{value} AS {known}"

    def _written(self) -> str:
        """SQL of a record's text from its values as they were read."""
        values = f"struct({', '.join(backquoted(each.field.name) for each in self._columns)})"
        if self._format == "json":
            return f"to_json({values})"
        signs = zip(("sep", "quote", "escape"), csv_signs(self._options), strict=True)
        told = ", ".join(f"'{key}', {_sign(sign)}" for key, sign in signs)
        return f"to_csv({values}, map({told}))"


def _sign(text: str) -> str:
    """SQL of a text, whichever way the session reads quotes and backslashes in literals."""
    plain = (f"chr({ord(each)})" if each.isascii() else f"'{each}'" for each in text)
    return " || ".join(plain) or "''"


# ---- which values of one type are right, as SQL that is never NULL where the value is not ----

_NESTED = (ArrayType, MapType, StructType)
_Rule = Callable[[str, DataType], str]


def _in_bits(bits: int) -> _Rule:
    most = 2 ** (bits - 1)
    return lambda value, _: f"{value} BETWEEN {-most} AND {most - 1}"


def _is_decimal(value: str, kind: DataType) -> str:
    assert isinstance(kind, DecimalType)
    cast = f"try_cast({value} AS {kind.simpleString()}) IS NOT NULL"
    whole = kind.precision - kind.scale
    if whole < 1:
        return cast
    # Nearly all are written like that, and looking is cheaper than a cast.
    plain = f"^-?[0-9]{{1,{whole}}}([.][0-9]{{0,{kind.scale}}})?$"
    return f"({value} RLIKE '{plain}' OR {cast})"


def _is_text(value: str, _: DataType) -> str:
    return f"NOT contains({value}, '{NO_TEXT}')"


def _is_time(value: str, _: DataType) -> str:
    # A day more on both sides: the session's zone may be any.
    return f"unix_seconds({value}) BETWEEN {_FIRST_S - _DAY_S} AND {_LAST_S + _DAY_S}"


_RULES: Mapping[type[DataType], _Rule] = {
    ByteType: _in_bits(8),
    ShortType: _in_bits(16),
    DecimalType: _is_decimal,
}
_OF_TIMES: Mapping[type[DataType], _Rule] = {
    TimestampType: _is_time,
    TimestampNTZType: lambda value, _: (
        f"{value} BETWEEN TIMESTAMP_NTZ '0001-01-01 00:00:00'"
        " AND TIMESTAMP_NTZ '9999-12-31 23:59:59.999999'"
    ),
    DateType: lambda value, _: f"{value} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'",
}


def _fits(
    value: str, kind: DataType, rules: Mapping[type[DataType], _Rule], depth: int = 0
) -> str | None:
    """SQL that says whether all of a value is right, never NULL; None where it always is."""
    found: str | None = None
    inner = f"x{depth}"
    if isinstance(kind, StructType):
        fields = ((f"{value}.{backquoted(each.name)}", each.dataType) for each in kind)
        within = [_fits(name, each, rules, depth) for name, each in fields]
        found = " AND ".join(each for each in within if each is not None) or None
    elif isinstance(kind, ArrayType):
        element = _fits(inner, kind.elementType, rules, depth + 1)
        found = element and f"forall({value}, {inner} -> {element})"
    elif isinstance(kind, MapType):
        of_keys = _fits(inner, kind.keyType, rules, depth + 1)
        of_values = _fits(inner, kind.valueType, rules, depth + 1)
        parts = [
            f"forall(map_{name}({value}), {inner} -> {each})"
            for name, each in (("keys", of_keys), ("values", of_values))
            if each is not None
        ]
        found = " AND ".join(parts) or None
    elif type(kind) in rules:
        found = rules[type(kind)](value, kind)
    return found and f"({value} IS NULL OR {found})"


def nulls_within(
    value: str, kind: DataType, shown: str, depth: int = 0
) -> Iterator[tuple[str, str]]:
    """The fields within a value of which the schema says NOT NULL, and that a reader leaves NULL.

    Args:
        value: SQL of it.
        kind: Its type.
        shown: What people call it.
        depth: Of lambdas around it.

    Yields:
        What people call a field, and SQL that says whether it is NULL where what it is in is not;
        that is never NULL.
    """
    inner = f"x{depth}"
    if isinstance(kind, StructType):
        for each in kind:
            name, path = f"{value}.{backquoted(each.name)}", f"{shown}.{each.name}"
            if not each.nullable:
                yield path, f"({value} IS NOT NULL AND {name} IS NULL)"
            yield from nulls_within(name, each.dataType, path, depth)
    elif isinstance(kind, ArrayType):
        for path, is_null in nulls_within(inner, kind.elementType, f"{shown}[]", depth + 1):
            yield path, f"coalesce(exists({value}, {inner} -> {is_null}), false)"
    elif isinstance(kind, MapType):
        for what, within in (("keys", kind.keyType), ("values", kind.valueType)):
            for path, is_null in nulls_within(inner, within, f"{shown}.{what}[]", depth + 1):
                yield path, f"coalesce(exists(map_{what}({value}), {inner} -> {is_null}), false)"


def _widened(kind: DataType, wider: Mapping[type[DataType], DataType]) -> DataType:
    if isinstance(kind, StructType):
        fields = [
            StructField(each.name, _widened(each.dataType, wider), True, each.metadata)
            for each in kind
        ]
        return StructType(fields)
    if isinstance(kind, ArrayType):
        return ArrayType(_widened(kind.elementType, wider))
    if isinstance(kind, MapType):
        return MapType(_widened(kind.keyType, wider), _widened(kind.valueType, wider))
    return wider.get(type(kind), kind)
