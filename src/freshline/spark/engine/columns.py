"""Comparing the columns of a query's result with those of its table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    ByteType,
    CharType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructType,
    TimestampType,
    VarcharType,
)

from freshline.spark.engine import jvm
from freshline.sql.text.reads import quoted

CHARS = "__CHAR_VARCHAR_TYPE_STRING"
"""Of a column's metadata: that a STRING is a CHAR(n) or VARCHAR(n). What a CHAR is compared with is
filled up with blanks, and Delta takes no longer texts."""


def same_columns(left: StructType, right: StructType) -> bool:
    """Whether names and types are the same, in order; may-be-null does not count."""
    return _signature(left) == _signature(right)


def same_chars(left: StructType, right: StructType) -> bool:
    """Whether the same columns, by their places, are CHAR(n) or VARCHAR(n)."""
    return [each.metadata.get(CHARS) for each in left] == [
        each.metadata.get(CHARS) for each in right
    ]


_UNIONS = ("Union", "UnionLoop")


def without_mixed_chars(frame: DataFrame) -> DataFrame:
    """``frame``, whose columns are no CHAR or VARCHAR where a union has them beside others.

    To Spark each column of a union is what it is in the first branch, whatever the other branches
    have. A table with such a CHAR would give back the others' texts filled up with blanks, and
    take none that are longer: it would not equal its query.
    """
    if not any(CHARS in each.metadata for each in frame.schema):
        return frame
    if not _mixes_chars(jvm.java_frame(frame).queryExecution().analyzed()):
        return frame
    return frame.select(
        [
            # What is computed has no notes of its own.
            F.coalesce(column).alias(each.name) if CHARS in each.metadata else column
            for each in frame.schema
            for column in [F.col(quoted(each.name))]
        ]
    )


def _mixes_chars(plan: Any) -> bool:
    """Whether a union in Spark's plan has a CHAR or VARCHAR where another branch has none."""
    children = list(jvm.elements(plan.children()))
    if str(plan.nodeName()) in _UNIONS:
        branches = [map(_chars, jvm.elements(child.output())) for child in children]
        if any(len(set(kinds)) > 1 for kinds in zip(*branches, strict=True)):
            return True
    return any(map(_mixes_chars, [*children, *jvm.elements(plan.subqueries())]))


def _chars(column: Any) -> str:
    notes = column.metadata()
    return str(notes.getString(CHARS)) if notes.contains(CHARS) else ""


def cast_to(frame: DataFrame, schema: StructType) -> DataFrame:
    """``frame`` with each column that ``schema`` has too cast to its type there.

    Columns that only ``frame`` has stay as they are.
    """
    types = {field.name.lower(): field for field in schema}
    columns = []
    for field in frame.schema:
        column = F.col(quoted(field.name))
        kept = types.get(field.name.lower())
        if kept is not None and kept.dataType.simpleString() != field.dataType.simpleString():
            column = column.cast(kept.dataType)
        columns.append(column.alias(kept.name if kept is not None else field.name))
    return frame.select(columns)


def same_names(columns: Sequence[str], others: Sequence[str]) -> bool:
    """Whether columns have the same names in the same order, whatever their letters' case."""
    return [each.lower() for each in columns] == [each.lower() for each in others]


_DIGITS: dict[type[DataType], int] = {ByteType: 3, ShortType: 5, IntegerType: 10, LongType: 19}
_EXACT_IN: dict[type[DataType], tuple[type[DataType], ...]] = {
    FloatType: (ByteType, ShortType),
    DoubleType: (ByteType, ShortType, IntegerType, FloatType),
    StringType: (StringType, VarcharType, CharType),
}


def holds(kind: DataType, other: DataType) -> bool:
    """Whether each value of another type is a value of this one."""
    if isinstance(kind, StructType) and isinstance(other, StructType):
        names = [[each.name.lower() for each in struct] for struct in (kind, other)]
        pairs = zip(kind, other, strict=False)
        return names[0] == names[1] and all(holds(a.dataType, b.dataType) for a, b in pairs)
    if isinstance(kind, ArrayType) and isinstance(other, ArrayType):
        return holds(kind.elementType, other.elementType)
    if isinstance(kind, MapType) and isinstance(other, MapType):
        return holds(kind.keyType, other.keyType) and holds(kind.valueType, other.valueType)
    return kind == other or isinstance(other, NullType) or _holds_plain(kind, other)


def _holds_plain(kind: DataType, other: DataType) -> bool:
    digits = _DIGITS.get(type(other))
    if isinstance(kind, DecimalType):
        if isinstance(other, DecimalType):
            fits = kind.precision - kind.scale >= other.precision - other.scale
            return fits and kind.scale >= other.scale
        return digits is not None and kind.precision - kind.scale >= digits
    if type(kind) in _DIGITS and digits is not None:
        return _DIGITS[type(kind)] >= digits
    return isinstance(other, _EXACT_IN.get(type(kind), ()))


def with_notes(frame: DataFrame, column: str, metadata: dict[str, Any]) -> DataFrame:
    """``frame.withMetadata``, which takes a name with a point in it for a field of a struct."""
    if "." not in column and "`" not in column:
        return frame.withMetadata(column, metadata)
    plain = [f"c{number}" for number in range(len(frame.columns))]
    at = plain[frame.columns.index(column)]
    return frame.toDF(*plain).withMetadata(at, metadata).toDF(*frame.columns)


EMPTY_PARTITION = "holds an empty text, which Delta keeps as NULL where it partitions"
OTHER_PARTITION = "which Delta gives back as another value where it partitions"
"""Parts of the errors of :func:`without_lost_partitions`."""
_NULLS_FOLDER = "__HIVE_DEFAULT_PARTITION__"


def without_lost_partitions(frame: DataFrame, partitioned_by: Iterable[str]) -> DataFrame:
    """``frame``, whose rows cannot be written where they would come back as others.

    Delta writes each partition value as a text, the name of a folder, and reads it from there. It
    has no empty text among them, and one text is NULL's. A TIMESTAMP is written as the session's
    clock shows it: of the hour that comes twice where clocks are put back, both are the first.
    The table would not equal its query.
    """
    wanted = {name.lower() for name in partitioned_by}
    for field in frame.schema:
        if field.name.lower() not in wanted:
            continue
        kept = column = F.col(quoted(field.name))
        for lost, what in _lost(column, field.dataType):
            told = F.concat(F.lit(f"partition column {field.name} "), what)
            kept = F.when(lost, F.raise_error(told).cast(field.dataType)).otherwise(kept)
        if kept is not column:
            frame = with_notes(frame.withColumn(field.name, kept), field.name, field.metadata)
    return frame


def _lost(column: Column, kind: DataType) -> list[tuple[Column, Column]]:
    """When a partition value would come back as another one, and what to say then."""
    text = column.cast("string")
    is_bytes = isinstance(kind, BinaryType)
    shown = F.hex(column) if is_bytes else text
    other = F.concat(F.lit("holds "), shown, F.lit(f", {OTHER_PARTITION}"))
    if isinstance(kind, TimestampType):
        return [(~text.try_cast(TimestampType()).eqNullSafe(column), other)]
    if not isinstance(kind, StringType | BinaryType):
        return []
    is_nulls = text == _NULLS_FOLDER
    return [
        (is_nulls | ~F.is_valid_utf8(text) if is_bytes else is_nulls, other),
        (text == "", F.lit(EMPTY_PARTITION)),
    ]


def kind_of(schema: StructType, column: str) -> str:
    """The simple string of a column's type, by its name in any case."""
    wanted = column.lower()
    return next(each.dataType.simpleString() for each in schema if each.name.lower() == wanted)


def _signature(schema: StructType) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in schema]
