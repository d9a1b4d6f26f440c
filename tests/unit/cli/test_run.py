"""``freshline run`` and an own-process ``refresh``; only Spark is replaced."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from freshline.cli import running
from freshline.core.lease import Holder, Record
from freshline.delta import small_files
from freshline.render.live import LiveObserver, fitted
from freshline.runtime.journal.paths import own_folder
from freshline.runtime.lease.file_store import FileStore
from freshline.runtime.options import RunOptions
from freshline.runtime.status.source_status import SourceStatus
from freshline.runtime.status.status import read_status
from freshline.runtime.upkeep import maintenance
from freshline.runtime.warehouse import Warehouse
from freshline.spark.engine import session
from tests.support.shop import QUICK, LiveRun, eventually


@pytest.fixture(autouse=True)
def _without_spark(shop, monkeypatch):
    def warehouse(project, make_executor, observer, options, clock):
        return Warehouse(
            project, lambda: shop.executor, observer, options, backoff=QUICK, clock=clock
        )

    monkeypatch.setattr(running, "Warehouse", warehouse)


def test_until_idle_logs_a_line_per_update_and_ends(freshline, shop):
    shop.file("orders", 1, [1, 2])
    done = freshline("run", "--until-idle")
    assert (done.exit_code, done.stdout) == (0, "")
    lines = [line.split(" ", 2)[2] for line in done.stderr.splitlines()[:-1]]
    assert lines[0].startswith("web page: http://127.0.0.1:")
    assert lines[1].startswith("Spark ready after ")
    assert [line.split(" in ")[0] for line in lines[2:]] == [
        "orders +2 rows",
        "big    +2 rows",
        "small  +2 rows",
    ]
    assert lines[2].endswith(" s, fresh to 2026-01-02 00:01:00, track 0, append")
    last = done.stderr.splitlines()[-1]
    assert last.startswith("stopped after ")
    assert last.endswith(" s: 3 updates")


def test_json_is_one_object_at_the_end(freshline, shop):
    shop.file("orders", 1, [1, 2])
    done = freshline("run", "--until-idle", "--json")
    found = json.loads(done.stdout)
    assert (found["updates"], found["failed"], found["rows"]) == (3, 0, 6)
    assert found["left_behind"] == []
    assert [(item["name"], item["state"]) for item in found["tables"]] == [
        ("orders", "fresh"),
        ("big", "fresh"),
        ("small", "fresh"),
    ]


def test_a_table_that_cannot_be_brought_up_to_date_is_named_with_the_reason(freshline, shop):
    shop.executor.failing["big"] = "no room"
    shop.file("orders", 1, [1])
    done = freshline("run", "--until-idle", "--json")
    assert done.exit_code == 3
    found = json.loads(done.stdout)
    assert (found["updates"], found["failed"]) == (1, 3)
    assert found["left_behind"] == [{"name": "big", "reason": "[made-to-fail] no room"}]
    assert done.stderr.splitlines()[-2:] == [
        next(line for line in done.stderr.splitlines() if line.startswith("stopped after")),
        "big could not be brought up to date: [made-to-fail] no room",
    ]
    failed = [line for line in done.stderr.splitlines() if " failed after " in line]
    assert len(failed) == 3
    assert "[made-to-fail] no room; again in 0.0 s" in failed[0]


def test_a_log_that_cannot_be_written_ends_no_run(shop, monkeypatch):
    shop.file("orders", 1, [1])
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stderr", full)
        options = RunOptions(until_idle=True)
        assert running.run_warehouse(shop.project, options, as_json=False) == 0
    assert shop.executor.numbers("small") == [1]


def test_a_connection_that_breaks_within_a_run_is_no_good_end(freshline, monkeypatch):
    def broken(*_):
        raise BrokenPipeError("Broken pipe")

    monkeypatch.setattr(Warehouse, "run", broken)
    done = freshline("run")
    assert done.exit_code == 1
    last = done.stderr.splitlines()[-1]
    assert last == "[broken-pipe] a connection within the run broke: Broken pipe"


def test_spark_that_has_started_ends_where_its_modules_cannot_be_read(freshline, monkeypatch):
    ended = []

    class Session:
        def stop(self):
            ended.append("stopped")

    def broken(name):
        raise ImportError(f"no {name}")

    monkeypatch.setattr(running, "Warehouse", Warehouse)
    monkeypatch.setattr(session, "start_session", lambda *_, **__: Session())
    monkeypatch.setattr(running, "import_module", broken)
    done = freshline("run")
    assert (done.exit_code, ended) == (1, ["stopped"])
    assert "[spark-start] Spark did not start: no freshline.spark.updates" in done.stderr


def test_a_file_in_quarantine_is_left_behind(freshline, shop):
    bad = shop.file("orders", 1, "rubbish")
    done = freshline("run", "--until-idle", "--json")
    assert done.exit_code == 3
    reason = f"1 file is quarantined, {bad}: invalid literal for int() with base 10: 'rubbish'"
    assert json.loads(done.stdout)["left_behind"] == [{"name": "orders", "reason": reason}]
    # Its attempts are one line, and the end of them another.
    assert done.stderr.count("orders failed after") == 1
    assert done.stderr.count(f"the file {bad} is in quarantine after 3 attempts") == 1
    (Path(shop.project.feeds["orders_feed"].path) / bad).write_text("7")
    assert freshline("retry", "orders").exit_code == 0
    assert freshline("run", "--until-idle").exit_code == 0
    assert shop.executor.numbers("small") == [7]


def test_a_name_without_the_timestamp_that_the_feed_says_it_has_is_told_once(freshline, shop):
    feed = Path(shop.project.feeds["orders_feed"].path)
    for name in ("b.csv", "a.csv", "orders-20260231T101010.csv"):
        (feed / name).write_text("1")
    shop.file("orders", 1, [1])
    done = freshline("run", "--until-idle")
    told = (
        "warning: feed orders_feed: a.csv and 2 more: the name has no timestamp as"
        " `timestamp:` reads it; the modification time is taken"
    )
    assert [line[20:] for line in done.stderr.splitlines() if "timestamp" in line] == [told]
    assert done.exit_code == 0
    assert "timestamp" not in freshline("run", "--until-idle").stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_lets_the_running_update_finish(freshline, shop, number):
    gate = shop.executor.gates["orders"] = threading.Event()
    shop.file("orders", 1, [1])

    def stop():
        # Only once the update runs can its end be what the stop waits for.
        while not shop.executor.requests:
            gate.wait(0.001)
        for _ in range(2 if number == signal.SIGHUP else 1):  # the terminal's, and its shell's
            os.kill(os.getpid(), number)
            gate.wait(0.05)
        gate.set()

    if number == signal.SIGHUP:  # the tests may run under nohup
        signal.signal(number, signal.SIG_DFL)
    thread = threading.Thread(target=stop)
    thread.start()
    before = signal.getsignal(number)
    done = freshline("run")
    thread.join()
    assert done.exit_code == 0
    assert shop.executor.numbers("orders") == [1]
    assert "orders +1 rows in " in done.stderr
    assert done.stderr.splitlines()[-1].endswith(": 1 update")
    assert signal.getsignal(number) is before


def test_under_nohup_a_closed_terminal_ends_nothing(freshline, shop):
    gate = shop.executor.gates["orders"] = threading.Event()
    shop.file("orders", 1, [1])

    def close_the_terminal():
        while not shop.executor.requests:
            gate.wait(0.001)
        os.kill(os.getpid(), signal.SIGHUP)
        shop.file("orders", 2, [2])
        gate.set()
        eventually(lambda: shop.executor.numbers("orders") == [1, 2])
        os.kill(os.getpid(), signal.SIGTERM)

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        thread = threading.Thread(target=close_the_terminal)
        thread.start()
        assert freshline("run").exit_code == 0
        thread.join()
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_second_run_is_refused_at_once(freshline, shop):
    with LiveRun(shop):
        shop.recorder.wait_for("ready")
        done = freshline("run")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(
        f"[already-running] process {os.getpid()} runs this warehouse already; one run per storage"
    )


def asked(path, port):
    """Status and object of an answer; None where nothing answers."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as reply:
        return reply.code, json.load(reply)
    except OSError:
        return None


def test_a_standby_is_live_and_gets_ready_when_it_leads(freshline, shop):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    file = shop.root / "freshline.yml"
    file.write_text(file.read_text().replace("port: 0", f"port: {port}"))
    store = FileStore(own_folder(shop.project))
    far = Record(Holder("far", "elsewhere", 77, "another machine"), 1, 0.0)
    tag = store.swap(far, None)
    answers: list = []

    def play():
        try:
            eventually(lambda: asked("/healthz", port) is not None)
            answers.extend(asked(path, port) for path in ("/healthz", "/readyz"))
            store.swap(dataclasses.replace(far, released=True), tag)
            eventually(lambda: (asked("/readyz", port) or (0,))[0] == 200)
            answers.extend(asked(path, port) for path in ("/healthz", "/readyz"))
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=play)
    thread.start()
    done = freshline("run", "--standby")
    thread.join()
    assert done.exit_code == 0
    assert [(status, found["live"], found["leader"]) for status, found in answers] == [
        (200, True, False),
        (503, True, False),
        (200, True, True),
        (200, True, True),
    ]
    assert f"health check while standing by: http://127.0.0.1:{port}/healthz" in done.stderr
    assert f"web page: http://127.0.0.1:{port}" in done.stderr


def test_a_grace_that_is_no_duration_is_refused(freshline):
    done = freshline("run", "--grace", "soon")
    assert done.exit_code == 2
    assert done.stderr.startswith("[bad-duration] --grace: 'soon' is no duration; a duration is")


def test_refresh_without_a_run_does_it_here_for_the_tables_named_alone(freshline, shop):
    shop.file("orders", 1, [1])
    done = freshline("refresh", "big")
    assert done.exit_code == 0
    assert [request.table for request in shop.executor.requests] == ["orders", "big"]
    done = freshline("refresh", "big", "--full", "--json")
    assert json.loads(done.stdout)["updates"] == 1
    assert (shop.executor.requests[-1].table, shop.executor.requests[-1].full) == ("big", True)


def test_a_refresh_fails_by_what_its_tables_are_made_of_alone(freshline, shop):
    """A feed of none of them cannot be read; then a parent is not loaded."""
    root = Path(shop.project.feeds["orders_feed"].path).parents[1]
    settings = root / "freshline.yml"
    feed = "  parts_feed: {kind: files, path: feed/parts, format: csv, schema: n INT, period: 1s}\n"
    settings.write_text(settings.read_text().replace("feeds:\n", f"feeds:\n{feed}"))
    table = "CREATE STREAMING TABLE parts AS SELECT * FROM STREAM parts_feed;\n"
    (root / "tables" / "parts.sql").write_text(table)
    (root / "feed" / "parts").write_text("no folder")
    shop.file("orders", 1, [1])
    done = freshline("run", "--until-idle", "--json")
    assert done.exit_code == 3, done.stderr
    assert [each["name"] for each in json.loads(done.stdout)["left_behind"]] == ["parts_feed"]
    assert freshline("refresh", "big").exit_code == 0
    assert freshline("refresh", "parts").exit_code == 3
    bad = shop.file("orders", 2, "rubbish")
    done = freshline("refresh", "big", "--json")
    assert done.exit_code == 3
    ((name, reason),) = [each.values() for each in json.loads(done.stdout)["left_behind"]]
    assert (name, bad in reason) == ("orders", True)


def test_the_live_table_shows_what_status_would(shop):
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    observer = LiveObserver(shop.project)
    console = Console(record=True, width=140, file=open(os.devnull, "w"))  # noqa: PTH123, SIM115
    console.print(observer._drawn())
    text = console.export_text()
    console.file.close()
    lines = [line.rstrip() for line in text.splitlines()]
    assert lines[0].startswith("shop: not running since ")
    assert lines[1].split() == [
        "table", "state", "fresh", "to", "(UTC)", "stale", "target", "kept", "executor", "pending",
        "last", "update", "next",
    ]  # fmt: skip
    assert lines[2].startswith("orders  fresh  2026-01-02 00:01:00")
    assert lines[-1] == "0 updates, 0 rows, 0 failed attempts"


def test_a_live_table_that_is_too_long_has_the_late_tables(shop):
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    tables = read_status(shop.project, time.time()).tables
    many = [
        replace(tables[0], name=f"t{at}", within_target=at != 70, failures=int(at == 80))
        for at in range(100)
    ]
    assert [each.name for each in fitted(many, 4)] == ["t0", "t1", "t70", "t80"]
    assert [each.name for each in fitted(many, 1)] == ["t80"]
    assert fitted(many, 100) == tuple(many)


def test_a_reload_that_is_refused_on_the_way_is_left_behind(freshline, shop):
    bad = shop.file("orders", 1, [1])
    assert freshline("run", "--until-idle").exit_code == 0
    (Path(shop.project.feeds["orders_feed"].path) / bad).write_text("rubbish")
    done = freshline("refresh", "orders", "--full", "--json")
    assert done.exit_code == 3
    refused, changed = json.loads(done.stdout)["left_behind"]
    assert (refused["name"], bad in refused["reason"]) == ("orders", True)
    assert changed["name"] == "orders"
    assert changed["reason"].startswith(f"{bad} changed: [file-changed] it was loaded with 1 bytes")
    assert shop.executor.numbers("orders") == [1]


def logged(done):
    return [json.loads(line) for line in done.stderr.splitlines()]


def test_a_log_as_json_has_an_object_a_line_with_the_table_s_fields(freshline, shop):
    shop.file("orders", 1, [1, 2])
    done = freshline("run", "--until-idle", "--log-format", "json")
    assert (done.exit_code, done.stdout) == (0, "")
    lines = logged(done)
    assert {tuple(line)[:4] for line in lines} == {("at", "level", "event", "message")}
    updates = [line for line in lines if line["event"] == "update-committed"]
    assert [(line["table"], line["level"]) for line in updates] == [
        ("orders", "info"), ("big", "info"), ("small", "info"),
    ]  # fmt: skip
    orders = updates[0]
    assert orders.pop("at") >= "2026"
    assert orders.pop("seconds") > 0.0
    assert orders.pop("expected_s") > 0.0
    assert orders.pop("message").startswith("orders +2 rows in ")
    assert orders == {
        "level": "info",
        "event": "update-committed",
        "table": "orders",
        "number": 1,
        "track": 0,
        "fresh_to": "2026-01-02T00:01:00.000000Z",
        "attempt": 1,
        "strategy": "append",
        "reason": "so that it can be checked",
        "rows": 2,
        "rejected_rows": 0,
        "version": 0,
    }
    assert lines[-1]["event"] == "notice"
    assert lines[-1]["message"].startswith("stopped after ")


def test_failures_are_warnings_and_what_is_given_up_an_error(freshline, shop):
    shop.file("orders", 1, "no number")
    done = freshline("run", "--until-idle", "--log-format", "json", "--log-level", "warning")
    lines = logged(done)
    assert [(line["level"], line["event"], line.get("table")) for line in lines[:4]] == [
        ("warning", "update-failed", "orders"),
        ("warning", "update-failed", "orders"),
        ("error", "notice", "orders"),
        ("warning", "update-failed", "orders"),
    ]
    assert "cannot be read" in lines[0]["error"]
    assert lines[0]["retry_in_s"] == 0.0
    assert [line["attempt"] for line in lines if "attempt" in line] == [1, 1, 1]
    assert "is in quarantine" in lines[2]["message"]
    assert {line["level"] for line in lines} <= {"warning", "error"}


@pytest.mark.parametrize("form", ["json", "text"])
def test_upkeep_that_fails_is_told_once_and_not_as_a_failed_update(
    freshline, shop, monkeypatch, form
):
    monkeypatch.setattr(small_files, "MOST_FILES", 4)
    monkeypatch.setattr(maintenance, "LOOK_EVERY_UPDATES", 1)
    shop.executor.failing_upkeep = "no room"
    told = ""
    for minute in range(1, 5):  # the fourth file makes a compaction pay
        shop.file("orders", minute, [minute])
        done = freshline("run", "--until-idle", "--log-format", form, "--log-level", "warning")
        told += done.stderr
    (line,) = [line for line in told.splitlines() if "no room" in line]
    assert "orders: compact failed: [made-to-fail] no room" in line
    assert "update-failed" not in told


def test_starts_are_told_where_debugging_is_wanted(freshline, shop):
    shop.file("orders", 1, [1])
    done = freshline("run", "--until-idle", "--log-format", "json", "--log-level", "debug")
    starts = [line["message"] for line in logged(done) if line["event"] == "update-started"]
    assert starts == ["orders update 1 starts", "big update 1 starts", "small update 1 starts"]
    shop.file("orders", 2, [2])
    done = freshline("run", "--until-idle", "--log-level", "debug")
    assert "orders update 2 starts, track 0" in done.stderr


def test_a_run_that_cannot_start_says_so_as_json_too(freshline, shop):
    with LiveRun(shop):
        shop.recorder.wait_for("ready")
        done = freshline("run", "--log-format", "json")
    (line,) = logged(done)
    assert (done.exit_code, line["level"]) == (2, "error")
    assert line["message"].startswith("[already-running] ")


def test_a_project_with_errors_says_each_as_a_line_of_json(freshline, shop):
    (shop.root / "freshline.yml").write_text("nme: x\n")
    done = freshline("run", "--log-format", "json")
    lines = logged(done)
    assert done.exit_code == 2
    assert {(line["level"], line["event"]) for line in lines} == {("error", "notice")}
    assert [line["message"].split("]")[0] for line in lines] == [
        "[unknown-key",
        *["[missing-key"] * 3,
    ]
    assert done.stderr.count("missing-key") == 3  # nothing twice


def test_an_unknown_log_format_is_refused(freshline):
    assert freshline("run", "--log-format", "xml").exit_code == 2


def test_refresh_and_full_refresh_name_what_is_done_and_the_run_ends(freshline, shop):
    shop.file("orders", 1, [1, 2])
    assert freshline("run", "--until-idle").exit_code == 0
    shop.file("orders", 2, [3])
    done = freshline("run", "--refresh", "orders, shop.big", "--full-refresh", "small")
    assert done.exit_code == 0
    asked = {(each.table, each.full) for each in shop.executor.requests[3:]}
    assert asked == {("orders", False), ("big", False), ("small", True), ("small", False)}
    before = len(shop.executor.requests)
    assert freshline("run", "--full-refresh-all").exit_code == 0
    asked = {(each.table, each.full) for each in shop.executor.requests[before:]}
    assert asked >= {("orders", True), ("big", True), ("small", True)}


def test_refresh_of_part_leaves_the_rest(freshline, shop):
    shop.file("orders", 1, [1, 2])
    assert freshline("run", "--refresh", "big").exit_code == 0
    assert [each.table for each in shop.executor.requests] == ["orders", "big"]


@pytest.mark.parametrize("option", ["--refresh", "--full-refresh"])
@pytest.mark.parametrize("tables", ["", " , "])
def test_a_refresh_that_names_no_table_is_refused(freshline, shop, option, tables):
    shop.file("orders", 1, [1])
    done = freshline("run", option, tables)
    assert (done.exit_code, done.stdout, shop.executor.requests) == (2, "", [])
    assert done.stderr.startswith(f"[bad-option] {option} names no table; it is one table or more")


def test_a_delta_table_that_cannot_be_read_is_named_at_the_end_of_a_run(shop):
    source = SourceStatus(
        "items", "orders", "/data/items", "missing", None, "[source-missing] it is gone",
        None, 0, None,
    )  # fmt: skip
    found = replace(read_status(shop.project, time.time()), sources=(source,))
    behind = running._behind(found, shop.project, RunOptions(until_idle=True), {})
    assert behind == [("orders", "[source-missing] it is gone")]


def test_refreshes_that_contradict_each_other_are_refused(freshline):
    done = freshline("run", "--full-refresh-all", "--refresh", "big")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == (
        "[conflicting-options] --full-refresh-all does not go with --refresh or --full-refresh; it"
        " rebuilds every table. Leave one of them out.\n"
    )


@pytest.mark.parametrize("command", ["run", "dry-run"])
def test_a_project_is_named_once(freshline, command):
    done = freshline(command, "--project", ".", "--spec", "spark-pipeline.yml")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == (
        "[conflicting-options] --spec and --project are both given; a pipeline is in the directory"
        " of its specification. Leave one of them out.\n"
    )
