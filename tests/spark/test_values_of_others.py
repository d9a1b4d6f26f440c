"""A value as another program wrote it is loaded as Python reads it, or its row is rejected."""

from __future__ import annotations

import csv
import datetime as dt
import json
import math
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import zstandard

from freshline.executor.records import UnreadableFilesError
from tests.spark.odd_values import JSON_NUMBER, PLAIN, READERS, TEXTS, meaning
from tests.support.places import PLACES

pytestmark = pytest.mark.spark

TYPES = list(READERS)
SCHEMA = ", ".join(["id BIGINT", *(f"c{at} {kind}" for at, kind in enumerate(TYPES))])
KNOWN = {
    ("TIMESTAMP", "0001-01-01"): "in UTC it is in the year 0, which Python does not have",
    ("TIMESTAMP", "9223372036854775807"): "so many seconds overflow, by chance to 1969",
}
CASES = [(at, text) for at, kind in enumerate(TYPES) for text in TEXTS if (kind, text) not in KNOWN]
NUMBERS = [(at, text) for at, text in CASES if JSON_NUMBER.fullmatch(text)]


def as_csv(path: Path) -> list[tuple[int, str]]:
    with path.open("w", newline="") as file:
        rows = csv.writer(file, delimiter=";", lineterminator="\n")
        rows.writerow(["id", *(f"c{at}" for at in range(len(TYPES)))])
        for number, (at, text) in enumerate(CASES):
            rows.writerow([number, *(text if at == each else "" for each in range(len(TYPES)))])
    return CASES


def as_json_texts(path: Path) -> list[tuple[int, str]]:
    with path.open("w") as file:
        for number, (at, text) in enumerate(CASES):
            file.write(json.dumps({"id": number, f"c{at}": text}) + "\n")
    return CASES


def as_json_numbers(path: Path) -> list[tuple[int, str]]:
    with path.open("w") as file:
        for number, (at, text) in enumerate(NUMBERS):
            file.write(f'{{"id": {number}, "c{at}": {text}}}\n')
    return NUMBERS


HOLDS = {
    as_csv: set(TYPES),
    as_json_texts: {"STRING", "DECIMAL(9,2)", "DECIMAL(38,18)", "DATE", "TIMESTAMP"},
    as_json_numbers: set(TYPES) - {"DATE", "TIMESTAMP", "BOOLEAN"},
}
"""Types whose plain values have to be loaded from each."""


def same(found: object, wanted: object) -> bool:
    if isinstance(found, float) and isinstance(wanted, float) and math.isnan(wanted):
        return math.isnan(found)
    return type(found) is type(wanted) and found == wanted


@pytest.mark.parametrize(
    ("write", "file_format", "options"),
    [
        (as_csv, "csv", {"header": "true", "sep": ";"}),
        (as_json_texts, "json", {}),
        (as_json_numbers, "json", {}),
    ],
)
def test_every_value_is_loaded_as_python_reads_it_or_rejected(write, file_format, options, shop):
    folder = shop.feed("f", file_format, SCHEMA, options)
    shop.table("t", "SELECT * FROM STREAM f")
    cases = write(folder / "a")
    result = shop.load("t", "a")
    assert result.rows + result.rejected_rows == len(cases)
    loaded = {row["id"]: row for row in shop.rows("t")}
    assert len(loaded) == result.rows
    is_number = write is as_json_numbers
    wrong: list[tuple[object, ...]] = []
    for number, (at, text) in enumerate(cases):
        kind = TYPES[at]
        if number not in loaded:
            if kind in HOLDS[write] and text in PLAIN[kind]:
                wrong.append((kind, text, "rejected"))
            continue
        found = loaded[number][f"c{at}"]
        try:
            wanted = meaning(kind, text, is_number=is_number)
        except ValueError:
            wanted = "rejected"
        if not same(found, wanted):
            wrong.append((kind, text, found, wanted))
    assert wrong == []


def reasons(shop) -> dict[int | None, str]:
    return {row["line"]: row["reason"] for row in shop.rows("t__rejected")}


def test_a_decimal_with_a_comma_is_what_the_feed_says(shop):
    folder = shop.feed("f", "csv", "id BIGINT, p DECIMAL(9,2)", {"header": "true", "sep": ";"})
    shop.table("t", "SELECT * FROM STREAM f")
    (folder / "a.csv").write_text("id;p\n1;12,50\n2;12.50\n3;1.250,00\n")
    assert shop.load("t", "a.csv").rejected_rows == 2
    assert shop.rows("t") == [{"id": 2, "p": Decimal("12.50")}]
    assert "'12,50' is no DECIMAL(9,2): a comma" in reasons(shop)[2]
    assert "locale: de-DE" in reasons(shop)[4]

    shop.feeds["f"] = replace(
        shop.feeds["f"], options={**shop.feeds["f"].options, "locale": "de-DE"}
    )
    shop.table("german", "SELECT * FROM STREAM f")
    assert shop.load("german", "a.csv").rejected_rows == 0
    assert [row["p"] for row in shop.rows("german")] == [
        Decimal("12.50"), Decimal("1250.00"), Decimal("1250.00"),
    ]  # fmt: skip


def test_text_in_another_encoding_is_rejected_and_loaded_where_the_feed_says_it(shop):
    text = "id,note\n1,caf\u00e9\n2,plain\n"
    for name, options in (("f", {}), ("g", {"encoding": "ISO-8859-1"})):
        folder = shop.feed(name, "csv", "id BIGINT, note STRING", {"header": "true", **options})
        (folder / "a.csv").write_bytes(text.encode("latin-1"))
    shop.table("t", "SELECT * FROM STREAM f")
    shop.table("right", "SELECT * FROM STREAM g")
    assert shop.load("t", "a.csv").rejected_rows == 1
    assert shop.rows("t") == [{"id": 2, "note": "plain"}]
    assert "no text in UTF-8" in reasons(shop)[2]
    shop.load("right", "a.csv")
    assert [row["note"] for row in shop.rows("right")] == ["caf\u00e9", "plain"]


def test_values_within_others_are_rejected_as_those_of_columns(shop):
    schema = (
        "id BIGINT, s STRUCT<n: TINYINT, p: DECIMAL(9,2)>, a ARRAY<TINYINT>,"
        " m MAP<STRING, TINYINT>, t ARRAY<TIMESTAMP>"
    )
    folder = shop.feed("f", "json", schema)
    shop.table("t", "SELECT * FROM STREAM f")
    right = {"id": 0, "s": {"n": 127, "p": 12.5}, "a": [1, None], "m": {"k": -128}, "t": [0]}
    others: list[dict] = [
        {"s": {"n": 200}}, {"s": {"p": "12,50"}}, {"a": [1, 200]}, {"m": {"k": 200}},
        {"t": [1767225600000]},
    ]  # fmt: skip
    lines = [json.dumps(each) for each in [right, {"id": 1}, *others]]
    (folder / "a.json").write_text("\n".join(lines) + "\n")
    result = shop.load("t", "a.json")
    assert (result.rows, result.rejected_rows) == (2, len(others))
    first, second = sorted(shop.rows("t"), key=lambda row: row["id"])
    assert first["s"] == {"n": 127, "p": Decimal("12.50")}
    assert (first["a"], first["m"]) == ([1, None], [("k", -128)])
    assert second == {"id": 1, "s": None, "a": None, "m": None, "t": None}


@pytest.mark.parametrize("place", PLACES)
def test_a_value_with_a_line_break_is_not_cut(place, shop):
    for name, options in (("f", {}), ("g", {"multiLine": "true"})):
        folder = shop.feed(name, "csv", "id BIGINT, note STRING", {"header": "true", **options})
        shop.feeds[name] = replace(shop.feeds[name], path=place(folder))
        (folder / "good.csv").write_text('id,note\n1,"a ""b"""\n2,5" pipe\n')
        (folder / "bad.csv").write_text('id,note\n1,"a\nb"\n2,c\n')
    shop.table("t", "SELECT * FROM STREAM f")
    with pytest.raises(UnreadableFilesError, match="multiLine") as caught:
        shop.load("t", "good.csv", "bad.csv")
    assert [name for name, _ in caught.value.files] == ["bad.csv"]
    shop.load("t", "good.csv")
    assert [row["note"] for row in shop.rows("t")] == ['a "b"', '5" pipe']
    shop.table("whole", "SELECT * FROM STREAM g")
    shop.load("whole", "bad.csv")
    assert [row["note"] for row in shop.rows("whole")] == ["a\nb", "c"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("options", "bad", "good", "notes"),
    [
        ({}, b'\xef\xbb\xbf"a\nb",1\n', b'\xef\xbb\xbf"a",1\n', ["a"]),
        ({"lineSep": "\n"}, b'"a\nb",1\n', b'"a\rb",1\n', ["a\rb"]),
        (
            {"ignoreLeadingWhiteSpace": "true"},
            b'x,1\n  "a\nb", 1\n',
            b'"a,b", 1\n \t"c", 2\n',
            ["a,b", "c"],
        ),
    ],
)
def test_a_value_with_a_line_break_is_not_cut_in_files_of_odd_dialects(
    place, options, bad, good, notes, shop
):
    folder = shop.feed("f", "csv", "note STRING, id BIGINT", options)
    shop.feeds["f"] = replace(shop.feeds["f"], path=place(folder))
    shop.table("t", "SELECT * FROM STREAM f")
    (folder / "bad.csv").write_bytes(bad)
    (folder / "good.csv").write_bytes(good)
    with pytest.raises(UnreadableFilesError, match="does not end on it") as caught:
        shop.load("t", "bad.csv", "good.csv")
    assert [name for name, _ in caught.value.files] == ["bad.csv"]
    assert shop.load("t", "good.csv").rejected_rows == 0
    assert [row["note"] for row in shop.rows("t")] == notes


def test_records_are_found_in_files_that_only_spark_unpacks(shop):
    folder = shop.feed("f", "json", "id BIGINT")
    shop.table("t", "SELECT * FROM STREAM f")
    (folder / "bad.json.zst").write_bytes(zstandard.compress(b'{"id": 1}{"id": 2}\n'))
    (folder / "good.json.zst").write_bytes(zstandard.compress(b'{"id": 3}\n{"id": 4}\n'))
    (folder / "flat.json").write_text('{"id": 5},{"id": 6}\n')
    with pytest.raises(UnreadableFilesError) as caught:
        shop.load("t", "bad.json.zst", "good.json.zst", "flat.json")
    assert {name for name, _ in caught.value.files} == {"bad.json.zst", "flat.json"}
    shop.load("t", "good.json.zst")
    assert [row["id"] for row in shop.rows("t")] == [3, 4]


@pytest.mark.parametrize("place", PLACES)
def test_a_parquet_column_of_another_meaning_is_told(place, shop):
    folder = shop.feed("f", "parquet", "n BIGINT, d DATE, l ARRAY<SMALLINT>, s STRUCT<x: INT>")
    shop.feeds["f"] = replace(shop.feeds["f"], path=place(folder))
    shop.table("t", "SELECT * FROM STREAM f")
    bad = {
        "decimal": {"n": pa.array([Decimal("123.45")], pa.decimal128(12, 2))},
        "unsigned": {"n": pa.array([2**63], pa.uint64())},
        "day": {"d": pa.array([20260101], pa.int32())},
        "list": {"l": pa.array([[1, 70000]], pa.list_(pa.int32()))},
        "struct": {"s": pa.array([{"x": 2**31}], pa.struct([("x", pa.uint32())]))},
    }
    settings = {"store_decimal_as_integer": True, "use_dictionary": False}
    for name, columns in bad.items():
        pq.write_table(pa.table(columns), folder / name, **settings)
    good = {
        "n": pa.array([5], pa.uint64()),
        "l": pa.array([[-32768, 32767, None]], pa.list_(pa.int16())),
        "s": pa.array([{"x": 7}], pa.struct([("x", pa.uint32())])),
    }
    pq.write_table(pa.table(good), folder / "good", **settings)
    by_footer = [name for name in bad if name != "list"]
    for names in (by_footer, ["list"]):
        with pytest.raises(UnreadableFilesError) as caught:
            shop.load("t", "good", *names)
        assert [each for each, _ in caught.value.files] == names
    shop.load("t", "good")
    (row,) = shop.rows("t")
    assert row == {"n": 5, "d": None, "l": [-32768, 32767, None], "s": {"x": 7}}


@pytest.mark.parametrize("dictionary", [True, False])
def test_an_unsigned_number_that_a_double_would_not_show_is_told(dictionary, shop):
    folder = shop.feed("f", "parquet", "n DOUBLE, s STRUCT<x: DOUBLE>")
    shop.table("t", "SELECT * FROM STREAM f")
    bad = {
        "unsigned": {"n": pa.array([2**32 - 1], pa.uint32())},
        "struct": {"s": pa.array([{"x": 2**31}], pa.struct([("x", pa.uint32())]))},
    }
    for name, columns in bad.items():
        pq.write_table(pa.table(columns), folder / name, use_dictionary=dictionary)
    good = {
        "n": pa.array([7], pa.uint32()),
        "s": pa.array([{"x": 2**31 - 1}], pa.struct([("x", pa.uint32())])),
    }
    pq.write_table(pa.table(good), folder / "good", use_dictionary=dictionary)
    with pytest.raises(UnreadableFilesError) as caught:
        shop.load("t", "good", *bad)
    assert [each for each, _ in caught.value.files] == list(bad)
    shop.load("t", "good")
    (row,) = shop.rows("t")
    assert row == {"n": 7.0, "s": {"x": float(2**31 - 1)}}


def test_bytes_that_stand_for_a_decimal_are_no_text(shop):
    """As programs of Java write decimals; pyarrow writes them with a fixed length."""
    folder = shop.feed("f", "parquet", "t STRING, s STRUCT<x: STRING>")
    shop.table("t", "SELECT * FROM STREAM f")
    jvm = shop.session._jvm
    parquet, data = jvm.org.apache.parquet, bytearray(b"09")
    binary = "optional binary {} {};"
    bad = {"decimal": "(DECIMAL(9,2))", "bson": "(BSON)"}
    for name, kind in {**bad, "text": "(STRING)", "plain": ""}.items():
        columns = binary.format("t", kind) + f"optional group s {{{binary.format('x', kind)}}}"
        schema = parquet.schema.MessageTypeParser.parseMessageType(f"message m {{{columns}}}")
        path = jvm.org.apache.hadoop.fs.Path(str(folder / name))
        writer = parquet.hadoop.example.ExampleParquetWriter.builder(path).withType(schema).build()
        group = parquet.example.data.simple.SimpleGroup(schema)
        group.add("t", parquet.io.api.Binary.fromConstantByteArray(data))
        group.addGroup("s").add("x", parquet.io.api.Binary.fromConstantByteArray(data))
        writer.write(group)
        writer.close()
    with pytest.raises(UnreadableFilesError) as caught:
        shop.load("t", "text", "plain", *bad)
    assert dict(caught.value.files) == {
        name: f"column t is {what} and no STRING; column s.x is {what} and no STRING:"
        " declare it as it is in the feed's `schema:`"
        for name, what in (("decimal", "DECIMAL(9,2)"), ("bson", "BSON"))
    }
    shop.load("t", "text", "plain")
    assert shop.rows("t") == [{"t": "09", "s": {"x": "09"}}] * 2


def test_a_column_that_the_folders_have_is_not_null(shop):
    schema = "id BIGINT, day DATE, note STRING"
    folder = shop.feed("f", "parquet", schema)
    shop.feed("g", "parquet", schema, {"basePath": str(folder)})
    shop.feeds["g"] = replace(shop.feeds["g"], path=str(folder))
    days = [dt.date(2026, 1, 31), dt.date(2026, 2, 1), None]
    rows = pa.table({"id": [1, 2, 3], "day": days, "note": ["a", "b", "c"]})
    hive = ds.partitioning(pa.schema([("day", pa.date32()), ("hour", pa.int8())]), flavor="hive")
    by_hour = rows.append_column("hour", pa.array([1, 2, 3], pa.int8()))
    ds.write_dataset(by_hour, folder, format="parquet", partitioning=hive)
    names = [str(path.relative_to(folder)) for path in sorted(folder.glob("*/*/*"))]
    shop.table("t", "SELECT * FROM STREAM f")
    shop.table("right", "SELECT * FROM STREAM g")
    with pytest.raises(UnreadableFilesError, match="day is in the folder's name alone") as caught:
        shop.load("t", *names)
    assert len(caught.value.files) == len(names) == len(days)
    shop.load("right", *names)
    assert sorted(shop.rows("right"), key=lambda row: row["id"]) == rows.to_pylist()


@pytest.mark.parametrize("options", [{}, {"multiLine": "true"}])
@pytest.mark.parametrize("place", PLACES)
def test_a_nul_in_quotes_is_not_left_out(options, place, shop):
    """Without quotes Spark keeps it."""
    folder = shop.feed("f", "csv", "id BIGINT, n INT, note STRING", options)
    shop.feeds["f"] = replace(shop.feeds["f"], path=place(folder))
    shop.table("t", "SELECT * FROM STREAM f")
    (folder / "good.csv").write_text("1,2,a\0b\n2,3,\n")
    (folder / "number.csv").write_text('1,"1\0002",a\n')
    (folder / "text.csv").write_text('1,2,"a\0b"\n')
    names = ["number.csv", "text.csv"]
    with pytest.raises(UnreadableFilesError, match="a NUL") as caught:
        shop.load("t", "good.csv", *names)
    assert [name for name, _ in caught.value.files] == names
    shop.load("t", "good.csv")
    assert [row["note"] for row in shop.rows("t")] == ["a\0b", None]


def test_bytes_in_another_encoding_are_rejected(shop):
    folder = shop.feed("f", "csv", "id BIGINT, data BINARY")
    shop.table("t", "SELECT * FROM STREAM f")
    (folder / "a.csv").write_bytes("1,caf\u00e9\n".encode("latin-1") + "2,caf\u00e9\n".encode())
    assert shop.load("t", "a.csv").rejected_rows == 1
    assert shop.rows("t") == [{"id": 2, "data": "caf\u00e9".encode()}]
