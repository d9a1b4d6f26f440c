"""Whatever is done to the source, and whenever it is looked at: the base table is what it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import deltalake
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.spark.conftest import Shop
from tests.spark.sources.world import APPENDED, World, arrow, how
from tests.support.share import WHOLE

pytestmark = pytest.mark.spark

Row = tuple[int, str, int]

ROWS = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.sampled_from(["a", "b", "\N{LATIN SMALL LETTER E WITH ACUTE}"]),
        st.integers(-3, 3),
    ),
    min_size=1,
    max_size=3,
)
IDS = st.integers(0, 4)
OPERATIONS = st.one_of(
    st.tuples(st.just("append"), ROWS),
    st.tuples(st.just("append"), ROWS),
    st.tuples(st.just("overwrite"), ROWS),
    st.tuples(st.just("delete"), IDS),
    st.tuples(st.just("update"), IDS),
    st.tuples(st.just("optimize"), st.none()),
    st.tuples(st.just("vacuum"), st.none()),
    st.tuples(st.just("restore"), st.integers(1, 3)),
    st.tuples(st.just("forget the log"), st.none()),
    st.tuples(st.just("restart"), st.booleans()),
    st.tuples(st.just("look"), st.none()),
    st.tuples(st.just("sync"), st.none()),
)


@dataclass
class Oracle:
    """The source's rows by its versions, kept by nobody but this."""

    rows: list[Row] = field(default_factory=list)
    versions: dict[int, list[Row]] = field(default_factory=dict)
    readable_since: int = 0

    def now(self, world: World, rows: list[Row]) -> None:
        self.rows = rows
        self.versions[world.source.version()] = rows


def carried_out(world, oracle, what, argument):
    source = world.source
    if what == "append":
        world.append(*argument)
        oracle.now(world, [*oracle.rows, *argument])
    elif what == "overwrite":
        deltalake.write_deltalake(world.at, arrow(argument), mode="overwrite")
        oracle.now(world, list(argument))
    elif what == "delete":
        source.delete(f"id = {argument}")
        oracle.now(world, [row for row in oracle.rows if row[0] != argument])
    elif what == "update":
        source.update(updates={"price": "price + 10"}, predicate=f"id = {argument}")
        oracle.now(world, [(i, k, p + 10 * (i == argument)) for i, k, p in oracle.rows])
    elif what == "optimize":
        source.optimize.compact()
        oracle.now(world, oracle.rows)
    elif what == "restore":
        wanted = source.version() - argument
        if wanted in oracle.versions and wanted >= oracle.readable_since:
            source.restore(wanted)
            oracle.now(world, oracle.versions[wanted])
    elif what == "vacuum":
        source.vacuum(0, dry_run=False, enforce_retention_duration=False)
        oracle.now(world, oracle.rows)
        oracle.readable_since = source.version()
    elif what == "forget the log":
        forget_log(world, source.version())
        oracle.readable_since = source.version()
    else:
        ours(world, what, argument)


def ours(world, what, argument):
    if what == "look":
        world.looked += world.news().files
    elif what == "restart":
        world.shop.restart()
        if argument:  # without its journal
            world.known.clear()
            world.looked.clear()
        world.listing = world.listen()


def forget_log(world, newest):
    """As Delta does in the end: a checkpoint, and no commit before it."""
    world.source.create_checkpoint()
    for version in range(newest):
        (Path(world.at) / "_delta_log" / f"{version:020d}.json").unlink(missing_ok=True)


def told(world):
    """What is new, and what was told before and not loaded."""
    files, world.looked = [*world.looked, *world.news().files], []
    return files


@given(st.lists(OPERATIONS, min_size=2, max_size=7))
@settings(
    max_examples=40 if WHOLE else 3,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)
def test_the_base_table_is_its_source_after_every_look(spark, tmp_path_factory, operations):
    shop = Shop(tmp_path_factory.mktemp("law"), spark)
    world, oracle = World(shop), Oracle()
    world.append((0, "a", 0))
    oracle.now(world, [(0, "a", 0)])
    for what, argument in [("sync", None), *operations, ("sync", None)]:
        if what != "sync":
            carried_out(world, oracle, what, argument)
            continue
        files = told(world)
        if files:
            world.load(*files)
        loaded = [(row["id"], row["kind"], row["price"]) for row in shop.rows("orders")]
        assert sorted(loaded) == sorted(oracle.rows)


def test_columns_that_are_gained_are_gained_here_and_others_are_loaded_again(shop):
    world = World(shop, follows=WHOLE)
    world.append((1, "a", 10))
    world.sync()
    world.sql("ALTER TABLE SOURCE ADD COLUMNS (note STRING AFTER id)")
    world.sql("INSERT INTO SOURCE (id, kind, price, note) VALUES (2, 'a', 2, 'new')")
    assert how(world.sync()) == (*APPENDED, 1)
    world.sql("INSERT INTO SOURCE (id, kind, price) VALUES (3, 'a', 3)")
    assert how(world.sync()) == (*APPENDED, 1)
    assert world.verified() == "right"
    world.sql(
        "ALTER TABLE SOURCE SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name',"
        " 'delta.enableDeletionVectors' = 'true')"
    )
    world.sql("INSERT INTO SOURCE (id, kind, price, note) VALUES (4, 'b', 1, 'x')")
    assert how(world.sync()) == (*APPENDED, 1)
    world.sql("DELETE FROM SOURCE WHERE id = 1")  # by a deletion vector
    assert how(world.sync())[1] == "source-rewrote"
    for statement in (
        "ALTER TABLE SOURCE RENAME COLUMN note TO t",
        "ALTER TABLE SOURCE RENAME COLUMN kind TO note",
        "ALTER TABLE SOURCE RENAME COLUMN t TO kind",
    ):
        world.sql(statement)
    world.sql("INSERT INTO SOURCE (id, kind, price, note) VALUES (5, 'c', 2, 'y')")
    # The names and types are the same, and mean other columns.
    assert how(world.sync())[:2] == ("full", "source-redefined")
    world.sql("INSERT INTO SOURCE (id, kind, price, note) VALUES (6, 'c', 2, 'y')")
    assert how(world.sync()) == (*APPENDED, 1)
    assert world.verified() == "right"
    world.sql("ALTER TABLE SOURCE DROP COLUMN note")
    world.sql("INSERT INTO SOURCE (id, kind, price) VALUES (7, 'c', 2)")
    assert how(world.sync())[:2] == ("full", "source-redefined")
    assert "note" not in world.shop.rows("orders")[0]


def loading(shop, query: str, columns: str) -> World:
    """A source with these columns, and the base table over it."""
    world = World(shop)
    shop.tables = []
    shop.table("orders", query)
    world.sql(f"CREATE TABLE SOURCE ({columns}) USING delta")
    return world


def test_columns_named_by_their_places_are_loaded_again_when_places_change(shop):
    query = "SELECT a, b FROM (SELECT * FROM STREAM orders_feed) AS t(a, b)"
    world = loading(shop, query, "net BIGINT, gross BIGINT")
    world.sql("INSERT INTO SOURCE (net, gross) VALUES (1, 100)")
    world.load(*world.news().files)
    world.sql("ALTER TABLE SOURCE ALTER COLUMN gross FIRST")
    world.sql("INSERT INTO SOURCE (net, gross) VALUES (2, 200)")
    assert how(world.load(*world.news().files))[:2] == ("full", "source-redefined")
    assert sorted((row["a"], row["b"]) for row in shop.rows("orders")) == [(100, 1), (200, 2)]
    assert world.verified() == "right"


def test_a_char_that_becomes_a_string_is_loaded_again(shop):
    query = "SELECT id, kind = 'a' AS is_a, kind FROM STREAM orders_feed"
    world = loading(shop, query, "id BIGINT, kind CHAR(5)")
    world.sql("INSERT INTO SOURCE VALUES (1, 'a')")
    world.load(*world.news().files)
    world.sql("ALTER TABLE SOURCE ALTER COLUMN kind TYPE STRING")
    world.sql("INSERT INTO SOURCE VALUES (2, 'longer than five')")
    assert how(world.load(*world.news().files))[:2] == ("full", "source-redefined")
    assert world.verified() == "right"
