"""The wall-clock driver for real: threads, journal, feeds; only Spark is replaced."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import threading
import time

import pytest

from freshline.core.errors import PlatformError, UserError
from freshline.core.scheduler import Scheduler
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.runtime.options import RunOptions
from freshline.runtime.requests.backfills import argument_of, check_backfill, note_backfill
from freshline.runtime.requests.handler import carry_out_offline
from freshline.runtime.status.replay import replay
from tests.support.shop import PATIENCE_S, LiveRun, eventually, made_shop

TABLES = {"orders": (), "parts": (), "joined": ("orders", "parts"), "total": ("joined",)}


@pytest.fixture
def shop(tmp_path):
    return made_shop(tmp_path, TABLES)


def test_until_idle_brings_every_file_into_every_table(shop):
    shop.file("orders", 1, [1, 2])
    shop.file("orders", 2, [3])
    shop.file("parts", 1, [10])
    assert shop.run_until_idle() == 0
    assert shop.executor.numbers("orders") == [1, 2, 3]
    assert shop.executor.numbers("joined") == [1, 2, 3, 10]
    assert shop.executor.numbers("total") == [1, 2, 3, 10]
    shop.check_views()
    assert shop.executor.closed


def test_a_second_run_loads_only_what_is_new(shop):
    shop.file("orders", 1, [1])
    shop.file("parts", 1, [10])
    shop.run_until_idle()
    before = len(shop.executor.requests)
    shop.run_until_idle()
    assert shop.executor.requests[before:] == []
    name = shop.file("orders", 2, [2])
    shop.run_until_idle()
    loaded = [[file.name for file in request.files] for request in shop.executor.requests[before:]]
    assert loaded[0] == [name]
    assert shop.executor.numbers("orders") == [1, 2]


def test_unfinished_files_are_not_read(shop):
    shop.file("orders", 1, [1])
    folder = shop.root / "feed" / "orders"
    for name in ("_half.csv", ".hidden.csv", "a.tmp", "b.inprogress", "c.crc", "d.csv._COPYING_"):
        (folder / name).write_text("broken")
    assert shop.run_until_idle() == 0
    assert shop.executor.numbers("orders") == [1]


def test_a_late_file_is_loaded_and_corrects_the_views(shop):
    shop.file("orders", 5, [5])
    shop.file("parts", 5, [10])
    shop.run_until_idle()
    shop.file("orders", 2, [2])
    shop.run_until_idle()
    assert shop.executor.numbers("total") == [2, 5, 10]
    shop.check_views()


def test_a_failing_table_is_tried_again_while_the_others_go_on(shop):
    shop.executor.failing["joined"] = "no room"
    shop.file("orders", 1, [1])
    shop.file("parts", 1, [10])
    with LiveRun(shop):
        shop.recorder.wait_for("failed joined", 2)
        shop.file("orders", 2, [2])
        shop.recorder.wait_for("done orders", 2)
        shop.executor.failing.clear()
        shop.recorder.wait_for("done total")
        eventually(lambda: shop.executor.numbers("total") == [1, 2, 10])
    shop.check_views()
    rows = shop.journal_rows("SELECT failures, error FROM tables WHERE name='joined'")
    assert rows == [{"failures": 0, "error": None}]


def test_until_idle_gives_up_on_a_table_that_always_fails(shop):
    shop.executor.failing["joined"] = "no room"
    shop.file("orders", 1, [1])
    shop.file("parts", 1, [10])
    assert shop.run_until_idle() == 1
    assert shop.executor.numbers("orders") == [1]
    failed = [request.attempt for request in shop.executor.requests if request.table == "joined"]
    assert failed == [1, 2, 3]
    (row,) = shop.journal_rows("SELECT failures, error FROM tables WHERE name='joined'")
    assert row == {"failures": 3, "error": "[made-to-fail] no room"}


def test_an_unreadable_file_is_quarantined_and_the_others_are_loaded(shop):
    good = [shop.file("orders", 1, [1]), shop.file("orders", 3, [3])]
    bad = shop.file("orders", 2, "this is no number")
    assert shop.run_until_idle() == 0
    assert shop.executor.numbers("orders") == [1, 3]
    files = {
        row["name"]: (row["state"], row["attempts"])
        for row in shop.journal_rows("SELECT name, state, attempts FROM files")
    }
    assert files == {good[0]: ("loaded", 0), bad: ("quarantined", 3), good[1]: ("loaded", 0)}
    (notice,) = (line for line in shop.recorder.lines if line.startswith("notice"))
    assert notice == (
        f"notice orders: the file {bad} is in quarantine after 3 attempts: invalid literal for "
        "int() with base 10: 'this'; `freshline retry orders` tries it again"
    )


def test_a_quarantined_file_stays_out_over_runs_until_it_is_retried(shop):
    bad = shop.file("orders", 2, "broken")
    shop.run_until_idle()
    (shop.root / "feed" / "orders" / bad).write_text("2")
    shop.run_until_idle()
    assert shop.executor.numbers("orders") == []
    journal = Journal(journal_path(shop.project), create=False)
    answer = carry_out_offline(journal, "retry", "orders", time.time())
    journal.close()
    assert answer == {"ok": True, "message": "orders: 1 file is tried again at the next start"}
    shop.run_until_idle()
    assert shop.executor.numbers("orders") == [2]


def test_retry_of_a_running_warehouse_takes_a_file_out_of_quarantine(shop):
    bad = shop.file("orders", 2, "broken")
    with LiveRun(shop):
        shop.recorder.wait_for("failed orders", 3)
        (shop.root / "feed" / "orders" / bad).write_text("2")
        assert shop.ask("retry", "orders")["message"] == "orders is tried again; files: 1"
        shop.recorder.wait_for("done orders")
    assert shop.executor.numbers("orders") == [2]


def test_a_file_that_vanished_is_noted_and_loaded_when_it_comes_again(shop):
    gate = shop.executor.gates["orders"] = threading.Event()
    name = shop.file("orders", 1, [1])
    path = shop.root / "feed" / "orders" / name
    with LiveRun(shop):
        shop.recorder.wait_for("start orders")
        path.unlink()
        gate.set()
        shop.recorder.wait_for(f"notice orders: the file {name} vanished before it was loaded")
        shop.file("orders", 1, [7])
        shop.recorder.wait_for("done orders")
    assert shop.executor.numbers("orders") == [7]


def test_pause_holds_a_table_and_resume_lets_it_go_on_live(shop):
    shop.file("parts", 1, [10])
    with LiveRun(shop):
        shop.recorder.wait_for("done parts")
        assert shop.ask("pause", "orders") == {"ok": True, "message": "orders is paused"}
        shop.file("orders", 1, [1])
        shop.file("parts", 2, [20])
        shop.recorder.wait_for("done parts", 2)
        eventually(lambda: shop.journal_rows("SELECT 1 FROM files WHERE table_name='orders'"))
        assert "start orders" not in shop.recorder.lines
        assert shop.ask("resume", "orders") == {"ok": True, "message": "orders is resumed"}
        shop.recorder.wait_for("done orders")
    assert shop.executor.numbers("orders") == [1]


def test_a_pause_outlives_the_run(shop):
    shop.file("orders", 1, [1])
    shop.file("parts", 1, [10])
    shop.run_until_idle()
    journal = Journal(journal_path(shop.project), create=False)
    carry_out_offline(journal, "pause", "orders", time.time())
    journal.close()
    shop.file("orders", 2, [2])
    shop.file("parts", 2, [20])
    shop.run_until_idle()
    assert shop.executor.numbers("orders") == [1]
    assert shop.executor.numbers("parts") == [10, 20]


def test_refresh_full_loads_all_files_of_a_base_table_again(shop):
    shop.file("orders", 1, [1])
    shop.file("orders", 2, [2])
    with LiveRun(shop):
        shop.recorder.wait_for("done orders")
        eventually(lambda: shop.executor.numbers("orders") == [1, 2])
        done = shop.recorder.lines.count("done orders")
        assert shop.ask("refresh", "orders", "full")["ok"]
        shop.recorder.wait_for("done orders", done + 1)
    last = shop.executor.requests[-1]
    assert (last.full, len(last.files)) == (True, 2)
    assert shop.executor.numbers("orders") == [1, 2]


def test_refresh_full_is_refused_where_files_are_gone_from_the_feed(shop):
    gone = shop.file("orders", 1, [1])
    shop.file("orders", 2, [2])
    with LiveRun(shop):
        eventually(lambda: shop.executor.numbers("orders") == [1, 2])
        eventually(lambda: shop.journal_rows("SELECT 1 FROM files WHERE state='loaded'"))
        (shop.root / "feed" / "orders" / gone).unlink()
        answer = shop.ask("refresh", "orders", "full")
    expected = (
        f"[files-gone] 1 of the 2 files in table orders are no longer in feed orders_feed ({gone});"
        " loading the table again would lose their rows. Put the files back, or refresh without"
        " --full."
    )
    assert (answer["ok"], answer["message"], answer["exit_status"]) == (False, expected, 2)
    with pytest.raises(UserError) as error:
        shop.warehouse(RunOptions(until_idle=True, refresh=("orders",), rebuilt=("orders",))).run()
    assert str(error.value) == expected
    assert shop.executor.numbers("orders") == [1, 2]


def test_a_run_that_rebuilds_all_tables_is_one_of_the_whole_project(shop):
    """``validate --against-running`` compares with the last of those."""
    names = tuple(table.name for table in shop.project.tables)
    shop.file("orders", 1, [1])
    for refreshed in (names, names[:1]):
        shop.warehouse(RunOptions(until_idle=True, refresh=refreshed, rebuilt=refreshed)).run()
    settings = [json.loads(row["setting"]) for row in shop.journal_rows("SELECT setting FROM runs")]
    assert [setting["narrowed"] for setting in settings] == [False, True]


def test_a_refresh_without_a_running_warehouse_touches_ancestors_alone(shop):
    shop.file("orders", 1, [1])
    shop.file("parts", 1, [10])
    shop.run_until_idle()
    shop.file("orders", 2, [2])
    shop.file("parts", 2, [20])
    before = len(shop.executor.requests)
    shop.warehouse(RunOptions(until_idle=True, refresh=("orders",))).run()
    assert [request.table for request in shop.executor.requests[before:]] == ["orders"]
    dropped = shop.journal_rows("SELECT name FROM tables WHERE dropped=1")
    assert dropped == []
    shop.run_until_idle()
    assert shop.executor.numbers("total") == [1, 2, 10, 20]


def test_a_stop_lets_the_running_update_finish(shop):
    gate = shop.executor.gates["orders"] = threading.Event()
    shop.file("orders", 1, [1])
    run = LiveRun(shop)
    with run:
        shop.recorder.wait_for("start orders")
        run.warehouse.stop()
        # Or a person at a terminal thinks that it hangs, and ends it by a second Ctrl-C.
        shop.recorder.wait_for(
            "notice stopping: waiting up to 30 s for orders; a second signal (Ctrl-C) ends at once"
        )
        gate.set()
    assert shop.recorder.lines.count("done orders") == 1
    assert shop.journal_rows("SELECT state FROM updates") == [{"state": "done"}]


def test_a_stop_does_not_spin_where_a_date_of_the_core_passes_meanwhile(shop, monkeypatch):
    gate = shop.executor.gates["orders"] = threading.Event()
    shop.file("orders", 1, [1])
    with LiveRun(shop) as run:
        shop.recorder.wait_for("start orders")
        rounds: list[float] = []
        is_over = run.warehouse._stopping.is_over

        def counted(running, *, reports):
            rounds.append(time.monotonic())
            return is_over(running, reports=reports)

        monkeypatch.setattr(run.warehouse._stopping, "is_over", counted)
        run.warehouse.stop()
        eventually(lambda: rounds)
        monkeypatch.setattr(run.warehouse._scheduler, "next_wakeup_s", lambda: 0.0)
        rounds.clear()
        time.sleep(1.0)
        assert len(rounds) <= 10
        gate.set()


def test_a_stop_leaves_an_update_that_outlives_the_grace(shop):
    gate = shop.executor.gates["orders"] = threading.Event()
    shop.file("orders", 1, [1])
    with LiveRun(shop, RunOptions(grace_s=0.01)):
        shop.recorder.wait_for("start orders")
    assert shop.recorder.lines[-1] == (
        "notice grace period expired; abandoning: orders; the next start picks up what did not end"
    )
    gate.set()
    # The lease is given back, so another process may lead: it does not commit any more.
    eventually(lambda: not any(each.name.startswith("track-") for each in threading.enumerate()))
    assert shop.executor.numbers("orders") == []
    assert shop.run_until_idle() == 0
    assert shop.executor.numbers("orders") == [1]
    assert shop.journal_rows("SELECT state FROM files") == [{"state": "loaded"}]


def test_a_second_run_on_one_storage_is_refused(shop):
    with LiveRun(shop):
        shop.recorder.wait_for("ready")
        with pytest.raises(UserError) as error:
            shop.warehouse().run()
    lock = shop.root / "warehouse" / "_freshline" / "lock"
    assert str(error.value) == (
        f"[already-running] process {os.getpid()} runs this warehouse already; one run per"
        f" storage; it holds {lock}. Stop it (kill {os.getpid()}), or use `freshline status`."
    )


def test_a_journal_that_is_lost_is_rebuilt_from_the_delta_log(shop):
    for minute in range(1, 6):
        shop.file("orders", minute, [minute])
        shop.run_until_idle()
    shop.file("parts", 1, [10])
    shop.run_until_idle()
    shutil.rmtree(shop.root / "warehouse" / "_freshline")
    before = len(shop.executor.requests)
    shop.file("orders", 6, [6])
    shop.file("parts", 6, [])
    shop.run_until_idle()
    # All six are counted again, five of them by their commits.
    uses = shop.journal_rows("SELECT * FROM strategies WHERE table_name='orders'")
    assert [(use["strategy"], use["code"], use["updates"], use["rows"]) for use in uses] == [
        ("append", "row-wise", 6, 6)
    ]
    assert shop.executor.numbers("orders") == [1, 2, 3, 4, 5, 6]
    orders = [item for item in shop.executor.requests[before:] if item.table == "orders"]
    assert [(item.number, len(item.files)) for item in orders] == [(6, 1)]
    assert shop.executor.numbers("total") == [1, 2, 3, 4, 5, 6, 10]
    shop.check_views()


def test_a_table_that_is_put_back_after_its_journal_was_lost_gets_all_files_again(shop):
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    table, copy = shop.root / "warehouse" / "orders", shop.root / "copy"
    shutil.copytree(table, copy)
    for minute in (2, 3):
        shop.file("orders", minute, [minute])
        shop.run_until_idle()
    shutil.rmtree(shop.root / "warehouse" / "_freshline")
    shop.run_until_idle()
    shutil.rmtree(table)
    shutil.copytree(copy, table)
    shop.run_until_idle()
    assert shop.executor.numbers("orders") == [1, 2, 3]


def test_spark_that_does_not_start_ends_the_run_with_its_error(shop):
    def refuse():
        raise PlatformError("spark-start", "Spark did not start: no Java")

    warehouse = shop.warehouse()
    warehouse._make_executor = refuse
    with pytest.raises(PlatformError, match="no Java"):
        warehouse.run()
    (row,) = shop.journal_rows("SELECT ready_s, stopped_s IS NOT NULL AS ended FROM runs")
    assert row == {"ready_s": None, "ended": 1}


def test_what_was_passed_over_stands_in_the_journal(tmp_path):
    shop = made_shop(tmp_path, {"a": (), "b": (), "c": ()})
    for table in ("a", "b", "c"):
        shop.file(table, 1, [1])
    shop.run_until_idle()
    rows = shop.journal_rows("SELECT table_name, score, passed_over FROM updates ORDER BY id")
    assert rows[0]["score"].startswith("benefit ")
    told = {name for row in rows for name, _ in json.loads(row["passed_over"])}
    assert told <= {"a", "b", "c"}


# ---- backfills, and the newest first ----


def dated(shop, name="orders"):
    """The shop with an event time declared for one table."""
    tables = tuple(
        dataclasses.replace(table, time_column="n") if table.name == name else table
        for table in shop.project.tables
    )
    shop.project = shop.executor.project = dataclasses.replace(shop.project, tables=tables)
    return shop


def test_a_backfill_reads_all_files_of_the_table_and_moves_nothing_else(shop):
    dated(shop)
    shop.file("orders", 1, [1])
    shop.file("orders", 2, [2])
    shop.file("parts", 1, [10])
    with LiveRun(shop):
        shop.recorder.wait_for("done total")
        eventually(lambda: shop.executor.numbers("total") == [1, 2, 10])
        before = len(shop.executor.requests)
        answer = shop.ask("backfill", "orders", argument_of(5.0, 9.0))
        assert answer["message"] == "orders: backfill queued at background priority"
        eventually(
            lambda: [each.table for each in shop.executor.requests[before:]].count("total") == 1
        )
    request = shop.executor.requests[before]
    assert (request.table, request.range_s, len(request.files)) == ("orders", (5.0, 9.0), 2)
    assert request.from_s == request.to_s
    assert shop.executor.numbers("total") == [1, 2, 10]
    shop.check_views()
    states = shop.journal_rows("SELECT state, number FROM files WHERE table_name='orders'")
    assert {row["state"] for row in states} == {"loaded"}
    assert max(row["number"] for row in states) < request.number
    (row,) = shop.journal_rows("SELECT state FROM backfills")
    assert row == {"state": "done"}
    assert replayed_as_recorded(shop)


def test_a_backfill_that_nobody_finished_is_done_by_the_next_run(shop):
    dated(shop)
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    journal = Journal(journal_path(shop.project), create=False)
    note_backfill(journal, "orders", 5.0, 9.0, time.time())
    journal.close()
    before = len(shop.executor.requests)
    assert shop.run_until_idle() == 0
    assert [each.range_s for each in shop.executor.requests[before:]] == [(5.0, 9.0)]
    before = len(shop.executor.requests)
    shop.run_until_idle()
    assert shop.executor.requests[before:] == []
    assert shop.executor.numbers("orders") == [1]


def test_a_backfill_that_always_fails_is_given_up(shop):
    dated(shop)
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    journal = Journal(journal_path(shop.project), create=False)
    note_backfill(journal, "orders", 5.0, 9.0, time.time())
    journal.close()
    shop.executor.failing["orders"] = "no room"
    shop.run_until_idle()
    assert "notice orders: the backfill is given up after 3 attempts" in shop.recorder.lines
    assert shop.journal_rows("SELECT state FROM backfills") == [{"state": "given up"}]
    (row,) = shop.journal_rows("SELECT failures, error, retry_s FROM tables WHERE name='orders'")
    assert row == {"failures": 0, "error": None, "retry_s": None}  # nothing would ever clear it


@pytest.mark.parametrize(
    ("table", "range_s", "code"),
    [
        ("orders", (9.0, 5.0), "empty-range"),
        ("parts", (5.0, 9.0), "nothing-loaded"),
        ("plain", (5.0, 9.0), "no-event-time"),
        ("orders", (5.0, 9.0), "files-gone"),
    ],
)
def test_a_backfill_that_could_not_be_right_is_refused(tmp_path, table, range_s, code):
    shop = dated(made_shop(tmp_path, {"orders": (), "parts": (), "plain": ()}))
    gone = shop.file("orders", 1, [1])
    shop.file("plain", 1, [1])
    shop.run_until_idle()
    (shop.root / "feed" / "orders" / gone).unlink()
    journal = Journal(journal_path(shop.project), create=False)
    with pytest.raises(UserError) as error:
        check_backfill(shop.project, journal, table, *range_s)
    journal.close()
    assert error.value.code == code


def test_of_a_backlog_the_newest_file_is_loaded_first_and_the_rest_follows(tmp_path):
    shop = made_shop(tmp_path, {"orders": ()})
    tables = tuple(dataclasses.replace(table, catch_up="newest") for table in shop.project.tables)
    shop.project = shop.executor.project = dataclasses.replace(shop.project, tables=tables)
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    before = len(shop.executor.requests)
    names = [shop.file("orders", minute, [minute]) for minute in range(5, 10)]
    shop.run_until_idle()
    loaded = [[file.name for file in each.files] for each in shop.executor.requests[before:]]
    assert loaded == [names[-1:], names[:-1]]
    first, second = shop.executor.requests[before:]
    assert first.from_s == first.to_s == second.from_s
    assert second.to_s == first.to_s + 8 * 60.0
    assert shop.executor.numbers("orders") == [1, 5, 6, 7, 8, 9]
    (row,) = shop.journal_rows("SELECT freshness_s FROM tables")
    assert row["freshness_s"] == second.to_s


def replayed_as_recorded(shop) -> bool:
    journal = Journal(journal_path(shop.project), create=False)
    try:
        return replay(journal).mismatches == ()
    finally:
        journal.close()


def test_the_core_is_handed_nothing_that_is_not_recorded(shop, monkeypatch):
    """The loop looks five times a second: a run of such looks could not be told again."""
    handed = []
    handle = Scheduler.handle

    def noted(core, now_s, events):
        handed.append(now_s)
        return handle(core, now_s, events)

    monkeypatch.setattr(Scheduler, "handle", noted)
    shop.file("orders", 1, [1])
    with LiveRun(shop):
        eventually(lambda: shop.executor.numbers("orders") == [1])
        time.sleep(0.7)
    recorded = [row["now_s"] for row in shop.journal_rows("SELECT now_s FROM instants ORDER BY id")]
    assert handed
    assert recorded == handed


def test_an_update_that_ends_in_the_round_of_the_stop_is_in_the_journal_once(tmp_path, monkeypatch):
    shop = made_shop(tmp_path, {"a": ()})
    shop.file("a", 1, [1])
    armed, go = threading.Event(), threading.Event()
    asked: list[bool] = []
    carry_out = shop.executor.run

    def run(request):
        result = carry_out(request)
        armed.set()
        assert go.wait(PATIENCE_S)
        return result

    def clock():
        # Called by the loop alone: what comes in meanwhile is taken in in one round.
        if armed.is_set() and not asked:
            asked.append(True)
            go.set()
            time.sleep(0.5)
            warehouse.stop()
        return time.time()

    monkeypatch.setattr(shop.executor, "run", run)
    shop.clock = clock
    warehouse = shop.warehouse()
    warehouse.run()
    assert shop.executor.numbers("a") == [1]
    (row,) = shop.journal_rows("SELECT number, version FROM tables WHERE name='a'")
    assert row == {"number": 1, "version": 0}
    monkeypatch.setattr(shop.executor, "run", carry_out)
    shop.clock = time.time
    assert shop.run_until_idle() == 0
    (count,) = shop.journal_rows(
        "SELECT sum(updates) AS n FROM strategies WHERE table_name='a' AND strategy='append'"
    )
    assert count == {"n": 1}
