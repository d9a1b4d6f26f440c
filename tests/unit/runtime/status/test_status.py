"""What ``freshline status`` says, from journals that real runs wrote."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime

import pytest

from freshline.core.errors import PlatformError
from freshline.project.lags import target_lags
from freshline.render.status import faults
from freshline.runtime.feeds.backoff import Backoff
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.runtime.requests.handler import carry_out_offline
from freshline.runtime.status.status import read_status
from freshline.times import brief_s
from tests.support.shop import LiveRun, eventually, made_shop

TABLES = {"orders": (), "parts": (), "joined": ("orders", "parts"), "total": ("joined",)}
MINUTE_1_S = datetime(2026, 1, 2, 0, 1, tzinfo=UTC).timestamp()


@pytest.fixture
def shop(tmp_path):
    return made_shop(tmp_path, TABLES)


def states(shop, now_s=MINUTE_1_S):
    return {table.name: table.state for table in read_status(shop.project, now_s).tables}


def of(shop, name, now_s=MINUTE_1_S):
    return next(item for item in read_status(shop.project, now_s).tables if item.name == name)


def test_before_the_first_run_nothing_is_known_and_it_says_so(shop):
    status = read_status(shop.project, MINUTE_1_S)
    assert status.note == (
        "nothing is known yet: the journal has no run; the next one fills it, from the"
        " tables' logs too"
    )
    assert not status.run.running
    assert [(item.name, item.state, item.next) for item in status.tables] == [
        (name, "new", "at the next `freshline run`") for name in TABLES
    ]


def test_a_table_that_is_up_to_date_is_fresh_with_its_last_update(shop):
    shop.file("orders", 1, [1, 2])
    shop.file("parts", 1, [10])
    shop.run_until_idle()
    orders = of(shop, "orders", MINUTE_1_S + 30.0)
    assert (orders.kind, orders.state, orders.next) == (
        "base",
        "fresh",
        "at the next `freshline run`",
    )
    assert (orders.freshness_s, orders.staleness_s) == (MINUTE_1_S, 30.0)
    assert (orders.pending_files, orders.pending_s, orders.updates) == (0, None, 1)
    last = orders.last_update
    assert (last.number, last.rows, last.rejected_rows, last.strategy, last.version) == (
        1, 2, 0, "append", 0,
    )  # fmt: skip
    assert last.reason == "so that it can be checked"
    joined = of(shop, "joined")
    assert (joined.pending_files, joined.pending_s, joined.last_update.rows) == (None, 0.0, 3)


def test_a_view_over_a_feed_that_never_delivers_says_what_it_waits_for(shop):
    def of_joined(found):
        return [line for line in faults(found) if line.startswith("joined")]

    with LiveRun(shop):
        eventually(lambda: of(shop, "joined").next == "when data arrives")
        shop.file("orders", 1, [1])
        shop.recorder.wait_for("done orders")
        eventually(lambda: of(shop, "joined").next == "when parts has data")
        found = read_status(shop.project, time.time())
        assert of_joined(found) == []  # nobody asked for a target
        asked = [
            dataclasses.replace(item, target_lag_s=60.0) if item.name == "joined" else item
            for item in found.tables
        ]
        found = dataclasses.replace(found, tables=tuple(asked))
        since_s = found.run.since_s or 0.0
        assert of_joined(dataclasses.replace(found, now_s=since_s + 59.0)) == []
        assert of_joined(dataclasses.replace(found, now_s=since_s + 61.0)) == [
            "joined: never built, it waits for the first data of parts"
        ]


def test_it_reads_the_same_without_a_run_as_with_one_that_waits(shop):
    shop.file("orders", 1, [1])
    with LiveRun(shop):
        shop.recorder.wait_for("done orders")
        eventually(lambda: states(shop)["orders"] == "fresh")
        status = read_status(shop.project, MINUTE_1_S)
        assert (status.run.running, status.run.pid) == (True, os.getpid())
        assert of(shop, "orders").next == "when data arrives"
    assert states(shop)["orders"] == "fresh"
    after = read_status(shop.project, MINUTE_1_S).run
    assert (after.running, after.stopped_s is not None) == (False, True)


def test_running_and_waiting_for_a_track(tmp_path):
    shop = made_shop(tmp_path, {"a": (), "b": ()})
    shop.project = dataclasses.replace(
        shop.project, scheduler=dataclasses.replace(shop.project.scheduler, tracks=1)
    )
    gate = threading.Event()
    shop.executor.gates = {"a": gate, "b": gate}
    shop.file("a", 1, [1])
    shop.file("b", 1, [1])
    with LiveRun(shop):
        eventually(lambda: sorted(states(shop).values()) == ["running", "waiting"])
        now_s = time.time() + 3.0
        status = read_status(shop.project, now_s)
        running = next(item for item in status.tables if item.state == "running")
        waiting = next(item for item in status.tables if item.state == "waiting")
        assert running.track == 0
        assert running.next.startswith("running on track 0 for ")
        assert (waiting.next, waiting.pending_files) == ("waiting for a track", 1)
        gate.set()
        eventually(lambda: states(shop) == {"a": "fresh", "b": "fresh"})


def test_an_update_of_a_process_that_died_does_not_count_as_running(shop):
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    journal = Journal(journal_path(shop.project), create=False)
    journal.write("UPDATE updates SET state='running'")
    journal.flush()
    journal.close()
    assert states(shop)["orders"] == "fresh"


def test_a_failing_table_tells_why_and_when_it_is_tried_again(shop):
    shop.executor.failing["orders"] = "no room\non the device"
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    orders = of(shop, "orders")
    assert (orders.state, orders.failures, orders.error) == (
        "retrying",
        3,
        "[made-to-fail] no room on the device",
    )
    assert (orders.pending_files, orders.next) == (1, "at the next `freshline run`")


def test_the_time_to_the_next_attempt_of_a_running_warehouse(shop):
    shop.backoff = Backoff(first_s=3600.0)
    shop.executor.failing["orders"] = "no room"
    shop.file("orders", 1, [1])
    with LiveRun(shop):
        eventually(lambda: states(shop)["orders"] == "retrying")
        (row,) = shop.journal_rows("SELECT retry_s FROM tables WHERE name='orders'")
        assert of(shop, "orders", row["retry_s"] - 12.0).next == "retry in 12 s"


def test_files_that_cannot_be_read_are_named_with_their_reason(shop):
    shop.file("orders", 1, [1])
    bad = shop.file("orders", 2, "rubbish")
    shop.run_until_idle()
    orders = of(shop, "orders")
    (trouble,) = orders.troubles
    assert (trouble.name, trouble.state, trouble.attempts) == (bad, "quarantined", 3)
    assert trouble.reason == "invalid literal for int() with base 10: 'rubbish'"
    assert (orders.state, orders.pending_files) == ("fresh", 0)


def test_a_paused_table_says_how_to_resume_it(shop):
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    journal = Journal(journal_path(shop.project), create=False)
    carry_out_offline(journal, "pause", "orders", time.time())
    journal.close()
    assert (of(shop, "orders").state, of(shop, "orders").next) == (
        "paused",
        "paused; `freshline resume orders`",
    )


def test_a_table_that_left_the_project_is_listed_as_dropped(shop):
    shop.file("orders", 1, [1])
    shop.file("parts", 1, [1])
    shop.run_until_idle()
    shop.project = dataclasses.replace(shop.project, tables=shop.project.tables[:-1])
    assert states(shop)["total"] == "dropped"
    assert of(shop, "total").note == "no longer in the project; its data is left alone"


def test_targets_are_met_or_missed_by_staleness(tmp_path):
    shop = made_shop(tmp_path, {"orders": (), "view": ("orders",)}, lags={"view": 60.0})
    assert of(shop, "view").within_target is None
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    assert of(shop, "view", MINUTE_1_S + 60.0).within_target is True
    assert of(shop, "view", MINUTE_1_S + 61.0).within_target is False
    assert of(shop, "orders").within_target is None


def test_downstream_means_the_least_of_what_the_children_are_asked_for(tmp_path):
    shop = made_shop(tmp_path, {"o": (), "x": ("o",), "y": ("o",)}, lags={"x": 60.0, "y": 30.0})
    first, *rest = shop.project.tables
    project = dataclasses.replace(
        shop.project, tables=(dataclasses.replace(first, target_downstream=True), *rest)
    )
    assert target_lags(project) == {"o": 30.0, "x": 60.0, "y": 30.0}


def test_a_deleted_journal_is_said_to_be_gone(shop):
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    shutil.rmtree(shop.root / "warehouse" / "_freshline")
    status = read_status(shop.project, MINUTE_1_S)
    assert str(status.note).startswith("nothing is known yet: the journal has no run")
    assert states(shop)["orders"] == "new"


def test_a_table_without_a_version_is_new_whatever_its_sources_are(shop):
    shop.executor.failing["parts"] = "no room"
    shop.file("orders", 1, [1])
    shop.file("parts", 1, [1])
    shop.run_until_idle()
    joined = of(shop, "joined")
    assert (joined.state, joined.freshness_s, joined.staleness_s) == ("new", None, None)
    assert of(shop, "orders").freshness_s == MINUTE_1_S


def test_a_journal_whose_folder_cannot_be_made_is_not_to_be_deleted(shop):
    path = journal_path(shop.project)
    path.parent.parent.mkdir(parents=True, exist_ok=True)
    path.parent.write_bytes(b"")  # as on a disk that cannot be written to
    with pytest.raises(PlatformError) as error:
        Journal(path, create=True)
    assert str(error.value) == (
        f"[journal] cannot open the journal {path}: File exists. Check the disk and the"
        " permissions."
    )


def test_a_damaged_journal_is_an_error_that_says_what_to_do(shop):
    path = journal_path(shop.project)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"this is no database, but it is long enough to look like one" * 20)
    with pytest.raises(PlatformError) as error:
        read_status(shop.project, MINUTE_1_S)
    assert str(error.value) == (
        f"[journal] cannot open the journal {path}: file is not a database. Check disk and"
        " permissions; a damaged journal may be deleted."
    )


def test_reading_it_loads_neither_spark_nor_delta():
    probe = "import sys, freshline.runtime.status.status; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, check=True, text=True)
    assert not {"pyspark", "deltalake", "pyarrow", "pandas", "sqlglot"} & set(done.stdout.split())


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (9.96, "10 s"), (119.0, "119 s"), (120.0, "2 min"),
     (7140.0, "1 h 59 min"), (7200.0, "2 h"), (9000.0, "2 h 30 min"), (200_000.0, "2 d")],
)  # fmt: skip
def test_seconds_for_people(seconds, text):
    assert brief_s(seconds) == text


def test_what_was_never_built_waits_since_the_first_of_its_files_came(tmp_path):
    """An older file that comes later stands before it, and makes it wait no shorter."""
    shop = made_shop(tmp_path, {"orders": ()})
    shop.executor.failing["orders"] = "no room"
    shop.backoff = Backoff(first_s=600.0, most_s=600.0, attempts=3)

    def waits_since_s():
        (item,) = read_status(shop.project, time.time()).tables
        return item.waits_since_s

    shop.file("orders", 2, [2])
    with LiveRun(shop):
        shop.recorder.wait_for("failed orders")
        eventually(lambda: waits_since_s() is not None)
        first_s = waits_since_s()
        shop.file("orders", 1, [1])
        eventually(lambda: read_status(shop.project, time.time()).tables[0].pending_files == 2)
        time.sleep(0.3)
        assert waits_since_s() == first_s
