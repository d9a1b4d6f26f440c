"""Base tables over a Delta table that somebody else appends to, changes, restores and remakes."""

from __future__ import annotations

import shutil
from pathlib import Path

import deltalake
import pytest

from freshline.core.errors import PlatformError
from freshline.executor.source import SourceMissingError
from freshline.project.definition import definition_of
from freshline.spark.engine.own_session import own_session
from freshline.spark.engine.pins import pin_statics
from freshline.spark.feeds.source_reader import StepReader
from tests.spark.sources.world import APPENDED, World, arrow, how
from tests.spark.views.proving import session_in
from tests.support.share import WHOLE, share

pytestmark = pytest.mark.spark


@pytest.fixture
def world(shop):
    """What is appended means no more to a view than what files bring, which others test."""
    return World(shop, follows=WHOLE)


def names(news):
    return [int(file.name[:20]) for file in news.files]


def test_versions_are_loaded_once_each_as_they_come(world):
    world.append((1, "a", 10), (2, "b", 20))
    world.append((3, "a", 30))
    first = world.sync()
    assert (*how(first), first.parents) == (*APPENDED, 3, {"orders_feed": 1})
    assert world.sync() is None
    world.append((4, "a", 1))
    world.append((5, "b", 2))
    news = world.news()
    assert names(news) == [2, 3]
    one = world.load(news.files[0])
    assert (*how(one), one.parents) == (*APPENDED, 1, {"orders_feed": 2})
    both = world.load(*news.files)  # the first of them again
    assert (*how(both), both.parents) == (*APPENDED, 1, {"orders_feed": 3})
    again = world.load(*news.files)
    assert (*how(again), again.parents) == (*APPENDED, 0, {"orders_feed": 3})
    world.check()
    assert world.verified() == "right"


def test_a_new_process_loads_what_no_commit_has(world):
    world.append((1, "a", 10))
    world.sync()
    world.append((2, "a", 10))
    world.append((2, "a", 10))
    lost = world.news()  # told, and not loaded
    assert names(lost) == [1, 2]
    world.shop.restart()
    world.known.clear()  # the journal is lost, too
    world.listing = world.listen()
    assert how(world.sync()) == (*APPENDED, 2)
    world.listing = world.listen()
    assert world.sync() is None


def test_files_that_are_put_together_are_not_loaded_again(world):
    for number in range(4):
        world.append((number, "a", number))
    world.sync()
    world.append((4, "b", 4))
    world.source.optimize.compact()
    world.append((5, "b", 5))
    result = world.sync()
    assert (*how(result), result.parents) == (*APPENDED, 2, {"orders_feed": 6})


def change(world, operation):
    source = world.source
    if operation == "DELETE":
        source.delete("id = 1")
    elif operation == "UPDATE":
        source.update(updates={"price": "price + 1"}, predicate="id = 2")
    elif operation == "MERGE":
        (
            source.merge(
                arrow([(2, "b", 7), (9, "c", 9)]), "t.id = s.id",
                source_alias="s", target_alias="t",
            ).when_matched_update_all().when_not_matched_insert_all().execute()
        )  # fmt: skip
    elif operation == "WRITE":
        deltalake.write_deltalake(world.at, arrow([(7, "z", 7)]), mode="overwrite")
    else:
        source.restore(0)


@pytest.mark.parametrize(
    "operation", share(["DELETE", "UPDATE", "WRITE", "MERGE", "RESTORE"], part=3)
)
def test_rows_that_are_changed_are_changed_here(world, operation):
    world.append((1, "a", 10), (2, "b", 20))
    world.append((3, "a", 30))
    world.sync()
    world.append((4, "a", 40))
    change(world, operation)
    world.append((5, "b", 50))
    news = world.news()
    assert names(news) == [2, 3, 4]
    assert news.notices == [
        (
            f"feed orders_feed: version 3 ({operation}) changed or removed rows; orders is loaded"
            " again in full"
        )
    ]
    result = world.load(*news.files)
    assert (result.strategy, result.code, result.reason) == (
        "full", "source-rewrote",
        f"all of the feed's table is loaded again: version 3 ({operation}) changed or removed rows",
    )  # fmt: skip
    world.check()
    assert world.verified() == "right"
    world.append((6, "b", 60))
    assert how(world.sync()) == (*APPENDED, 1)


def test_what_left_the_log_or_the_disk_is_loaded_with_the_newest_version(world):
    world.append((1, "a", 10))
    world.sync()
    for number in range(2, 5):
        world.append((number, "a", number))
    early = world.news()
    world.source.optimize.compact()
    world.source.vacuum(0, dry_run=False, enforce_retention_duration=False)
    result = world.load(*early.files)  # whose files are gone
    assert (result.strategy, result.code, result.rows) == ("full", "source-files-gone", 4)
    assert result.parents == {"orders_feed": world.source.version()}
    world.check()
    for number in range(5, 8):
        world.append((number, "a", number))
    world.source.create_checkpoint()
    for version in range(world.source.version() - 1):
        (Path(world.at) / "_delta_log" / f"{version:020d}.json").unlink()
    result = world.sync()
    assert (result.strategy, result.code, result.rows) == ("full", "source-log-gone", 7)


def test_a_table_made_again_is_refused_until_somebody_chooses(world):
    world.append((1, "a", 10), (2, "b", 20))
    world.sync()
    old = world.at + ".old"
    shutil.move(world.at, old)
    with pytest.raises(SourceMissingError) as missing:
        world.news()
    assert missing.value.render().startswith(
        "[source-missing] freshline.yml:7: feed orders_feed: there is no Delta table"
    )
    world.append((7, "c", 70))
    for number in range(3):
        world.append((number, "c", 70))
    with pytest.raises(PlatformError) as refused:
        world.news()
    assert refused.value.code == "source-replaced"
    with pytest.raises(PlatformError) as refused:
        world.load()  # whoever asks for it
    assert refused.value.code == "source-replaced"
    assert len(world.shop.rows("orders")) == 2
    result = world.load(full=True)
    assert (result.strategy, result.code, result.rows) == ("full", "requested", 4)
    world.check()
    assert world.sync() is None
    world.append((8, "c", 80))
    assert how(world.sync()) == (*APPENDED, 1)
    world.declare("reload")
    shutil.rmtree(world.at)
    shutil.move(old, world.at)
    world.listing = world.listen()
    result = world.sync()
    assert (result.strategy, result.code, result.rows) == ("full", "source-replaced", 2)


def test_a_query_that_changed_is_loaded_again(world):
    world.append((1, "a", 10))
    world.sync()
    world.shop.table("orders", "SELECT id, upper(kind) AS kind, price FROM STREAM orders_feed")
    world.append((2, "b", 20))
    result = world.load(*world.news().files)
    assert (result.strategy, result.code, result.rows) == ("full", "definition-changed", 2)
    assert [row["kind"] for row in world.shop.rows("orders")] == ["A", "B"]


def test_settings_that_decide_rows_load_all_again(world, spark):
    """`The base table always equals its query over one version of the source.`"""
    shop, hour = world.shop, "date_format(timestamp_seconds(price), 'HH')"
    query = f"SELECT id, {hour} || '${{spark.shop.who}}' AS kind, price FROM STREAM orders_feed"
    shop.table("orders", query)
    for number, zone, who, why, kinds in (
        (1, "UTC", "ann", APPENDED, ["00ann"]),
        (2, "UTC", "ann", APPENDED, ["00ann"] * 2),
        (3, "Asia/Tokyo", "ann", ("full", "settings-changed"), ["09ann"] * 3),
        (4, "Asia/Tokyo", "bob", ("full", "settings-changed"), ["09bob"] * 4),
        (5, "Asia/Tokyo", "bob", APPENDED, ["09bob"] * 5),
    ):
        shop.session = session_in(spark, zone, {"spark.shop.who": who})
        shop.restart()
        world.listing = world.listen()
        world.append((number, "", 0))
        result = world.load(*world.news().files)
        assert how(result)[:2] == why
        assert [row["kind"] for row in shop.rows("orders")] == kinds
        assert world.verified() == "right"
    shop.session = session_in(spark, "UTC", {"spark.shop.who": "bob"})
    assert world.verified() == "right"  # under the settings that its commit says


def test_a_table_of_which_no_settings_are_known_is_not_loaded_again(world, monkeypatch):
    """As earlier versions of freshline left it."""
    world.append((1, "a", 10))
    with monkeypatch.context() as then:
        said = StepReader.facts
        then.setattr(
            StepReader,
            "facts",
            lambda self, schema: {k: v for k, v in said(self, schema).items() if k != "settings"},
        )
        world.sync()
    world.append((2, "b", 20))
    assert how(world.sync()) == (*APPENDED, 1)


def test_a_table_by_its_name_with_its_catalog(shop):
    """As a feed, and as a static table of a view."""
    session = shop.session
    session.sql("CREATE DATABASE IF NOT EXISTS sources")
    session.sql("DROP TABLE IF EXISTS sources.named")
    world = World(shop, table="Spark_Catalog.sources.`named`")
    session.sql(
        f"CREATE TABLE sources.named (id BIGINT, kind STRING, price BIGINT) USING delta"
        f" LOCATION '{world.at}'"
    )
    world.append((1, "a", 10))
    assert how(world.sync()) == (*APPENDED, 1)
    query = "SELECT o.id, n.kind FROM orders o JOIN spark_catalog.sources.`named` n USING (id)"
    shop.table("joined", query)
    pinned = pin_statics(session, shop.project.table("joined"))
    assert pinned.versions == {"spark_catalog.sources.named": 1}
    session.sql("DROP TABLE sources.named")


def test_a_static_table_of_another_catalog_has_no_versions(shop):
    """Of Spark's catalog for JDBC, over Derby."""
    name = "spark.sql.catalog.erp"
    settings = {
        name: "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
        f"{name}.url": f"jdbc:derby:;databaseName={shop.root / 'erp'};create=true",
        f"{name}.driver": "org.apache.derby.iapi.jdbc.AutoloadedDriver",
    }
    world = World(shop)
    world.append((1, "a", 10))
    world.sync()
    query = "SELECT o.id, p.title FROM orders o JOIN erp.app.`products` p USING (id)"
    shop.table("joined", query, settings=settings)
    session = own_session(shop.session, shop.project.table("joined"))
    session.sql("CREATE TABLE erp.app.products (id BIGINT, title STRING)")
    session.sql("INSERT INTO erp.app.products VALUES (1, 'tea')")
    pinned = pin_statics(session, shop.project.table("joined"))
    assert (pinned.query, pinned.versions) == (query, {})
    shop.derive("joined", orders=0)
    assert shop.rows("joined") == [{"id": 1, "title": "tea"}]


def test_a_table_by_its_name_wherever_it_is(shop):
    session = shop.session
    session.sql("CREATE DATABASE IF NOT EXISTS sources")
    session.sql("DROP TABLE IF EXISTS sources.orders")
    world = World(shop, table="sources.orders")
    with pytest.raises(SourceMissingError):
        world.news()
    session.sql(
        f"CREATE TABLE sources.orders (id BIGINT, kind STRING, price BIGINT) USING delta"
        f" LOCATION '{world.at}'"
    )
    world.append((1, "a", 10))
    assert how(world.sync()) == (*APPENDED, 1)
    session.sql("INSERT INTO sources.orders VALUES (2, 'b', 20)")
    assert how(world.sync()) == (*APPENDED, 1)
    session.sql("DROP TABLE sources.orders")
    world.at += "2"
    session.sql(
        f"CREATE TABLE sources.orders (id BIGINT, kind STRING, price BIGINT) USING delta"
        f" LOCATION '{world.at}'"
    )
    world.listing = world.listen()
    with pytest.raises(PlatformError) as refused:
        world.news()
    assert refused.value.code == "source-replaced"
    session.sql("DROP TABLE sources.orders")
    session.sql("CREATE TABLE sources.orders (id BIGINT) USING parquet")
    with pytest.raises(SourceMissingError):
        world.news()
    session.sql("DROP TABLE sources.orders")


def test_missing_files_are_never_read_as_no_rows(world):
    world.append((1, "a", 10))
    world.sync()
    world.append((2, "b", 20))
    news = world.news()
    definition = definition_of(world.shop.project.table("orders"))
    for file in Path(world.at).glob("*.parquet"):
        file.unlink()
    ignoring = {"spark.sql.files.ignoreMissingFiles": "true"}
    world.shop.table("orders", "SELECT * FROM STREAM orders_feed", settings=ignoring)
    with pytest.raises(PlatformError):
        world.load(*news.files, definition=definition)
    assert len(world.shop.rows("orders")) == 1


def test_the_base_table_is_like_any_other(world):
    world.append((1, "a", 10))
    world.sync()
    world.append((2, "b", 20))
    world.sync()
    world.load(upkeep="compact")
    world.append((3, "c", 30))
    assert how(world.sync()) == (*APPENDED, 1)
    deltalake.write_deltalake(world.shop.path("orders"), arrow([(9, "x", 9)]), mode="append")
    world.append((4, "c", 40))
    with pytest.raises(PlatformError) as refused:
        world.load(*world.news().files)
    assert refused.value.code == "table-changed"
    assert world.load(full=True).rows == 4
    world.check()
