"""Files that could not be read, and people who have them tried again: each is loaded once."""

from __future__ import annotations

import threading
import time
from contextlib import closing

import pytest

from freshline.executor.records import FeedFile
from freshline.runtime.feeds.backoff import Backoff
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.runtime.journal.writer import Ledger
from freshline.runtime.options import RunOptions
from freshline.runtime.requests.handler import carry_out_offline
from tests.support.shop import QUICK, LiveRun, eventually, made_shop


@pytest.fixture
def shop(tmp_path):
    """A shop whose file of minute 2 could not be read by a run, and has been mended since."""
    shop = made_shop(tmp_path, {"orders": ()})
    shop.file("orders", 1, [1])
    shop.file("orders", 2, "rubbish")
    shop.backoff = Backoff(first_s=600.0, most_s=600.0, attempts=3)
    with LiveRun(shop):
        eventually(lambda: shop.executor.numbers("orders") == [1])
    assert shop.journal_rows("SELECT state FROM files WHERE attempts=1") == [{"state": "retrying"}]
    shop.file("orders", 2, [2])
    return shop


def test_a_file_that_waits_since_the_start_is_not_told_again_by_a_retry(shop):
    with closing(Journal(journal_path(shop.project), create=False)) as journal:
        carry_out_offline(journal, "pause", "orders", time.time())
    with LiveRun(shop):
        shop.recorder.wait_for("ready", 2)
        assert shop.ask("retry", "orders")["ok"]
        assert shop.ask("resume", "orders")["ok"]
        shop.recorder.wait_for("done orders", 2)
    assert shop.executor.numbers("orders") == [1, 2]


def test_two_who_ask_for_a_retry_at_once_have_a_file_loaded_once(shop):
    shop.file("orders", 3, "rubbish")
    shop.backoff = QUICK
    shop.run_until_idle()
    assert shop.journal_rows("SELECT name FROM files WHERE state='quarantined'")
    shop.file("orders", 3, [3])
    with closing(Journal(journal_path(shop.project), create=False)) as journal:
        for _ in range(2):
            journal.ask(0.0, "retry", "orders")
    shop.run_until_idle()
    assert shop.executor.numbers("orders") == [1, 2, 3]


def test_a_reload_reads_a_file_that_waits_since_the_start(shop):
    shop.warehouse(RunOptions(until_idle=True, refresh=("orders",), rebuilt=("orders",))).run()
    assert shop.executor.numbers("orders") == [1, 2]


def test_a_file_that_vanished_and_comes_again_stands_for_its_new_time(tmp_path):
    with closing(Journal(tmp_path / "journal.db", create=True)) as journal:
        ledger = Ledger(journal)
        ledger.file_arrived("orders", FeedFile("a.csv", 1, 500.0, 500.0), 600.0)
        ledger.file_unreadable("orders", "a.csv", "vanished", 0, "it is no longer there", None)
        ledger.file_arrived("orders", FeedFile("a.csv", 2, 50.0, 50.0), 700.0)
        journal.flush()
        (row,) = journal.rows("SELECT timestamp_s, arrived_s FROM files")
    assert tuple(row) == (50.0, 700.0)


def reported(shop):
    (row,) = shop.journal_rows("SELECT failures, error, retry_s FROM tables WHERE name='orders'")
    return tuple(row.values())


@pytest.mark.parametrize("offline", [True, False])
@pytest.mark.parametrize("error", ["no room", "[table-changed] rows were deleted"])
def test_a_retry_of_a_failure_that_nothing_follows_ends_its_report(tmp_path, error, offline):
    shop = made_shop(tmp_path, {"orders": ()})
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    failed = (3, error, 9.0)
    stays = failed if error.startswith("[") else (0, None, None)

    def fail(journal):
        journal.write("UPDATE tables SET failures=?, error=?, retry_s=?", failed)
        assert journal.flush()

    with closing(Journal(journal_path(shop.project), create=False)) as journal:
        if offline:
            fail(journal)
            carry_out_offline(journal, "retry", "orders", time.time())
        else:
            with LiveRun(shop):
                shop.recorder.wait_for("ready", 2)
                fail(journal)
                assert shop.ask("retry", "orders")["ok"]
    assert reported(shop) == stays


def test_a_failure_whose_files_all_vanished_is_not_reported_any_more(tmp_path):
    shop = made_shop(tmp_path, {"orders": ()})
    shop.file("orders", 1, [1])
    with LiveRun(shop):
        shop.recorder.wait_for("done orders")
        shop.executor.gates["orders"] = threading.Event()
        name = shop.file("orders", 2, [2])
        shop.recorder.wait_for("start orders", 2)
        (shop.root / "feed" / "orders" / name).unlink()
        shop.executor.gates["orders"].set()
        shop.recorder.wait_for(f"notice orders: the file {name} vanished before it was loaded")
    assert reported(shop) == (0, None, None)


def retried_at_rest(shop, name):
    with closing(Journal(journal_path(shop.project), create=False)) as journal:
        assert carry_out_offline(journal, "retry", name, time.time())["ok"]
    (row,) = shop.journal_rows(f"SELECT failures, error FROM tables WHERE name='{name}'")
    return row["failures"], row["error"]


@pytest.mark.parametrize("built", [True, False])
def test_a_retry_at_rest_leaves_the_failure_of_a_view_whose_update_waits(tmp_path, built):
    shop = made_shop(tmp_path, {"orders": (), "total": ("orders",)})
    if built:
        shop.file("orders", 1, [1])
        assert shop.run_until_idle() == 0
    shop.executor.failing["total"] = "no room"
    shop.file("orders", 2, [2])
    assert shop.run_until_idle() != 0
    failures, error = retried_at_rest(shop, "total")
    assert failures
    assert "no room" in error


@pytest.mark.parametrize("name", ["orders", "total"])
def test_a_retry_at_rest_leaves_the_failure_of_a_rebuild_that_is_still_asked_for(tmp_path, name):
    shop = made_shop(tmp_path, {"orders": (), "total": ("orders",)})
    shop.file("orders", 1, [1])
    assert shop.run_until_idle() == 0
    shop.executor.failing[name] = "no room"
    with closing(Journal(journal_path(shop.project), create=False)) as journal:
        # As a run left it that was asked for it, and ended before it was done.
        journal.write("UPDATE tables SET full_asked=1 WHERE name=?", (name,))
        assert journal.flush()
    assert shop.run_until_idle() != 0
    assert retried_at_rest(shop, name)[0]


def test_a_retry_at_rest_ends_the_report_of_a_view_for_which_nothing_waits(tmp_path):
    shop = made_shop(tmp_path, {"orders": (), "total": ("orders",)})
    shop.file("orders", 1, [1])
    assert shop.run_until_idle() == 0
    with closing(Journal(journal_path(shop.project), create=False)) as journal:
        journal.write("UPDATE tables SET failures=3, error='no room' WHERE name='total'")
        assert journal.flush()
    assert retried_at_rest(shop, "total") == (0, None)
