"""Upkeep in the wall-clock driver: when it is offered, what stays as it was, what is recorded."""

from __future__ import annotations

import dataclasses
import threading
import time
from contextlib import closing

import pytest
from deltalake import DeltaTable

from freshline.core.commands import StartUpdate
from freshline.delta import small_files
from freshline.delta.log import commits, last_commit
from freshline.delta.small_files import files_of
from freshline.executor.records import UpdateRequest, UpdateResult
from freshline.project.model import MaintenanceSettings
from freshline.runtime.failures import FailureHandling
from freshline.runtime.feeds.backoff import Backoff
from freshline.runtime.feeds.pending import PendingFiles
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.runtime.journal.strategies import NO_UPKEEP
from freshline.runtime.journal.writer import Ledger
from freshline.runtime.options import RunOptions
from freshline.runtime.reports.requests import withdraw_offline
from freshline.runtime.reports.store import WantedReport, note_wanted
from freshline.runtime.status.replay import replay
from freshline.runtime.status.status import read_status
from freshline.runtime.tracks import Outcome
from freshline.runtime.upkeep import maintenance
from tests.support.shop import LiveRun, eventually, made_shop

TABLES = {"orders": (), "parts": (), "joined": ("orders", "parts"), "total": ("joined",)}
DAY_S = 86_400.0


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.setattr(small_files, "MOST_FILES", 4)
    monkeypatch.setattr(maintenance, "LOOK_EVERY_UPDATES", 1)
    return made_shop(tmp_path, TABLES)


def fill(shop, minutes):
    """Each file an update of its own."""
    for minute in minutes:
        shop.file("orders", minute, [minute])
        if minute == 1:
            shop.file("parts", 1, [10])
        shop.run_until_idle()


def strategies(shop, table):
    return [record.metadata["strategy"] for record in commits(shop.project.table_path(table))]


def test_small_files_are_put_together_when_all_else_is_done_and_nobody_has_news_by_it(shop):
    fill(shop, range(1, 5))
    assert strategies(shop, "orders") == ["append"] * 4 + ["compact"]
    assert len(files_of(shop.project.table_path("orders"))) == 1
    assert shop.executor.numbers("orders") == [1, 2, 3, 4]
    asked = len(shop.executor.requests)
    shop.run_until_idle()
    assert len(shop.executor.requests) == asked  # the views have read these rows
    shop.check_views()
    fill(shop, [5])
    assert strategies(shop, "orders")[-2:] == ["compact", "append"]
    assert shop.executor.numbers("total") == [1, 2, 3, 4, 5, 10]
    shop.check_views()


def test_without_the_journal_the_compacted_table_is_taken_over_and_nothing_is_loaded_again(shop):
    fill(shop, range(1, 5))
    asked = len(shop.executor.requests)
    journal_path(shop.project).unlink()
    shop.run_until_idle()
    assert len(shop.executor.requests) == asked
    fill(shop, [5])
    assert shop.executor.numbers("orders") == [1, 2, 3, 4, 5]
    last = last_commit(shop.project.table_path("orders"))
    assert last is not None
    assert last.update == 6


def test_status_shows_the_last_update_and_counts_compactions_apart(shop):
    fill(shop, range(1, 5))
    status = read_status(shop.project, time.time())
    orders = status.tables[0]
    assert orders.last_update is not None
    assert (orders.state, orders.last_update.number, orders.last_update.strategy) == (
        "fresh", 4, "append",
    )  # fmt: skip
    assert {(use.strategy, use.updates) for use in status.uses("orders")} == {
        ("append", 4), ("compact", 1),
    }  # fmt: skip


def test_a_run_with_upkeep_replays_to_the_same_decisions(shop):
    with LiveRun(shop):
        for minute in range(1, 5):
            shop.file("orders", minute, [minute])
            shop.recorder.wait_for("done orders", minute)
        eventually(lambda: "compact" in strategies(shop, "orders"))
        eventually(lambda: shop.recorder.lines.count("done orders") == 5)
    journal = Journal(journal_path(shop.project), create=False)
    found = replay(journal)
    journal.close()
    assert found.mismatches == ()


def test_it_can_be_switched_off(shop):
    off = MaintenanceSettings(compact=False, vacuum=False, trials=False)
    shop.project = dataclasses.replace(shop.project, maintenance=off)
    fill(shop, range(1, 6))
    assert strategies(shop, "orders") == ["append"] * 5


def test_a_compaction_that_fails_leaves_the_table_fresh_and_its_updates_going_on(shop):
    shop.executor.failing_upkeep = "no room"
    fill(shop, range(1, 5))
    (notice,) = [line for line in shop.recorder.lines if "compact" in line]
    assert notice == "notice orders: compact failed: [made-to-fail] no room"
    (row,) = shop.journal_rows("SELECT failures, error, number FROM tables WHERE name='orders'")
    assert row == {"failures": 0, "error": None, "number": 4}
    fill(shop, [5])
    assert shop.executor.numbers("orders") == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("waits_for", ["orders", "parts"])
def test_a_compaction_gives_way_to_an_update_that_needs_its_table_or_its_track(shop, waits_for):
    scheduler = dataclasses.replace(shop.project.scheduler, tracks=1)
    shop.project = dataclasses.replace(shop.project, scheduler=scheduler)
    shop.executor.slow = {("orders", 5)}
    with LiveRun(shop):
        for minute in range(1, 5):
            shop.file("orders", minute, [minute])
            shop.recorder.wait_for("done orders", minute)
        shop.recorder.wait_for("start orders", 5)  # the compaction
        assert not shop.executor.given_up
        before = shop.recorder.lines.count(f"done {waits_for}")
        shop.file(waits_for, 5, [50])
        shop.recorder.wait_for(f"done {waits_for}", before + 1)
        assert shop.executor.given_up == {("orders", 5)}
        eventually(lambda: "compact" in strategies(shop, "orders"))
    told = {line for line in shop.recorder.lines if "compact" in line}
    assert told == {"notice orders: compact gave way to an update"}
    assert "failed orders" not in shop.recorder.lines  # it would count as a failed update
    counted = f"SELECT number FROM updates WHERE state='failed' AND {NO_UPKEEP}"
    assert shop.journal_rows(counted) == []
    (row,) = shop.journal_rows("SELECT failures, error FROM tables WHERE name='orders'")
    assert row == {"failures": 0, "error": None}
    journal = Journal(journal_path(shop.project), create=False)
    assert replay(journal).mismatches == ()
    journal.close()


def test_old_files_are_removed_once_a_day(shop):
    fill(shop, [1])
    asked = len(shop.executor.requests)
    later = time.time() + 1.5 * DAY_S
    for _ in range(2):
        shop.clock = lambda: later
        shop.run_until_idle()
    assert [(each.table, each.upkeep) for each in shop.executor.requests[asked:]] == [
        (name, "vacuum") for name in TABLES
    ]
    (row,) = shop.journal_rows("SELECT number, version FROM tables WHERE name='orders'")
    assert row == {"number": 1, "version": DeltaTable(shop.project.table_path("orders")).version()}


def vacuumed(shop, since=0):
    return [each.table for each in shop.executor.requests[since:] if each.upkeep == "vacuum"]


def test_what_a_first_build_reads_is_not_removed_under_it(tmp_path):
    shop = made_shop(tmp_path, {"orders": (), "parts": (), "slow": ("orders",)})
    shop.executor.failing["slow"] = "not yet"
    shop.file("orders", 1, [1])
    shop.file("parts", 1, [10])
    assert shop.run_until_idle() == 1
    later = time.time() + 1.5 * DAY_S
    shop.clock = lambda: later
    shop.executor.failing.clear()
    gate = shop.executor.gates["slow"] = threading.Event()
    with LiveRun(shop):
        eventually(lambda: vacuumed(shop) == ["parts"])
        gate.set()
        eventually(lambda: vacuumed(shop) == ["parts", "orders", "slow"])


def test_what_a_report_still_reads_is_not_removed_before_it_is_made(shop):
    fill(shop, [1])
    later = time.time() + 1.5 * DAY_S
    shop.clock = lambda: later
    retention_s = shop.project.maintenance.retention_s
    with closing(Journal(journal_path(shop.project), create=False)) as journal:
        for name, table, start_s in (
            ("long", "orders", later - retention_s - 1.0),
            ("short", "parts", later - retention_s),  # which the retention keeps anyway
        ):
            query = f"SELECT n FROM {table}"
            wanted = WantedReport(name, name, query, None, start_s, later + DAY_S, later + DAY_S)
            note_wanted(journal, wanted, "asked", later)
        journal.flush()
    asked = len(shop.executor.requests)
    shop.run_until_idle()
    assert vacuumed(shop, asked) == ["parts", "joined", "total"]
    with closing(Journal(journal_path(shop.project), create=False)) as journal:
        withdraw_offline(journal, "long")
        journal.flush()
    shop.run_until_idle()
    assert vacuumed(shop, asked) == ["parts", "joined", "total", "orders"]


def test_a_run_of_some_tables_keeps_what_a_report_over_others_reads_too(shop):
    fill(shop, [1])
    later = time.time() + 1.5 * DAY_S
    shop.clock = lambda: later
    start_s = later - shop.project.maintenance.retention_s - 1.0
    query = "SELECT o.n FROM orders o JOIN parts p ON o.n = p.n"
    wanted = WantedReport("both", "both", query, None, start_s, later + DAY_S, later + DAY_S)
    with closing(Journal(journal_path(shop.project), create=False)) as journal:
        note_wanted(journal, wanted, "asked", later)
        journal.flush()
    asked = len(shop.executor.requests)
    shop.warehouse(RunOptions(refresh=("orders",), until_idle=True)).run()
    assert vacuumed(shop, asked) == []
    with closing(Journal(journal_path(shop.project), create=False)) as journal:
        withdraw_offline(journal, "both")
        journal.flush()
    shop.warehouse(RunOptions(refresh=("orders",), until_idle=True)).run()
    assert vacuumed(shop, asked) == ["orders"]


def test_a_removal_that_is_noted_in_the_future_keeps_off_the_next_one_for_a_day(shop):
    """By a clock that was ahead; runs are shorter than a day."""
    fill(shop, [1])
    began_s = time.time()
    shop.clock = lambda: began_s + 400 * DAY_S
    shop.run_until_idle()
    assert len(vacuumed(shop)) == len(TABLES)
    for days, times in ((2.0, 1), (2.5, 1), (3.1, 2)):
        shop.clock = lambda days=days: began_s + days * DAY_S
        shop.run_until_idle()
        assert len(vacuumed(shop)) == times * len(TABLES), days


def rows_deleted(shop):
    DeltaTable(shop.project.table_path("orders")).delete("n < 3")


def restored(shop):
    DeltaTable(shop.project.table_path("orders")).restore(0)


@pytest.mark.parametrize("fault", [rows_deleted, restored])
def test_a_removal_that_works_leaves_a_table_reported_that_others_changed(shop, fault):
    fill(shop, [1, 2, 3])
    fault(shop)
    later = time.time() + 1.5 * DAY_S
    shop.clock = lambda: later
    shop.run_until_idle()
    assert "orders" in vacuumed(shop)
    orders = read_status(shop.project, later).tables[0]
    assert orders.failures == 1
    assert (orders.error or "").startswith("[table-changed]")


def test_a_removal_that_works_leaves_a_reload_reported_that_came_to_nothing(shop):
    fill(shop, [1, 2])
    shop.file("orders", 2, "rubbish")
    later = time.time() + 1.5 * DAY_S
    shop.clock = lambda: later
    shop.warehouse(RunOptions(until_idle=True, refresh=("orders",), rebuilt=("orders",))).run()
    assert "orders" in vacuumed(shop)
    assert shop.executor.numbers("orders") == [1, 2]
    assert "rubbish" in (read_status(shop.project, later).tables[0].error or "")


def test_a_compaction_that_works_does_not_take_back_that_an_update_failed(shop):
    fill(shop, range(1, 4))
    journal = Journal(journal_path(shop.project), create=False)
    ledger = Ledger(journal)
    handling = FailureHandling(ledger, PendingFiles(journal), Backoff(), shop.recorder)
    update = StartUpdate("orders", 4, 0, 0.0, 0.0, 0.0, 1.0)
    request = UpdateRequest(4, "orders", 0.0, 0.0)
    outcome = Outcome(update, request, 1.0, None, OSError("no room"))
    handling.failed(outcome, 1.0, lambda *_: None)
    result = UpdateResult(4, 0, 0, 1.0, "compact", "", False, {}, False)
    ledger.update_finished(dataclasses.replace(update, upkeep="compact"), result, 1.0, 2.0)
    handling.succeeded("orders", is_upkeep=True)
    assert handling.attempt("orders") == 2
    journal.flush()
    (row,) = shop.journal_rows("SELECT failures, error FROM tables WHERE name='orders'")
    assert row == {"failures": 1, "error": "no room"}
    handling.succeeded("orders", is_upkeep=False)
    assert handling.attempt("orders") == 1
    journal.close()


def test_status_says_that_it_is_upkeep_that_runs(shop):
    fill(shop, [1])
    later = time.time() + 1.5 * DAY_S
    shop.clock = lambda: later
    gate = shop.executor.gates["orders"] = threading.Event()
    with LiveRun(shop):
        shop.recorder.wait_for("start orders", 2)
        orders = read_status(shop.project, later).tables[0]
        assert (orders.state, orders.next.startswith("vacuum runs on track ")) == ("running", True)
        gate.set()
