"""How two frames of the same columns differ as multisets of rows, found in one Spark job.

Rows are the same where GROUP BY would take them for the same: NULL is NULL, NaN is NaN, -0.0 is
0.0. Maps are compared without regard to the order of their entries, texts byte by byte whatever
their collation. Floating-point numbers may differ in their last digits, since sums of them depend
on the order of the rows: :data:`TOLERANCES`.

Rounding makes groups of numbers that are nearly the same, and now and then parts two that are. So
the rows left over are paired once more, by tolerance. Nothing is rounded where columns are exact.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    MapType,
    StringType,
    StructType,
    VariantType,
)

from freshline.executor.verified import Difference, DifferingRow
from freshline.spark.engine.columns import same_columns
from freshline.spark.engine.sizing import COMPILED, sized

TOLERANCES: Mapping[type[DataType], float] = {DoubleType: 1e-9, FloatType: 1e-5}
"""Numbers differ if they differ by more, relative to the larger one. Near 0 the same holds
relative to 1, or to the largest number of the column where that is smaller."""

MOST_ROWS = 10_000
"""Differing rows that are brought here; of more, only how many there are."""

_COMPILED_FROM_BYTES = 1024 * 1024
"""Less than for updates: all rows and columns of both sides are grouped."""

_DIGITS: Mapping[type[DataType], str] = {DoubleType: "%.9e", FloatType: "%.5e"}
_BINARY = "UTF8_BINARY"
_AS_JSON = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


def differences(
    session: SparkSession,
    actual: DataFrame,
    expected: DataFrame,
    configuration: Mapping[str, str],
    input_bytes: int,
) -> Difference:
    """How ``actual`` differs from ``expected``.

    Args:
        session: One of its own; it is set to fit the input.
        actual: What is there.
        expected: What should be there.
        configuration: The project's Spark settings.
        input_bytes: Size of what both read.
    """
    schema = expected.schema
    if not same_columns(actual.schema, schema):
        return _other_columns(actual, expected)
    # All partitions at once, not one and then some more: one job.
    session.conf.set("spark.sql.limit.initialNumPartitions", "100000")
    # Also the number of partitions that the rows are grouped in.
    both = _side(actual, 1).unionAll(_side(expected, -1))
    both = sized(session, both, configuration, input_bytes)
    if input_bytes >= _COMPILED_FROM_BYTES:
        for name, value in COMPILED.items():
            if name not in configuration:
                session.conf.set(name, value)
    keys = [F.col(f"k{number}") for number in range(len(schema))]
    values = [
        F.first(f"v{number}").alias(f"v{number}")
        for number, field in enumerate(schema)
        if _is_changed(field.dataType)
    ]
    counted = both.groupBy(*keys).agg(F.sum("side").alias("times"), *values)
    differing = counted.filter("times <> 0").select(
        "times", _row(schema).alias("row"), _exactly(schema).alias("exactly")
    )
    found = differing.limit(MOST_ROWS + 1).collect()
    if len(found) > MOST_ROWS:
        missing, extra = differing.selectExpr(
            "sum(greatest(-times, 0))", "sum(greatest(times, 0))"
        ).collect()[0]
        rows = [_parsed(each["row"], each["times"], schema) for each in found[:MOST_ROWS]]
        return Difference(int(missing), int(extra), tuple(map(_shown, rows)))
    rows = [_parsed(each["row"], each["times"], schema) for each in found]
    if rows and _has_floats(schema):
        rows = _paired(rows, [each["exactly"] for each in found], schema, _scales(actual, schema))
    return Difference(
        sum(-times for _, times in rows if times < 0),
        sum(times for _, times in rows if times > 0),
        tuple(map(_shown, rows)),
    )


def _other_columns(actual: DataFrame, expected: DataFrame) -> Difference:
    columns = (
        f"it has the columns {actual.schema.simpleString()},"
        f" its query gives {expected.schema.simpleString()}"
    )
    return Difference(expected.count(), actual.count(), (), columns)


# ---- in Spark ----


def _side(frame: DataFrame, side: int) -> DataFrame:
    """Rows as keys that are equal where the rows are the same; and what they were, if changed."""
    columns: list[Column] = []
    plain = frame.toDF(*(f"c{number}" for number in range(len(frame.columns))))
    for number, field in enumerate(frame.schema):
        column = F.col(f"c{number}")
        columns.append(_key(column, field.dataType).alias(f"k{number}"))
        if _is_changed(field.dataType):
            columns.append(column.alias(f"v{number}"))
    return plain.select(*columns, F.lit(side).cast("bigint").alias("side"))


def _row(schema: StructType) -> Column:
    """The row as JSON."""
    values = [
        F.col(f"{'v' if _is_changed(field.dataType) else 'k'}{number}").alias(field.name)
        for number, field in enumerate(schema)
    ]
    return F.to_json(F.struct(*values), _AS_JSON)


def _exactly(schema: StructType) -> Column:
    """A hash of all that must be the same in two rows that are nearly the same.

    JSON does not tell it: there every byte that is not UTF-8 is the same character.
    """
    columns = [
        _exact_key(F.col(f"v{number}"), field.dataType)
        if _is_changed(field.dataType)
        else F.col(f"k{number}")
        for number, field in enumerate(schema)
    ]
    return F.xxhash64(*columns)


def _is_changed(kind: DataType) -> bool:
    """Whether the key of a value of this type is another value."""
    if isinstance(kind, ArrayType):
        return _is_changed(kind.elementType)
    if isinstance(kind, StructType):
        return any(_is_changed(field.dataType) for field in kind)
    if isinstance(kind, StringType):
        return kind.collation != _BINARY
    return isinstance(kind, MapType | VariantType | FloatType | DoubleType)


def _key(column: Column, kind: DataType) -> Column:
    """What is equal where two values are the same, up to rounding."""
    return _with_floats(column, kind, _rounded)


def _exact_key(column: Column, kind: DataType) -> Column:
    """What is equal where two values are the same but for their floating-point numbers."""
    return _with_floats(column, kind, lambda _, __: F.lit(0))


def _rounded(column: Column, kind: DataType) -> Column:
    digits = F.format_string(_DIGITS[type(kind)], column.cast("double"))
    rounded = F.when(column == 0, F.lit("0")).otherwise(digits)  # -0.0 too
    return F.when(column.isNotNull(), rounded)


def _with_floats(
    column: Column, kind: DataType, shown: Callable[[Column, DataType], Column]
) -> Column:
    """A value to group by or to hash, its floating-point numbers as ``shown`` has them."""
    if not _is_changed(kind):
        return column
    if isinstance(kind, ArrayType):
        return F.transform(column, lambda each: _with_floats(each, kind.elementType, shown))
    if isinstance(kind, StructType):
        fields = [
            _with_floats(column.getField(field.name), field.dataType, shown).alias(f"f{number}")
            for number, field in enumerate(kind)
        ]
        return F.when(column.isNotNull(), F.struct(*fields))
    if isinstance(kind, MapType):
        entries = F.transform(
            F.map_entries(column),
            lambda each: F.struct(
                _with_floats(each.getField("key"), kind.keyType, shown).alias("key"),
                _with_floats(each.getField("value"), kind.valueType, shown).alias("value"),
            ),
        )
        return F.array_sort(entries)
    if isinstance(kind, VariantType):
        # JSON has no types: of a DATE and a text of the same letters the schema tells.
        return F.concat(F.to_json(column), F.schema_of_variant(column))
    if isinstance(kind, StringType):
        return F.collate(column, _BINARY)
    return shown(column, kind)


def _scales(actual: DataFrame, schema: StructType) -> tuple[float, ...]:
    """Of each column the largest finite number by absolute value, 1 where that is larger."""
    plain = actual.toDF(*(f"c{number}" for number in range(len(schema))))
    most = [
        F.max(F.when(F.abs(f"c{number}") < float("inf"), F.abs(f"c{number}"))).cast("double")
        if isinstance(field.dataType, DoubleType | FloatType)
        else F.lit(1.0)
        for number, field in enumerate(schema)
    ]
    found = plain.agg(F.count(F.lit(1)), *most).collect()[0][1:]
    return tuple(1.0 if each is None else min(1.0, float(each)) for each in found)


# ---- the rows left over ----

_Row = tuple[tuple[Any, ...], int]


class _Merged(dict[str, Any]):
    """A map as JSON that has several keys of one text: their bytes are not UTF-8."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    return found if len(found) == len(pairs) else _Merged(found)


def _parsed(text: str, times: int, schema: StructType) -> tuple[dict[str, Any], int]:
    """The row's values by column; floating-point numbers as float, decimals as text."""
    found = json.loads(text, parse_float=Decimal, object_pairs_hook=_object)
    return (
        {field.name: _value(found.get(field.name), field.dataType) for field in schema},
        int(times),
    )


def _value(value: Any, kind: DataType) -> Any:
    if value is None:
        return None
    if isinstance(kind, DoubleType | FloatType):
        return value if isinstance(value, str) else float(value)  # NaN and Infinity are texts
    if isinstance(kind, DecimalType):
        return f"{Decimal(value):f}"
    if isinstance(kind, ArrayType):
        return [_value(each, kind.elementType) for each in value]
    if isinstance(kind, StructType):
        return {field.name: _value(value.get(field.name), field.dataType) for field in kind}
    if isinstance(kind, MapType):
        return type(value)((key, _value(each, kind.valueType)) for key, each in value.items())
    if isinstance(kind, VariantType):
        return _plain(value)
    return value


def _plain(value: Any) -> Any:
    """A variant's value without decimals, which JSON cannot write."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return value


def _shown(row: tuple[dict[str, Any], int]) -> DifferingRow:
    return DifferingRow(*row)


def _paired(
    rows: Sequence[tuple[dict[str, Any], int]],
    exactly: Sequence[int],
    schema: StructType,
    scales: Sequence[float],
) -> list[tuple[dict[str, Any], int]]:
    """The rows without those that are there on both sides up to their last digits.

    Args:
        rows: Those that differ.
        exactly: Of each what :func:`_exactly` gives.
        schema: Of the rows.
        scales: Of each column.
    """
    alike: dict[tuple[int, str], list[int]] = defaultdict(list)
    for place, ((row, _), hashed) in enumerate(zip(rows, exactly, strict=True)):
        # A hash passes over NULLs, which JSON has.
        exact = [_exact(row[field.name], field.dataType) for field in schema]
        alike[hashed, json.dumps(exact, sort_keys=True)].append(place)
    left = [times for _, times in rows]
    for places in alike.values():
        for place in (each for each in places if left[each] > 0):
            for other in (each for each in places if left[each] < 0):
                if not left[place]:
                    break
                if _is_near(rows[place][0], rows[other][0], schema, scales):
                    pairs = min(left[place], -left[other])
                    left[place] -= pairs
                    left[other] += pairs
    return [(row, times) for (row, _), times in zip(rows, left, strict=True) if times]


def _is_near(
    one: Mapping[str, Any], other: Mapping[str, Any], schema: StructType, scales: Sequence[float]
) -> bool:
    return all(
        _near(one[field.name], other[field.name], field.dataType, scale)
        for field, scale in zip(schema, scales, strict=True)
    )


def _has_floats(kind: DataType) -> bool:
    if isinstance(kind, ArrayType):
        return _has_floats(kind.elementType)
    if isinstance(kind, StructType):
        return any(_has_floats(field.dataType) for field in kind)
    if isinstance(kind, MapType):
        return _has_floats(kind.keyType) or _has_floats(kind.valueType)
    return isinstance(kind, DoubleType | FloatType)


def _exact(value: Any, kind: DataType) -> Any:
    """What of a value must be the same for two to be nearly the same."""
    if value is None or not _has_floats(kind):
        return value
    if isinstance(kind, ArrayType):
        return [_exact(each, kind.elementType) for each in value]
    if isinstance(kind, StructType):
        return {field.name: _exact(value[field.name], field.dataType) for field in kind}
    if isinstance(kind, MapType):
        values = {key: _exact(each, kind.valueType) for key, each in value.items()}
        return values if not _has_floats(kind.keyType) else len(values)
    return value if isinstance(value, str) else 0


def _near(one: Any, other: Any, kind: DataType, scale: float) -> bool:
    if one is None or other is None or not _has_floats(kind):
        return bool(one == other)
    if isinstance(kind, ArrayType):
        return len(one) == len(other) and all(
            _near(left, right, kind.elementType, 1.0)
            for left, right in zip(one, other, strict=True)
        )
    if isinstance(kind, StructType):
        return all(_near(one[field.name], other[field.name], field.dataType, 1.0) for field in kind)
    if isinstance(kind, MapType):
        if isinstance(one, _Merged):
            return False  # whose numbers are whose is not known any more
        return one.keys() == other.keys() and all(
            _near(each, other[key], kind.valueType, 1.0) for key, each in one.items()
        )
    if isinstance(one, str) or isinstance(other, str):
        return bool(one == other)
    tolerance = TOLERANCES[type(kind)]
    return math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance * scale)


def union_of(frames: Sequence[DataFrame]) -> DataFrame:
    """All rows of the frames, which have the same columns."""
    return reduce(DataFrame.unionAll, frames)
