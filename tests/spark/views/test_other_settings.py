"""Views of projects with settings under which Spark reads a query's text in another way."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from freshline.spark.engine.result_settings import read_otherwise
from tests.spark.conftest import Shop
from tests.spark.views.proving import session_in

pytestmark = pytest.mark.spark

VISITS = pa.schema({"at": pa.timestamp("us", "UTC"), "day": pa.date32(), "who": pa.string()})
HOUR = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)


def shop_with(spark, folder: Path, settings: dict[str, str], views: dict[str, str]) -> Shop:
    """A shop in Berlin with these settings, a table of visits, and views of it."""
    shop = Shop(folder, session_in(spark, "Europe/Berlin", settings))
    shop.feed("visits_feed", "parquet", "at TIMESTAMP_LTZ, day DATE, who STRING")
    shop.table("visits", "SELECT * FROM STREAM visits_feed")
    for name, query in views.items():
        shop.table(name, query, refresh="incremental")
    assert not shop.plan().errors
    return shop


def come(shop: Shop, *people: str) -> int:
    rows = [
        {"at": HOUR.replace(hour=number % 3), "day": date(2026, 10, 25 + number % 2), "who": who}
        for number, who in enumerate(people)
    ]
    folder = Path(shop.feeds["visits_feed"].path)
    file = folder / f"{len(list(folder.iterdir()))}.parquet"
    pq.write_table(pa.Table.from_pylist(rows, VISITS), file)
    return shop.load("visits", file.name).version


def updated(shop: Shop, name: str, version: int) -> tuple[str, str]:
    """Updates a view, and compares it with its query as Spark runs it under the same settings."""
    done = shop.derive(name, visits=version)
    session = shop.session.newSession()
    session.read.format("delta").load(shop.path("visits")).createOrReplaceTempView("visits")
    expected = session.sql(shop.project.table(name).query).toArrow().to_pylist()
    assert shop.rows(name) == sorted(expected, key=repr)
    return done.strategy, done.code


@pytest.mark.parametrize(
    ("setting", "value", "query"),
    [
        (
            "spark.sql.orderByOrdinal",
            "false",
            "SELECT who, count(*) AS n FROM visits GROUP BY who ORDER BY 2 DESC, who LIMIT 1",
        ),
    ],
)
def test_a_query_that_means_something_else_is_computed_in_full(
    setting, value, query, spark, tmp_path
):
    shop = shop_with(spark, tmp_path, {setting: value}, {"v": query})
    told = [updated(shop, "v", come(shop, *people)) for people in ("abb", "abb")]
    assert told == [("full", "first-build"), ("full", "SETTING")]
    assert f"with {setting} = {value} a query" in str(shop.plans["v"].merge)


def test_settings_that_leave_the_meaning_alone_cost_nothing(spark):
    for settings, told in (
        ({"spark.sql.shop.region": "'eu'", "spark.sql.caseSensitive": "FALSE"}, None),
        ({"spark.sql.parquet.compression.codec": "zstd", "spark.sql.ansi.enabled": "false"}, None),
        ({"spark.sql.caseSensitive": "true"}, "spark.sql.caseSensitive = true"),
        (
            {"spark.sql.legacy.setopsPrecedence.enabled": "true"},
            "spark.sql.legacy.setopsPrecedence.enabled = true",
        ),
        ({"spark.sql.optimizer.maxIterations": "200"}, None),
        ({"spark.sql.execution.pythonUDF.arrow.enabled": "false"}, None),
        (
            {"spark.sql.optimizer.decorrelateSubqueryLegacyIncorrectCountHandling.enabled": "true"},
            "spark.sql.optimizer.decorrelateSubqueryLegacyIncorrectCountHandling.enabled = true",
        ),
    ):
        assert read_otherwise(session_in(spark, "UTC", settings).newSession()) == told


def test_where_timestamp_means_one_without_a_zone_groups_and_buckets_are_computed_again(
    spark, tmp_path
):
    """Instants in our own SQL are TIMESTAMP_LTZ, whatever TIMESTAMP is."""
    views = {
        "days": "SELECT day, count(*) AS n FROM visits GROUP BY day",
        "walls": "SELECT CAST(at AS TIMESTAMP) AS wall, max(who) AS w FROM visits GROUP BY 1",
        "texts": "SELECT to_timestamp(concat('2026-10-25 0', length(who), ':00:00')) AS t,"
        " count(*) AS n FROM visits GROUP BY 1",
    }
    shop = shop_with(spark, tmp_path, {"spark.sql.timestampType": "TIMESTAMP_NTZ"}, views)
    version = come(shop, "a", "bb", "a", "ccc", "bb")
    for name in views:
        assert updated(shop, name, version) == ("full", "first-build")
    table = deltalake.DeltaTable(shop.path("visits"))
    table.delete("who = 'bb'")
    told = {name: updated(shop, name, table.version())[0] for name in views}
    assert told == {
        "days": "bucket-recompute",
        "walls": "bucket-recompute",
        "texts": "group-recompute",
    }


def test_hours_of_wall_clocks_are_computed_again_where_clocks_are_put_back(spark, tmp_path):
    """Both 02:30 of that night are of the hour that began at 00:00 UTC, by the query."""
    views = {
        # percentile_approx keeps these from being merged: buckets are the way.
        "hours": "SELECT date_trunc('HOUR', CAST(at AS TIMESTAMP)) AS h, count(*) AS n,"
        " percentile_approx(length(who), 0.5) AS p FROM visits GROUP BY 1",
        "meetings": "SELECT CAST(a.at AS TIMESTAMP) AS at, count(*) AS n, percentile_approx("
        "length(b.who), 0.5) AS p FROM visits a JOIN visits b ON CAST(a.at AS TIMESTAMP) = b.at"
        " GROUP BY 1",
    }
    shop = shop_with(spark, tmp_path, {"spark.sql.timestampType": "TIMESTAMP_NTZ"}, views)
    folder = Path(shop.feeds["visits_feed"].path)
    told = []
    for number in range(2):
        row = {"at": HOUR.replace(hour=number), "day": date(2026, 10, 25), "who": "abc"}
        pq.write_table(pa.Table.from_pylist([row], VISITS), folder / f"{number}.parquet")
        version = shop.load("visits", f"{number}.parquet").version
        told = [updated(shop, name, version)[0] for name in views]
    assert told[0] == "bucket-recompute"


@pytest.mark.parametrize("few", [5_000, pytest.param(0, marks=pytest.mark.proof)])
def test_groups_of_rows_held_in_the_driver_are_those_of_the_sessions_settings(
    few, spark, tmp_path, monkeypatch
):
    """Spark's tasks ask for these settings while they run."""
    monkeypatch.setattr("freshline.spark.engine.in_driver.MOST_ROWS", few)
    views = {
        "weekdays": "SELECT date_format(at, 'u') AS day, count(*) AS n FROM visits GROUP BY 1",
        "maps": "SELECT map('k', who, 'k', upper(who))['k'] AS k, count(*) AS n FROM visits"
        " WHERE who IS NOT NULL GROUP BY 1",
    }
    settings = {
        "spark.sql.legacy.timeParserPolicy": "LEGACY",
        "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
        # Beside these: without it nobody could count the rows that are written.
        "spark.databricks.delta.stats.collect": "false",
    }
    shop = shop_with(spark, tmp_path, settings, views)
    version = come(shop, "a", "b", "a", "c")
    for name in views:
        assert updated(shop, name, version) == ("full", "first-build")
    table = deltalake.DeltaTable(shop.path("visits"))
    table.delete("who = 'b'")
    for name in views:
        assert updated(shop, name, table.version()) == ("group-recompute", "groups")
    version = come(shop, "b", "d", "a")
    for name in views:
        assert updated(shop, name, version)[0] == "group-merge"


def test_what_is_loaded_again_leaves_no_partition_behind(shop):
    dynamic = {"spark.sql.sources.partitionOverwriteMode": "dynamic"}
    folder = shop.feed("f", "csv", "id BIGINT, kind STRING")
    query = "SELECT * FROM STREAM f"
    shop.table("e", query, partitioned_by=("kind",), settings=dynamic)
    query = "SELECT count(DISTINCT id) AS n, kind FROM e GROUP BY kind HAVING count(*) < 2"
    shop.table("rare", query, partitioned_by=("kind",), settings=dynamic, refresh="incremental")
    (folder / "0.csv").write_text("1,a\n2,b\n")
    shop.load("e", "0.csv")
    shop.derive("rare", e=0)
    (folder / "1.csv").write_text("3,a\n")
    shop.load("e", "1.csv")
    assert shop.derive("rare", e=1).strategy == "group-merge"
    assert shop.rows("rare") == [{"n": 1, "kind": "b"}]
    (folder / "0.csv").write_text("1,c\n")
    (folder / "1.csv").write_text("3,c\n")
    shop.load("e", "0.csv", "1.csv", full=True)
    assert [row["kind"] for row in shop.rows("e")] == ["c", "c"]


def test_times_are_written_as_they_are(shop):
    folder = shop.feed("f", "csv", "at TIMESTAMP")
    cut = {"spark.sql.parquet.outputTimestampType": "timestamp_millis"}
    shop.table("e", "SELECT * FROM STREAM f", settings=cut)
    (folder / "0.csv").write_text("2026-10-25T00:30:00.123456Z\n")
    shop.load("e", "0.csv")
    assert shop.rows("e") == [{"at": HOUR.replace(microsecond=123456)}]
