"""Columns of Parquet files that stand for something else than the schema's, by what Arrow wrote."""

from __future__ import annotations

import datetime as dt
import io
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from freshline.spark.feeds.parquet_columns import (
    folder_keys,
    in_folder_alone,
    nanoseconds,
    other_meaning,
    other_meanings,
)

CENTS = pa.array([Decimal("123.45"), None], pa.decimal128(9, 2))
WHOLE = pa.array([Decimal(123), None], pa.decimal128(9, 0))
LARGE_32 = pa.array([2**31, 1], pa.uint32())
SMALL_32 = pa.array([2**31 - 1, None], pa.uint32())
LARGE_64 = pa.array([2**63, 1], pa.uint64())
SMALL_64 = pa.array([2**63 - 1, 1], pa.uint64())
PLAIN = pa.array([20260101, 5], pa.int32())
DAYS = pa.array([dt.date(2026, 1, 1)])
TIMES = pa.array([dt.datetime(2026, 1, 1, tzinfo=dt.UTC)], pa.timestamp("us", "UTC"))

TOP = [
    (CENTS, LongType(), "column n is DECIMAL(9,2) and no BIGINT"),
    (CENTS, DoubleType(), "column n is DECIMAL(9,2) and no DOUBLE"),
    (CENTS, DecimalType(9, 2), None),
    (WHOLE, LongType(), None),
    (LARGE_32, IntegerType(), "column n is unsigned with 32 bits and no INT"),
    (LARGE_32, ByteType(), "column n is unsigned with 32 bits and no TINYINT"),
    (LARGE_32, DoubleType(), "column n is unsigned with 32 bits and no DOUBLE"),
    (LARGE_32, LongType(), None),
    (SMALL_32, IntegerType(), None),
    (SMALL_32, DoubleType(), None),
    (pa.array([None], pa.uint32()), IntegerType(), None),
    (pa.array([], pa.uint32()), IntegerType(), None),
    (LARGE_64, LongType(), "column n is unsigned with 64 bits and no BIGINT"),
    (SMALL_64, LongType(), None),
    (LARGE_64, DecimalType(20, 0), None),
    (pa.array([255], pa.uint8()), IntegerType(), None),
    (PLAIN, DateType(), "column n is a whole number and no DATE"),
    (PLAIN, LongType(), None),
    (DAYS, DateType(), None),
    (DAYS, DoubleType(), "column n is a DATE and no DOUBLE"),
    (TIMES, TimestampType(), None),
    (TIMES, LongType(), None),
]


def told(array: pa.Array, kind, look=other_meaning, **settings) -> str | None:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"N": array, "other": pa.nulls(len(array))}), buffer, **settings)
    schema = StructType([StructField("n", kind), StructField("missing", StringType())])
    with pq.ParquetFile(buffer) as file:
        reason: str | None = look(file, schema)
    return reason


def message(reason: str | None, name: str = "N") -> str | None:
    if reason is None:
        return None
    named = reason.replace("column n", f"column {name}")
    return f"{named}: declare it as it is in the feed's `schema:`"


@pytest.mark.parametrize("array", [pa.array([b"x"]), pa.array(["x"]).dictionary_encode(), CENTS])
def test_bytes_that_spark_takes_for_a_text_or_refuses_itself_are_not_told(array):
    assert told(array, StringType()) is None


@pytest.mark.parametrize("as_integer", [False, True])
@pytest.mark.parametrize(("array", "kind", "reason"), TOP)
def test_a_column(array, kind, reason, as_integer):
    assert told(array, kind, store_decimal_as_integer=as_integer) == message(reason)


@pytest.mark.parametrize(("array", "kind", "reason"), TOP)
def test_a_column_within_others(array, kind, reason):
    offsets = list(range(len(array) + 1))
    lists = pa.ListArray.from_arrays(offsets, array)
    assert told(lists, ArrayType(kind)) == message(reason)
    assert told(lists, ArrayType(kind), use_compliant_nested_type=False) == message(
        reason, "N.item"
    )
    structs = pa.StructArray.from_arrays([array], ["x"])
    assert told(structs, StructType([StructField("X", kind)])) == message(reason, "N.x")
    keys = pa.array([str(each) for each in range(len(array))], pa.string())
    maps = pa.MapArray.from_arrays(offsets, keys, array)
    assert told(maps, MapType(StringType(), kind)) == message(reason, "N.value")
    deep = pa.ListArray.from_arrays(list(range(len(array) + 1)), structs)
    assert told(deep, ArrayType(StructType([StructField("x", kind)]))) == message(reason, "N.x")


def test_without_statistics_an_unsigned_column_may_be_large():
    why = "column n is unsigned with 32 bits and no INT"
    assert told(SMALL_32, IntegerType(), write_statistics=False) == message(why)


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("a.parquet", set()),
        ("day=1.parquet", set()),
        ("Day=2026-01-31/hour=5/a.parquet", {"day", "hour"}),
        ("x/k=/y/a.parquet", {"k"}),
        ("=5/a.parquet", {""}),
    ],
)
def test_keys_of_folders(name, keys):
    assert folder_keys(name) == keys


def test_a_column_that_a_folder_alone_has_is_told():
    buffer = io.BytesIO()
    pq.write_table(pa.table({"ID": [1], "kept": [2]}), buffer)
    schema = StructType([StructField(name, LongType()) for name in ("id", "Day", "kept", "none")])
    with pq.ParquetFile(buffer) as file:
        assert in_folder_alone(file, schema, folder_keys("kept=2/id=1/hour=3/a")) is None
        told = in_folder_alone(file, schema, folder_keys("day=2026-01-31/a"))
        assert told is not None
        assert told.startswith("column Day is in the folder's name alone, and would be NULL")


@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("kind", [TimestampType(), TimestampNTZType()])
def test_times_in_nanoseconds_are_told_where_spark_says_that_they_are_int64(zone, kind):
    """What pandas writes unless it is told otherwise."""
    times = pa.array([1_767_225_600_123_456_789, None], pa.timestamp("ns", zone))
    assert told(times, kind) is None, "a query may not read the column"
    reason = told(times, kind, nanoseconds)
    assert reason is not None
    assert reason.startswith("column N has times in nanoseconds, which Spark does not read: have")
    assert told(times, LongType(), nanoseconds) is None
    assert told(times.cast(pa.timestamp("us", zone), safe=False), kind, nanoseconds) is None
    nested = pa.array([{"At": 1}], pa.struct([("At", pa.timestamp("ns", zone))]))
    reason = told(nested, StructType([StructField("at", kind)]), nanoseconds)
    assert reason is not None
    assert reason.startswith("column N.At has times")


def test_points_in_names_part_nothing():
    """As pandas makes them of nested json."""
    inner = pa.StructArray.from_arrays([CENTS], ["net.amount"])
    rows = pa.table({"order.amount": CENTS, "order": pa.array([1, 2]), "o": inner})
    buffer = io.BytesIO()
    pq.write_table(rows, buffer)
    schema = StructType(
        [
            StructField("order.amount", LongType()),
            StructField("order", LongType()),
            StructField("o", StructType([StructField("net.amount", LongType())])),
        ]
    )
    with pq.ParquetFile(buffer) as file:
        reason = other_meaning(file, schema)
    what = "is DECIMAL(9,2) and no BIGINT"
    assert reason is not None
    assert reason.startswith(f"column order.amount {what}; column o.net.amount {what}: ")


def read_as(
    column: pa.Array,
    kind: DataType,
    *,
    inferred: bool = False,
    otherwise: frozenset[str] = frozenset(),
    **written: Any,
) -> str | None:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"at": column}), buffer, **written)
    schema = StructType([StructField("at", kind)])
    with pq.ParquetFile(buffer) as file:
        return other_meaning(file, schema, inferred=inferred, otherwise=otherwise)


def test_a_day_is_no_whole_number():
    """As of a feed whose first file has the column without a value: Spark takes it for INT."""
    days = pa.array([20577], pa.date32())
    reason = read_as(days, IntegerType())
    assert reason is not None
    assert reason.startswith("column at is a DATE and no INT")
    assert read_as(days, DateType()) is None


def test_instants_are_read_as_wall_clocks_where_somebody_says_so():
    instants = pa.array([0], pa.timestamp("us", "Europe/Berlin"))
    walls = pa.array([0], pa.timestamp("us"))
    assert read_as(instants, TimestampNTZType()) is None
    reason = read_as(instants, TimestampNTZType(), inferred=True)
    assert reason is not None
    assert reason.startswith("column at is a TIMESTAMP and no TIMESTAMP_NTZ")
    assert read_as(walls, TimestampNTZType(), inferred=True) is None
    assert read_as(instants, TimestampType(), inferred=True) is None


@pytest.mark.parametrize(
    ("column", "what"),
    [
        (WHOLE, "DECIMAL(9,0)"),
        (pa.array([dt.time(12)], pa.time32("ms")), "a TIME"),
        (pa.array([5], pa.uint32()), "a whole number"),
        (pa.array([None]), None),
        (DAYS, None),
    ],
)
def test_a_column_that_is_stored_as_a_number_is_no_day(column, what):
    """Spark takes each INT32 for days since 1970, whatever it stands for."""
    reason = read_as(column, DateType(), store_decimal_as_integer=True)
    assert reason == (what and message(f"column n is {what} and no DATE", "at"))


INSTANTS = pa.array([0], pa.timestamp("us", "UTC"))
WALLS = pa.array([0], pa.timestamp("us"))
OLD = {"use_deprecated_int96_timestamps": True}


@pytest.mark.parametrize(
    ("column", "kind", "what", "written"),
    [
        (INSTANTS, LongType(), "a TIMESTAMP", {}),
        (WALLS, LongType(), "a TIMESTAMP_NTZ", {}),
        (pa.array([0], pa.timestamp("ns")), LongType(), "a TIMESTAMP_NTZ", {}),
        (pa.array([dt.time(12)], pa.time32("ms")), IntegerType(), "a TIME", {}),
        (INSTANTS, TimestampNTZType(), "a TIMESTAMP", OLD),
        (WALLS, TimestampType(), "a TIMESTAMP_NTZ", {}),
        (INSTANTS, TimestampType(), None, OLD),
        (INSTANTS, TimestampType(), None, {}),
        (WALLS, TimestampNTZType(), None, {}),
    ],
)
def test_a_column_of_another_kind_than_the_first_files_is_told_where_nobody_declared_it(
    column, kind, what, written
):
    reason = read_as(column, kind, inferred=True, **written)
    shown = kind.simpleString().upper()
    assert reason == (what and message(f"column n is {what} and no {shown}", "at"))
    assert read_as(column, kind, **written) is None


def test_what_spark_is_set_to_infer_so_is_of_the_first_files_kind():
    walls, numbers = (
        "spark.sql.parquet.inferTimestampNTZ.enabled",
        "spark.sql.legacy.parquet.nanosAsLong",
    )
    nanoseconds_ = pa.array([0], pa.timestamp("ns"))
    for column, kind, setting in (
        (WALLS, TimestampType(), walls),
        (nanoseconds_, LongType(), numbers),
    ):
        assert read_as(column, kind, inferred=True, otherwise=frozenset({setting})) is None
        assert read_as(column, kind, inferred=True) is not None


@pytest.mark.parametrize(
    ("options", "is_told"),
    [
        ({}, True),
        ({"basePath": "HERE"}, False),
        ({"basePath": "HERE", "recursiveFileLookup": "false"}, False),
        ({"basePath": "HERE", "recursiveFileLookup": "TRUE"}, True),
    ],
)
def test_a_column_that_a_folder_alone_has_is_told_where_spark_does_not_read_it(
    options, is_told, tmp_path
):
    name = "day=2026-01-31/a.parquet"
    (tmp_path / name).parent.mkdir()
    pq.write_table(pa.table({"id": pa.array([1], pa.int64())}), tmp_path / name)
    schema = StructType([StructField("id", LongType()), StructField("day", StringType())])
    place = str(tmp_path)
    options = {key: place if value == "HERE" else value for key, value in options.items()}
    feed = SimpleNamespace(path=place, format="parquet", options=options, schema="declared")
    reader: Any = SimpleNamespace(feed=feed)
    assert bool(other_meanings(reader, [name], schema)) == is_told
