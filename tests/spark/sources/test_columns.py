"""Columns of a Delta source: mapped by id, changed without a row, and with names that need AS."""

from __future__ import annotations

import pytest

from freshline.core.errors import UserError
from freshline.delta.log import last_commit
from tests.spark.sources.world import World, how
from tests.support.share import share

pytestmark = pytest.mark.spark

MAPPED = "USING delta TBLPROPERTIES ('delta.columnMapping.mode' = '{}')"
COLUMNS = "id BIGINT, kind STRING, price BIGINT"


def loaded(shop, mode, columns=COLUMNS, row="1, 'a', 2"):
    """A source with columns mapped in this mode and one row, which is loaded."""
    world = World(shop)
    world.sql(f"CREATE TABLE SOURCE ({columns}) {MAPPED.format(mode)}")
    world.sql(f"INSERT INTO SOURCE VALUES ({row})")
    world.load(*world.news().files)
    return world


def base(shop):
    return sorted(tuple(row.values()) for row in shop.rows("orders"))


def test_columns_mapped_by_id_are_loaded(shop):
    world = loaded(shop, "id")
    world.sql("ALTER TABLE SOURCE DROP COLUMN price")
    world.sql("ALTER TABLE SOURCE ADD COLUMN price BIGINT")
    world.sql("INSERT INTO SOURCE VALUES (2, 'b', 3)")
    world.load(*world.news().files)
    world.sql("INSERT INTO SOURCE VALUES (3, 'c', 4)")
    world.load(*world.news().files)
    assert base(shop) == [(1, "a", None), (2, "b", 3), (3, "c", 4)]
    assert world.verified() == "right"


@pytest.mark.parametrize(
    "statement",
    share(["DROP COLUMN price", "RENAME COLUMN price TO cost", "ADD COLUMN note STRING"], part=2),
)
def test_columns_that_change_without_a_row_change_here(shop, statement):
    world = loaded(shop, "name")
    world.sql(f"ALTER TABLE SOURCE {statement}")
    news = world.news()
    world.load(*news.files)
    commit = last_commit(shop.path("orders"))
    assert commit is not None
    # `status` says that this version is in the base table.
    assert commit.metadata["parents"] == {"orders_feed": news.version}
    there = shop.session.read.format("delta").load(world.at).columns
    assert shop.session.read.format("delta").load(shop.path("orders")).columns == there


def test_what_says_something_of_a_column_loads_nothing_again(shop):
    world = loaded(shop, "none")
    world.sql("ALTER TABLE SOURCE ALTER COLUMN price COMMENT 'in cents'")
    files = world.news().files
    assert (how(world.load(*files)) if files else None) in (None, ("append", "row-wise", 0))
    world.sql("ALTER TABLE SOURCE SET TBLPROPERTIES ('a' = 'b')")
    assert world.news().files == []


@pytest.mark.parametrize("name", share(["the kind", "a,b", "_change_type"], part=2))
def test_a_name_that_comes_while_running_and_cannot_be_stored_says_what_to_do(shop, name):
    world = loaded(shop, "name", "id BIGINT", "1")
    world.sql(f"ALTER TABLE SOURCE ADD COLUMN `{name}` STRING")
    world.sql("INSERT INTO SOURCE VALUES (2, 'x')")
    with pytest.raises(UserError) as refused:
        world.load(*world.news().files)
    assert refused.value.code == "bad-column-name"
    assert refused.value.next_step.endswith("with AS.")
    world.sql(f"ALTER TABLE SOURCE DROP COLUMN `{name}`")
    world.load(*world.news().files)
    assert base(shop) == [(1,), (2,)]


@pytest.mark.parametrize(
    "item",
    [
        "to_csv(struct(*)) AS line",
        "price + 1 AS note, note * 2 AS twice",  # of the alias, until there is a column
    ],
)
def test_columns_that_decide_what_older_rows_are_load_all_again(shop, item):
    world = World(shop)
    shop.tables = []
    shop.table("orders", f"SELECT id, {item} FROM STREAM orders_feed")
    world.append((1, "a", 10))
    world.load(*world.news().files)
    world.sql("ALTER TABLE SOURCE ADD COLUMN note BIGINT")
    world.sql("INSERT INTO SOURCE (id, kind, price) VALUES (2, 'b', 20)")
    assert how(world.load(*world.news().files))[:2] == ("full", "source-redefined")
    assert world.verified() == "right"
