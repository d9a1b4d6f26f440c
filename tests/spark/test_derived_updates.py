"""Derived tables: the query over pinned versions, in one commit."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from freshline.core.errors import FreshlineError, UserError
from freshline.delta.log import CommitRecord, commit_mark, commits, last_commit, version
from freshline.project.definition import definition_of
from freshline.spark.engine.errors import one_line
from tests.spark.conftest import Shop

pytestmark = pytest.mark.spark


def newest(path: str) -> CommitRecord:
    found = last_commit(path)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def two_files(spark, tmp_path_factory):
    """Orders and their totals by day; two versions of orders."""
    shop = Shop(tmp_path_factory.mktemp("totals"), spark)
    folder = shop.feed("f", "csv", "id BIGINT, at TIMESTAMP, price DECIMAL(15,2)")
    shop.table("orders", "SELECT * FROM STREAM f")
    shop.table(
        "totals",
        "SELECT date_trunc('DAY', at) AS day, sum(orders.price) AS price FROM orders GROUP BY 1",
        refresh="incremental",
    )
    (folder / "a.csv").write_text("1,2026-01-01 12:00:00,10.50\n2,,2\n")
    (folder / "b.csv").write_text("3,2026-01-01 00:30:00,1.25\n")
    shop.load("orders", "a.csv")
    shop.load("orders", "b.csv")
    return shop


@pytest.fixture
def totals(shop, two_files):
    """The same in a copy."""
    shop.begin_as(two_files)


@pytest.mark.parametrize("setting", ["ignoreMissingFiles", "ignoreCorruptFiles"])
def test_a_parents_file_that_cannot_be_read_is_an_error_whatever_is_set(shop, totals, setting):
    query = "SELECT id FROM orders"
    shop.table("numbers", query, settings={f"spark.sql.files.{setting}": "true"})
    file = min(Path(shop.path("orders")).glob("*.parquet"))
    if setting == "ignoreMissingFiles":
        file.unlink()
    else:
        file.write_bytes(b"no Parquet")
    with pytest.raises(FreshlineError):
        shop.derive("numbers", orders=1)


def test_a_name_that_delta_does_not_store_is_refused_as_by_validate(shop, totals):
    """Nobody has validated; and the view may have been right before."""
    shop.table("named", "SELECT id AS x FROM orders")
    shop.derive("named", orders=1)
    for name in ("named", "first"):
        shop.table(name, "SELECT id AS `Shop Name` FROM orders")
        with pytest.raises(UserError, match="has a column named 'Shop Name'") as refused:
            shop.derive(name, orders=1)
        assert refused.value.code == "bad-column-name"
    assert not Path(shop.path("first")).exists()
    assert [row.keys() for row in shop.rows("named")] == [{"x"}] * 3


def test_a_table_that_the_query_does_not_name_is_refused_though_nobody_validated_it(
    shop, totals, spark, tmp_path
):
    """A run would not notice when it changes."""
    spark.range(3).write.parquet(str(tmp_path / "lent"))
    spark.sql(
        "CREATE OR REPLACE FUNCTION most_sold(least BIGINT) RETURNS BIGINT"
        f" RETURN (SELECT max(id) FROM parquet.`{tmp_path}/lent` WHERE id > least)"
    )
    try:
        shop.table("sold", "SELECT most_sold(id) AS m FROM orders")
        with pytest.raises(UserError, match="that is not named in it: Relation ") as caught:
            shop.derive("sold", orders=1)
    finally:
        spark.sql("DROP FUNCTION most_sold")
    assert caught.value.code == "unseen-table"
    assert not Path(shop.path("sold")).exists()


DAY = datetime(2025, 12, 31, 23, 0, tzinfo=UTC)  # midnight in the session's time zone


def test_a_view_is_its_query_over_the_pinned_version(shop, totals):
    first = shop.derive("totals", orders=0)
    assert (first.version, first.rows, first.strategy, first.code) == (0, 2, "full", "first-build")
    assert first.parents == {"orders": 0}
    assert first.read_rows == newest(shop.path("totals")).metadata["read"] == 2
    assert shop.rows("totals") == [
        {"day": None, "price": Decimal("2.00")},
        {"day": DAY, "price": Decimal("10.50")},
    ]
    second = shop.derive("totals", orders=1)
    assert (second.version, second.schema_changed) == (1, False)
    assert shop.rows("totals")[1] == {"day": DAY, "price": Decimal("11.75")}
    back = shop.derive("totals", orders=0)
    assert (back.version, back.code) == (2, "parent-went-back")
    assert shop.rows("totals") == shop.rows("totals", version=0)
    facts = dict([each.metadata for each in commits(shop.path("totals"))][1])
    assert facts.pop("costs")["learned"] == {}
    orders = str(deltalake.DeltaTable(shop.path("orders")).metadata().id)
    assert facts.pop("ids") == {"orders": orders}
    assert facts.pop("commits") == {"orders": commit_mark(shop.path("orders"), 1)}
    assert facts.pop("expected_s").keys() == {"bucket-recompute", "bucket-merge", "full"}
    assert facts.pop("replaced")["column"] == "day"
    assert len(facts.pop("plan")) == 16
    assert facts == {
        "freshline": 1,
        "table": "totals",
        "update": 2,
        "from": "2026-01-01T00:01:00.000000Z",
        "to": "2026-01-01T00:02:00.000000Z",
        "parents": {"orders": 1},
        "strategy": "bucket-recompute",
        "rows": 1,
        "changes": 2,
        "reason": "buckets",
        "read": 1,
        "after": 0,
        "settings": {
            "spark.sql.session.timeZone": "Europe/Berlin",
            "spark.sql.ansi.enabled": "true",
        },
        "definition": definition_of(shop.project.table("totals")),
    }


def test_an_update_that_was_committed_is_not_repeated(shop, totals):
    request = shop.request("totals", parents={"orders": 0})
    done = shop.executor.run(request)
    shop.restart()
    again = shop.executor.run(request)
    assert (again.repeated, again.version, again.rows) == (True, done.version, done.rows)
    assert again.parents == {"orders": 0}
    assert version(shop.path("totals")) == 0


def test_a_death_before_the_commit_leaves_the_table_as_it_was(shop, totals, monkeypatch):
    shop.derive("totals", orders=0)
    before = shop.rows("totals")

    def die(name: str) -> None:
        if name == "derived.before_commit":
            raise OSError(28, "No space left on device")

    request = shop.request("totals", parents={"orders": 1})
    with monkeypatch.context() as patched:
        patched.setattr("freshline.spark.views.derived.failpoint", die)
        with pytest.raises(OSError, match="No space"):
            shop.executor.run(request)
    assert (version(shop.path("totals")), shop.rows("totals")) == (0, before)
    assert shop.executor.run(request).version == 1


def test_a_changed_query_changes_the_columns(shop, totals):
    shop.derive("totals", orders=1)
    shop.table("totals", "SELECT count(*) AS n FROM orders", partitioned_by=())
    result = shop.derive("totals", orders=1)
    assert result.schema_changed
    assert shop.rows("totals") == [{"n": 3}]
    shop.table("totals", "SELECT id, price FROM orders", partitioned_by=("id",))
    assert shop.derive("totals", orders=1).schema_changed
    table = deltalake.DeltaTable(shop.path("totals"))
    assert table.metadata().partition_columns == ["id"]
    assert len(shop.rows("totals")) == 3
    assert not shop.derive("totals", orders=1).schema_changed


@pytest.mark.parametrize("column", ["id", "ID"])
def test_a_column_of_partitioned_by_may_be_written_in_any_letters(shop, totals, column):
    """Delta keeps the letters of the query, with which those of the statement are compared."""
    shop.table("few", "SELECT id, price FROM orders", partitioned_by=(column,))
    shop.derive("few", orders=0)
    assert deltalake.DeltaTable(shop.path("few")).metadata().partition_columns == ["id"]
    assert not shop.derive("few", orders=1).schema_changed
    shop.table("few", "SELECT id, price FROM orders", partitioned_by=(column,), refresh="auto")
    assert shop.derive("few", orders=1).code != "definition-changed"


def test_a_view_of_views_joins_different_versions(shop, totals):
    shop.derive("totals", orders=0)
    shop.table(
        "share",
        "SELECT o.id, o.price / t.price AS part FROM orders o JOIN totals t"
        " ON date_trunc('DAY', o.at) <=> t.day",
    )
    result = shop.derive("share", orders=1, totals=0)
    assert result.parents == {"orders": 1, "totals": 0}
    assert [row["id"] for row in shop.rows("share")] == [1, 2, 3]
    assert newest(shop.path("share")).metadata["parents"] == {"orders": 1, "totals": 0}


def test_a_static_table_is_pinned_at_its_newest_version_and_time_travel_stays(shop, totals):
    shop.delta("rate", pa.table({"factor": [2]}))
    shop.delta("rate", pa.table({"factor": [3]}))
    shop.table("scaled", "SELECT sum(factor) AS f FROM delta.`rate`, orders WHERE id = 1")
    result = shop.derive("scaled", orders=0)
    assert result.parents == {"orders": 0, "delta.rate": 1}
    assert shop.rows("scaled") == [{"f": 5}]
    shop.table(
        "fixed", "SELECT sum(factor) AS f FROM delta.`rate` VERSION AS OF 0, orders WHERE id = 1"
    )
    assert shop.derive("fixed", orders=0).parents == {"orders": 0}
    assert shop.rows("fixed") == [{"f": 2}]
    shop.table(
        "both",
        "SELECT sum(old.factor) AS old, sum(rate.factor) AS new FROM delta.`rate` VERSION AS OF 0"
        " AS old, delta.`rate`, orders WHERE id = 1",
    )
    assert shop.derive("both", orders=0).parents == {"orders": 0, "delta.rate": 1}
    assert shop.rows("both") == [{"old": 4, "new": 5}]


def test_a_static_table_of_the_catalog_is_pinned_too(shop, spark: SparkSession, totals):
    spark.sql("CREATE TABLE default.region USING delta AS SELECT 7 AS code")
    spark.sql("CREATE TABLE default.plain USING parquet AS SELECT 8 AS code")
    try:
        shop.table(
            "codes",
            "SELECT region.code AS a, plain.code AS b"
            " FROM default.region, default.plain, orders WHERE id = 1",
        )
        assert shop.derive("codes", orders=0).parents == {"orders": 0, "default.region": 0}
        assert shop.rows("codes") == [{"a": 7, "b": 8}]
    finally:
        spark.sql("DROP TABLE default.region")
        spark.sql("DROP TABLE default.plain")


def test_a_view_without_rows_is_an_empty_table(shop, totals):
    shop.table("none", "SELECT id FROM orders WHERE false")
    assert shop.derive("none", orders=0).rows == 0
    assert shop.rows("none") == []


def test_new_tables_carry_the_properties_that_children_and_readers_need(shop, totals):
    shop.derive("totals", orders=0)
    derived = deltalake.DeltaTable(shop.path("totals"))
    assert derived.metadata().configuration == {
        "delta.checkpointInterval": "40",
        "delta.enableChangeDataFeed": "true",
        "delta.enableDeletionVectors": "false",
        "delta.logRetentionDuration": "interval 36500 days",
    }
    assert derived.protocol().min_reader_version == 1
    base = deltalake.DeltaTable(shop.path("orders"))
    assert base.metadata().configuration["delta.logRetentionDuration"] == "interval 36500 days"


def test_a_query_that_fails_names_the_condition_and_the_file(shop, totals):
    shop.table("bad", "SELECT sum(id) / (count(*) - count(*)) AS x FROM orders")
    with pytest.raises(UserError) as raised:
        shop.derive("bad", orders=0)
    assert raised.value.what == (
        "the query of table bad failed: Division by zero. Use `try_divide` to tolerate divisor"
        ' being 0 and return NULL instead. If necessary set "spark.sql.ansi.enabled" to "false"'
        " to bypass this error (DIVIDE_BY_ZERO)"
    )
    assert version(shop.path("bad")) is None


def test_a_version_that_is_gone_is_said(shop, totals):
    with pytest.raises(Exception, match=r"totals was not updated|query of table totals failed"):
        shop.derive("totals", orders=17)


def test_two_updates_at_once_do_not_see_each_other(shop, totals):
    from concurrent.futures import ThreadPoolExecutor

    shop.table("a", "SELECT count(*) AS n FROM orders")
    shop.table("b", "SELECT max(id) AS n FROM orders")
    requests = [
        shop.request(table, parents={"orders": pin}) for pin in (0, 1, 0) for table in ("a", "b")
    ]
    executor = shop.executor

    def run(table: str) -> list[tuple[int, int]]:
        done = []
        for request in requests:
            if request.table == table:
                executor.run(request)
                done.append((request.parents["orders"], shop.rows(table)[0]["n"]))
        return done

    with ThreadPoolExecutor(2) as threads:
        a, b = threads.map(run, ("a", "b"))
    assert a == [(0, 2), (1, 3), (0, 2)]
    assert b == [(0, 2), (1, 3), (0, 2)]


def test_a_message_that_is_a_mere_name_is_told_with_what_it_means(spark):
    with pytest.raises(Py4JJavaError) as raised:
        spark._jvm.java.lang.Class.forName("no.such.Catalog")
    assert one_line(raised.value) == "java.lang.ClassNotFoundException: no.such.Catalog"
