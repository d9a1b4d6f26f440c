"""Backfills on Spark and Delta: a range's rows are replaced, and nothing is lost or doubled."""

from __future__ import annotations

import dataclasses
import shutil
from datetime import UTC, datetime
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from freshline.core.errors import PlatformError, UserError
from freshline.delta.log import last_commit
from freshline.executor.distrust import distrust
from freshline.executor.records import UnreadableFilesError
from freshline.executor.verified import WRONG, Difference, VersionCheck
from freshline.spark.updates import SparkExecutor
from tests.spark.conftest import Shop, growing

pytestmark = pytest.mark.spark


def utc_s(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


AT = '"at":"2026-01-02T08:00:00Z"'
RANGE = (utc_s("2026-01-02"), utc_s("2026-01-03"))


@pytest.fixture(scope="module")
def three_days(spark, tmp_path_factory):
    """Orders of three days; an order of the second came with the third day's file."""
    shop = Shop(tmp_path_factory.mktemp("days"), spark)
    folder = shop.feed("f", "csv", "id BIGINT, at TIMESTAMP, price BIGINT")
    shop.table("orders", "SELECT * FROM STREAM f", time_column="at")
    (folder / "a.csv").write_text("1,2026-01-01T12:00:00Z,10\n2,2026-01-02T08:00:00Z,20\n9,,9\n")
    (folder / "b.csv").write_text("3,2026-01-03T12:00:00Z,30\n4,2026-01-02T09:00:00Z,40\n")
    shop.load("orders", "a.csv")
    shop.load("orders", "b.csv")
    return shop


@pytest.fixture
def orders(shop, three_days):
    """The feed of the same in a copy."""
    shop.begin_as(three_days)
    return shop.root / "feed" / "f"


def prices(shop, table="orders"):
    return {row["id"]: row["price"] for row in shop.rows(table)}


def test_the_rows_of_a_range_are_replaced_whichever_file_they_came_with(shop, orders):
    # Somebody has corrected the feed's files where they stand.
    (orders / "a.csv").write_text("1,2026-01-01T12:00:00Z,11\n2,2026-01-02T08:00:00Z,21\n9,,8\n")
    (orders / "b.csv").write_text("3,2026-01-03T12:00:00Z,31\n4,2026-01-02T09:00:00Z,41\n")
    loaded = shop.request("orders", "a.csv", "b.csv")
    request = dataclasses.replace(loaded, from_s=loaded.to_s, range_s=RANGE)
    done = shop.executor.run(request)
    assert (done.strategy, done.rows) == ("backfill", 2)
    assert prices(shop) == {1: 10, 2: 21, 3: 30, 4: 41, 9: 9}
    commit = last_commit(shop.path("orders"))
    assert commit is not None
    assert (commit.metadata["files"], commit.metadata["from"]) == ([], commit.metadata["to"])
    assert commit.metadata["range"] == {
        "from": "2026-01-02T00:00:00.000000Z",
        "to": "2026-01-03T00:00:00.000000Z",
    }
    # What children are told: two rows before and after.
    assert commit.metadata["changes"] == 4
    shop.restart()
    assert shop.executor.run(request).repeated
    assert prices(shop) == {1: 10, 2: 21, 3: 30, 4: 41, 9: 9}


def test_the_next_parquet_file_does_not_set_the_columns_once_a_loads_commit_is_gone(shop):
    folder = shop.feed("f", "parquet", None)
    shop.table("orders", "SELECT * FROM STREAM f", time_column="at")

    def write(name, number, **more):
        at = datetime(2026, 1, 2, number, tzinfo=UTC)
        pq.write_table(pa.table({"id": [number], "at": [at], **more}), folder / name)

    write("a.parquet", 1, price=[10])
    shop.load("orders", "a.parquet")
    request = dataclasses.replace(shop.request("orders", "a.parquet"), range_s=RANGE)
    backfilled = shop.executor.run(request).version
    deltalake.DeltaTable(shop.path("orders")).create_checkpoint()
    for version in range(backfilled):
        (Path(shop.path("orders")) / f"_delta_log/{version:020d}.json").unlink()
    shop.restart()
    write("b.parquet", 2)
    write("c.parquet", 3, price=[30])
    shop.load("orders", "b.parquet")
    shop.load("orders", "c.parquet")
    assert prices(shop) == {1: 10, 2: None, 3: 30}


def test_a_range_without_rows_empties_what_is_there_in_it(shop, orders):
    (orders / "a.csv").write_text("1,2026-01-01T12:00:00Z,10\n9,,9\n")
    (orders / "b.csv").write_text("3,2026-01-03T12:00:00Z,30\n")
    loaded = shop.request("orders", "a.csv", "b.csv")
    shop.executor.run(dataclasses.replace(loaded, range_s=RANGE))
    assert prices(shop) == {1: 10, 3: 30, 9: 9}


def test_rejected_rows_are_not_there_twice_after_a_backfill(shop, orders):
    (orders / "c.csv").write_text("5,2026-01-04T12:00:00Z,50\nx,,\n")

    with growing(orders / "c.csv", "6,,\n"), pytest.raises(UnreadableFilesError):
        shop.load("orders", "c.csv")
    assert len(shop.rows("orders__rejected")) == 1
    shop.numbers["orders"] -= 1  # what failed has no number
    loaded = shop.request("orders", "a.csv", "b.csv")
    shop.executor.run(dataclasses.replace(loaded, range_s=RANGE))
    assert shop.load("orders", "c.csv").rejected_rows == 1
    assert len(shop.rows("orders__rejected")) == 1


@pytest.mark.parametrize(
    ("file_format", "rows"),
    [
        ("csv", "1,2026-01-02T08:00:00Z,10\n2,2026-01-02T09:00:00Z,ten\n"),
        ("json", f'{{"id":1,{AT},"price":10}}\n{{"id":2,{AT},"price":"ten"}}\n'),
    ],
)
def test_a_rejected_row_stays_out_whatever_the_query_reads(shop, file_format, rows):
    folder = shop.feed("f", file_format, "id BIGINT, at TIMESTAMP, price BIGINT")
    shop.table("orders", "SELECT id, at FROM STREAM f", time_column="at")
    (folder / "a").write_text(rows)
    assert shop.load("orders", "a").rejected_rows == 1
    shop.executor.run(dataclasses.replace(shop.request("orders", "a"), range_s=RANGE))
    assert [row["id"] for row in shop.rows("orders")] == [1]


def test_a_corrected_file_is_looked_at_as_a_new_one_is(shop):
    folder = shop.feed("f", "csv", "id BIGINT, at TIMESTAMP, note STRING")
    shop.table("orders", "SELECT * FROM STREAM f", time_column="at")
    (folder / "a.csv").write_text('1,2026-01-02T08:00:00Z,"a b"\n')
    shop.load("orders", "a.csv")
    (folder / "a.csv").write_text('1,2026-01-02T08:00:00Z,"a\nb"\n')
    request = dataclasses.replace(shop.request("orders", "a.csv"), range_s=RANGE)
    with pytest.raises(UnreadableFilesError, match="a quoted value that does not end on it"):
        shop.executor.run(request)
    assert [row["note"] for row in shop.rows("orders")] == ["a b"]


def test_a_file_that_changes_while_it_is_loaded_again_changes_nothing(shop, orders, monkeypatch):
    def grow(name: str) -> None:
        if name == "backfill.after_data":
            with (orders / "b.csv").open("a") as file:
                file.write("5,2026-01-02T10:00:00Z,50\n")

    loaded = shop.request("orders", "a.csv", "b.csv")
    with monkeypatch.context() as patched:
        patched.setattr("freshline.spark.backfill.failpoint", grow)
        with pytest.raises(UnreadableFilesError, match="changed while it was read"):
            shop.executor.run(dataclasses.replace(loaded, range_s=RANGE))
    assert prices(shop) == {1: 10, 2: 20, 3: 30, 4: 40, 9: 9}


def test_a_base_table_that_others_changed_is_refused_until_somebody_accepts_it(shop, orders):
    """Behind the backfill's commit no update would see that rows outside of its range are gone."""
    deltalake.DeltaTable(shop.path("orders")).delete("id = 3")
    loaded = shop.request("orders", "a.csv", "b.csv", filled=True)
    request = dataclasses.replace(loaded, range_s=RANGE)
    with pytest.raises(PlatformError, match="others changed rows or columns of table orders"):
        shop.executor.run(request)
    shop.executor.run(dataclasses.replace(request, accepted=2))
    assert prices(shop) == {1: 10, 2: 20, 4: 40, 9: 9}


def test_without_an_event_time_it_is_refused(shop):
    folder = shop.feed("f", "csv", "id BIGINT")
    shop.table("plain", "SELECT * FROM STREAM f")
    (folder / "a.csv").write_text("1\n")
    shop.load("plain", "a.csv")
    request = dataclasses.replace(shop.request("plain", "a.csv"), range_s=RANGE)
    with pytest.raises(UserError, match="cannot be loaded again: it has no event time"):
        shop.executor.run(request)


def test_a_view_is_computed_again_in_its_range_from_the_versions_it_was_made_of(shop, orders):
    shop.table("big", "SELECT id, at, price FROM orders WHERE price >= 20", time_column="at")
    shop.derive("big", orders=1)
    before = last_commit(shop.path("big"))
    assert before is not None
    request = dataclasses.replace(shop.request("big", parents={"orders": 1}), range_s=RANGE)
    done = shop.executor.run(request)
    assert (done.strategy, done.parents, done.rows) == ("backfill", {"orders": 1}, 2)
    assert prices(shop, "big") == {2: 20, 3: 30, 4: 40}
    after = last_commit(shop.path("big"))
    assert after is not None
    assert after.metadata.get("settings") == before.metadata.get("settings")
    assert after.metadata["changes"] == 0, "nothing came out otherwise, so nobody has news"


def test_a_view_without_an_event_time_is_computed_whole(shop, orders):
    shop.table("total", "SELECT count(*) AS n FROM orders")
    shop.derive("total", orders=1)
    request = dataclasses.replace(shop.request("total", parents={"orders": 1}), range_s=RANGE)
    done = shop.executor.run(request)
    assert (done.strategy, done.code) == ("full", "requested")
    assert shop.rows("total") == [{"n": 5}]


def test_a_view_into_which_others_wrote_is_computed_whole(shop, orders):
    shop.table("big", "SELECT id, at, price FROM orders WHERE price >= 20", time_column="at")
    shop.derive("big", orders=1)
    deltalake.DeltaTable(shop.path("big")).delete("id = 3")  # outside of the range
    request = dataclasses.replace(shop.request("big", parents={"orders": 1}), range_s=RANGE)
    done = shop.executor.run(request)
    assert (done.strategy, done.code) == ("full", "requested")
    assert prices(shop, "big") == {2: 20, 3: 30, 4: 40}


def test_a_view_that_was_found_wrong_is_computed_whole(shop, orders):
    shop.table("big", "SELECT id, at, price FROM orders WHERE price >= 20", time_column="at")
    made = shop.derive("big", orders=1)
    request = dataclasses.replace(shop.request("big", parents={"orders": 1}), range_s=RANGE)
    check = VersionCheck("big", made.version, WRONG, difference=Difference(extra=1))
    distrust(shop.project, check, request.definition, 0.0, "")
    done = shop.executor.run(request)
    assert (done.strategy, done.code) == ("full", "found-wrong")


def test_a_view_over_a_table_that_was_made_anew_is_computed_whole(shop, orders):
    shop.delta("rate", pa.table({"factor": [2]}))
    query = "SELECT o.id, o.at, o.price * r.factor AS price FROM orders o, delta.`rate` r"
    shop.table("rated", query, time_column="at")
    shop.derive("rated", orders=1)
    shutil.rmtree(shop.root / "rate")
    shop.delta("rate", pa.table({"factor": [3]}))  # its version is the same
    request = dataclasses.replace(shop.request("rated", parents={"orders": 1}), range_s=RANGE)
    done = shop.executor.run(request)
    assert (done.strategy, done.code) == ("full", "table-replaced")
    assert prices(shop, "rated") == {1: 30, 2: 60, 3: 90, 4: 120, 9: 27}


def test_a_view_over_files_that_have_no_versions_is_computed_whole(shop, orders):
    (shop.root / "rate").mkdir()
    pq.write_table(pa.table({"factor": [2]}), shop.root / "rate/a.parquet")
    query = "SELECT o.id, o.at, o.price * r.factor AS price FROM orders o, parquet.`rate` r"
    shop.table("rated", query, time_column="at")
    shop.derive("rated", orders=1)
    pq.write_table(pa.table({"factor": [3]}), shop.root / "rate/a.parquet")
    request = dataclasses.replace(shop.request("rated", parents={"orders": 1}), range_s=RANGE)
    assert shop.executor.run(request).strategy == "full"
    assert prices(shop, "rated") == {1: 30, 2: 60, 3: 90, 4: 120, 9: 27}


def test_a_view_made_with_another_setting_is_computed_whole(shop, orders):
    shop.table("thirds", "SELECT id, at, price / 3 AS price FROM orders", time_column="at")
    shop.derive("thirds", orders=1)
    request = dataclasses.replace(shop.request("thirds", parents={"orders": 1}), range_s=RANGE)
    configuration = {"spark.sql.decimalOperations.allowPrecisionLoss": "true"}
    project = dataclasses.replace(shop.project, configuration=configuration)
    done = SparkExecutor(project, shop.session, shop.plans).run(request)
    assert (done.strategy, done.code) == ("full", "requested")


@pytest.mark.parametrize("ascending", [True, False])
def test_a_view_that_chooses_among_rows_that_tie_is_computed_whole(shop, orders, ascending):
    day = "CAST(at AS DATE)"
    query = f"SELECT {day} AS day, id, at, price, row_number() OVER (PARTITION BY {day}"
    query += " ORDER BY id IS NULL) AS n FROM orders"
    shop.table("numbered", query, time_column="at", refresh="incremental")
    shop.derive("numbered", orders=1)
    # Somebody writes the rows in another order, by which others come first of those that tie.
    there = shop.session.read.format("delta").load(shop.path("orders"))
    others = there.orderBy("id", ascending=ascending).collect()
    rewritten = shop.session.createDataFrame(others, there.schema).coalesce(1).write.format("delta")
    rewritten.mode("overwrite").option("dataChange", "false").save(shop.path("orders"))
    assert shop.derive("numbered", orders=2).rows == 0
    request = dataclasses.replace(
        shop.request("numbered", parents={"orders": 2}),
        range_s=(utc_s("2026-01-02T08:30:00"), utc_s("2026-01-03")),
    )
    shop.executor.run(request)
    numbers = {row["id"]: row["n"] for row in shop.rows("numbered")}
    assert sorted([numbers[2], numbers[4]]) == [1, 2]
