"""The Arrow types of a push feed's columns."""

from __future__ import annotations

from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from freshline.project.ddl import Column, Type

_INTEGERS = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}
_REALS = {32: pa.float32(), 64: pa.float64()}
_OTHERS = {
    "boolean": pa.bool_(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}


def arrow_schema(columns: tuple[Column, ...]) -> pa.Schema:
    """Arrow's schema; null is allowed there and checked by us, with a better message."""
    return pa.schema([pa.field(column.name, arrow_type(column.type)) for column in columns])


@lru_cache(maxsize=1024)
def arrow_type(type_: Type) -> pa.DataType:
    """Arrow's type, which Spark reads back from Parquet as the one it is."""
    if type_.kind == "integer":
        return _INTEGERS[type_.bits]
    if type_.kind == "real":
        return _REALS[type_.bits]
    if type_.kind == "decimal":
        return pa.decimal128(type_.precision, type_.scale)
    if type_.kind == "struct":
        return pa.struct([pa.field(each.name, arrow_type(each.type)) for each in type_.fields])
    if type_.element is not None:
        inside = arrow_type(type_.element)
        return pa.list_(inside) if type_.kind == "array" else pa.map_(pa.string(), inside)
    return _OTHERS[type_.kind]


def comes_back(found: pa.Array | pa.ChunkedArray, before: pa.Array | pa.ChunkedArray) -> bool:
    """Whether a cast back gives what was cast.

    Of many values Arrow's casts make others without an error: digits of a decimal beyond 128 bits
    are left out, a fraction that has no room is rounded, a time becomes its day.
    """
    try:
        back = found.cast(before.type)
    except pa.ArrowException:
        return False
    if back.equals(before) or not pa.types.is_floating(before.type):
        return bool(back.equals(before))
    is_nan, zero = pc.is_nan(before), pa.scalar(0.0, before.type)
    return bool(
        pc.is_nan(back).equals(is_nan)
        and pc.if_else(is_nan, zero, back).equals(pc.if_else(is_nan, zero, before))
    )
