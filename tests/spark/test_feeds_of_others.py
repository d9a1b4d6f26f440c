"""Json and Parquet files as other programs write them: every value is loaded as it is, or told."""

from __future__ import annotations

import bz2
import gzip
import json
import shutil
import zlib
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from freshline.executor.records import UnreadableFilesError
from tests.support.places import PLACES, on_this_machine

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("place", PLACES)
def test_records_without_a_line_break_between_them_are_told(place, shop):
    folder = shop.feed("f", "json", "id BIGINT")
    shop.feeds["f"] = replace(shop.feeds["f"], path=place(folder))
    shop.table("t", "SELECT * FROM STREAM f")
    (folder / "good.json").write_text('{"id": 1}\n\n[{"id": 2}, {"id": 3}]\n{"id": 4},\n')
    (folder / "bad.json").write_text('{"id": 5}\n{"id": 6}{"id": 7}\n')
    (folder / "bad.json.gz").write_bytes(gzip.compress(b'{"id": 8} {"id": 9}'))
    with pytest.raises(UnreadableFilesError) as caught:
        shop.load("t", "bad.json", "good.json", "bad.json.gz")
    told = dict(caught.value.files)
    assert list(told) == ["bad.json", "bad.json.gz"]
    assert told["bad.json"].startswith(
        "line 2 has more than one JSON value"
        if place is on_this_machine
        else "a line has more than one JSON value"
    )
    shop.load("t", "good.json")
    assert sorted(row["id"] for row in shop.rows("t")) == [1, 2, 3, 4]


@pytest.mark.parametrize("place", PLACES)
def test_a_file_of_one_value_that_has_two_is_told(place, shop):
    folder = shop.feed("f", "json", "id BIGINT", {"multiLine": "true"})
    shop.feeds["f"] = replace(shop.feeds["f"], path=place(folder))
    shop.table("t", "SELECT * FROM STREAM f")
    (folder / "good.json").write_text('[\n {"id": 1},\n {"id": 2}\n]\n')
    bad = {
        "bad.json": '{"id": 3}\n{"id": 4}\n',
        "commas.json": '{"id": 3, "tags": [1]},\n{"id": 4, "tags": [2]}\n',
        "quotes.json": "{'id': 3}\n{'id': 4}\n",
    }
    for name, text in bad.items():
        (folder / name).write_text(text)
    with pytest.raises(UnreadableFilesError, match="a file of multiLine has one") as caught:
        shop.load("t", "good.json", *bad)
    assert list(dict(caught.value.files)) == list(bad)
    shop.load("t", "good.json")
    assert sorted(row["id"] for row in shop.rows("t")) == [1, 2]


@pytest.mark.parametrize(
    ("kind", "fitting", "too_large"),
    [
        ("TINYINT", pa.array([-128, 127, None], pa.int8()), pa.array([255], pa.uint8())),
        ("SMALLINT", pa.array([-32768, 32767, None], pa.int32()), pa.array([70000], pa.int32())),
    ],
)
def test_a_number_too_large_for_its_column_is_told(kind, fitting, too_large, shop):
    folder = shop.feed("f", "parquet", f"id BIGINT, n {kind}")
    shop.table("t", "SELECT n FROM STREAM f")
    rows = pa.table({"n": fitting, "id": pa.array(range(len(fitting)))})
    pq.write_table(rows, folder / "good.parquet")
    pq.write_table(pa.table({"n": too_large}), folder / "bad.parquet")
    with pytest.raises(UnreadableFilesError, match=f"column n: [0-9]+ is no {kind}") as caught:
        shop.load("t", "good.parquet", "bad.parquet")
    assert [name for name, _ in caught.value.files] == ["bad.parquet"]
    shop.load("t", "good.parquet")
    found = [row["n"] for row in shop.rows("t")]
    assert sorted(found, key=str) == sorted(fitting.to_pylist(), key=str)


@pytest.mark.parametrize(("file_format", "end"), [("json", "gz"), ("csv", "gz"), ("json", "bz2")])
def test_a_file_that_ends_too_early_is_told_and_holds_up_no_other(file_format, end, shop):
    folder = shop.feed("f", file_format, "id BIGINT, s STRING")
    shop.table("t", "SELECT * FROM STREAM f")
    line = '{{"id": {0}, "s": "{0:x}"}}\n' if file_format == "json" else "{0},{0:x}\n"
    pack = {"gz": gzip, "bz2": bz2}[end].compress
    whole = pack("".join(line.format(number**7) for number in range(5000)).encode())
    bad = {"cut": whole[: len(whole) // 2], "other": b"no such archive", "more": whole + b"garbage"}
    for name, content in bad.items():
        (folder / f"{name}.{end}").write_bytes(content)
    (folder / "good").write_text(line.format(1))
    names = [f"{name}.{end}" for name in bad]
    with pytest.raises(UnreadableFilesError, match="cannot be unpacked") as caught:
        shop.load("t", *names, "good")
    assert [name for name, _ in caught.value.files][:2] == names[:2]
    shop.load("t", "good")
    assert [row["id"] for row in shop.rows("t")] == [1]


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "A.JSON.GZ": gzip.compress,
    "B.JSON.BZ2": bz2.compress,
    "C.Zst": zstandard.compress,
    "D.JSON.DEFLATE": zlib.compress,
}


def test_a_packed_file_is_unpacked_in_whatever_letters_its_ending_is(shop):
    folder = shop.feed("f", "json", "id BIGINT")
    shop.table("t", "SELECT * FROM STREAM f")
    for number, (name, pack) in enumerate(PACKED.items(), start=1):
        (folder / name).write_bytes(pack(f'{{"id": {number}}}\n{{"id": {number}0}}\n'.encode()))
    assert shop.load("t", *PACKED).rejected_rows == 0
    assert sorted(row["id"] for row in shop.rows("t")) == [1, 2, 3, 4, 10, 20, 30, 40]


WITHIN = (
    "id BIGINT, s STRUCT<a: INT NOT NULL, b: STRUCT<c: INT NOT NULL>>,"
    " l ARRAY<STRUCT<x: INT NOT NULL>>, m MAP<STRING, STRUCT<y: INT NOT NULL>>"
)
FITTING = [
    {"id": 1, "s": {"a": 1, "b": {"c": 2}}, "l": [{"x": 1}, None], "m": {"a": {"y": 1}, "b": None}},
    {"id": 2, "s": None, "l": None, "m": None},
    {"id": 3, "s": {"a": 1}, "l": [], "m": {}},
]
MISFITS = {
    '{"id": 4, "s": {"b": {"c": 2}}}': "column s.a is null where the schema says NOT NULL",
    '{"id": 5, "s": {"a": 1, "b": {}}}': "column s.b.c is null where the schema says NOT NULL",
    '{"id": 6, "l": [{"x": 1}, {}]}': "column l[].x is null where the schema says NOT NULL",
    '{"id": 7, "m": {"k": {}}}': "column m.values[].y is null where the schema says NOT NULL",
    '{"id": 8, "s": {}, "l": [{}]}': "column s.a, l[].x is null where the schema says NOT NULL",
}


def test_a_null_within_a_value_where_the_schema_says_not_null_is_rejected(shop):
    folder = shop.feed("f", "json", WITHIN)
    shop.table("t", "SELECT id FROM STREAM f")
    lines = [*map(json.dumps, FITTING), *MISFITS]
    (folder / "a.json").write_text("\n".join(lines))
    assert shop.load("t", "a.json").rejected_rows == len(MISFITS)
    assert sorted(row["id"] for row in shop.rows("t")) == [1, 2, 3]
    told = {row["record"]: row["reason"] for row in shop.rows("t__rejected")}
    assert told == MISFITS


def test_a_null_within_a_value_of_a_parquet_file_is_rejected(shop):
    folder = shop.feed("f", "parquet", WITHIN)
    shop.table("t", "SELECT id FROM STREAM f")
    inner = pa.map_(pa.string(), pa.struct([("y", pa.int32())]))
    maps = pa.array([[("a", {"y": 1}), ("b", None)], None, [("a", {"y": None})]], inner)
    pq.write_table(pa.table({"id": [1, 2, 3], "m": maps}), folder / "a.parquet")
    assert shop.load("t", "a.parquet").rejected_rows == 1
    assert sorted(row["id"] for row in shop.rows("t")) == [1, 2]


def test_a_column_may_have_the_name_of_sparks_own(shop):
    folder = shop.feed("f", "json", "id BIGINT, _metadata STRING")
    shop.table("t", "SELECT * FROM STREAM f")
    (folder / "a.json").write_text('{"id": 1, "_metadata": "x"}\n{"id": "no"}\n')
    assert shop.load("t", "a.json").rejected_rows == 1
    assert [(row["id"], row["_metadata"]) for row in shop.rows("t")] == [(1, "x")]
    assert [(row["file"], row["line"]) for row in shop.rows("t__rejected")] == [("a.json", 2)]


def test_a_record_that_is_nested_too_deeply_is_rejected(shop):
    folder = shop.feed("f", "json", "id BIGINT")
    shop.table("t", "SELECT * FROM STREAM f")
    deep = "[" * 5000 + "]" * 5000
    (folder / "a.json").write_text(f'{{"id": 1}}\n{{"id": 2, "x": {deep}}}\n')
    assert shop.load("t", "a.json").rejected_rows == 1
    assert [row["id"] for row in shop.rows("t")] == [1]
    assert [row["reason"] for row in shop.rows("t__rejected")] == [
        "its values are nested too deeply"
    ]


@pytest.mark.parametrize(
    "options", [{}, pytest.param({"multiLine": "true"}, marks=pytest.mark.proof)]
)
def test_a_long_array_with_one_record_that_does_not_fit_does_not_fill_the_heap(options, shop):
    folder = shop.feed("f", "json", "id BIGINT, s STRING", options)
    shop.table("t", "SELECT * FROM STREAM f")
    records: list[dict] = [{"id": number, "s": "x" * 150} for number in range(9000)]
    records[7]["id"] = "seven"
    (folder / "a.json").write_text(json.dumps(records))
    result = shop.load("t", "a.json")
    assert (result.rows, result.rejected_rows) == (0, len(records))
    rejected = shop.rows("t__rejected")
    assert all("in an array in which a record does not fit" in row["reason"] for row in rejected)
    assert sum(len(row["record"]) for row in rejected) < 2**24


def test_columns_of_the_first_file_stay_whatever_is_lost_beside_the_table(shop):
    """As on a standby's host, or without _freshline: the table's commits say them."""
    folder = shop.feed("f", "parquet", None)
    shop.table("t", "SELECT * FROM STREAM f")
    pq.write_table(pa.table({"id": [1], "note": ["a"]}), folder / "1.parquet")
    pq.write_table(pa.table({"id": [2], "more": [5]}), folder / "2.parquet")
    pq.write_table(pa.table({"id": [3], "note": ["c"]}), folder / "3.parquet")
    for name in ("1.parquet", "2.parquet", "3.parquet"):
        shop.load("t", name)
        shutil.rmtree(shop.root / "warehouse" / "_freshline", ignore_errors=True)
        shop.restart()
    assert [(row["id"], row["note"]) for row in shop.rows("t")] == [(1, "a"), (2, None), (3, "c")]
    assert list(shop.rows("t")[0]) == ["id", "note"]


def test_a_full_update_of_one_table_takes_no_column_from_another(shop):
    folder = shop.feed("f", "parquet", None)
    for table in ("a", "b"):
        shop.table(table, "SELECT * FROM STREAM f")
    pq.write_table(pa.table({"id": [1], "note": ["a"]}), folder / "1.parquet")
    pq.write_table(pa.table({"id": [2]}), folder / "2.parquet")
    pq.write_table(pa.table({"id": [3], "note": ["c"]}), folder / "3.parquet")
    for table in ("a", "b"):
        shop.load(table, "1.parquet", "2.parquet")
    (folder / "1.parquet").unlink()  # archived
    shop.load("a", "2.parquet", full=True)
    for table in ("a", "b"):
        shop.load(table, "3.parquet")
    assert [row["note"] for row in shop.rows("b")] == ["a", None, "c"]
    assert shop.rows("a") == [{"id": 2}, {"id": 3}]
    assert shop.plan().errors == []


def test_a_decimal_of_eight_digits_is_no_day(shop):
    folder = shop.feed("f", "parquet", "id BIGINT, day DATE")
    shop.table("t", "SELECT id, year(day) AS y FROM STREAM f")
    days = pa.array([Decimal(20260131)], pa.decimal128(8, 0))
    rows = pa.table({"id": pa.array([1], pa.int64()), "day": days})
    pq.write_table(rows, folder / "a", store_decimal_as_integer=True)
    with pytest.raises(UnreadableFilesError, match=r"column day is DECIMAL\(8,0\) and no DATE"):
        shop.load("t", "a")


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("setting", ["Vectorized", "NestedColumnVectorized"])
def test_a_decimal_too_large_for_its_column_is_told_however_files_are_read(setting, nested, shop):
    kind = "DECIMAL(9,2)"
    folder = shop.feed("f", "parquet", f"price {f'STRUCT<x: {kind}>' if nested else kind}")
    shop.table(
        "t",
        "SELECT * FROM STREAM f",
        settings={f"spark.sql.parquet.enable{setting}Reader": "false"},
    )
    prices: pa.Array = pa.array([Decimal("123456789.00")], pa.decimal128(18, 2))
    if nested:
        prices = pa.StructArray.from_arrays([prices], ["x"])
    pq.write_table(pa.table({"price": prices}), folder / "a")
    with pytest.raises(UnreadableFilesError):
        shop.load("t", "a")


def test_columns_stand_as_the_schema_has_them_where_a_folder_gives_one(shop):
    folder = shop.feed("f", "parquet", "id BIGINT, day STRING, note STRING")
    shop.feeds["f"] = replace(shop.feeds["f"], options={"basePath": str(folder)})
    shop.table("t", "SELECT i, d, n FROM STREAM f AS r(i, d, n)")
    (folder / "day=mon").mkdir()
    rows = pa.table({"id": pa.array([1], pa.int64()), "note": ["x"]})
    pq.write_table(rows, folder / "day=mon" / "a.parquet")
    shop.load("t", "day=mon/a.parquet")
    assert shop.rows("t") == [{"i": 1, "d": "mon", "n": "x"}]


@pytest.mark.parametrize("setting", [None, "spark.sql.parquet.inferTimestampNTZ.enabled"])
def test_times_without_a_zone_are_those_of_the_first_file(setting, shop):
    """Where Spark is set to take them for instants, they are."""
    folder = shop.feed("f", "parquet", None)
    shop.table("t", "SELECT * FROM STREAM f", settings={setting: "false"} if setting else {})
    for name, zone in (("1", None), ("2", None), ("3", "UTC")):
        rows = pa.table({"at": pa.array([0], pa.timestamp("us", zone))})
        pq.write_table(rows, folder / name)
    shop.load("t", "1")
    shop.load("t", "2")
    if setting is None:
        with pytest.raises(
            UnreadableFilesError, match="column at is a TIMESTAMP and no TIMESTAMP_"
        ):
            shop.load("t", "3")
    else:
        shop.load("t", "3")
