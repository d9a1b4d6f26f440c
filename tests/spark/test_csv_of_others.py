"""Csv files as other programs write them: every row is loaded as it is, or told."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import shutil
from pathlib import Path

import duckdb
import pandas as pd
import pytest
import zstandard
from pyspark.sql import SparkSession

from freshline.core.errors import Place
from freshline.executor.records import UnreadableFilesError
from freshline.project.model import Feed, KafkaSource
from freshline.spark.feeds.kafka_reader import TopicReader
from tests.support.share import share

pytestmark = pytest.mark.spark

SCHEMA = "id BIGINT, amount DOUBLE, note STRING"
NOTES = [
    'say "hi"', 'a, "b", c', "", None, "back\\", '"q"', 'x",y', 'a\\"b', '""', '"', '{"a": "b"}',
    "it's", " spaces ", "a;b", "\t", "\u00e9\u4e2d", "NULL", "\\N", "#1", "'", '5"', 'a, 5"',
]  # fmt: skip
ROWS = [(number, number / 2, note) for number, note in enumerate(NOTES)]


def by_pandas(folder: Path) -> None:
    frame = pd.DataFrame(ROWS, columns=["id", "amount", "note"])
    frame.to_csv(folder / "a.csv", index=False)


def by_pythons_csv(folder: Path) -> None:
    with (folder / "a.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "amount", "note"), *ROWS])


def by_duckdb(folder: Path) -> None:
    rows = pd.DataFrame(ROWS, columns=["id", "amount", "note"])
    duckdb.from_df(rows).write_csv(str(folder / "a.csv"))


def with_all_quoted(folder: Path) -> None:
    with (folder / "a.csv").open("w", newline="\n") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerows([("ID", "Amount", "Note"), *ROWS])


def by_excel(folder: Path) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, dialect="excel").writerows([("id", "amount", "note"), *ROWS])
    (folder / "a.csv").write_bytes(b"\xef\xbb\xbf" + text.getvalue().encode())


WRITERS = [by_pandas, by_pythons_csv, by_duckdb, with_all_quoted, by_excel]


def shown(rows) -> dict[int, tuple[float, str]]:
    """Csv has one text for an empty value and none."""
    return {row["id"]: (row["amount"], row["note"] or "") for row in rows}


EXPECTED = {number: (amount, note or "") for number, amount, note in ROWS}


@pytest.mark.parametrize("write", share(WRITERS, part=2), ids=lambda each: each.__name__)
def test_files_of_other_programs_are_loaded_as_they_are(write, shop):
    folder = shop.feed("f", "csv", SCHEMA, {"header": "true"})
    shop.table("t", "SELECT * FROM STREAM f")
    write(folder)
    result = shop.load("t", "a.csv")
    assert (result.rows, result.rejected_rows) == (len(ROWS), 0)
    assert shown(shop.rows("t")) == EXPECTED


def test_what_spark_writes_is_rejected_or_right_and_right_where_the_feed_says_so(
    shop, spark: SparkSession, tmp_path: Path
):
    rows = spark.createDataFrame(ROWS, SCHEMA).coalesce(1)
    kept = {"ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "false"}
    rows.write.options(header="true", **kept).csv(str(tmp_path / "spark"))
    (made,) = (tmp_path / "spark").glob("part-*.csv")
    for feed, options in (("plain", {}), ("told", {"ESCAPE": "\\"})):
        folder = shop.feed(feed, "csv", SCHEMA, {"header": "true", **options})
        shop.table(f"of_{feed}", f"SELECT * FROM STREAM {feed}")
        shutil.copy(made, folder / "a.csv")
    assert shop.load("of_told", "a.csv").rejected_rows == 0
    assert shown(shop.rows("of_told")) == EXPECTED

    result = shop.load("of_plain", "a.csv")
    loaded = shown(shop.rows("of_plain"))
    assert result.rows + result.rejected_rows == len(ROWS)
    assert loaded == {number: EXPECTED[number] for number in loaded}
    assert all('"' in (NOTES[number] or "") for number in set(EXPECTED) - set(loaded))
    reasons = [row["reason"] for row in shop.rows("of_plain__rejected")]
    assert any("set the feed's `options: {escape: '\\'}`" in each for each in reasons)


OTHER_HEADERS = {
    "another order": "amount,id,note\n1,2,x\n",
    "no header": "1,2,x\n3,4,y\n",
    "fewer": "id,amount\n1,2\n",
    "more": "id,amount,note,more\n1,2,x,y\n",
    "another separator": "id;amount;note\n1;2;x\n",
    "another name": "identity,amount,note\n1,2,x\n",
}


def test_a_header_that_is_not_the_schema_is_told_and_no_row_is_lost(shop):
    folder = shop.feed("f", "csv", "id BIGINT, amount BIGINT, note STRING", {"header": "true"})
    shop.table("t", "SELECT * FROM STREAM f")
    (folder / "good.csv").write_text("ID,Amount,note\n1,2,x\n")
    for bad, text in OTHER_HEADERS.items():
        (folder / f"{bad}.csv").write_text(text)
        with pytest.raises(UnreadableFilesError) as caught:
            shop.load("t", "good.csv", f"{bad}.csv")
        ((name, why),) = caught.value.files
        assert name == f"{bad}.csv"
        assert "header" in why
        assert "enforceSchema" in why
        hint = """if its values are parted by ';', set `options: {sep: ";"}`"""
        assert (hint in why) == (bad == "another separator"), bad
    shop.load("t", "good.csv")
    assert shop.rows("t") == [{"id": 1, "amount": 2, "note": "x"}]


@pytest.mark.parametrize(
    ("schema", "options", "loaded"),
    [
        ("city STRING, Note STRING", {}, ["Bergen", "x"]),
        ("city STRING, note BIGINT", {}, ["Bergen", "x"]),
        ("city STRING, note STRING", {"header": "false"}, ["city", "Bergen", "x"]),
        # As Spark reads the files of a pipeline's stream.
        ("city STRING, note STRING", {"enforceSchema": "true"}, ["city", "Bergen", "x"]),
        ("city STRING", {}, ["city", "Bergen", "x"]),
    ],
)
def test_a_header_that_nobody_told_of_is_no_row(schema, options, loaded, shop):
    folder = shop.feed("f", "csv", schema, options)
    shop.table("t", "SELECT city FROM STREAM f")
    note = "" if schema == "city STRING" else ",1"
    (folder / "a.csv").write_text(f"city{note and ',note'}\nBergen{note}\nx{note}\n")
    result = shop.load("t", "a.csv")
    assert sorted(row["city"] for row in shop.rows("t")) == sorted(loaded)
    assert result.rejected_rows == 3 - len(loaded)
    if result.rejected_rows:
        (rejected,) = shop.rows("t__rejected")
        assert rejected["reason"] == (
            'it has the names of the columns: set the feed\'s `options: {header: "true"}`'
        )


def test_by_place_where_the_feed_says_so(shop):
    options = {"header": "true", "enforceschema": "true"}
    folder = shop.feed("f", "csv", "id BIGINT, amount BIGINT", options)
    shop.table("t", "SELECT * FROM STREAM f")
    (folder / "a.csv").write_text("Order number,Amount in EUR\n1,2\n")
    shop.load("t", "a.csv")
    assert shop.rows("t") == [{"id": 1, "amount": 2}]


ROW = "{},2026-01-02T03:04:05Z,{},{}\n"
LINES = [
    "id,at,city,price\n",
    ROW.format(1, "Köln", "1.5"),
    ROW.format(2, "Bonn", '"12,50"'),
    "\n",
    ROW.format(3, "Bonn", '"12,50"'),
    ROW.format(4, "", "1.505"),
    ROW.format(5, "", "1.50"),
    ROW.format("x", "Bonn", '"12,50"'),
    ROW.format("+6", "Bonn", "12.50"),
    ROW.format("", "Ulm", "2"),
    '"Total",,,14\n',
]


@pytest.mark.parametrize("suffix", ["csv", "csv.gz"])
def test_each_rejected_row_has_its_line_and_stands_there_as_it_is_told(suffix, shop):
    """Where Spark itself took the row, its text is written anew from its values."""
    schema = "id BIGINT NOT NULL, at TIMESTAMP, city STRING, price DECIMAL(9,2)"
    folder = shop.feed("f", "csv", schema, {"header": "true"})
    shop.table("t", "SELECT * FROM STREAM f")
    data = b"\xef\xbb\xbf" + "".join(LINES).encode().replace(b"Ulm", b"M\xfcnchen")
    (folder / f"a.{suffix}").write_bytes(gzip.compress(data, mtime=0) if "gz" in suffix else data)
    shop.load("t", f"a.{suffix}")
    assert {row["id"] for row in shop.rows("t")} == {1, 4, 5, 6}
    told = {row["line"]: row["record"] for row in shop.rows("t__rejected")}
    lines = data.decode("utf-8-sig", "replace").splitlines()
    assert told == {line: lines[line - 1] for line in (3, 5, 8, 10, 11)}


def test_a_line_that_was_loaded_is_never_told_as_rejected(shop):
    """Two lines differ only in the time, and one of them is rejected: nobody knows which it is."""
    folder = shop.feed("f", "csv", "city STRING, at TIMESTAMP")
    shop.table("t", "SELECT * FROM STREAM f")
    (folder / "a.csv").write_text("Bonn,2026-01-02T03:04:05Z\nBonn,+12026-01-02T03:04:05Z\n")
    shop.load("t", "a.csv")
    assert len(shop.rows("t")) == 1
    assert [row["line"] for row in shop.rows("t__rejected")] in ([2], [None])


NO_CSV = (
    (gzip.compress(b"id,note\n1,x\n", mtime=0), "it is packed with gzip"),
    (bz2.compress(b"id,note\n1,x\n"), "it is packed with bzip2"),
    (zstandard.compress(b"id,note\n1,x\n"), "it is packed with zstd"),
    (lzma.compress(b"id,note\n1,x\n"), "it is packed with xz"),
    (b"PK\x03\x04\x14\x00\x06\x00\n1,x\n", "it is a ZIP archive, as an Excel workbook is"),
    ("id,note\n1,x\n".encode("utf-16"), "it is text in UTF-16"),
    (b"sep=,\nid,note\n1,x\n", "its first line tells Excel the separator"),
)


@pytest.mark.parametrize("options", [{"header": "true"}, {}])
def test_files_that_are_no_csv_are_told_as_what_they_are(options, shop):
    folder = shop.feed("f", "csv", "id STRING, note STRING", options)
    shop.table("t", "SELECT * FROM STREAM f")
    for number, (data, why) in enumerate(NO_CSV):
        (folder / f"{number}.csv").write_bytes(data)
        with pytest.raises(UnreadableFilesError) as caught:
            shop.load("t", f"{number}.csv")
        ((_, told),) = caught.value.files
        assert why in told


class _OneValue(TopicReader):
    """A topic that has one value; no broker is asked."""

    value = ""

    def _of_topic(self, session, names):
        nothing = "CAST(NULL AS {})".format
        value = session.createDataFrame([(self.value,)], "value STRING")
        return value.selectExpr(
            f"{nothing('BINARY')} AS key",
            "CAST(value AS BINARY) AS value",
            "0 AS partition",
            "0L AS offset",
            "current_timestamp() AS timestamp",
            f"{nothing('ARRAY<STRUCT<key: STRING, value: BINARY>>')} AS headers",
            "0 AS timestampType",
        )


@pytest.mark.parametrize(
    ("options", "value", "notes"),
    [
        ({}, "a\nb", []),
        ({"quote": ""}, "a\nb", []),
        ({"quote": ""}, '"a"\r\n', ['"a"']),
        ({"escape": ""}, "a\nb", []),
        ({"escape": ""}, '"a\nb"\n', ["a\nb"]),
        ({"sep": "\u00a6"}, "a\nb", []),
        ({"sep": "\u00a6"}, '"a\nb"', ["a\nb"]),
        ({"encoding": "UTF-16"}, "a\nb", []),
    ],
)
def test_a_value_of_a_topic_is_one_record_whatever_signs_part_and_quote_it(
    options, value, notes, shop
):
    source = KafkaSource("localhost:9092", "t", "earliest", None)
    place = Place("freshline.yml", 7)
    feed = Feed("f", "kafka", "", "csv", options, "note STRING", None, None, place, source)
    reader = _OneValue(shop.project, feed)
    reader.value = value
    columns = reader.schema(shop.session, ())
    misfit = reader.misfit(columns)
    records = reader.read(shop.session, ["0:0-1"], columns)
    fitting = records.filter(f"NOT ({misfit})").collect()
    assert [row.note for row in fitting] == notes
