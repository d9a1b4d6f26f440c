"""Files that wait and files that are loaded, while the journal's disk is full."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from freshline.executor.records import FeedFile
from freshline.runtime.failures import FailureHandling
from freshline.runtime.feeds.backoff import Backoff
from freshline.runtime.feeds.pending import PendingFiles
from freshline.runtime.journal.store import Journal
from freshline.runtime.journal.writer import Ledger
from tests.support.shop import LiveRun, Recorder, eventually, made_shop

FIRST, SECOND = FeedFile("1.csv", 10, 1.0, 1.0), FeedFile("2.csv", 20, 2.0, 2.0)


@pytest.fixture
def journal(tmp_path):
    journal = Journal(tmp_path / "journal.db", create=True)
    yield journal
    journal.close()


@pytest.fixture
def pending(journal):
    """Two files that wait; the second one was in quarantine."""
    pending, ledger = PendingFiles(journal), Ledger(journal)
    for file in (FIRST, SECOND):
        assert pending.add("orders", file)
        ledger.file_arrived("orders", file, 5.0)
    ledger.file_unreadable("orders", SECOND.name, "quarantined", 5, "it was torn", None)
    journal.flush()
    return pending


def load_both(pending, journal):
    names = [FIRST.name, SECOND.name]
    Ledger(journal).files_loaded("orders", names, 1)
    journal.behind = True
    pending.loaded("orders", names)


def test_what_is_loaded_is_known_before_the_journal_has_written_it(pending, journal):
    load_both(pending, journal)
    assert pending.all_files("orders") == (FIRST, SECOND) == pending.loaded_files("orders")
    assert journal.flush()
    assert pending.all_files("orders") == (FIRST, SECOND) == pending.loaded_files("orders")
    assert pending._loaded == {}


def test_what_is_loaded_is_not_tried_again_before_the_journal_has_written_it(pending, journal):
    class Scheduler:
        def table(self, _):
            return self

        paused, running, has_news = True, None, False

    load_both(pending, journal)
    failures = FailureHandling(Ledger(journal), pending, Backoff(), Recorder())
    scheduler: Any = Scheduler()
    assert failures.retry(scheduler, "orders", 9.0)[0] == []
    assert not pending.is_waiting("orders", SECOND.name)


def test_a_file_that_comes_back_under_the_name_of_one_that_vanished_has_all_its_attempts(
    pending, journal
):
    failures = FailureHandling(Ledger(journal), pending, Backoff(), Recorder())
    for gone in (False, False, False, False, True, False):
        pending.put_back("orders", FIRST)
        failures._file_failed("orders", FIRST.name, "it is torn", 9.0, gone=gone)
    journal.flush()
    row = journal.row("SELECT state, attempts FROM files WHERE name=?", (FIRST.name,))
    assert row is not None
    assert tuple(row) == ("retrying", 1)


def test_a_reload_while_the_disk_is_full_has_what_was_loaded_meanwhile(tmp_path, monkeypatch):
    shop = made_shop(tmp_path, {"orders": ()})
    shop.file("orders", 1, [1])
    run = LiveRun(shop)
    with run:
        eventually(lambda: shop.executor.numbers("orders") == [1])
        gate = shop.executor.gates["orders"] = threading.Event()
        shop.file("orders", 2, [2])
        shop.recorder.wait_for("start orders", 2)
        assert shop.ask("refresh", "orders", "full")["ok"]
        journal = run.warehouse._journal

        def full():
            journal.behind = True
            return False

        with monkeypatch.context() as disk:
            disk.setattr(journal, "flush", full)
            gate.set()
            eventually(lambda: shop.recorder.lines.count("done orders") == 3)
    assert shop.executor.requests[-1].full
    assert shop.executor.numbers("orders") == [1, 2]
