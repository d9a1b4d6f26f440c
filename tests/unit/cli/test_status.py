"""``freshline status``: the records of ``runtime.status`` as text and as JSON."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import re
import threading
import time
from datetime import UTC, datetime

import pytest
from rich.console import Console

from freshline.core.lease import Holder, Record
from freshline.render.status import StatusTable
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.runtime.lease import leader
from freshline.runtime.reports.store import WantedReport, note_wanted
from freshline.runtime.status.source_status import SourceStatus
from freshline.runtime.status.status import read_status
from freshline.runtime.status.topic_status import TopicStatus
from tests.support.shop import LiveRun, eventually

NOW_S = datetime(2026, 1, 2, 0, 3, tzinfo=UTC).timestamp()


@pytest.fixture(autouse=True)
def _at_three_past_midnight(monkeypatch):
    monkeypatch.setattr(time, "time", lambda: NOW_S)


def test_before_the_first_run(freshline):
    out = "\n".join(line.rstrip() for line in freshline("status").stdout.splitlines())
    next_run = "at the next `freshline run`"
    assert out == (
        "shop: not running\n"
        "nothing is known yet: the journal has no run; the next one fills it, from the"
        " tables' logs too\n"
        "table   state  fresh to (UTC)  stale  target  kept  executor  pending  last update  next\n"
        f"orders  new{'':73}{next_run}\n"
        f"big     new{'':27}10 min{'':40}{next_run}\n"
        f"small   new{'':73}{next_run}"
    )


def test_json_tells_everything_of_a_table(answer, shop):
    shop.file("orders", 1, [1, 2])
    bad = shop.file("orders", 2, "rubbish")
    shop.run_until_idle()
    found = answer("status")
    assert (found["at"], found["project"], found["note"]) == (
        "2026-01-02T00:03:00.000000Z",
        "shop",
        None,
    )
    assert found["storage"] == str(shop.root / "warehouse")
    run = found["run"]
    assert (run["running"], run["pid"], run["tracks"], run["policy"]) == (
        False, os.getpid(), 2, "max-benefit",
    )  # fmt: skip
    orders, big, small = found["tables"]
    last = orders.pop("last_update")
    assert (last["number"], last["rows"], last["rejected_rows"], last["version"]) == (1, 2, 0, 0)
    assert (last["strategy"], last["reason"]) == ("append", "so that it can be checked")
    assert last["seconds"] > 0.0
    assert (last["code"], last["read_rows"]) == ("row-wise", 0)
    (use,) = orders.pop("strategies")
    assert (use.pop("seconds") > 0.0, use.pop("last")) == (True, last["at"])
    assert use == {
        "strategy": "append", "code": "row-wise", "updates": 1, "rows": 2, "read_rows": 0,
    }  # fmt: skip
    assert orders.pop("unasked_full") == {"updates": 0, "codes": {}, "reason": None}
    assert orders.pop("states_built") == 0
    assert orders.pop("trial") is None
    assert orders.pop("corrected") == {"updates": 0, "rows": 0, "last": None}
    assert orders.pop("expected_s") > 0.0
    spent = orders.pop("lately")
    assert spent["within_target"] is None  # it has no target
    assert spent["executor_s"] >= last["seconds"]
    assert orders.pop("error").startswith("[unreadable-files] a file for table orders cannot be")
    assert orders == {
        "name": "orders",
        "kind": "base",
        "state": "fresh",
        "paused": False,
        "priority": 1.0,
        "freshness": "2026-01-02T00:01:00.000000Z",
        "staleness_s": 120.0,
        "target_lag_s": None,
        "within_target": None,
        "pending_files": 0,
        "pending_s": None,
        "quarantined": [
            {
                "file": bad,
                "reason": "invalid literal for int() with base 10: 'rubbish'",
                "attempts": 3,
                "retry": None,
            }
        ],
        "retrying": [],
        "vanished": [],
        "changed": [],
        "updates": 1,
        "rejected_rows": 0,
        "failures": 0,
        "note": None,
        "track": None,
        "next": "at the next `freshline run`",
        "wrong": None,
        "mode": None,
        "catching_up": None,
        "newest": None,
        "bounds_s": {},
        "worst_s": {},
        "violations": None,
    }
    (feed,) = found["feeds"]
    assert (feed["name"], feed["period_s"], feed["out_since"]) == ("orders_feed", 1.0, None)
    assert (big["priority"], big["target_lag_s"], big["within_target"]) == (5.0, 600.0, True)
    assert (small["pending_files"], small["pending_s"]) == (None, 0.0)


def test_text_names_what_needs_attention(freshline, shop):
    shop.file("orders", 1, [1])
    bad = shop.file("orders", 2, "rubbish")
    shop.run_until_idle()  # while a file is tried again, a table that fails is as well
    shop.executor.failing["big"] = "no room"
    shop.file("orders", 3, [3])
    shop.run_until_idle()
    out = freshline("status").stdout
    assert "big: 3 failures: [made-to-fail] no room\n" in out
    assert (
        f"orders: quarantined {bad}: invalid literal for int() with base 10: 'rubbish'\n"
        "orders: `freshline retry orders` tries them again\n"
    ) in out


def test_a_full_refresh_that_nobody_asked_for_is_counted_with_its_reason(freshline, answer, shop):
    shop.executor.codes["big"] = "first-build"
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    assert "nobody asked for" not in freshline("status").stdout
    for minute, code in ((2, "changes-gone"), (3, "UNBOUNDED"), (4, "UNBOUNDED")):
        shop.executor.codes["big"] = code
        shop.file("orders", minute, [minute])
        shop.run_until_idle()
    big = answer("status")["tables"][1]
    assert big["unasked_full"] == {
        "updates": 3,
        "codes": {"UNBOUNDED": 2, "changes-gone": 1},
        "reason": "so that it can be checked",
    }
    assert [(use["code"], use["updates"]) for use in big["strategies"]] == [
        ("UNBOUNDED", 2), ("changes-gone", 1), ("first-build", 1),
    ]  # fmt: skip
    assert (
        "big: 3 full refreshes that nobody asked for (UNBOUNDED: 2, changes-gone: 1);"
        " last so that it can be checked\n"
    ) in freshline("status").stdout


def test_updates_that_read_all_rows_to_build_a_state_are_named(freshline, answer, shop):
    for minute, code in enumerate(("first-build", "state-built", "merges", "state-built"), 1):
        shop.executor.codes["big"] = code
        shop.file("orders", minute, [minute])
        shop.run_until_idle()
        built = answer("status")["tables"][1]["states_built"]
        assert built == {1: 0, 2: 1, 3: 1, 4: 2}[minute]
    assert "big: 2 updates read all rows to build the state for merging\n" in (
        freshline("status").stdout
    )


def test_what_late_rows_corrected_of_a_final_view_is_counted(freshline, answer, shop):
    for minute, corrected in enumerate((0, 3, 4), 1):
        shop.executor.corrects["big"], shop.executor.reads["big"] = corrected, 1200
        shop.file("orders", minute, [minute])
        shop.run_until_idle()
        assert ("late rows" in freshline("status").stdout) == (minute > 1)
    told = answer("status")["tables"][1]
    assert (told["corrected"]["updates"], told["corrected"]["rows"]) == (2, 7)
    assert told["corrected"]["last"] == told["last_update"]["at"]
    out = freshline("status").stdout
    assert "big: late rows corrected 7 rows of buckets shown as complete, in 2 updates\n" in out
    assert "3: full, +3 rows from 1,200, " in out


def test_it_names_the_process_that_runs(freshline, answer, shop):
    with LiveRun(shop):
        eventually(lambda: answer("status")["run"]["ready"])
        line = freshline("status").stdout.splitlines()[0]
        assert answer("status")["run"]["pid"] == os.getpid()
    assert line.startswith(f"shop: process {os.getpid()} runs since ")
    assert line.endswith(" UTC, 2 tracks, policy max-benefit")


def test_the_settings_are_those_of_the_run_while_it_goes_on_and_then_the_project_s(
    freshline, answer, shop
):
    settings, tables = shop.root / "freshline.yml", shop.root / "tables" / "shop.sql"
    shop.file("orders", 1, [1])
    with LiveRun(shop):
        shop.recorder.wait_for("done small")
        settings.write_text(settings.read_text() + "scheduler: {tracks: 7, policy: fifo}\n")
        tables.write_text(tables.read_text().replace("'5'", "'9'"))
        assert freshline("status").stdout.splitlines()[0].endswith("2 tracks, policy max-benefit")
        found = answer("status")
        assert (found["run"]["tracks"], found["run"]["policy"]) == (2, "max-benefit")
        assert found["tables"][1]["priority"] == 5.0
    found = answer("status")
    assert (found["run"]["tracks"], found["run"]["policy"]) == (7, "fifo")
    assert found["tables"][1]["priority"] == 9.0


def test_a_file_that_vanished_before_it_was_loaded_is_named(freshline, shop):
    journal = Journal(journal_path(shop.project), create=True)
    journal.put("tables", {"name": "orders"}, kind="base")
    for number in range(5):
        journal.put(
            "files",
            {"table_name": "orders", "name": f"{number}.csv"},
            state="vanished", reason="it is not there any more", attempts=0,
        )  # fmt: skip
    assert journal.flush()
    journal.close()
    lines = [each for each in freshline("status").stdout.splitlines() if "orders: " in each]
    assert lines == [
        *(f"orders: {number}.csv: it is not there any more" for number in range(3)),
        "orders: 5 files vanished in all",
    ]


def test_check_names_every_reason_and_ends_with_three(freshline, shop):
    shop.file("orders", 1, [1])
    bad = shop.file("orders", 2, "rubbish")
    shop.executor.failing["small"] = "no room"
    with LiveRun(shop):
        shop.recorder.wait_for("failed small", 3)
        eventually(lambda: shop.journal_rows("SELECT 1 FROM files WHERE state='quarantined'"))
        done = freshline("status", "--check")
    assert done.exit_code == 3
    orders, small = done.stdout.splitlines()
    assert orders == (
        f"orders: 1 file quarantined, {bad}: invalid literal for int() with base 10: 'rubbish'"
    )
    assert re.fullmatch(r"small: \d+ failures: \[made-to-fail\] no room", small)
    done = freshline("status", "--check", "--json")
    assert done.exit_code == 3
    assert json.loads(done.stdout)["faults"][0].startswith("shop: not running since ")


def test_check_names_reports_that_are_behind_their_deadline_or_given_up(freshline, shop):
    journal = Journal(journal_path(shop.project), create=True)
    for name, behind_s, state in [
        ("soon", -60.0, "live"), ("late", 90.0, "live"), ("lost", 90.0, "asked"),
        ("made", 90.0, "done"), ("over", 90.0, "failed"),
    ]:  # fmt: skip
        deadline_s = NOW_S - behind_s
        wanted = WantedReport(name, name, "SELECT 1", "r.sql", 0.0, NOW_S - 600.0, deadline_s)
        note_wanted(journal, wanted, state, NOW_S - 900.0)
    journal.flush()
    lines = freshline("status", "--check").stdout.splitlines()
    assert [line for line in lines if "deadline" in line or "given up" in line] == [
        "late: 90 s behind its deadline", "lost: 90 s behind its deadline",
        "over: given up: no reason is known",
    ]  # fmt: skip
    assert freshline("report", "withdraw", "over").stdout == "over is withdrawn\n"
    assert "given up" not in freshline("status", "--check").stdout


def test_a_table_that_waits_for_nothing_and_misses_its_target_is_shown_as_late(
    freshline, shop, monkeypatch
):
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    states = {line.split()[0]: line.split()[1] for line in freshline("status").stdout.splitlines()}
    assert (states["orders"], states["big"]) == ("fresh", "fresh")
    monkeypatch.setattr(time, "time", lambda: NOW_S + 3600.0)
    states = {line.split()[0]: line.split()[1] for line in freshline("status").stdout.splitlines()}
    assert (states["orders"], states["big"]) == ("fresh", "late")


def test_check_is_silent_where_a_run_keeps_every_target(freshline, shop, monkeypatch):
    shop.file("orders", 1, [1])
    with LiveRun(shop):
        shop.recorder.wait_for("done small")
        eventually(lambda: freshline("status", "--check").exit_code == 0)
        assert freshline("status", "--check").stdout == ""
        monkeypatch.setattr(time, "time", lambda: NOW_S + 600.0)
        done = freshline("status", "--check")
        assert done.exit_code == 3
        assert "big: late, 12 min stale where the target is 10 min" in done.stdout


@pytest.mark.parametrize(("width", "columns"), [
    (40, "table state stale next"),
    (80, "table state fresh to (UTC) stale target pending next"),
    (160, "table state fresh to (UTC) stale target kept executor pending last update next"),
])  # fmt: skip
def test_a_narrow_terminal_gets_fewer_columns_that_can_be_read(shop, width, columns):
    shop.file("orders", 1, [1, 2])
    shop.run_until_idle()
    text = io.StringIO()
    Console(width=width, file=text).print(StatusTable(read_status(shop.project, NOW_S)))
    lines = text.getvalue().splitlines()
    assert lines[0].split() == columns.split()
    assert lines[1].split()[:2] == ["orders", "fresh"]
    assert max(map(len, lines)) <= width
    assert not any("…" in line for line in lines)


@pytest.mark.parametrize(("read", "words"), [
    ({}, "2 files"),
    ({"topics": (TopicStatus("f", "orders", "t", "read", 0.0, None, {}, 2, 0.0, 0),)}, "2 ranges"),
    ({"sources": (SourceStatus("f", "orders", "t", "read", 0.0, None, 3, 2, 0.0),)}, "2 versions"),
])  # fmt: skip
def test_what_waits_is_counted_as_what_its_feed_has(shop, read, words):
    found = read_status(shop.project, NOW_S)
    orders, *others = found.tables
    waiting = (dataclasses.replace(orders, pending_files=2), *others)
    text = io.StringIO()
    Console(width=160, file=text).print(
        StatusTable(dataclasses.replace(found, tables=waiting, **read))
    )
    assert words in text.getvalue()


@pytest.mark.parametrize("line", [("status",), ("status", "--json"), ("status", "--check")])
def test_a_lease_in_a_storage_that_hangs_holds_no_status_up(shop, freshline, monkeypatch, line):
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    end, reads = threading.Event(), []

    class Hanging:
        def read(self):
            reads.append(self)
            end.wait(60.0)
            raise OSError("timed out")

    monkeypatch.setattr(leader, "readable_store_of", lambda _: Hanging())
    monkeypatch.setattr(leader, "PATIENCE_S", 0.2)
    began_s = time.monotonic()
    done = freshline(*line)
    took_s = time.monotonic() - began_s
    end.set()
    assert done.exit_code == (3 if "--check" in line else 0)
    assert bool(reads) == ("--check" not in line)  # a probe tells nothing of it
    assert took_s < 20.0
    if "--json" in line:
        assert json.loads(done.stdout)["leader"] is None


def test_a_slow_lease_is_told_though_nobody_waited_for_it(shop, monkeypatch):
    reads = []

    class Slow:
        def read(self):
            reads.append(self)
            time.sleep(0.5)
            return Record(Holder("a", "elsewhere", 77, "m"), 3, 1.0), "tag"

    monkeypatch.setattr(leader, "readable_store_of", lambda _: Slow())
    monkeypatch.setattr(leader, "PATIENCE_S", 0.1)
    assert leader.leader(shop.project) is None
    eventually(lambda: leader.leader(shop.project) is not None)
    found = leader.leader(shop.project)
    assert (found and found.holder.host, len(reads)) == ("elsewhere", 1)
    monkeypatch.setattr(leader, "_LASTS_S", 0.0)
    assert leader.leader(shop.project) is None
    assert len(reads) == 2
