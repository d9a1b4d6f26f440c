"""Keys are computed again: few and many, odd ones, with rows that move from key to key and go."""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa
import pytest

from freshline.failpoints import armed
from freshline.spark.views.groups import MOST_NAMED
from freshline.sql.query.records import Keys, Source
from tests.spark.conftest import Shop
from tests.spark.views.arrivals import START
from tests.spark.views.proving import Proving, session_in
from tests.support.share import share

pytestmark = pytest.mark.spark

EVENTS = Source(
    "events",
    {"at": "timestamp", "name": "string", "id": "int", "price": "decimal(9,2)"},
    time_column="at",
)
MARKS = Source("marks", {"name": "string", "price": "decimal(9,2)"})
NEWEST = """SELECT name, id, price FROM events
    QUALIFY row_number() OVER (PARTITION BY name ORDER BY id DESC) = 1"""
UNMARKED = """select e.price, e.name, e.id from events as e
    left anti join marks m on m.price = e.price and m.name <=> e.name"""
ODD = [
    None, "", " ", "a", "a ", "A", "o'hara", "\\", "\\'", "${name}", "ä", "\u0061\u0308", "\ufffd",
    "\U0001f600", "%", "NULL", "line\nbreak",
]  # fmt: skip


@pytest.fixture
def proving(spark, tmp_path):
    found = Proving(Shop(tmp_path, session_in(spark, "UTC")))
    for source in (EVENTS, MARKS):
        found.feed(source)
    found.view("newest", NEWEST)
    found.view("unmarked", UNMARKED)
    # Each update of newest rewrites rows; those of a key stay those of that key.
    found.view("dear", "SELECT name, max(price) OVER (PARTITION BY name) AS p, id FROM newest")
    found.plan()
    return found


def events(names, first=0, price="1.50"):
    count = len(names)
    at = pa.array([START + timedelta(seconds=first + n) for n in range(count)])
    return pa.table({
        "at": at.cast(pa.timestamp("us", "UTC")),
        "name": pa.array(names, pa.string()),
        "id": pa.array(range(first, first + count), pa.int32()),
        "price": pa.array([price] * count, pa.string()).cast(pa.decimal128(9, 2)),
    })  # fmt: skip


def marks(names, price="1.50"):
    prices = pa.array([price] * len(names), pa.string()).cast(pa.decimal128(9, 2))
    return pa.table({"name": pa.array(names, pa.string()), "price": prices})


def updated(proving):
    told = proving.step()
    assert {result.code for result in told.values()} == {"keys"}
    return {view: result.rows for view, result in told.items()}


def test_the_keys_of_changed_rows_alone_are_written(proving):
    keys = {view: proving.shop.plans[view].keys for view in proving.views}
    assert keys == {
        "newest": Keys(("name",), {"events": ("name",)}),
        "unmarked": Keys(
            ("price", "name"), {"events": ("price", "name"), "marks": ("price", "name")}
        ),
        "dear": Keys(("name",), {"newest": ("name",)}),
    }
    proving.arrive("events", events([*ODD, *ODD]))
    proving.arrive("marks", marks(["a", None]))
    proving.step()
    proving.arrive("events", events(ODD[:5], first=100))
    # The five names have three rows each; none of "a" and NULL is without a mark.
    assert updated(proving) == {"newest": 5, "unmarked": 9, "dear": 5}
    proving.arrive("marks", marks([" ", "none of these"]))
    assert proving.update("unmarked").rows == 0
    # The newest of a name goes, one moves to another name, and one to a name that was not there.
    proving.by_hand(
        "DELETE FROM {events} WHERE id = 103 OR name = ''",
        "UPDATE {events} SET name = if(name = 'A', 'moved', NULL) WHERE name IN ('A', ' ')",
    )
    assert updated(proving) == {"newest": 3, "unmarked": 2, "dear": 3}
    proving.gone("events", "true")
    assert updated(proving) == {"newest": 0, "unmarked": 0, "dear": 0}


@pytest.mark.parametrize("count", share([40, 300, 6_000], part=3, always=[300]))
def test_many_keys_are_joined(proving, count):
    names = [f"k{number}" for number in range(count)]
    proving.arrive("events", events(["quiet", *names]))
    proving.arrive("marks", marks([]))
    proving.step()
    # No span of keys is named where one of them may be another text than Python's.
    odd = "\ufffd" if count < MOST_NAMED else "o'hara"
    proving.arrive("events", events([*names, None, odd], first=count + 1))
    proving.arrive("marks", marks(names[: count // 2]))
    half = count - count // 2
    assert updated(proving) == {
        "newest": count + 2,
        "unmarked": 2 * half + 2,
        "dear": count + 2,
    }


def test_nothing_new_writes_nothing(proving):
    proving.arrive("events", events(["a", "b"]))
    proving.arrive("marks", marks(["a"]))
    proving.step()
    proving.arrive("marks", marks([]))
    assert updated(proving) == {"newest": 0, "unmarked": 0, "dear": 0}


def test_an_update_that_died_is_made_whole_by_its_retry(proving):
    proving.arrive("events", events(["a", "b", None]))
    proving.update("newest")
    points = ("after_data", "after_commit")
    for number, point in enumerate(points):
        proving.arrive("events", events(["a", "new"], first=10 * number + 10))
        proving.gone("events", f"id = {10 * number}")
        before = proving.version("newest")
        parents = {"events": proving.version("events")}
        request = proving.shop.request("newest", parents=parents)
        with armed(f"derived.{point}=eio"), pytest.raises(OSError, match="Input/output"):
            proving.shop.executor.run(request)
        committed = point == "after_commit"
        assert proving.version("newest") == before + committed
        proving.shop.restart()
        result = proving.shop.executor.run(request)
        assert (result.strategy, result.repeated) == ("key-recompute", committed)
        assert proving.version("newest") == before + 1
        proving.judge("newest")


def test_texts_that_are_not_utf8_are_keys_as_they_are(proving):
    proving.arrive("events", events(["a"]))
    proving.by_hand(
        "INSERT INTO {events} SELECT at, CAST(X'80' AS STRING), 1, price FROM {events}",
        "INSERT INTO {events} SELECT at, CAST(X'FF' AS STRING), 2, price FROM {events} LIMIT 1",
    )
    proving.update("newest", judged=False)
    # The deleted row's key comes from the change feed.
    proving.by_hand("DELETE FROM {events} WHERE id = 1")
    assert proving.update("newest", judged=False).code == "keys"
    rows = proving.shop.session.read.format("delta").load(proving.shop.path("newest"))
    assert {name for (name,) in rows.selectExpr("hex(name)").collect()} == {"61", "FF"}
