"""Parquet files whose columns mean something else than the schema says, or are not in them.

Spark looks at how a column is stored, and less at what it stands for: a DECIMAL(9,2) is stored as a
whole number, so that 123.45 read as a BIGINT is 12345. What it stands for is in the file's footer.
Of a file in a folder ``day=2026-01-31`` other programs leave the column out, and it would be NULL.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    DataType,
    DateType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from freshline.delta.stores import arrow_store
from freshline.project.model import Feed
from freshline.project.sections.reader_options import option
from freshline.spark.feeds.exact import TEXT_TYPES
from freshline.spark.feeds.reader import FeedReader

_WHOLE = (ByteType, ShortType, IntegerType, LongType)
_REAL = (FloatType, DoubleType)
_TIMES = (TimestampType, TimestampNTZType)
NANOSECONDS = (
    "times in nanoseconds, which Spark does not read: have its writer cut them to microseconds"
    ' (pandas: `coerce_timestamps="us", allow_truncated_timestamps=True`)'
)
"""What is wrong with a column, where Spark itself says that INT64 is no TIMESTAMP."""
_UNSIGNED_INTO: Mapping[int, tuple[type[DataType], ...]] = {
    32: (ByteType, ShortType, IntegerType, DoubleType),
    64: _WHOLE,
}
"""By bits of an unsigned number: types in which the upper half of its numbers is negative."""
_READS_AT_ONCE = 16
_HOW = (
    "with the feed's path as the option `basePath`, and without `recursiveFileLookup`, Spark reads"
    " it from there"
)

_WALLS_AS_INSTANTS = "spark.sql.parquet.inferTimestampNTZ.enabled"
_NANOS_AS_LONG = "spark.sql.legacy.parquet.nanosAsLong"
_INFERRED_OTHERWISE = {_WALLS_AS_INSTANTS: "false", _NANOS_AS_LONG: "true"}
"""Settings, and the value with which Spark takes such times of a file for another type."""


def other_meanings(
    reader: FeedReader,
    names: Sequence[str],
    schema: StructType,
    *,
    failed: bool = False,
    otherwise: frozenset[str] = frozenset(),
) -> list[tuple[str, str]]:
    """The files of a Parquet feed with such a column, each with the reason.

    A file that cannot be read is none of them: Spark says more about it.

    Args:
        reader: Of the feed.
        names: Files of the feed.
        schema: The feed's.
        failed: Spark could not read them. Else nothing is said of columns at which Spark fails
            where a query reads them: it may read others alone.
        otherwise: As of :func:`other_meaning`.
    """
    feed = reader.feed
    if feed.format != "parquet":
        return []
    has_base = _takes_keys(feed.options)
    inferred = feed.schema is None
    matters = failed or any(_matters(each.dataType, inferred=inferred) for each in schema)
    looked_at = [name for name in names if matters or (folder_keys(name) and not has_base)]
    system, base = (None, feed.path) if feed.path.startswith("/") else arrow_store(feed.path)

    def reason(name: str) -> str | None:
        try:
            with pq.ParquetFile(f"{base}/{name}", filesystem=system) as file:
                keys = frozenset() if has_base else folder_keys(name)
                return (
                    other_meaning(file, schema, inferred=inferred, otherwise=otherwise)
                    or in_folder_alone(file, schema, keys)
                    or (nanoseconds(file, schema) if failed else None)
                )
        except (OSError, pa.ArrowException):
            return None

    if system is None:
        reasons = [reason(name) for name in looked_at]
    else:
        with ThreadPoolExecutor(_READS_AT_ONCE) as threads:
            reasons = list(threads.map(reason, looked_at))
    return [(name, why) for name, why in zip(looked_at, reasons, strict=True) if why is not None]


def inferred_otherwise(session: SparkSession, feed: Feed) -> frozenset[str]:
    """The settings by which Spark gives a file's times another type than they say themselves."""
    if feed.format != "parquet" or feed.schema is not None:
        return frozenset()
    told = _INFERRED_OTHERWISE.items()
    return frozenset(name for name, value in told if str(session.conf.get(name)).lower() == value)


def _takes_keys(options: Mapping[str, str]) -> bool:
    """Whether Spark takes columns from the names of folders."""
    everywhere = (option(options, "recursiveFileLookup") or "").lower() == "true"
    return option(options, "basePath") is not None and not everywhere


def folder_keys(name: str) -> frozenset[str]:
    """The keys of folders like ``day=2026-01-31`` in a file's name, in lower case."""
    parts = (part.partition("=") for part in name.split("/")[:-1])
    return frozenset(key.lower() for key, sign, _ in parts if sign)


def in_folder_alone(file: pq.ParquetFile, schema: StructType, keys: frozenset[str]) -> str | None:
    """The schema's columns whose values are in the folder's name and not in the file."""
    columns = (file.schema.column(index) for index in range(len(file.schema)))
    there = {column.path.split(".")[0].lower() for column in columns}
    missing = [each.name for each in schema if each.name.lower() in keys - there]
    if not missing:
        return None
    return f"column {', '.join(missing)} is in the folder's name alone, and would be NULL: {_HOW}"


def other_meaning(
    file: pq.ParquetFile,
    schema: StructType,
    *,
    inferred: bool = False,
    otherwise: frozenset[str] = frozenset(),
) -> str | None:
    """The file's columns that stand for something else than the schema's, in a sentence.

    Args:
        file: Of a feed.
        schema: The feed's.
        inferred: The schema is that of the feed's first file; nobody declared it. Spark reads
            instants as times without a zone, or as whole numbers, if the schema says so, which
            only a user can want.
        otherwise: As of :func:`inferred_otherwise`.
    """
    wrong = []
    for index, column, parts, kinds in _columns(file, schema):
        for kind in kinds:
            what = _what_else(column, kind) or (
                _of_another_kind(column, kind, otherwise) if inferred else None
            )
            if what is not None and not (what.startswith("unsigned") and _are_small(file, index)):
                wrong.append(
                    f"column {_shown(parts)} is {what} and no {kind.simpleString().upper()}"
                )
    if not wrong:
        return None
    return f"{'; '.join(wrong)}: declare it as it is in the feed's `schema:`"


def nanoseconds(file: pq.ParquetFile, schema: StructType) -> str | None:
    """The file's times that Spark does not read, in a sentence."""
    found = []
    for _, column, parts, kinds in _columns(file, schema):
        if _has_nanoseconds(column) and any(isinstance(kind, _TIMES) for kind in kinds):
            found.append(f"column {_shown(parts)} has {NANOSECONDS}")
    return "; ".join(found) or None


def _matters(kind: DataType, *, inferred: bool) -> bool:
    if isinstance(kind, StructType):
        return any(_matters(each.dataType, inferred=inferred) for each in kind)
    if isinstance(kind, ArrayType):
        return _matters(kind.elementType, inferred=inferred)
    if isinstance(kind, MapType):
        return any(_matters(each, inferred=inferred) for each in (kind.keyType, kind.valueType))
    if isinstance(kind, _TIMES):
        return inferred
    return isinstance(kind, (*_WHOLE, *_REAL, *TEXT_TYPES, DateType))


def _columns(
    file: pq.ParquetFile, schema: StructType
) -> Iterator[tuple[int, Any, list[str], Iterator[DataType]]]:
    """The file's leaves: index, Parquet's column, parts of the path, and the schema's types."""
    for index in range(len(file.schema)):
        column = file.schema.column(index)
        parts = column.path.split(".")
        yield index, column, parts, _kinds_at(schema, parts)


def _kinds_at(kind: DataType, parts: Sequence[str]) -> Iterator[DataType]:
    """The schema's types of a leaf of a file; several where a list can be written in two ways."""
    if isinstance(kind, StructType):
        lowered = [part.lower() for part in parts]
        for each in kind:
            name = each.name.lower().split(".")  # pandas makes names like `order.amount`
            if lowered[: len(name)] == name:
                yield from _kinds_at(each.dataType, parts[len(name) :])
    elif isinstance(kind, ArrayType):
        # A repeated group with an element in it, or in older files the repeated element itself.
        for levels in (1, 2):
            if len(parts) >= levels:
                yield from _kinds_at(kind.elementType, parts[levels:])
    elif isinstance(kind, MapType):
        if len(parts) > 1:
            inner = kind.keyType if parts[1] == "key" else kind.valueType
            yield from _kinds_at(inner, parts[2:])
    elif not parts:
        yield kind


def _what_else(column: Any, kind: DataType) -> str | None:
    """What a column stands for that its type in the schema cannot hold; None: it can."""
    told = json.loads(column.logical_type.to_json())
    name = told["Type"]
    if isinstance(kind, TEXT_TYPES):
        return _no_text(told) if column.physical_type == "BYTE_ARRAY" else None
    if name == "Decimal" and told["scale"] > 0 and isinstance(kind, (*_WHOLE, *_REAL, DateType)):
        return _decimal(told)
    if name == "Int" and not told["isSigned"]:
        bits = told["bitWidth"]
        if isinstance(kind, _UNSIGNED_INTO.get(bits, ())):
            return f"unsigned with {bits} bits"
    if isinstance(kind, DateType) and column.physical_type == "INT32":
        return _no_day(told)
    if isinstance(kind, _REAL) and name in ("Date", "Time", "Timestamp"):
        return f"a {name.upper()}"
    if isinstance(kind, _WHOLE) and name == "Date":
        return "a DATE"
    return None


def _no_day(told: Mapping[str, Any]) -> str | None:
    """What a column of INT32 stands for, of which Spark takes each number for days since 1970."""
    match told["Type"]:
        case "Date" | "Null":
            return None
        case "Decimal":
            return _decimal(told)
        case "Time":
            return "a TIME"
    return "a whole number"


def _of_another_kind(column: Any, kind: DataType, otherwise: frozenset[str]) -> str | None:
    """What a column stands for where its type is that of another file, which nobody declared."""
    told = json.loads(column.logical_type.to_json())
    is_instant = column.physical_type == "INT96" or bool(told.get("isAdjustedToUTC"))
    time = "a TIMESTAMP" if is_instant else "a TIMESTAMP_NTZ"
    match told["Type"]:
        case "Time" if isinstance(kind, _WHOLE):
            return "a TIME"
        case "Timestamp" if isinstance(kind, _WHOLE):
            as_number = _NANOS_AS_LONG in otherwise and _has_nanoseconds(column)
            return None if as_number else time
        case "Timestamp" if isinstance(kind, TimestampType) and not is_instant:
            return None if _WALLS_AS_INSTANTS in otherwise else time
        case "Timestamp" | "None" if isinstance(kind, TimestampNTZType) and is_instant:
            return time
    return None


def _no_text(told: Mapping[str, Any]) -> str | None:
    """What a column of bytes stands for, where Spark would take something else for a text.

    Bytes of a fixed length are none to it.
    """
    return {"Decimal": _decimal, "BSON": lambda _: "BSON"}.get(told["Type"], lambda _: None)(told)


def _decimal(told: Mapping[str, Any]) -> str:
    return f"DECIMAL({told['precision']},{told['scale']})"


def _has_nanoseconds(column: Any) -> bool:
    told = json.loads(column.logical_type.to_json())
    return bool(told["Type"] == "Timestamp" and told["timeUnit"] == "nanoseconds")


def _are_small(file: pq.ParquetFile, index: int) -> bool:
    """Whether no number of an unsigned column would be negative, by the file's statistics."""
    column = file.schema.column(index)
    most = 2 ** (31 if column.physical_type == "INT32" else 63)
    for group in range(file.metadata.num_row_groups):
        rows = file.metadata.row_group(group)
        statistics = rows.column(index).statistics
        is_empty = not rows.num_rows or (statistics is not None and not statistics.num_values)
        is_told = statistics is not None and statistics.has_min_max
        if not (is_empty or (is_told and statistics.max < most)):
            return False
    return True


def _shown(parts: Sequence[str]) -> str:
    names = [part for part in parts if part not in ("list", "element", "key_value")]
    return ".".join(names)
