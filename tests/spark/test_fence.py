"""A process that wakes within a commit, after another took its warehouse over: nothing lands."""

from __future__ import annotations

import deltalake
import pytest

from freshline.core.errors import FreshlineError
from freshline.delta.log import commits, last_commit
from freshline.executor.fence import fenced
from freshline.runtime.lease.succession import fence_tables
from freshline.spark.commits.transaction import Transaction
from freshline.spark.engine.errors import SparkError
from freshline.spark.views import derived
from freshline.spark.views.incremental import NotIncrementalError
from tests.spark.conftest import Shop

pytestmark = pytest.mark.spark

VIEW = "SELECT k, count(*) AS n, sum(id) AS total FROM orders GROUP BY k"


class Asleep:
    """A permit whose holder is stopped after the check, while another process takes over."""

    epoch = 1

    def __init__(self, project):
        self.project = project
        self.taken_over = False

    def check_commit(self):
        if not self.taken_over:
            self.taken_over = True
            fence_tables(self.project, 2)


class Awake:
    epoch = 2

    def check_commit(self):
        pass


@pytest.fixture(scope="module")
def twice(spark, tmp_path_factory):
    """Two updates of a base table and of a view."""
    shop = Shop(tmp_path_factory.mktemp("twice"), spark)
    shop.feed("orders_feed", "csv", "id BIGINT, k BIGINT")
    shop.table("orders", "SELECT id, k FROM STREAM orders_feed")
    shop.table("sums", VIEW)
    for number in (1, 2):
        shop.load("orders", written(shop, number), filled=number > 1)
        shop.derive("sums", orders=number - 1)
    return shop


def written(shop, number: int) -> str:
    name = f"{number}.csv"
    (shop.root / "feed" / "orders_feed" / name).write_text(f"{number},{number % 2}\nx,\n")
    return name


@pytest.fixture
def orders(shop, twice):
    """The same in a copy, and what writes one more file."""
    shop.begin_as(twice)
    return lambda number: written(shop, number)


def epochs(shop, table):
    return [each.metadata.get("epoch") for each in commits(shop.path(table))]


def test_of_a_base_table(shop, orders):
    request = shop.request("orders", orders(3), filled=True)
    with fenced(Asleep(shop.project)), pytest.raises(FreshlineError, match="oncurrent"):
        shop.executor.run(request)
    assert [row["id"] for row in shop.rows("orders")] == [1, 2]
    with fenced(Awake()):  # what the new leader does with the same number
        assert shop.executor.run(request).rows == 1
    assert [row["id"] for row in shop.rows("orders")] == [1, 2, 3]
    assert epochs(shop, "orders") == [None, None, 2, 2]
    rejected = [row["update"] for row in shop.rows("orders__rejected")]
    assert sorted(rejected) == [1, 2, 3]


@pytest.mark.parametrize("full", [False, True])
def test_of_a_view(shop, orders, full):
    shop.load("orders", orders(3), filled=True)
    request = shop.request("sums", parents={"orders": 2}, full=full)
    with fenced(Asleep(shop.project)), pytest.raises(FreshlineError):
        shop.executor.run(request)
    assert sum(row["n"] for row in shop.rows("sums")) == 2
    with fenced(Awake()):
        shop.executor.run(request)
    assert {row["k"]: (row["n"], row["total"]) for row in shop.rows("sums")} == {
        1: (2, 4),
        0: (1, 2),
    }
    assert epochs(shop, "sums") == [None, None, 2, 2]


def test_of_a_view_that_begins_anew_in_full(shop, orders, monkeypatch):
    def gone(_: object) -> None:
        raise NotIncrementalError("changes-gone")

    for name in derived._STRATEGIES:
        monkeypatch.setitem(derived._STRATEGIES, name, gone)
    shop.table("sums", VIEW, refresh="incremental")
    shop.load("orders", orders(3), filled=True)
    request = shop.request("sums", parents={"orders": 2})
    with fenced(Asleep(shop.project)), pytest.raises(FreshlineError, match="oncurrent"):
        shop.executor.run(request)
    assert sum(row["n"] for row in shop.rows("sums")) == 2
    assert epochs(shop, "sums") == [None, None, 2]
    with fenced(Awake()):
        assert shop.executor.run(request).code == "changes-gone"
    assert sum(row["n"] for row in shop.rows("sums")) == 3


def test_of_whatever_never_asks_whether_it_was_made_before(shop, orders):
    transaction = Transaction(shop.session, shop.path("sums"), "sums", 3)
    fence_tables(shop.project, 2)
    with pytest.raises(SparkError, match="oncurrent"):
        transaction.advance("{}")
    assert epochs(shop, "sums") == [None, None, 2]


def test_of_a_compaction(shop, orders):
    request = shop.request("orders", upkeep="compact")
    with fenced(Asleep(shop.project)), pytest.raises(FreshlineError):
        shop.executor.run(request)
    assert epochs(shop, "orders") == [None, None, 2]


def test_a_fence_is_made_once_and_is_no_news_to_a_view(shop, orders):
    fence_tables(shop.project, 2)
    fence_tables(shop.project, 2)
    before = last_commit(shop.path("orders"))
    assert before is not None
    assert (before.version, before.metadata["files"], before.update) == (2, [], 2)
    shop.load("orders", orders(3), filled=True)
    result = shop.derive("sums", orders=3)
    assert result.strategy == "group-merge" or result.code == "cheaper"  # nothing hinders it
    assert sum(row["n"] for row in shop.rows("sums")) == 3


def test_fences_hide_nothing_that_others_did(shop, orders):
    deltalake.DeltaTable(shop.path("sums")).delete("k = 0")
    for epoch in (2, 3):
        fence_tables(shop.project, epoch)
    shop.load("orders", orders(3), filled=True)
    newest = deltalake.DeltaTable(shop.path("orders")).version()
    assert shop.derive("sums", orders=newest).code == "changed-by-others"
    assert {row["k"]: row["n"] for row in shop.rows("sums")} == {0: 1, 1: 2}
