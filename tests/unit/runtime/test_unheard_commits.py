"""Attempts that committed before the connection was lost, and rebuilds while files wait."""

from __future__ import annotations

import contextlib
import threading

import pytest

from freshline.core.assembly import SchedulerSettings
from freshline.core.errors import PlatformError
from freshline.delta.log import commits, last_commit
from freshline.times import seconds
from tests.support.shop import LiveRun, eventually, made_shop


class Unheard:
    """Makes one table's next attempt commit, and then says that it failed."""

    def __init__(self, shop, table):
        self.table, self.armed, self._run = table, True, shop.executor.run
        self.failed, self.go_on = threading.Event(), threading.Event()
        shop.executor.run = self

    def __call__(self, request):
        result = self._run(request)
        if self.armed and request.table == self.table:
            self.armed = False
            self.failed.set()
            assert self.go_on.wait(30.0)
            raise PlatformError("made-to-fail", "the connection was lost after the commit")
        return result


@contextlib.contextmanager
def unheard_before(shop, minute):
    """A run that has yet to hear of its commit of minute 5, and has listed another file since."""
    shop.file("orders", 5, [5])
    unheard = Unheard(shop, "orders")
    with LiveRun(shop) as run:
        assert unheard.failed.wait(30.0)
        shop.file("orders", minute, [minute])
        eventually(lambda: len(shop.journal_rows("SELECT 1 FROM files")) == 2)
        yield run, unheard


def test_a_late_file_that_comes_before_the_repeat_of_a_commit_is_loaded_after_it(tmp_path):
    shop = made_shop(tmp_path, {"orders": ()})
    with unheard_before(shop, 1) as (_, unheard):
        unheard.go_on.set()
        eventually(lambda: shop.executor.numbers("orders") == [1, 5])


def test_a_rebuild_whose_number_an_earlier_commit_has_is_made_after_it(tmp_path):
    shop = made_shop(tmp_path, {"orders": ()})
    shop.file("orders", 5, [5])
    unheard = Unheard(shop, "orders")
    answers = []
    with LiveRun(shop):
        assert unheard.failed.wait(30.0)
        asking = threading.Thread(
            target=lambda: answers.append(shop.ask("refresh", "orders", "full"))
        )
        asking.start()
        eventually(lambda: answers)
        unheard.go_on.set()
        asking.join()
        path = shop.project.table_path("orders")
        eventually(lambda: (found := last_commit(path)) is not None and "full" in found.metadata)
    assert shop.executor.numbers("orders") == [5]
    assert [row["full_asked"] for row in shop.journal_rows("SELECT full_asked FROM tables")] == [0]


@pytest.mark.parametrize("scheduler", [{"chop": 1.0}, {"policy": "aus"}, {}])
def test_a_rebuild_loads_all_files_that_wait_however_updates_are_cut(
    tmp_path, scheduler, monkeypatch
):
    if not scheduler:
        monkeypatch.setattr("freshline.core.assembly.MOST_FILES", 2)
    shop = made_shop(tmp_path, {"orders": (), "total": ("orders",)}, SchedulerSettings(**scheduler))
    shop.file("orders", 1, [1])
    gate = shop.executor.gates["orders"] = threading.Event()
    with LiveRun(shop):
        shop.recorder.wait_for("start orders")
        for minute in range(2, 9):
            shop.file("orders", minute, [minute])
        eventually(lambda: len(shop.journal_rows("SELECT 1 FROM files")) == 8)
        assert shop.ask("refresh", "orders", "full")["ok"]
        gate.set()
        eventually(lambda: shop.executor.numbers("total") == list(range(1, 9)))
        shop.file("orders", 9, [9])
        eventually(lambda: shop.executor.numbers("total") == list(range(1, 10)))
    assert shop.executor.numbers("orders") == list(range(1, 10))


def test_a_stopped_run_writes_down_what_a_repeated_commit_is_fresh_to(tmp_path):
    shop = made_shop(tmp_path, {"orders": ()})
    with unheard_before(shop, 9) as (run, unheard):
        gate = shop.executor.gates["orders"] = threading.Event()
        unheard.go_on.set()
        shop.recorder.wait_for("start orders", 2)
        run.warehouse.stop()
        eventually(lambda: run.warehouse._stopping.asked)
        gate.set()
    commit = last_commit(shop.project.table_path("orders"))
    assert commit is not None
    (row,) = shop.journal_rows("SELECT freshness_s FROM tables")
    assert row["freshness_s"] == seconds(commit.metadata["to"])


def test_every_update_is_recorded_as_fresh_as_its_commit_is(tmp_path):
    shop = made_shop(tmp_path, {"orders": ()})
    with unheard_before(shop, 9) as (_, unheard):
        unheard.go_on.set()
        eventually(lambda: shop.executor.numbers("orders") == [5, 9])
    made = commits(shop.project.table_path("orders"))
    rows = shop.journal_rows("SELECT number, to_s FROM updates WHERE state='done' ORDER BY id")
    assert [(row["number"], row["to_s"]) for row in rows] == [
        (record.update, seconds(record.metadata["to"])) for record in made
    ]
