"""Alerts of real runs at a real HTTP receiver."""

from __future__ import annotations

import dataclasses
import os
import socket
import time
from functools import partial

import pytest

from freshline.executor.distrust import trust_again
from freshline.project.model import AlertSettings, MaintenanceSettings
from freshline.render.status import remarks, status_record
from freshline.runtime.alerts import watch
from freshline.runtime.alerts.store import AlertStore
from freshline.runtime.alerts.watch import Alerts
from freshline.runtime.feeds.backoff import Backoff
from freshline.runtime.journal.lock import WarehouseLock
from freshline.runtime.journal.paths import journal_path, own_folder
from freshline.runtime.journal.store import Journal
from freshline.runtime.journal.writer import Ledger
from freshline.runtime.status import trusted
from freshline.runtime.status.status import read_status
from freshline.runtime.upkeep import audits
from tests.support.shop import LiveRun, eventually, made_shop
from tests.unit.runtime.alerts.sink import Sink
from tests.unit.ui.wrong import found_wrong, storage_away

TABLES = {"orders": (), "total": ("orders",)}


@pytest.fixture
def sink():
    with Sink() as sink:
        yield sink


class Watched:
    """A shop that runs with its alerts, as ``freshline run`` does."""

    def __init__(self, root, url, *kinds, lags=None):
        self.shop = made_shop(root, TABLES, lags=lags)
        settings = AlertSettings(url + "/hook", kinds or AlertSettings("").kinds)
        self.shop.project = dataclasses.replace(self.shop.project, alerts=(settings,))
        self.notices = []

    def __enter__(self):
        self.alerts = Alerts(
            self.shop.project, self.notices.append, backoff=Backoff(0.01, 0.02), look_s=0.01
        )
        self.run = LiveRun(self.shop)
        self.alerts.start()
        self.run.__enter__()
        self.shop.recorder.wait_for("ready")
        return self

    def __exit__(self, *_):
        self.run.stop()
        self.alerts.stop()

    def postings(self):
        return self.shop.journal_rows("SELECT * FROM postings")


def told(sink):
    return [(body["type"].removeprefix("freshline."), body["subject"]) for body in sink.bodies]


def test_a_table_that_fails_is_told_once_and_so_is_its_recovery(tmp_path, sink):
    watched = Watched(tmp_path, sink.url, "failing")
    watched.shop.executor.failing["total"] = "the disk is full"
    watched.shop.file("orders", 1, [1])
    with watched:
        (body,) = sink.wait_for(1)
        assert (body["type"], body["subject"]) == ("freshline.table.failing", "total")
        assert body["data"]["reason"] == "[made-to-fail] the disk is full"
        watched.shop.recorder.wait_for("failed total", 5)
        watched.shop.executor.failing.clear()
        sink.wait_for(2)
    assert told(sink) == [("table.failing", "total"), ("table.recovered", "total")]
    path, content_type, _ = sink.posts[0]
    assert path == "/hook"
    assert content_type == "application/cloudevents+json; charset=utf-8"
    assert watched.postings() == []


def test_a_late_table_is_told_with_its_staleness_target_and_reason(tmp_path, sink):
    watched = Watched(tmp_path, sink.url, "late", lags={"orders": 60.0})
    watched.shop.file("orders", 1, [1])  # of a day long ago
    with watched:
        (body,) = sink.wait_for(1)
    data = body["data"]
    assert (body["type"], body["subject"]) == ("freshline.table.late", "orders")
    assert data["staleness_s"] > data["target_lag_s"] == 60.0
    assert data["since"] == "2026-01-02T00:02:00.000000Z"
    assert data["reason"].startswith("feed orders_feed ")


def test_a_view_found_wrong_is_told_until_it_is_trusted_again(tmp_path, sink, monkeypatch):
    monkeypatch.setattr(audits, "_LEAST_S", 0.0)
    monkeypatch.setattr(audits, "_UNKNOWN_S", 0.0)
    watched = Watched(tmp_path, sink.url, "wrong-view")
    always = MaintenanceSettings(compact=False, vacuum=False, audit=1.0)
    watched.shop.project = dataclasses.replace(watched.shop.project, maintenance=always)
    watched.shop.executor.audits = {"total": ["wrong"]}
    watched.shop.file("orders", 1, [1])
    with watched:
        (body,) = sink.wait_for(1)
        assert body["data"]["reason"] == "version 0 (append) has 1 rows missing and 2 extra"
        assert (body["data"]["missing"], body["data"]["extra"]) == (1, 2)
        assert trust_again(watched.shop.project, "total")
        sink.wait_for(2)
    assert told(sink) == [("table.wrong-view", "total"), ("table.recovered", "total")]


@pytest.fixture
def away(monkeypatch):
    """An event that takes the storage away while it is set; of before nothing is known."""
    monkeypatch.setattr(trusted, "_told", {})
    return storage_away(monkeypatch)


def test_a_late_table_is_told_while_the_storage_does_not_answer(tmp_path, sink, away):
    away.set()
    watched = Watched(tmp_path, sink.url, "late", lags={"orders": 60.0})
    watched.shop.file("orders", 1, [1])  # of a day long ago
    with watched:
        sink.wait_for(1)
    assert told(sink) == [("table.late", "orders")]
    assert watched.notices == []


def test_a_look_that_waits_for_a_storage_is_followed_by_the_next_one_soon(
    tmp_path, sink, monkeypatch
):
    looks: list[float] = []

    def slow(*given, **named):
        looks.append(time.monotonic())
        time.sleep(0.5)
        return read_status(*given, **named)

    monkeypatch.setattr(watch, "read_status", slow)
    with Watched(tmp_path, sink.url, "late"):
        eventually(lambda: len(looks) >= 5)
        # They waited ten seconds after each look before.
        assert looks[4] - looks[3] < 5.0


def test_a_view_found_wrong_is_not_told_as_right_while_the_storage_does_not_answer(
    tmp_path, sink, monkeypatch, away
):
    watched = Watched(tmp_path, sink.url, "wrong-view")
    watched.shop.file("orders", 1, [1])
    with watched:
        watched.shop.recorder.wait_for("done total")
        found_wrong(watched.shop.project, "total")
        sink.wait_for(1)
        away.set()
        assert trust_again(watched.shop.project, "total")
    monkeypatch.setattr(trusted, "_told", {})  # the next process knows nothing
    again = Watched(tmp_path, sink.url, "wrong-view")
    with again:
        time.sleep(0.2)  # looks at the status a few times
        assert told(sink) == [("table.wrong-view", "total")]
        away.clear()
        sink.wait_for(2)
    assert told(sink) == [("table.wrong-view", "total"), ("table.recovered", "total")]


def test_a_restart_neither_repeats_an_alert_nor_loses_its_recovery(tmp_path, sink):
    watched = Watched(tmp_path, sink.url, "quarantine")
    watched.shop.file("orders", 1, "no number")
    with watched:
        sink.wait_for(1)
    found = read_status(watched.shop.project, time.time()).alerts
    assert [told[:2] for told in found.told] == [("quarantine", "orders")]
    again = Watched(tmp_path, sink.url, "quarantine")
    with again:
        seen = len(again.shop.journal_rows("SELECT 1 FROM alerts"))
        assert seen == 1
        time.sleep(0.2)  # looks at the status a few times
        assert told(sink) == [("table.quarantine", "orders")]
        again.shop.file("orders", 1, [1])
        again.shop.ask("retry", "orders")
        sink.wait_for(2)
    assert told(sink) == [("table.quarantine", "orders"), ("table.recovered", "orders")]


def test_a_restart_is_no_recovery_of_a_table_that_was_never_built(tmp_path, sink, monkeypatch):
    looks: list[float] = []

    def counted(*given, **named):
        looks.append(time.monotonic())
        return read_status(*given, **named)

    monkeypatch.setattr(watch, "read_status", counted)
    for again in (False, True):
        watched = Watched(tmp_path, sink.url, "late", lags={"orders": 1.0})
        watched.shop.executor.failing["orders"] = "the disk is full"
        if not again:
            watched.shop.file("orders", 1, [1])
        with watched:
            sink.wait_for(1)
            begun = len(looks)
            eventually(partial(lambda least: len(looks) >= least, begun + 5))
        assert told(sink) == [("table.late", "orders")]


def test_what_nobody_takes_is_kept_and_posted_by_the_next_run_in_order(tmp_path):
    with Sink() as first:
        port = first.port
    watched = Watched(tmp_path, f"http://127.0.0.1:{port}", "failing")
    watched.shop.executor.failing["orders"] = "no"
    watched.shop.file("orders", 1, [1])
    with watched:
        eventually(lambda: len(watched.postings()) == 1)
        watched.shop.executor.failing.clear()
        eventually(lambda: len(watched.postings()) == 2)
        eventually(lambda: watched.notices)
    assert len(watched.postings()) == 2
    found = read_status(watched.shop.project, time.time())
    assert (found.alerts.undelivered, found.alerts.told) == (2, ())
    (line,) = [line for line in remarks(found) if line.startswith("alerts: ")]
    assert line.startswith("alerts: 2 events not delivered, the oldest since ")
    assert status_record(found)["alerts"] == {"told": [], "undelivered": 2}
    assert watched.notices[0].startswith(f"alert not delivered to 127.0.0.1:{port}, retrying: ")
    with Sink(port) as sink, Watched(tmp_path, sink.url, "failing") as again:
        sink.wait_for(2)
        eventually(lambda: again.postings() == [])
    assert told(sink) == [("table.failing", "orders"), ("table.recovered", "orders")]


def test_an_alert_that_could_not_be_written_at_once_is_posted_once_it_is(
    tmp_path, sink, monkeypatch
):
    note = AlertStore.note
    refused: list[bool] = []

    def full_once(self, found, now_s):
        found = list(found)
        if refused or not any(change.event for change in found):
            return note(self, found, now_s)
        refused.append(True)  # as of a full disk, or a journal that another process holds
        self._journal.flush = lambda: False
        try:
            return note(self, found, now_s)
        finally:
            del self._journal.flush

    monkeypatch.setattr(AlertStore, "note", full_once)
    watched = Watched(tmp_path, sink.url, "failing")
    watched.shop.executor.failing["total"] = "the disk is full"
    watched.shop.file("orders", 1, [1])
    with watched:
        sink.wait_for(1)
        assert refused
    assert told(sink) == [("table.failing", "total")]


@pytest.mark.parametrize("status", [500, 503, 429, 408])
def test_a_receiver_that_cannot_take_it_now_gets_it_again(tmp_path, sink, status):
    sink.answers = [status, status]
    watched = Watched(tmp_path, sink.url, "quarantine")
    watched.shop.file("orders", 1, "no number")
    with watched:
        sink.wait_for(1)
        eventually(lambda: len(watched.notices) == 2)
    assert (sink.attempts, told(sink)) == (3, [("table.quarantine", "orders")])
    where = sink.url.removeprefix("http://")
    assert watched.notices == [
        f"alert not delivered to {where}, retrying: status {status}",
        f"alerts are delivered to {where} again",
    ]


@pytest.mark.parametrize("status", [400, 404, 302])
def test_a_receiver_that_refuses_it_is_not_asked_again(tmp_path, sink, status):
    sink.answers = [status]
    watched = Watched(tmp_path, sink.url, "quarantine")
    watched.shop.file("orders", 1, "no number")
    with watched:
        eventually(lambda: watched.notices)
        eventually(lambda: watched.postings() == [])
    where = sink.url.removeprefix("http://")
    assert watched.notices == [f"alert refused by {where}, not posted again: status {status}"]
    assert (sink.attempts, sink.posts) == (1, [])


def test_a_receiver_that_hangs_holds_up_neither_updates_nor_the_stop(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as deaf:  # accepts, never answers
        watched = Watched(tmp_path, f"http://127.0.0.1:{deaf.getsockname()[1]}", "quarantine")
        watched.shop.file("orders", 1, "no number")
        with watched:
            eventually(lambda: len(watched.postings()) == 1)
            watched.shop.file("orders", 2, [2])
            watched.shop.recorder.wait_for("done total")
        assert len(watched.postings()) == 1


def test_a_silence_ends_with_its_feed(tmp_path, sink):
    watched = Watched(tmp_path, sink.url, "silent")
    gone = {"name": "returns_feed", "last_s": 100.0, "silent_since_s": 100.0}
    journal = Journal(journal_path(watched.shop.project), create=True)
    columns, marks = ", ".join(gone), ", ".join("?" * len(gone))
    journal.write(f"INSERT INTO feeds ({columns}) VALUES ({marks})", list(gone.values()))
    journal.write(
        "INSERT INTO alerts VALUES (?,'silent','returns_feed',100.0,120.0,130.0)",
        (sink.url + "/hook",),
    )
    journal.close()
    with watched:
        sink.wait_for(1)
    assert told(sink) == [("feed.recovered", "returns_feed")]
    assert "returns_feed" not in {
        each.name for each in read_status(watched.shop.project, 1.0).feeds
    }


def test_a_fault_seen_by_a_clock_that_was_ahead_is_told(tmp_path, sink):
    watched = Watched(tmp_path, sink.url, "failing")
    watched.shop.executor.failing["total"] = "the disk is full"
    watched.shop.file("orders", 1, [1])
    journal = Journal(journal_path(watched.shop.project), create=True)
    journal.write(
        "INSERT INTO alerts VALUES (?,'failing','total',?,?,NULL)",
        (sink.url + "/hook", time.time(), time.time() + 1e9),
    )
    journal.close()
    with watched:
        (body,) = sink.wait_for(1)
    assert body["type"] == "freshline.table.failing"


def test_a_run_before_of_a_process_of_the_same_number_is_not_judged(tmp_path, sink):
    """As in a container, where each run's process is the first one."""
    watched = Watched(tmp_path, sink.url, "bound-broken")
    project = watched.shop.project
    lock = WarehouseLock(own_folder(project))
    journal = Journal(journal_path(project), create=True)
    Ledger(journal).begin_run(os.getpid(), 100.0, {})
    journal.put("tables", {"name": "total"}, kind="derived", version=0, freshness_s=1.0)
    journal.put("watched", {"name": "total"}, violations='{"backlog": 3}')
    journal.flush()
    alerts = Alerts(project, watched.notices.append, backoff=Backoff(0.01, 0.02), look_s=0.01)
    alerts.start()
    try:
        look, looks = alerts._look, []

        def counted():
            look()
            looks.append(1)

        alerts._look = counted  # type: ignore[method-assign]
        eventually(lambda: len(looks) > 2)
        assert alerts._store is None
        Ledger(journal).begin_run(os.getpid(), 200.0, {})
        journal.flush()
        eventually(lambda: alerts._store is not None)
    finally:
        alerts.stop()
        journal.close()
        lock.release()
    assert told(sink) == []


def test_a_look_that_fails_as_nobody_foresaw_is_told_and_the_next_one_works(
    tmp_path, sink, monkeypatch
):
    watched = Watched(tmp_path, sink.url, "quarantine")
    watched.shop.file("orders", 1, "no number")
    failures = [KeyError("orders"), KeyError("orders")]

    def read(*args, **more):
        if failures:
            raise failures.pop()
        return read_status(*args, **more)

    monkeypatch.setattr(watch, "read_status", read)
    with watched:
        sink.wait_for(1)
    assert told(sink) == [("table.quarantine", "orders")]
    assert watched.notices == ["alerts: the status cannot be read: KeyError('orders')"]
