"""Real Delta tables that others dropped, remade, restored or changed: nothing more is loaded."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

from freshline.core.errors import PlatformError, UserError
from freshline.delta.log import version
from tests.spark.conftest import Shop

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def three_updates(spark, tmp_path_factory):
    """A base table of three updates."""
    shop = Shop(tmp_path_factory.mktemp("three"), spark)
    shop.feed("orders_feed", "csv", "id BIGINT")
    shop.table("orders", "SELECT id FROM STREAM orders_feed")
    for number in (1, 2, 3):
        shop.load("orders", written(shop, number), filled=number > 1)
    return shop


def written(shop, number: int) -> str:
    name = f"{number}.csv"
    (shop.root / "feed" / "orders_feed" / name).write_text(f"{number}\n")
    return name


@pytest.fixture
def orders(shop, three_updates):
    """The same in a copy, and what adds a file to its feed."""
    shop.begin_as(three_updates)
    return lambda number: written(shop, number)


def ids(shop):
    return [row["id"] for row in shop.rows("orders")]


def refused(shop, file):
    with pytest.raises(PlatformError) as error:
        shop.load("orders", file, filled=True)
    return error.value.code


def test_a_table_that_is_gone_is_not_begun_again(shop, orders):
    shutil.rmtree(shop.path("orders"))
    assert refused(shop, orders(4)) == "table-vanished"
    assert not Path(shop.path("orders")).exists()
    assert shop.load("orders", "1.csv", "2.csv", "3.csv", "4.csv", filled=True, full=True).rows == 4
    shop.load("orders", orders(5), filled=True)
    assert ids(shop) == [1, 2, 3, 4, 5]


def test_another_table_in_its_place_is_not_loaded_into(shop, orders):
    shutil.rmtree(shop.path("orders"))
    for number in (1, 2, 3):  # as many versions as there were
        deltalake.write_deltalake(
            shop.path("orders"), pa.table({"id": pa.array([number], pa.int64())}), mode="append"
        )
    assert version(shop.path("orders")) == 2
    assert refused(shop, orders(4)) == "table-replaced"
    shop.load("orders", "4.csv", filled=True, accepted=2)
    assert ids(shop) == [1, 2, 3, 4]


@pytest.mark.parametrize("command", ["RESTORE TABLE {} TO VERSION AS OF 1", "DELETE FROM {}"])
def test_rows_that_others_took_stop_the_next_update(shop, spark, orders, command):
    spark.sql(command.format(f"delta.`{shop.path('orders')}`"))
    left = ids(shop)
    assert refused(shop, orders(4)) == "table-changed"
    shop.load("orders", "4.csv", filled=True, accepted=version(shop.path("orders")))
    shop.load("orders", orders(5), filled=True)
    assert ids(shop) == [*left, 4, 5]


def test_what_changes_no_row_stops_nothing(shop, spark, orders):
    name = f"delta.`{shop.path('orders')}`"
    spark.sql(f"OPTIMIZE {name}")
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.checkpointInterval' = '7')")
    shop.load("orders", orders(4), filled=True)
    assert ids(shop) == [1, 2, 3, 4]


@pytest.mark.parametrize("command", ["RENAME COLUMN id TO number", "DROP COLUMN id"])
def test_a_column_that_others_take_stops_the_next_update(shop, spark, orders, command):
    name = f"delta.`{shop.path('orders')}`"
    spark.sql(f"ALTER TABLE {name} ADD COLUMN note STRING")
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    shop.load("orders", orders(4), filled=True)
    spark.sql(f"ALTER TABLE {name} {command}")
    assert refused(shop, orders(5)) == "table-changed"
    shop.restart()
    assert refused(shop, "5.csv") == "table-changed"
    files = [f"{number}.csv" for number in (1, 2, 3, 4, 5)]
    with pytest.raises(UserError) as error:  # Delta refuses other columns and rows at once
        shop.load("orders", *files, filled=True, full=True)
    assert error.value.code == "columns-mapped"
    assert f"folder is {shop.path('orders')}: keep a copy of it, and delete it" in str(error.value)
    assert "loads the files that are still in the feed" in str(error.value)
    shutil.rmtree(shop.path("orders"))
    shop.load("orders", *files, filled=True, full=True)
    assert ids(shop) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("command", ["RENAME COLUMN note TO memo", "DROP COLUMN note"])
def test_a_column_that_others_added_themselves_stops_nothing(shop, spark, orders, command):
    name = f"delta.`{shop.path('orders')}`"
    spark.sql(f"ALTER TABLE {name} ADD COLUMN note STRING")
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    shop.load("orders", orders(4), filled=True)
    spark.sql(f"ALTER TABLE {name} {command}")
    shop.load("orders", orders(5), filled=True)
    shop.restart()
    shop.load("orders", orders(6), filled=True)
    assert ids(shop) == [1, 2, 3, 4, 5, 6]


def test_rows_that_others_take_during_an_update_stop_the_one_after_it(
    shop, spark, orders, monkeypatch
):
    from freshline.spark.feeds import base

    deleted = threading.Event()

    def at(name: str) -> None:
        if name == "base.before_commit" and not deleted.is_set():
            deleted.set()
            spark.sql(f"DELETE FROM delta.`{shop.path('orders')}` WHERE id = 1")

    monkeypatch.setattr(base, "failpoint", at)
    shop.load("orders", orders(4), filled=True)
    assert ids(shop) == [2, 3, 4]
    assert refused(shop, orders(5)) == "table-changed"
    shop.restart()
    assert refused(shop, "5.csv") == "table-changed"
    shop.load("orders", "5.csv", filled=True, accepted=version(shop.path("orders")))
    shop.restart()
    shop.load("orders", orders(6), filled=True)
    assert ids(shop) == [2, 3, 4, 5, 6]


def test_no_view_is_built_over_rows_of_others(shop, orders):
    shop.table("copied", "SELECT id FROM orders")
    rows = pa.table({"id": pa.array([7], pa.int64())})
    deltalake.write_deltalake(shop.path("copied"), rows)
    pins = {"orders": version(shop.path("orders"))}
    with pytest.raises(PlatformError) as error:
        shop.executor.run(shop.request("copied", parents=pins))
    assert error.value.code == "table-replaced"
    assert [row["id"] for row in shop.rows("copied")] == [7]
    shop.executor.run(shop.request("copied", parents=pins, accepted=0))
    shop.restart()
    shop.derive("copied", **pins)
    assert [row["id"] for row in shop.rows("copied")] == [1, 2, 3]
