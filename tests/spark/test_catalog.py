"""Tables are found by name: registered, corrected, never taken from others, dropped when asked."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace

import deltalake
import pytest

from freshline.core.errors import UserError
from freshline.project.model import CatalogSettings
from freshline.spark.catalog import CatalogNames, Registering
from freshline.spark.updates import SparkExecutor
from tests.spark.conftest import Shop

pytestmark = pytest.mark.spark

DATABASE = CatalogSettings("shop_db")


@pytest.fixture(scope="module")
def sold(spark, tmp_path_factory):
    """A base table with one row and comments."""
    shop = Shop(tmp_path_factory.mktemp("sold"), spark)
    path = shop.feed("sold", "csv", "id BIGINT, at TIMESTAMP")
    (path / "a.csv").write_text("1,2026-01-01T00:00:00Z\n")
    shop.table(
        "orders",
        "SELECT id, at AS sold_at FROM STREAM sold",
        comment="It's what was sold.",
        columns=(("id", "Of the order"), ("sold_at", None)),
    )
    shop.load("orders", "a.csv")
    return shop


@pytest.fixture
def names(shop, spark, sold):
    shop.begin_as(sold)
    yield CatalogNames(shop.project, DATABASE, spark)
    spark.sql("DROP DATABASE IF EXISTS `shop_db` CASCADE")


def test_a_table_is_found_by_its_name_with_its_comments(names, spark):
    assert [names.register("orders"), names.register("orders")] == [True, False]
    assert [row.id for row in spark.sql("SELECT * FROM `shop_db`.orders").collect()] == [1]
    told = {
        row.col_name: row.data_type if row.col_name == "Comment" else row.comment
        for row in spark.sql("DESCRIBE TABLE EXTENDED `shop_db`.orders").collect()
    }
    assert told["id"] == "Of the order"
    assert told["sold_at"] is None
    assert told["Comment"] == "It's what was sold."


def test_comments_follow_the_definition_with_the_next_commit(names, shop, spark):
    assert names.register("orders")
    shop.table(
        "orders",
        "SELECT id, at AS sold_at FROM STREAM sold",
        comment="Orders",
        columns=(("id", None), ("sold_at", "When it was sold")),
    )
    (shop.root / "feed/sold/b.csv").write_text("2,2026-01-01T00:00:00Z\n")
    shop.load("orders", "b.csv")
    table = deltalake.DeltaTable(shop.path("orders"))
    assert table.metadata().description == "Orders"
    columns = json.loads(table.schema().to_json())["fields"]
    assert [each["metadata"] for each in columns] == [{}, {"comment": "When it was sold"}]
    # Every commit still says that it is ours.
    assert [json.loads(each["userMetadata"])["table"] for each in table.history()] == ["orders"] * 2
    assert len(spark.sql("SELECT * FROM `shop_db`.orders").collect()) == 2


def test_a_view_says_what_its_own_columns_mean(names, shop, spark):
    assert names.register("orders")
    shop.table("latest", "SELECT id, max(sold_at) AS at FROM orders GROUP BY id", comment="Last")
    shop.derive("latest", orders=0)
    schema = json.loads(deltalake.DeltaTable(shop.path("latest")).schema().to_json())
    assert [each["metadata"] for each in schema["fields"]] == [{}, {}]
    assert deltalake.DeltaTable(shop.path("latest")).metadata().description == "Last"


def test_a_storage_that_moved_is_found_under_the_same_name(names, shop, spark):
    assert names.register("orders")
    (shop.root / "warehouse").rename(shop.root / "else where")
    project = shop.project
    moved = CatalogNames(replace(project, storage=str(shop.root / "else where")), DATABASE, spark)
    assert [moved.register("orders"), moved.register("orders")] == [True, False]
    spark.catalog.refreshTable("`shop_db`.orders")
    assert spark.sql("SELECT id FROM `shop_db`.orders").collect()[0].id == 1


@pytest.mark.parametrize(
    "made",
    [
        "CREATE TABLE {name} (id BIGINT) USING delta",
        "CREATE TABLE {name} (id BIGINT) USING parquet",
        "CREATE TABLE {name} USING delta LOCATION '{root}/theirs'",
        "CREATE VIEW {name} AS SELECT 1 AS id",
    ],
)
def test_a_name_that_belongs_to_others_stays_theirs(names, shop, spark, made):
    spark.range(3).write.format("delta").save(str(shop.root / "theirs"))
    spark.sql("CREATE DATABASE IF NOT EXISTS `shop_db`")
    spark.sql(made.format(name="`shop_db`.orders", root=shop.root))
    before = spark.sql("SELECT * FROM `shop_db`.orders").collect()
    for what in (names.register, names.drop):
        with pytest.raises(UserError, match=r"spark_catalog.shop_db.orders is another table") as e:
            what("orders")
        assert e.value.code == "name-taken"
        # Of any other kind, DROP TABLE may delete files.
        is_external = "theirs" in made
        assert ("DROP TABLE" in e.value.next_step) == is_external
    assert spark.sql("SELECT * FROM `shop_db`.orders").collect() == before


@pytest.mark.parametrize("what", ["register", "drop"])
def test_the_table_of_that_name_in_another_warehouse_keeps_its_name(
    names, spark, tmp_path_factory, what
):
    """Production and staging have one metastore."""
    assert names.register("orders")
    staging = Shop(tmp_path_factory.mktemp("staging"), spark)
    (staging.feed("sold", "csv", "id BIGINT") / "a.csv").write_text("2\n")
    staging.table("orders", "SELECT id FROM STREAM sold")
    staging.load("orders", "a.csv")
    with pytest.raises(UserError, match=r"spark_catalog.shop_db.orders is another table") as caught:
        getattr(CatalogNames(staging.project, DATABASE, spark), what)("orders")
    assert caught.value.code == "name-taken"
    spark.catalog.refreshTable("`shop_db`.orders")
    assert [row.id for row in spark.sql("SELECT id FROM `shop_db`.orders").collect()] == [1]
    assert not names.register("orders")


@pytest.mark.parametrize("what", ["register", "drop"])
def test_who_refuses_a_name_says_how_to_free_it_from_an_earlier_storage(
    names, shop, spark, tmp_path_factory, what
):
    """The project was loaded anew elsewhere, and nothing tells its old tables from another's."""
    assert names.register("orders")
    anew = Shop(tmp_path_factory.mktemp("anew"), spark)
    (anew.feed("sold", "csv", "id BIGINT") / "a.csv").write_text("2\n")
    anew.table("orders", "SELECT id FROM STREAM sold")
    anew.load("orders", "a.csv")
    there = CatalogNames(anew.project, DATABASE, spark)
    with pytest.raises(UserError, match="in a storage that it had before") as caught:
        getattr(there, what)("orders")
    free = re.search(r"DROP TABLE \S+", caught.value.next_step)
    assert free is not None
    spark.sql(free.group())
    assert there.register("orders")
    assert [row.id for row in spark.sql("SELECT id FROM `shop_db`.orders").collect()] == [2]
    assert len(shop.rows("orders")) == 1


def test_a_storage_that_is_put_back_from_a_copy_elsewhere_is_found(names, shop, spark):
    assert names.register("orders")
    shutil.copytree(shop.root / "warehouse", shop.root / "copy")
    project = replace(shop.project, storage=str(shop.root / "copy"))
    copied = CatalogNames(project, DATABASE, spark)
    assert [copied.register("orders"), copied.register("orders")] == [True, False]
    assert copied.drop("orders")
    assert len(shop.rows("orders")) == 1


def test_a_dropped_name_is_gone_and_its_data_stay(names, shop, spark):
    assert names.register("orders")
    assert [names.drop("orders"), names.drop("orders")] == [True, False]
    assert not spark.catalog.tableExists("`shop_db`.orders")
    assert len(shop.rows("orders")) == 1


def test_a_name_whose_catalog_owns_the_files_is_not_dropped(names, shop, spark):
    """DROP TABLE would delete them."""
    assert names.register("orders")
    catalog, identifier = names._session_catalog("orders")
    known = catalog.getTableMetadata(identifier)
    kinds = spark._jvm.org.apache.spark.sql.catalyst.catalog.CatalogTableType
    catalog.alterTable(with_kind(spark, known, kinds.MANAGED()))
    with pytest.raises(UserError, match="of the kind MANAGED: the catalog may delete") as caught:
        names.drop("orders")
    assert caught.value.code == "name-taken"
    assert len(shop.rows("orders")) == 1
    catalog.alterTable(with_kind(spark, known, kinds.EXTERNAL()))
    assert names.drop("orders")


def with_kind(spark, known, kind):
    """A catalog's facts of a table, with another kind."""
    count = known.productArity()
    values = spark.sparkContext._gateway.new_array(spark._jvm.java.lang.Object, count)
    for at in range(count):
        values[at] = kind if at == 1 else known.productElement(at)
    return known.getClass().getConstructors()[0].newInstance(values)


def test_a_catalog_that_refuses_is_told_once_and_holds_no_update_up(names, shop, spark):
    told: list[str] = []
    refusing = CatalogNames(shop.project, CatalogSettings("shop", "nowhere"), spark)
    registering = Registering(refusing, told.append)
    for _ in range(3):
        registering.add(["orders"])
    registering.close()
    assert len(told) == 1
    assert "orders" in told[0]
    assert "nowhere" in told[0]


def test_the_executor_registers_what_it_finds_and_what_it_makes(names, shop, spark):
    shop.table("latest", "SELECT id, max(sold_at) AS at FROM orders GROUP BY id")
    executor = SparkExecutor(replace(shop.project, catalog=DATABASE), spark)
    executor.run(shop.request("latest", parents={"orders": 0}))
    executor.close_names()
    found = {row.tableName for row in spark.sql("SHOW TABLES IN shop_db").collect()}
    assert {"orders", "latest"} <= found


PROJECT = """\
name: shop
storage: warehouse
libraries:
  - glob: {include: tables.sql}
catalog: {database: shop}
configuration:
  spark.hadoop.javax.jdo.option.ConnectionURL: jdbc:derby:;databaseName=ROOT/metastore;create=true
  spark.sql.warehouse.dir: ROOT/catalog
feeds:
  sold: {kind: files, path: feed, format: csv, schema: "id BIGINT"}
"""
READ = """\
import sys
from pathlib import Path
from freshline.project.load import load_project
from freshline.spark.engine.session import start_session
session = start_session(load_project(Path.cwd()))
print([row.id for row in session.sql("SELECT id FROM shop.orders ORDER BY id").collect()])
print(session.sql("DESCRIBE TABLE shop.orders").collect()[0].comment)
"""


@pytest.mark.proof  # four starts of Spark
def test_another_spark_finds_the_tables_in_a_metastore_until_they_are_dropped(tmp_path):
    (tmp_path / "freshline.yml").write_text(PROJECT.replace("ROOT", str(tmp_path)))
    (tmp_path / "tables.sql").write_text(
        "CREATE STREAMING TABLE orders (id COMMENT 'Of the order') AS SELECT id FROM STREAM sold;"
    )
    (tmp_path / "feed").mkdir()
    (tmp_path / "feed/a.csv").write_text("1\n2\n")

    def run(*command):
        done = subprocess.run(
            [sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    assert "no name" not in run("-m", "freshline", "run", "--until-idle")
    assert "[1, 2]\nOf the order\n" in run("-c", READ)
    assert run("-m", "freshline", "drop", "orders").startswith(
        "spark_catalog.shop.orders is dropped; its data stay at"
        f" {tmp_path}/warehouse/orders. The table is still in the project: the next run registers"
        " it again\n"
    )
    with suppress(AssertionError):
        run("-c", READ)
        pytest.fail("the name was still there")
    assert (tmp_path / "warehouse/orders/_delta_log").is_dir()
