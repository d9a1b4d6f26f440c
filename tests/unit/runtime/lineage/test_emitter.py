"""Lineage of real runs at a real HTTP receiver, and one that is down."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import threading

import pytest

pytest.importorskip("openlineage.client", reason="the extra freshline[lineage] is not installed")
from prometheus_client import CollectorRegistry

from freshline.core.errors import UserError
from freshline.executor.report_records import BatchRequest, BatchResult, Window
from freshline.runtime.feeds.backoff import Backoff
from freshline.runtime.lineage.emitter import Lineage, lineage
from freshline.runtime.observer import Observers
from freshline.runtime.options import RunOptions
from freshline.runtime.report_jobs import Job, JobEnded, JobWithdrawn
from freshline.runtime.warehouse import Warehouse
from tests.support.shop import PATIENCE_S, Recorder, eventually, made_shop
from tests.unit.runtime.alerts.sink import Sink

QUICK = Backoff(0.001, 0.002)


@pytest.fixture
def shop(tmp_path):
    shop = made_shop(tmp_path, {"orders": (), "total": ("orders",)})
    shop.project = dataclasses.replace(shop.project, lineage="analytics")
    return shop


def run(shop, observer):
    return Warehouse(
        shop.project, lambda: shop.executor, observer, RunOptions(until_idle=True),
        backoff=shop.backoff,
    ).run()  # fmt: skip


def count(registry, outcome):
    return registry.get_sample_value("freshline_lineage_events_total", {"outcome": outcome})


def test_a_run_s_updates_arrive_by_openlineage_s_own_configuration(shop, monkeypatch):
    registry = CollectorRegistry()
    shop.file("orders", 1, [1])
    with Sink() as sink:
        monkeypatch.setenv("OPENLINEAGE_URL", sink.url)
        with lineage(shop.project, shop.recorder, registry) as observer:
            run(shop, observer)
        bodies = sink.wait_for(4)
    assert {path for path, _, _ in sink.posts} == {"/api/v1/lineage"}
    assert [(body["eventType"], body["job"]["name"]) for body in bodies] == [
        ("START", "shop.orders"), ("COMPLETE", "shop.orders"),
        ("START", "shop.total"), ("COMPLETE", "shop.total"),
    ]  # fmt: skip
    assert bodies[3]["inputs"][0]["name"] == shop.project.table_path("orders")
    assert bodies[3]["inputs"][0]["facets"]["version"]["datasetVersion"] == "0"
    assert bodies[3]["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] == 1
    assert bodies[0]["run"]["runId"] == bodies[1]["run"]["runId"] != bodies[2]["run"]["runId"]
    assert count(registry, "delivered") == 4.0
    assert count(registry, "dropped") == 0.0
    assert not any("lineage" in line for line in shop.recorder.lines)


def test_without_lineage_in_the_project_nothing_is_told(shop):
    project = dataclasses.replace(shop.project, lineage=None)
    with lineage(project, shop.recorder, CollectorRegistry()) as observer:
        assert observer is shop.recorder


def test_a_transport_that_is_down_holds_no_update_up_and_loses_nothing_in_silence(shop):
    registry = CollectorRegistry()
    recorder = Recorder()

    def emit(_):
        raise OSError("down")

    sender = Lineage(lambda item: item, emit, recorder.notice, registry=registry, backoff=QUICK)
    sender.start()
    shop.file("orders", 1, [1])
    assert run(shop, Observers((shop.recorder, sender))) == 0
    assert shop.executor.numbers("total") == [1]
    sender.stop(0.05)
    assert recorder.lines == [
        "notice lineage: events are not delivered, retrying: down",
        "notice lineage: events not delivered and lost: 4",
    ]
    assert (count(registry, "delivered"), count(registry, "dropped")) == (0.0, 4.0)


def test_a_transport_that_comes_back_gets_everything_in_order(shop):
    recorder = Recorder()
    sent: list[tuple[str, str]] = []
    down = threading.Event()
    down.set()

    def emit(event):
        if down.is_set():
            raise OSError("down")
        sent.append((event[0], getattr(event[1], "command", event[1]).table))

    sender = Lineage(lambda item: item, emit, recorder.notice, backoff=QUICK)
    sender.start()
    shop.file("orders", 1, [1])
    run(shop, Observers((shop.recorder, sender)))
    recorder.wait_for("notice lineage: events are not delivered, retrying: down")
    down.clear()
    eventually(lambda: len(sent) == 4)
    sender.stop()
    assert sent == [
        ("started", "orders"), ("ended", "orders"), ("started", "total"), ("ended", "total"),
    ]  # fmt: skip
    assert recorder.lines[1:] == ["notice lineage: events are delivered again"]


def test_an_event_that_the_transport_still_holds_at_the_end_counts_as_lost(shop):
    registry, recorder, released = CollectorRegistry(), Recorder(), threading.Event()
    sender = Lineage(
        lambda item: item, lambda _: released.wait(PATIENCE_S), recorder.notice, registry=registry
    )
    sender.start()
    shop.file("orders", 1, [1])
    run(shop, Observers((shop.recorder, sender)))
    sender.stop(0.05)
    released.set()
    assert recorder.lines == ["notice lineage: events not delivered and lost: 4"]
    assert (count(registry, "delivered"), count(registry, "dropped")) == (0.0, 4.0)


def test_what_does_not_fit_is_dropped_from_the_front_and_counted(shop):
    registry, recorder = CollectorRegistry(), Recorder()
    sender = Lineage(
        lambda item: item, print, recorder.notice, registry=registry, most_waiting=3
    )  # not started: nothing leaves
    shop.file("orders", 1, [1])
    run(shop, Observers((shop.recorder, sender)))
    assert count(registry, "dropped") == 1.0
    sender.start()
    sender.stop()
    assert recorder.lines == ["notice lineage: events not delivered and lost: 1"]
    assert count(registry, "delivered") == 3.0


def test_an_event_that_cannot_be_made_is_told_and_the_next_one_is_sent(shop):
    registry, recorder = CollectorRegistry(), Recorder()
    sent: list[tuple] = []

    def make(item):
        if item[0] == "started":
            raise ValueError("odd")
        return item

    sender = Lineage(make, sent.append, recorder.notice, registry=registry)
    sender.start()
    shop.file("orders", 1, [1])
    run(shop, Observers((shop.recorder, sender)))
    sender.stop()
    assert [each[0] for each in sent] == ["ended", "ended"]
    assert recorder.lines == ["notice lineage: an event could not be made: ValueError: odd"] * 2
    assert count(registry, "faulty") == 2.0


def test_a_report_starts_once_and_ends_once_whatever_its_batches_and_attempts(shop):
    sent: list[object] = []
    sender = Lineage(lambda item: item[1], sent.append, shop.recorder.notice)
    window = Window(shop.project.table("total"), 0.0, 3600.0, 3700.0)

    def job(name, *, final):
        return Job(name, BatchRequest(window, {"orders": 0}, final), 1, 1.0, planned=True)

    def done(job):
        version = 0 if job.request.final else None
        return JobEnded(job, 1.0, BatchResult(1, 1, 1.0, version=version), None)

    def failed(job):
        return JobEnded(job, 1.0, None, OSError("no"))

    one, two, final = job("a", final=False), job("a", final=False), job("a", final=True)
    other, withdrawn = job("b", final=True), JobWithdrawn("c", window)
    begun = job("c", final=False)
    told = [
        one, done(one), two, failed(two),  # the next attempt is the same run, started again
        other, done(other), final, done(final),
        JobWithdrawn("b", window),  # it is made already
        begun, done(begun), withdrawn,
    ]  # fmt: skip
    for step in told:
        sender.report(step)
    sender.start()
    sender.stop()
    assert sent == [
        one, told[1], told[3], other, told[5], final, told[7], begun, told[10], withdrawn,
    ]  # fmt: skip


def test_the_extra_that_is_missing_is_named(shop, monkeypatch):
    monkeypatch.setitem(sys.modules, "openlineage.client", None)
    with (
        pytest.raises(UserError, match=r"\[no-openlineage\].*Install freshline\[lineage\]"),
        contextlib.ExitStack() as stack,
    ):
        stack.enter_context(lineage(shop.project, shop.recorder, CollectorRegistry()))


def test_a_wrong_configuration_of_openlineage_is_the_user_s(shop, monkeypatch):
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "pigeon")
    with (
        pytest.raises(UserError, match="bad-openlineage"),
        contextlib.ExitStack() as stack,
    ):
        stack.enter_context(lineage(shop.project, shop.recorder, CollectorRegistry()))
