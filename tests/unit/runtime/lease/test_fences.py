"""The commit that ends a former leader's commits: it goes on from all that the table holds."""

from __future__ import annotations

import pytest

from freshline.delta.log import application, last_commit, newest_transaction
from freshline.delta.stores import delta_table
from freshline.executor.records import FeedFile, UpdateRequest
from freshline.runtime.lease import succession
from freshline.runtime.lease.succession import fence_tables
from tests.support.shop import made_shop


@pytest.fixture
def shop(tmp_path):
    """A table with one update."""
    shop = made_shop(tmp_path, {"orders": ()})
    shop.file("orders", 1, [1])
    assert shop.run_until_idle() == 0
    return shop


@pytest.fixture(params=["before", "after"])
def _woken(shop, monkeypatch, request):
    """The former leader's next update lands just before its successor opens the table, or after."""
    name = shop.file("orders", 2, [2])
    left = [FeedFile(name, 2, 0.0, 0.0)]

    def opened(path):
        table = delta_table(path)
        if left:
            files = (left.pop(),)
            shop.executor.run(UpdateRequest(2, "orders", 60.0, 120.0, files=files, filled=True))
        return table if request.param == "after" else delta_table(path)

    monkeypatch.setattr(succession, "delta_table", opened)


@pytest.mark.usefixtures("_woken")
def test_a_commit_that_lands_while_the_fence_is_made_is_not_denied(shop):
    path = shop.project.table_path("orders")
    fence_tables(shop.project, 99)
    last = last_commit(path)
    assert last is not None
    assert (last.version, last.update, last.metadata["epoch"]) == (2, 2, 99)
    assert newest_transaction(path, application("orders")) == 2


@pytest.mark.usefixtures("_woken")
def test_what_such_a_commit_loaded_is_not_loaded_again(shop):
    fence_tables(shop.project, 99)
    assert shop.run_until_idle() == 0
    assert shop.executor.numbers("orders") == [1, 2]
