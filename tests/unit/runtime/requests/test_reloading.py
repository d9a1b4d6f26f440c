"""A base table loaded again from a feed that is no longer what it was."""

from __future__ import annotations

import dataclasses
import threading
import time
from pathlib import Path

import pytest

from freshline.render.status import faults
from freshline.runtime.alerts.conditions import Conditions
from freshline.runtime.feeds.listing import FeedListing
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.runtime.options import RunOptions
from freshline.runtime.requests.backfills import argument_of
from freshline.runtime.status.status import read_status
from tests.support.shop import LiveRun, eventually, made_shop


@pytest.fixture
def shop(tmp_path):
    shop = made_shop(tmp_path, {"orders": (), "parts": ()})
    shop.file("orders", 1, [1])
    shop.file("orders", 2, [2])
    return shop


def spoil(shop, name):
    (Path(shop.project.feeds["orders_feed"].path) / name).write_text("rubbish")


def test_a_loaded_file_that_cannot_be_read_refuses_the_reload_and_nothing_else(shop):
    bad = shop.file("orders", 3, [3])
    with LiveRun(shop):
        eventually(lambda: shop.executor.numbers("orders") == [1, 2, 3])
        spoil(shop, bad)
        assert shop.ask("refresh", "orders", "full")["ok"]
        shop.recorder.wait_for(
            f"notice orders is not reloaded and keeps its rows: {bad}, which is in it, cannot be"
            " read: invalid literal for int() with base 10: 'rubbish'"
        )
        shop.file("orders", 4, [4])
        shop.file("parts", 1, [5])
        eventually(lambda: shop.executor.numbers("orders") == [1, 2, 3, 4])
        eventually(lambda: shop.executor.numbers("parts") == [5])
    full = [request for request in shop.executor.requests if request.full]
    assert len(full) == 1  # it is not tried for ever
    states = {row["state"] for row in shop.journal_rows("SELECT state FROM files")}
    assert states == {"loaded"}


@pytest.mark.parametrize("waits", [False, True])
def test_a_reload_that_came_to_nothing_is_named_by_a_probe_and_an_alert(shop, waits):
    bad = shop.file("orders", 3, [3])
    shop.run_until_idle()
    if waits:  # another one could not be read before
        shop.file("orders", 4, "rubbish")
        shop.run_until_idle()
    spoil(shop, bad)
    shop.warehouse(RunOptions(until_idle=True, refresh=("orders",), rebuilt=("orders",))).run()
    status = read_status(shop.project, time.time())
    (line,) = [line for line in faults(status) if line.startswith("orders: the last failure: ")]
    assert bad in line
    assert bad in Conditions(shop.project).now(status)["failing", "orders"].reason


def test_of_a_file_that_was_never_loaded_no_reload_is_told(shop):
    shop.file("orders", 3, "rubbish")
    shop.run_until_idle()
    status = read_status(shop.project, time.time())
    assert status.tables[0].error
    assert not [line for line in faults(status) if "the last failure" in line]
    assert ("failing", "orders") not in Conditions(shop.project).now(status)


def test_a_reload_leaves_out_a_file_that_waits_to_be_tried_again(shop):
    bad = shop.file("orders", 3, "rubbish")
    shop.run_until_idle()
    assert shop.journal_rows("SELECT name FROM files WHERE state='quarantined'") == [{"name": bad}]
    later = shop.file("orders", 4, "rubbish")
    options = RunOptions(until_idle=True, refresh=("orders",), rebuilt=("orders",))
    shop.warehouse(options).run()
    assert shop.executor.numbers("orders") == [1, 2]
    states = shop.journal_rows("SELECT name, state FROM files WHERE state<>'loaded' ORDER BY name")
    assert states == [
        {"name": bad, "state": "quarantined"}, {"name": later, "state": "quarantined"},
    ]  # fmt: skip


def test_a_new_file_that_cannot_be_read_is_left_out_of_the_reload_that_found_it(shop):
    gate = shop.executor.gates["orders"] = threading.Event()
    quarantined = "SELECT name FROM files WHERE state='quarantined'"
    with LiveRun(shop):
        shop.recorder.wait_for("start orders")
        bad = shop.file("orders", 3, "rubbish")
        eventually(lambda: len(shop.journal_rows("SELECT name FROM files")) == 3)
        assert shop.ask("refresh", "orders", "full")["ok"]
        gate.set()
        eventually(lambda: shop.journal_rows(quarantined) == [{"name": bad}])
    full = [request for request in shop.executor.requests if request.full]
    assert [[file.name == bad for file in request.files] for request in full] == [
        [False, False, True], [False, False],
    ]  # fmt: skip
    assert not [line for line in shop.recorder.lines if "is not reloaded" in line]


@pytest.mark.parametrize("name", ["orders", "total"])
def test_a_full_refresh_that_was_promised_outlives_the_run(tmp_path, name):
    shop = made_shop(tmp_path, {"orders": (), "total": ("orders",)})
    shop.file("orders", 1, [1])
    shop.run_until_idle()

    def rebuilt():
        return [each.table for each in shop.executor.requests if each.full]

    before = rebuilt()
    shop.executor.failing[name] = "no answer"
    with LiveRun(shop):
        assert shop.ask("refresh", name, "full")["ok"]
        shop.recorder.wait_for(f"failed {name}")
    shop.executor.failing.clear()
    shop.run_until_idle()
    assert rebuilt()[-1:] == [name]
    after = len(rebuilt())
    assert after > len(before) + 1  # once in vain
    shop.run_until_idle()
    assert len(rebuilt()) == after


def test_what_was_asked_while_nobody_could_answer_is_handled_by_the_next_run(shop):
    shop.run_until_idle()
    journal = Journal(journal_path(shop.project), create=False)
    asked = journal.ask(0.0, "refresh", "orders", "full")
    shop.run_until_idle()
    assert (journal.answer_to(asked) or {})["message"] == "orders is next, rebuilt in full"
    journal.close()
    assert [each.table for each in shop.executor.requests if each.full] == ["orders"]
    shop.run_until_idle()
    assert len([each for each in shop.executor.requests if each.full]) == 1


@pytest.mark.parametrize("kind", ["refresh", "backfill"])
def test_a_store_that_hangs_while_a_reload_is_asked_for_holds_up_no_other_table(
    shop, monkeypatch, kind
):
    answers = threading.Event()
    listed = FeedListing.new_files

    def hangs(listing):
        assert answers.wait(60.0)
        return listed(listing)

    monkeypatch.setattr(FeedListing, "new_files", hangs)
    shop.project = shop.executor.project = dataclasses.replace(
        shop.project,
        tables=tuple(dataclasses.replace(each, time_column="n") for each in shop.project.tables),
    )
    with LiveRun(shop):
        told = "SELECT 1 FROM tables WHERE name='orders' AND version IS NOT NULL"
        eventually(lambda: shop.executor.numbers("orders") == [1, 2] and shop.journal_rows(told))
        argument = "full" if kind == "refresh" else argument_of(0.0, 1e9)
        journal = Journal(journal_path(shop.project), create=False)
        request = journal.ask(1.0, kind, "orders", argument)
        shop.file("parts", 1, [5])
        eventually(lambda: shop.executor.numbers("parts") == [5])
        assert journal.answer_to(request) is None
        answers.set()
        eventually(lambda: journal.answer_to(request) is not None)
        answer = journal.answer_to(request)
        assert answer is not None
        assert answer["ok"]
        journal.close()
        eventually(lambda: any(each.full or each.range_s for each in shop.executor.requests))


def test_a_store_that_hangs_when_a_file_cannot_be_read_holds_up_no_other_table(shop, monkeypatch):
    answers, asked = threading.Event(), threading.Event()

    def hangs(_listing, _name):
        asked.set()
        assert answers.wait(60.0)
        return False

    monkeypatch.setattr(FeedListing, "exists", hangs)
    shop.project = shop.executor.project = dataclasses.replace(
        shop.project, scheduler=dataclasses.replace(shop.project.scheduler, tracks=2)
    )
    with LiveRun(shop):
        bad = shop.file("orders", 3, "rubbish")
        assert asked.wait(60.0)
        shop.file("parts", 1, [5])
        eventually(lambda: shop.executor.numbers("parts") == [5])
        answers.set()
        shop.recorder.wait_for(f"notice orders: the file {bad} vanished before it was loaded")


def test_a_run_is_not_idle_while_a_store_is_slow_to_say_whether_a_reload_may_be(shop, monkeypatch):
    shop.run_until_idle()
    journal = Journal(journal_path(shop.project), create=False)
    asked = journal.ask(0.0, "refresh", "orders", "full")
    listed = FeedListing.new_files

    def slow(listing):
        time.sleep(1.0)
        return listed(listing)

    monkeypatch.setattr(FeedListing, "new_files", slow)
    shop.run_until_idle()
    assert (journal.answer_to(asked) or {})["message"] == "orders is next, rebuilt in full"
    journal.close()
    assert [each.table for each in shop.executor.requests if each.full] == ["orders"]
