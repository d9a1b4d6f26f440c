"""Metrics whose values only something out of the ordinary moves: broken bounds, audits, silence."""

from __future__ import annotations

import dataclasses
import re
import threading
import time
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from freshline import __version__
from freshline.core.background.audits import Audits as Account
from freshline.core.commands import StartUpdate
from freshline.core.errors import PlatformError
from freshline.executor.records import UpdateRequest, UpdateResult
from freshline.project.model import MaintenanceSettings
from freshline.runtime.health.deadlines import TIMEOUT
from freshline.runtime.journal.lock import WarehouseLock
from freshline.runtime.metrics.exposition import RunMetrics
from freshline.runtime.metrics.standing import feed_families
from freshline.runtime.observer import Observers
from freshline.runtime.status.source_status import SourceStatus
from freshline.runtime.status.status import read_status
from freshline.runtime.status.topic_status import TopicStatus
from freshline.runtime.tracks import Outcome
from freshline.runtime.upkeep import audits
from freshline.runtime.warehouse import Warehouse
from tests.support.shop import LiveRun, Shop, eventually, made_project, made_shop
from tests.unit.runtime.test_oversight import Run, regular

RULES = Path(__file__).parents[4] / "docs" / "monitoring" / "rules.yml"


def samples(metrics):
    """Values by name and labels, as one scrape tells them."""
    return {
        (sample.name.removeprefix("freshline_"), *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(metrics.scraped("")[0].decode())
        for sample in family.samples
    }


def of_run(run):
    run.journal.flush()
    return samples(RunMetrics(run.project, lambda: run.now))


def test_under_aus_the_bound_on_staleness_is_told_and_what_broke_it_by_cause(tmp_path):
    run = Run(tmp_path, "aus")
    run.play({"a": regular(101), "b": regular(101)}, 100.0)
    before = of_run(run)
    bounds_s = run.watched()["a"].bounds_s
    assert len(set(bounds_s.values())) == 3  # tardiness, response and staleness differ
    assert before["table_staleness_bound_seconds", "a"] == bounds_s["staleness"]
    # A file every 10 s is 10 s stale just before the next; nothing below that can be promised.
    assert before["table_staleness_bound_seconds", "a"] > 10.0
    broken = {key[1:]: value for key, value in before.items() if key[0] == "bounds_broken_total"}
    assert set(broken.values()) == {0.0}
    run.play({"a": regular(201, 110), "b": regular(201, 110)}, 200.0, {"b": 60.0})
    after = of_run(run)
    cause = "execution took longer than assumed"
    assert after["bounds_broken_total", "a", cause] == sum(run.watched()["a"].violations.values())
    assert after["bounds_broken_total", "a", cause] > 0.0
    assert after["bounds_broken_total", "a", "a fault"] == 0.0


def test_without_a_promise_no_bound_is_told(tmp_path):
    run = Run(tmp_path, "max-benefit")
    run.play({"a": regular(101), "b": regular(101)}, 100.0)
    told = {key[0] for key in of_run(run)}
    assert not told & {"table_staleness_bound_seconds", "bounds_broken_total"}


def test_a_feed_is_silent_while_nothing_comes_and_the_run_goes_on(tmp_path):
    run = Run(tmp_path, "max-benefit")
    run.play({"a": regular(101), "b": regular(300)}, 150.0)
    assert of_run(run)["feed_silent", "a_feed"] == 0.0  # nobody listens
    with WarehouseLock(run.project.own_folder):
        found = of_run(run)
        assert (found["feed_silent", "a_feed"], found["feed_silent", "b_feed"]) == (1.0, 0.0)
        run.play({"a": [(160.0, 160.0)]}, 170.0)
        assert of_run(run)["feed_silent", "a_feed"] == 0.0


@pytest.fixture
def shop(tmp_path):
    return Shop(made_project(tmp_path, {"orders": (), "total": ("orders",)}))


class Counted(Shop):
    """A shop whose runs count."""

    def __init__(self, shop):
        super().__init__(shop.project)
        self.executor, self.recorder = shop.executor, shop.recorder
        self.metrics = RunMetrics(shop.project, shop.clock)

    def warehouse(self, options=None):
        observers = Observers((self.recorder, self.metrics.counts))
        return Warehouse(
            self.project, lambda: self.executor, observers, options, backoff=self.backoff
        )

    def told(self):
        return samples(self.metrics)


def test_a_run_that_goes_on_leads_and_what_it_does_is_told(shop):
    shop.executor.gates["total"] = threading.Event()
    counted = Counted(shop)
    with LiveRun(counted):
        shop.file("orders", 1, [1, 2])
        shop.recorder.wait_for("start total")
        eventually(lambda: counted.told()["tracks", "busy"] == 1.0)
        found = counted.told()
        assert (found["tracks", "idle"], found["leader",]) == (1.0, 1.0)
        assert found["spark_starts_total",] == 1.0
        assert found["table_state", "running", "total"] == 1.0
        assert found["table_state", "fresh", "total"] == 0.0
        shop.executor.gates["total"].set()
        shop.recorder.wait_for("done total")
    found = counted.told()
    assert found["leader",] == 0.0
    assert found["build_info", *sorted((__version__, version("pyspark"), version("delta-spark")))]


def test_what_arrived_and_is_in_no_commit_is_pending_and_failures_count_from_nought(shop):
    counted = Counted(shop)
    assert counted.told()["updates_total", "failed", "orders", "unknown"] == 0.0
    shop.executor.failing["orders"] = "a fault"
    with LiveRun(counted):
        shop.file("orders", 1, [1])
        shop.file("orders", 2, [2])
        shop.recorder.wait_for("failed orders")
        eventually(lambda: counted.told()["table_pending_files", "orders"] == 2.0)
        assert counted.told()["updates_total", "failed", "orders", "unknown"] >= 1.0
        shop.executor.failing.clear()
        eventually(lambda: counted.told()["table_pending_files", "orders"] == 0.0)


def test_rejected_rows_are_counted_over_runs(shop, monkeypatch):
    result = shop.executor._result
    monkeypatch.setattr(
        shop.executor, "_result",
        lambda request, *given, **named: dataclasses.replace(
            result(request, *given, **named), rejected_rows=3 if request.table == "orders" else 0
        ),
    )  # fmt: skip
    for minute in (1, 2):
        shop.file("orders", minute, [minute])
        shop.run_until_idle()
    found = Counted(shop).told()
    assert found["rejected_rows_total", "orders"] == 6.0
    assert ("rejected_rows_total", "total") not in found


def test_audits_are_counted_by_outcome(shop, monkeypatch):
    # As after a million seconds of the run, so that no test waits until an audit can be paid.
    monkeypatch.setattr(
        audits, "Account", lambda share, tracks, start_s: Account(share, tracks, start_s - 1e6)
    )
    only_audits = MaintenanceSettings(compact=False, vacuum=False, trials=False, audit=1.0)
    shop.project = dataclasses.replace(shop.project, maintenance=only_audits)
    shop.executor.audits = {"total": ["wrong", "right", "skipped"]}
    before = Counted(shop).told()
    for outcome in ("right", "wrong", "skipped"):
        assert before["audits_total", *sorted((outcome, "total"))] == 0.0
    for minute in (1, 2):
        shop.file("orders", minute, [minute])
        shop.run_until_idle()
    found = Counted(shop).told()
    for outcome in ("right", "wrong", "skipped"):
        assert found["audits_total", *sorted((outcome, "total"))] == 1.0
    assert not any(key[0] == "audits_total" and "orders" in key for key in found)


def test_a_file_that_changed_after_it_was_loaded_is_told(shop):
    name = shop.file("orders", 1, [1])
    shop.run_until_idle()
    assert Counted(shop).told()["changed_files", "orders"] == 0.0
    with (shop.root / "feed" / "orders" / name).open("a") as file:
        file.write("\n9")
    shop.run_until_idle()
    assert Counted(shop).told()["changed_files", "orders"] == 1.0


def test_of_several_readers_of_a_feed_the_one_furthest_behind_tells_its_lag(shop):
    topics = [
        TopicStatus("clicks", table, "topic", "read", None, None, {0: 9}, lag, 0.0, 0)
        for table, lag in (("one", 3), ("two", 7), ("three", 5))
    ]
    sources = [
        SourceStatus("items", table, "path", "read", None, None, 9, lag, 0.0)
        for table, lag in (("four", 2), ("five", 1))
    ]
    status = dataclasses.replace(
        read_status(shop.project, 0.0), topics=tuple(topics), sources=tuple(sources)
    )
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for family in feed_families(shop.project, status, {})
        for sample in family.samples
    }
    assert found["freshline_feed_lag_records", "clicks"] == 7.0
    assert found["freshline_feed_lag_versions", "items"] == 2.0


def test_the_error_of_an_estimate_and_an_update_that_was_cancelled(shop):
    metrics = RunMetrics(shop.project, shop.clock)
    command = StartUpdate("orders", 1, 0, 0, 0.0, 60.0, expected_s=1.0)
    request = UpdateRequest(1, "orders", 0.0, 60.0)
    too_long = PlatformError(TIMEOUT, "too long")
    result = UpdateResult(1, 5, 0, 0.0, "append", "", False, {}, False)
    for seconds in (4.0, 0.5):
        metrics.counts.ended(Outcome(command, request, seconds, result, None), None)
    metrics.counts.ended(Outcome(command, request, 60.0, None, too_long), 1.0)
    found = samples(metrics)
    assert found["prediction_error_seconds_sum",] == 3.5
    assert found["update_duration_seconds_sum", "append"] == 4.5
    assert found["update_timeouts_total", "orders"] == 1.0
    assert found["updates_total", "failed", "orders", "unknown"] == 1.0


def test_a_counter_that_a_rule_watches_is_there_before_it_counts(tmp_path):
    """``increase`` sees no step where a series begins with 1: the first fault would be missed."""
    run = Run(tmp_path, "aus")
    run.play({"a": regular(101), "b": regular(101)}, 100.0)
    run.journal.flush()
    text = RunMetrics(run.project, lambda: run.now).scraped("")[0].decode()
    rules = yaml.safe_load(RULES.read_text())
    watched = set()
    for group in rules["groups"]:
        for rule in group["rules"]:
            watched |= set(re.findall(r'increase\((\w+)(?:\{outcome="(\w+)"\})?\[', rule["expr"]))
    assert len(watched) == 5
    for name, outcome in watched - {("freshline_updates_total", "committed")}:
        if name == "freshline_lineage_events_total":
            continue  # of lineage, which counts by itself
        lines = [line for line in text.splitlines() if line.startswith(f"{name}{{")]
        assert any(f'outcome="{outcome}"' in line for line in lines if outcome) or not outcome
        assert lines
        assert all(line.endswith(" 0.0") for line in lines)


def test_a_table_that_was_never_built_has_the_moment_at_which_it_became_late(tmp_path):
    """It has no freshness, whose age a rule could compare with the target."""
    shop = made_shop(tmp_path, {"orders": (), "total": ("orders",)}, lags={"total": 60.0})
    shop.executor.gates["total"] = threading.Event()
    later = RunMetrics(shop.project, lambda: time.time() + 120.0)

    def late(metrics):
        name = "table_unbuilt_late_timestamp_seconds"
        return {key[1]: value for key, value in samples(metrics).items() if key[0] == name}

    with LiveRun(shop):
        shop.file("orders", 1, [1, 2])
        shop.recorder.wait_for("start total")
        since_s = read_status(shop.project, time.time()).run.since_s
        assert late(RunMetrics(shop.project, time.time)) == {}
        found = late(later)
        shop.executor.gates["total"].set()
        shop.recorder.wait_for("done total")
        eventually(lambda: late(later) == {})
    assert set(found) == {"total"}
    assert since_s is not None
    assert since_s + 60.0 <= found["total"] <= time.time() + 60.0
