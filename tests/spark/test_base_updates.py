"""Base tables: exactly the given files, one commit, rows that do not fit put aside."""

from __future__ import annotations

import gzip
import json
import time
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import deltalake
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from freshline.core.errors import PlatformError, UserError
from freshline.delta.log import (
    CommitRecord,
    commit_of,
    commits,
    last_commit,
    last_load,
    oldest_version,
    version,
)
from freshline.delta.rejected import forget_rejected
from freshline.executor.records import UnreadableFilesError
from tests.spark.conftest import growing

pytestmark = pytest.mark.spark


def newest(path: str) -> CommitRecord:
    found = last_commit(path)
    assert found is not None
    return found


ORDERS = "id BIGINT, at TIMESTAMP, price DECIMAL(15,2)"
AT = datetime(2026, 1, 1, 11, 0, tzinfo=UTC)  # 12:00 in the session's time zone


@pytest.fixture
def orders(shop):
    """A shop with a base table over a csv feed; returns the feed's folder."""
    folder = shop.feed("orders_feed", "csv", ORDERS)
    shop.table("orders", "SELECT id, at, price FROM STREAM orders_feed")
    return folder


def test_csv_rows_are_appended_with_the_metadata_of_the_contract(shop, orders: Path):
    (orders / "a.csv").write_text("1,2026-01-01 12:00:00,10.50\n2,,\n")
    (orders / "b.csv").write_text("3,2026-01-01T11:00:00Z,0.01\n")
    first = shop.load("orders", "a.csv")
    second = shop.load("orders", "b.csv")

    assert (first.version, first.rows, first.rejected_rows) == (0, 2, 0)
    assert (second.version, second.rows, second.rejected_rows) == (1, 1, 0)
    assert (second.strategy, second.repeated, second.parents) == ("append", False, {})
    assert shop.rows("orders") == [
        {"id": 1, "at": AT, "price": Decimal("10.50")},
        {"id": 2, "at": None, "price": None},
        {"id": 3, "at": AT, "price": Decimal("0.01")},
    ]
    identity = newest(shop.path("orders")).metadata["id"]
    assert (
        f'"id":"{identity}"'
        in Path(shop.path("orders"), "_delta_log", f"{0:020d}.json").read_text()
    )
    assert [(each.version, each.metadata) for each in commits(shop.path("orders"))] == [
        (
            0,
            {
                "freshline": 1,
                "table": "orders",
                "update": 1,
                "from": "2026-01-01T00:00:00.000000Z",
                "to": "2026-01-01T00:01:00.000000Z",
                "files": ["a.csv"],
                "parents": {},
                "strategy": "append",
                "rows": 2,
                "id": identity,
                "after": -1,
            },
        ),
        (
            1,
            {
                "freshline": 1,
                "table": "orders",
                "update": 2,
                "from": "2026-01-01T00:01:00.000000Z",
                "to": "2026-01-01T00:02:00.000000Z",
                "files": ["b.csv"],
                "parents": {},
                "strategy": "append",
                "rows": 1,
                "id": identity,
                "after": 0,
            },
        ),
    ]
    assert not Path(shop.path("orders__rejected")).exists()


def test_the_commit_is_what_sparks_own_writer_makes(shop, spark: SparkSession, orders: Path):
    (orders / "a.csv").write_text("1,2026-01-01 12:00:00,10.50\n")
    shop.load("orders", "a.csv")
    shop.load("orders", "a.csv")
    plain = str(shop.root / "plain")
    for number in (1, 2):
        frame = spark.read.table("delta.`" + shop.path("orders") + "`").limit(1)
        frame.coalesce(1).write.format("delta").mode("append").option(
            "txnAppId", "freshline.orders"
        ).option("txnVersion", number).option("userMetadata", "{}").save(plain)

    def shape(path: str) -> list[tuple[str, list[str]]]:
        lines = Path(path, "_delta_log", f"{1:020d}.json").read_text().splitlines()
        actions = [next(iter(json.loads(line).items())) for line in lines]
        return sorted((name, sorted(content)) for name, content in actions)

    assert shape(shop.path("orders")) == shape(plain)


def test_records_that_do_not_fit_are_put_aside_with_reason_file_and_line(shop, orders: Path):
    (orders / "a.csv").write_text(
        "1,2026-01-01 12:00:00,10.50\n"
        "x,2026-01-01 12:00:00,1\n"
        "2,2026-01-01 12:00:00\n"
        "x,2026-01-01 12:00:00,1\n"
    )
    result = shop.load("orders", "a.csv")
    assert (result.rows, result.rejected_rows) == (1, 3)
    rejected = sorted(shop.rows("orders__rejected"), key=lambda row: row["line"])
    assert [{key: row[key] for key in row if key != "at"} for row in rejected] == [
        {
            "reason": "column id: 'x' is no BIGINT",
            "file": "a.csv",
            "line": 2,
            "record": "x,2026-01-01 12:00:00,1",
            "update": 1,
        },
        {
            "reason": "it has 2 values where the schema has 3 values",
            "file": "a.csv",
            "line": 3,
            "record": "2,2026-01-01 12:00:00",
            "update": 1,
        },
        {
            "reason": "column id: 'x' is no BIGINT",
            "file": "a.csv",
            "line": 4,
            "record": "x,2026-01-01 12:00:00,1",
            "update": 1,
        },
    ]
    assert all(row["at"].tzinfo is not None for row in rejected)


def test_whether_a_record_fits_does_not_depend_on_what_the_query_reads(shop):
    folder = shop.feed("clicks", "json", "id BIGINT, url STRING, n INT")
    shop.table("ids", "SELECT id FROM STREAM clicks WHERE id < 3")
    (folder / "a.json").write_text(
        '{"id": 1, "url": "/", "n": 1}\n'
        '{"id": 2, "url": "/", "n": "many"}\n'
        '{"id": 3}\n'
        '{"id": 4, "n": true}\n'
        "no json\n"
        "[1]\n"
    )
    result = shop.load("ids", "a.json")
    assert shop.rows("ids") == [{"id": 1}]
    assert result.rejected_rows == 4
    told = {(row["line"], row["reason"]) for row in shop.rows("ids__rejected")}
    assert {line for line, _ in told} == {2, 4, 5, 6}
    assert {reason for line, reason in told if line in (2, 4, 6)} == {
        'column n: "many" is no INT',
        "column n: true is no INT",
        "it is no JSON object",
    }


def test_a_null_that_the_schema_forbids_is_rejected(shop):
    folder = shop.feed("f", "csv", "id BIGINT NOT NULL, v STRING")
    shop.table("t", "SELECT * FROM STREAM f")
    (folder / "a.csv").write_text("1,a\n,b\n")
    assert shop.load("t", "a.csv").rejected_rows == 1
    assert shop.rows("t") == [{"id": 1, "v": "a"}]
    (row,) = shop.rows("t__rejected")
    assert row["reason"] == "column id is null where the schema says NOT NULL"
    assert (row["line"], row["record"]) == (2, ",b")


def test_updates_go_on_after_old_rejected_rows_were_removed(shop):
    folder = shop.feed("f", "csv", "id BIGINT NOT NULL, v STRING")
    shop.table("t", "SELECT * FROM STREAM f")
    (folder / "a.csv").write_text(",a\n")
    (folder / "b.csv").write_text("1,b\n,c\n")
    assert shop.load("t", "a.csv").rejected_rows == 1
    later_s = time.time() + 100 * 86_400.0
    assert forget_rejected(shop.project, "t", later_s)
    assert shop.rows("t__rejected") == []
    shop.restart()  # it looks for rows of an update that died
    assert shop.load("t", "b.csv").rejected_rows == 1
    (row,) = shop.rows("t__rejected")
    assert (row["file"], row["update"]) == ("b.csv", 2)


def test_a_query_without_rows_still_counts_what_does_not_fit(shop):
    folder = shop.feed("f", "csv", "id BIGINT")
    shop.table("t", "SELECT id FROM STREAM f WHERE false")
    (folder / "a.csv").write_text("1\nx\n")
    result = shop.load("t", "a.csv")
    assert (result.rows, result.rejected_rows) == (0, 1)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT f.id FROM STREAM f JOIN delta.`k` AS k ON f.id = k.id WHERE k.n > 100",
        pytest.param(
            "SELECT f.id FROM STREAM f SEMI JOIN (SELECT id FROM delta.`k` WHERE n > 100) k"
            " ON f.id = k.id",
            marks=pytest.mark.proof,
        ),
        pytest.param(
            "SELECT id FROM STREAM f WHERE id IN (SELECT id FROM delta.`k` WHERE n > 100)",
            marks=pytest.mark.proof,
        ),
        "SELECT f.id FROM delta.`k` AS k JOIN STREAM f ON f.id < k.id WHERE k.n > 100",
    ],
)
def test_a_join_that_finds_nothing_still_counts_what_does_not_fit(shop, query):
    folder = shop.feed("f", "csv", "id BIGINT")
    write_deltalake(
        str(shop.project.root / "k"),
        pa.table({"id": pa.array(range(10)), "n": pa.array([n % 7 for n in range(10)])}),
    )
    shop.table("t", query)
    for name in ("a.csv", "b.csv"):  # into a new table, and into one that is there
        (folder / name).write_text("1\nx\n")
        result = shop.load("t", name)
        assert (result.rows, result.rejected_rows) == (0, 1)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id FROM STREAM f LIMIT 1",
        pytest.param("SELECT id FROM STREAM f TABLESAMPLE (1 ROWS)", marks=pytest.mark.proof),
        "SELECT 1 AS id WHERE EXISTS (SELECT 1 FROM STREAM f)",
    ],
)
def test_a_query_that_some_rows_are_enough_for_still_counts_what_does_not_fit(
    shop, query, monkeypatch
):
    """Each is refused before its first update, since it is not row-wise."""
    monkeypatch.setattr("freshline.spark.updates.confirm", lambda *_: None)
    folder = shop.feed("f", "csv", "id BIGINT")
    shop.table("t", query)
    (folder / "a.csv").write_text("1\n2\n3\nx\n")
    result = shop.load("t", "a.csv")
    assert (result.rows, result.rejected_rows) == (1, 1)


def test_a_query_that_is_not_row_wise_to_spark_is_refused_though_nobody_validated_it(shop):
    folder = shop.feed("f", "csv", "id BIGINT")
    (folder / "a.csv").write_text("1\n1\n")
    shop.table("t", "SELECT DISTINCT id FROM STREAM f")
    for _ in range(2):
        with pytest.raises(UserError, match="as Spark reads it, ") as caught:
            shop.load("t", "a.csv")
        assert caught.value.code == "not-row-wise"
    assert not Path(shop.path("t")).exists()


def test_names_with_odd_characters_are_only_names(shop, orders: Path):
    names = [
        "a b.csv",
        "50%20.csv",
        "x#1.csv",
        "[ab].csv",
        "{a,b}.csv",
        "*.csv",
        "q?.csv",
        "ü+.csv",
        "b\\s.csv",
    ]
    names.append("day=1/c.csv")
    (orders / "day=1").mkdir()
    for number, name in enumerate(names):
        (orders / name).write_text(f"{number},2026-01-01 12:00:00,1\nbad\n")
    (orders / "a.csv").write_text("99,,\n")
    result = shop.load("orders", *names)
    assert [row["id"] for row in shop.rows("orders")] == list(range(len(names)))
    assert result.rejected_rows == len(names)
    assert {(row["file"], row["line"]) for row in shop.rows("orders__rejected")} == {
        (name, 2) for name in names
    }


def test_a_name_that_hadoop_cannot_read_is_told_with_what_is_wrong(shop, orders: Path):
    for name in ("12:30.csv", "12:30 [1].csv"):
        (orders / name).write_text("1,2026-01-01 12:00:00,1\n")
    with pytest.raises(UnreadableFilesError) as unreadable:
        shop.load("orders", "12:30.csv", "12:30 [1].csv")
    ((name, reason),) = unreadable.value.files
    assert (name, reason[:37]) == ("12:30 [1].csv", "a part of its name has both a colon a")
    assert shop.load("orders", "12:30.csv").rows == 1


def test_compressed_files_and_headers(shop):
    folder = shop.feed("f", "csv", "id BIGINT, v STRING", {"header": "true", "sep": ";"})
    shop.table("t", "SELECT * FROM STREAM f")
    (folder / "a.csv.gz").write_bytes(gzip.compress(b"id;v\n1;a\nx;b\n"))
    result = shop.load("t", "a.csv.gz")
    assert (result.rows, result.rejected_rows) == (1, 1)
    (row,) = shop.rows("t__rejected")
    assert (row["line"], row["reason"]) == (3, "column id: 'x' is no BIGINT")


def test_a_file_without_rows_makes_a_commit(shop, orders: Path):
    (orders / "a.csv").write_text("")
    first = shop.load("orders", "a.csv")
    second = shop.load("orders", "a.csv")
    assert (first.version, first.rows, second.version, second.rows) == (0, 0, 1, 0)
    assert shop.rows("orders") == []


def test_an_update_that_was_committed_is_not_repeated(shop, orders: Path):
    (orders / "a.csv").write_text("1,,\nx,,\n")
    request = shop.request("orders", "a.csv")
    done = shop.executor.run(request)
    shop.restart()
    again = shop.executor.run(request)
    assert again.repeated
    assert (again.version, again.rows, again.rejected_rows) == (
        done.version,
        done.rows,
        done.rejected_rows,
    )
    assert len(shop.rows("orders")) == 1
    assert len(shop.rows("orders__rejected")) == 1


def test_rejected_rows_of_an_update_that_died_are_not_there_twice(shop, orders: Path, monkeypatch):
    (orders / "a.csv").write_text("1,,\nx,,\n")
    (orders / "b.csv").write_text("2,,\ny,,\n")
    (orders / "c.csv").write_text("3,,\n")

    def die(name: str) -> None:
        if name == "base.after_rejected":
            raise OSError(5, "died")

    with monkeypatch.context() as patched:
        patched.setattr("freshline.spark.feeds.rejected.failpoint", die)
        with pytest.raises(PlatformError, match="died"):
            shop.load("orders", "a.csv", "b.csv")
    assert last_commit(shop.path("orders")) is None
    assert len(shop.rows("orders__rejected")) == 2
    shop.restart()
    shop.load("orders", "c.csv")  # another number, other files, nothing to reject
    assert shop.rows("orders__rejected") == []
    shop.load("orders", "a.csv")
    shop.load("orders", "b.csv")
    told = [(row["file"], row["update"]) for row in shop.rows("orders__rejected")]
    assert sorted(told) == [("a.csv", 3), ("b.csv", 4)]
    assert [row["id"] for row in shop.rows("orders")] == [1, 2, 3]


def test_a_file_that_changes_while_it_is_read_is_not_half_loaded(shop, orders: Path):
    (orders / "a.csv").write_text("1,,\n")
    (orders / "b.csv").write_text("2,,\n")

    with growing(orders / "b.csv", "3,,\n"), pytest.raises(UnreadableFilesError) as caught:
        shop.load("orders", "a.csv", "b.csv")
    assert caught.value.files == (("b.csv", "it changed while it was read"),)
    assert last_commit(shop.path("orders")) is None
    done = shop.load("orders", "a.csv", "b.csv")
    assert [row["id"] for row in shop.rows("orders")] == [1, 2, 3]
    status = (orders / "b.csv").stat()
    assert done.read["b.csv"] == (8, status.st_mtime)  # listed before, by the test, with no bytes


def test_rejected_rows_are_not_there_twice_after_a_compaction(shop, orders: Path, monkeypatch):
    monkeypatch.setattr("freshline.delta.small_files.MOST_FILES", 2)
    for number in range(2):
        (orders / f"{number}.csv").write_text(f"{number},,\n")
        shop.load("orders", f"{number}.csv")
    (orders / "g.csv").write_text("2,,\nx,,\n")

    with growing(orders / "g.csv", "3,,\n"), pytest.raises(UnreadableFilesError):
        shop.load("orders", "g.csv")
    assert len(shop.rows("orders__rejected")) == 1
    shop.numbers["orders"] -= 1  # what failed has no number
    done = shop.executor.run(shop.request("orders", upkeep="compact", definition=""))
    assert done.reason.startswith("2 small files")
    assert shop.load("orders", "g.csv").rejected_rows == 1
    assert [row["update"] for row in shop.rows("orders__rejected")] == [4]


def write_parquet(path: Path, **columns: list) -> None:
    pq.write_table(pa.table(columns), path)


def test_parquet_files_have_the_columns_of_the_first(shop):
    folder = shop.feed("f", "parquet", None)
    shop.table("t", "SELECT * FROM STREAM f")
    write_parquet(folder / "a.parquet", id=[1, 2], v=["a", None])
    write_parquet(folder / "b.parquet", id=[3], v=["c"], more=[1])
    assert shop.load("t", "a.parquet").rows == 2
    shop.restart()
    assert shop.load("t", "b.parquet").rows == 1
    assert shop.rows("t") == [{"id": 1, "v": "a"}, {"id": 2, "v": None}, {"id": 3, "v": "c"}]


def test_the_log_is_asked_for_the_columns_only_where_others_may_have_committed(shop, monkeypatch):
    folder = shop.feed("f", "parquet", None)
    shop.table("t", "SELECT * FROM STREAM f")
    asked: list[str] = []

    def noted(path):
        asked.append(path)
        return last_load(path)

    monkeypatch.setattr("freshline.spark.feeds.reader.last_load", noted)
    for name in "abc":
        write_parquet(folder / f"{name}.parquet", id=[ord(name)], **{name: [1]})
    assert shop.load("t", "a.parquet").rows == 1
    asked.clear()
    assert shop.load("t", "b.parquet").rows == 1
    assert asked == []
    shop.restart()
    assert shop.load("t", "c.parquet").rows == 1
    assert asked == [shop.path("t")]
    assert [row["a"] for row in shop.rows("t")] == [1, None, None]


def test_unreadable_files_among_good_ones_are_found_and_nothing_is_committed(shop):
    folder = shop.feed("f", "parquet", "id BIGINT, v STRING")
    shop.table("t", "SELECT id, v FROM STREAM f")
    for name in "abcde":
        write_parquet(folder / f"{name}.parquet", id=[ord(name)], v=[name])
    whole = (folder / "b.parquet").read_bytes()
    (folder / "b.parquet").write_bytes(whole[:-20])
    (folder / "c.parquet").write_bytes(b"")
    write_parquet(folder / "d.parquet", id=["text"], v=["d"])
    names = ["gone.parquet", *(f"{name}.parquet" for name in "abcde")]
    with pytest.raises(UnreadableFilesError) as raised:
        shop.load("t", *names)
    reasons = dict(raised.value.files)
    assert list(reasons) == ["gone.parquet", "b.parquet", "c.parquet", "d.parquet"]
    assert reasons["gone.parquet"] == "it is no longer there"
    assert "is not a Parquet file" in reasons["b.parquet"]
    assert "Expected Spark type bigint, actual Parquet type BINARY" in reasons["d.parquet"]
    assert reasons["c.parquet"] == "it is empty, which no Parquet file is"
    assert all("\n" not in reason and reason for reason in reasons.values())
    assert str(raised.value.where) == "freshline.yml:7"
    assert version(shop.path("t")) is None
    assert shop.load("t", "a.parquet", "e.parquet").rows == 2


def test_a_broken_gzip_file_is_unreadable(shop, orders: Path):
    (orders / "a.csv").write_text("1,,\n")
    (orders / "b.csv.gz").write_bytes(b"no gzip at all")
    with pytest.raises(UnreadableFilesError) as raised:
        shop.load("orders", "a.csv", "b.csv.gz")
    assert [name for name, _ in raised.value.files] == ["b.csv.gz"]


def test_a_query_that_fails_on_the_data_is_no_fault_of_the_file(shop):
    folder = shop.feed("f", "csv", "id BIGINT")
    shop.table("t", "SELECT 10 DIV id AS part FROM STREAM f")
    (folder / "a.csv").write_text("0\n")
    with pytest.raises(UserError) as raised:
        shop.load("t", "a.csv")
    assert raised.value.code == "query-failed"
    assert raised.value.what.endswith("(DIVIDE_BY_ZERO)")
    assert str(raised.value.where) == "tables/t.sql:3"
    assert version(shop.path("t")) is None


def test_a_static_table_is_read_at_one_version_which_the_commit_records(shop):
    shop.delta("nation", pa.table({"key": [1], "name": ["Peru"]}))
    shop.delta("nation", pa.table({"key": [2], "name": ["Chad"]}))
    folder = shop.feed("f", "csv", "key BIGINT")
    shop.table("t", "SELECT nation.name FROM STREAM f JOIN delta.`nation` AS nation USING (key)")
    (folder / "a.csv").write_text("1\n2\n3\n")
    result = shop.load("t", "a.csv")
    assert result.parents == {"delta.nation": 1}
    assert newest(shop.path("t")).metadata["parents"] == {"delta.nation": 1}
    assert shop.rows("t") == [{"name": "Chad"}, {"name": "Peru"}]


def test_a_column_that_the_query_gains_is_added_and_types_stay(shop, orders: Path):
    (orders / "a.csv").write_text("1,2026-01-01 12:00:00,10.50\n")
    shop.load("orders", "a.csv")
    shop.table(
        "orders", "SELECT int(id) AS id, at, price, price * 2 AS double FROM STREAM orders_feed"
    )
    result = shop.load("orders", "a.csv")
    assert result.schema_changed
    assert shop.rows("orders") == [
        {"id": 1, "at": AT, "price": Decimal("10.50"), "double": Decimal("21.00")},
        {"id": 1, "at": AT, "price": Decimal("10.50"), "double": None},
    ]


@pytest.mark.parametrize(
    ("before", "now", "value"),
    [
        ("INT", "DOUBLE", "1.5"),
        ("INT", "BIGINT", "3000000000"),
        ("DECIMAL(9,2)", "DECIMAL(9,4)", "1.2345"),
        pytest.param("DATE", "TIMESTAMP", "2026-01-01T12:00:00Z", marks=pytest.mark.proof),
        pytest.param("FLOAT", "DOUBLE", "0.1", marks=pytest.mark.proof),
        pytest.param("BOOLEAN", "INT", "5", marks=pytest.mark.proof),
        ("TIMESTAMP", "BIGINT", "1767225600000"),
    ],
)
def test_a_value_is_not_cut_to_the_type_that_its_column_had(before, now, value, shop):
    """Somebody corrects the feed's schema, and the table is there already."""
    folder = shop.feed("f", "csv", f"v {before}")
    shop.table("t", "SELECT * FROM STREAM f")
    (folder / "a.csv").write_text("\n")
    (folder / "b.csv").write_text(f"{value}\n")
    shop.load("t", "a.csv")
    shop.feed("f", "csv", f"v {now}")
    with pytest.raises(UserError, match="refresh t --full") as refused:
        shop.load("t", "b.csv")
    assert refused.value.code == "other-types"
    assert f"column v is {before} in it and {now} now" in str(refused.value)
    assert shop.load("t", "a.csv", "b.csv", full=True).rows == 1


def test_a_column_with_a_point_in_its_name_has_its_comment(shop):
    folder = shop.feed("f", "csv", "`a.b` BIGINT, c STRING")
    shop.table("t", "SELECT * FROM STREAM f", columns=(("a.b", "of both"), ("c", None)))
    (folder / "a.csv").write_text("1,x\n")
    shop.load("t", "a.csv")
    assert shop.rows("t") == [{"a.b": 1, "c": "x"}]
    fields = deltalake.DeltaTable(shop.path("t")).schema().fields
    assert [each.metadata.get("comment") for each in fields] == ["of both", None]


def test_a_full_update_holds_the_rows_of_its_files_alone(shop, orders: Path):
    (orders / "a.csv").write_text("1,,\nx,,\n")
    (orders / "b.csv").write_text("2,,\n")
    shop.load("orders", "a.csv")
    result = shop.load("orders", "a.csv", "b.csv", full=True, definition="abc")
    assert [row["id"] for row in shop.rows("orders")] == [1, 2]
    assert [(row["file"], row["update"]) for row in shop.rows("orders__rejected")] == [("a.csv", 2)]
    assert result.rejected_rows == 1
    metadata = newest(shop.path("orders")).metadata
    assert (metadata["full"], metadata["definition"]) == (True, "abc")


def test_the_log_is_read_past_commits_of_others(shop, spark: SparkSession, orders: Path):
    (orders / "a.csv").write_text("1,,\n")
    shop.load("orders", "a.csv")
    path = shop.path("orders")
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('made.by' = 'me')")
    assert version(path) == 1
    assert newest(path).version == 0
    first = commit_of(path, 1)
    assert first is not None
    assert first.version == 0
    assert commit_of(path, 2) is None
    shop.load("orders", "a.csv")
    assert [each.version for each in commits(path)] == [0, 2]
    assert [each.version for each in commits(path, since=0)] == [2]
    assert oldest_version(path) == 0


def test_duckdb_reads_the_table(shop, orders: Path):
    import deltalake

    (orders / "a.csv").write_text("1,2026-01-01 12:00:00,10.50\n2,,0.50\n")
    shop.load("orders", "a.csv")
    orders_arrow = deltalake.DeltaTable(shop.path("orders")).to_pyarrow_table()
    with duckdb.connect() as connection:
        connection.register("orders", orders_arrow)
        assert connection.execute('SELECT sum(price), count("at") FROM orders').fetchall() == [
            (Decimal("11.00"), 1)
        ]
