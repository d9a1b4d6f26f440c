"""pause, resume, retry, refresh, prioritise: asked of a running warehouse, or of its journal."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time

import pytest

from freshline.core.lease import Holder, Record
from freshline.executor.distrust import distrust
from freshline.executor.verified import Difference, VersionCheck
from freshline.project.definition import definition_of
from freshline.runtime.journal import store
from freshline.runtime.journal.lock import WarehouseLock
from freshline.runtime.journal.paths import journal_path, own_folder
from freshline.runtime.journal.store import Journal
from freshline.runtime.lease import leader
from freshline.runtime.requests import client
from tests.support.shop import LiveRun, eventually


@pytest.mark.parametrize("command", ["pause", "resume", "retry", "refresh", "story"])
def test_an_unknown_table_is_answered_with_the_nearest_name(freshline, command):
    done = freshline(command, "order")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == (
        "[unknown-table] project shop has no table 'order'; its tables are orders, big, small."
        " Did you mean orders?\n"
    )


def test_without_a_run_a_pause_holds_from_the_next_start(freshline, answer, shop):
    done = freshline("pause", "ORDERS", "big")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == (
        "orders is paused; no warehouse is running, so it takes effect at the next start\n"
        "big is paused; no warehouse is running, so it takes effect at the next start\n"
    )
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    assert shop.executor.numbers("orders") == []
    assert answer("resume", "orders", "big") == {
        "tables": [
            {
                "name": name,
                "ok": True,
                "message": f"{name} is resumed; no warehouse is running, so it takes effect at"
                " the next start",
            }
            for name in ("orders", "big")
        ]
    }
    shop.run_until_idle()
    assert shop.executor.numbers("small") == [1]


class Lease:
    """A lease whose reading does something."""

    def __init__(self, read):
        self._read = read

    def read(self):
        return self._read(), "tag"


def test_a_pause_beside_a_leader_on_another_machine_says_that_it_is_not_told(
    freshline, shop, monkeypatch
):
    record = Record(Holder("1", "shop-b", 7, "another"), 3, 0.0)
    monkeypatch.setattr(leader, "readable_store_of", lambda _: Lease(lambda: record))
    done = freshline("pause", "big")
    assert done.exit_code == 0
    assert done.stdout == (
        "big is paused; no warehouse is running here (process 7 on shop-b has the lease, and is not"
        " told), so it takes effect at the next start\n"
    )
    (row,) = shop.journal_rows("SELECT paused FROM tables WHERE name='big'")
    assert row == {"paused": 1}


def test_where_the_lease_cannot_be_read_a_pause_is_made_first_and_all_the_same(
    freshline, shop, monkeypatch
):
    made, never = [], threading.Event()

    def no_lease():
        made.extend(shop.journal_rows("SELECT paused FROM tables WHERE name='big'"))
        raise ValueError("no lease")

    told = "big is paused; no warehouse is running here, so it takes effect at the next start\n"
    monkeypatch.setattr(leader, "readable_store_of", lambda _: Lease(no_lease))
    assert freshline("pause", "big").stdout == told
    assert made == [{"paused": 1}]
    hanging = Lease(lambda: never.wait(30.0))
    monkeypatch.setattr(leader, "readable_store_of", lambda _: hanging)
    monkeypatch.setattr(leader, "PATIENCE_S", 0.1)
    began_s = time.monotonic()
    assert freshline("pause", "big").stdout == told
    assert time.monotonic() - began_s < 10.0
    never.set()


@pytest.mark.parametrize("kind", ["retry", "accept"])
def test_what_does_not_tell_of_the_lease_does_not_ask_for_it(freshline, shop, monkeypatch, kind):
    asked: list[object] = []
    monkeypatch.setattr(client, "leader_look", asked.append)
    assert freshline(kind, "orders").exit_code == 0
    assert asked == []


def test_a_damaged_journal_is_not_moved_aside_in_silence(freshline, shop):
    path = journal_path(shop.project)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no database" * 1000)
    done = freshline("pause", "big")
    (aside,) = path.parent.glob("*.damaged-*")
    assert done.exit_code == 0
    assert done.stderr == (
        f"the journal was damaged: it is kept as {aside}, and the next `freshline run` rebuilds"
        " it from the tables' logs\n"
    )
    assert aside.read_bytes().startswith(b"no database")


def test_a_running_warehouse_answers(freshline, shop):
    shop.file("orders", 1, [1])
    with LiveRun(shop):
        shop.recorder.wait_for("done small")
        assert freshline("pause", "big").stdout == "big is paused\n"
        assert freshline("resume", "big").stdout == "big is resumed\n"
        assert freshline("prioritise", "big", "7").stdout == (
            "big has priority 7 until this run ends\n"
        )
        assert freshline("refresh", "small").stdout == (
            "small has nothing new; its sources are brought up to date\n"
        )
        assert freshline("refresh", "small", "--full").stdout == "small is next, rebuilt in full\n"
        shop.recorder.wait_for("done small", 2)
    assert shop.executor.requests[-1].full


def test_a_refusal_of_the_running_warehouse_exits_as_the_error_it_is(freshline, shop):
    gone = shop.file("orders", 1, [1])
    with LiveRun(shop):
        shop.recorder.wait_for("done orders")
        (shop.root / "feed" / "orders" / gone).unlink()
        done = freshline("refresh", "orders", "--full", "--json")
    assert done.exit_code == 2
    (told,) = json.loads(done.stdout)["tables"]
    assert (told["name"], told["ok"]) == ("orders", False)
    assert done.stderr == told["message"] + "\n"
    assert done.stderr.startswith("[files-gone] 1 of the 1 files in table orders are no longer")


def test_retry_without_names_tries_what_failed(freshline, answer, shop):
    assert freshline("retry").stdout == (
        "nothing to try again: no table has failed, no file is in quarantine\n"
    )
    assert answer("retry") == {"tables": []}
    bad = shop.file("orders", 1, "rubbish")
    shop.run_until_idle()
    (shop.root / "feed" / "orders" / bad).write_text("1")
    assert freshline("retry").stdout == "orders: 1 file is tried again at the next start\n"
    shop.run_until_idle()
    assert shop.executor.numbers("small") == [1]


def test_a_priority_needs_a_running_warehouse_and_must_be_one(freshline):
    done = freshline("prioritise", "big", "7")
    assert done.exit_code == 2
    assert done.stderr == (
        "[not-running] a priority given here holds until the run ends, and no warehouse runs"
        " here. Write 'freshline.priority' = '7' into the TBLPROPERTIES of big.\n"
    )
    for given in ("0", "ten", "nan"):
        done = freshline("prioritise", "big", given)
        assert done.exit_code == 2
        assert done.stderr == (
            f"[bad-priority] {given} is no priority; a priority is a number greater than 0, at most"
            " 1e12. Give such a number; `freshline pause` stops a table's updates.\n"
        )
    for several, says in (
        (["-5"], "No such option: -5; a priority is a number greater than 0, at most 1e12"),
        (["1", "2"], "unexpected extra argument(s) (2); it takes one table and one priority"),
    ):
        done = freshline("prioritise", "big", *several)
        assert done.exit_code == 2
        assert done.stderr.rstrip().endswith(says)


def test_a_warehouse_that_does_not_answer_is_said_not_to(freshline, shop, monkeypatch):
    monkeypatch.setattr(client, "_PATIENCE_S", 0.01)
    Journal(journal_path(shop.project), create=True).close()
    with WarehouseLock(own_folder(shop.project)):
        done = freshline("pause", "big")
    assert done.exit_code == 1
    assert done.stderr == (
        f"[no-answer] process {os.getpid()}, which runs this warehouse, did not answer within"
        " 0.01 s; it looks for requests several times a second, also while Spark starts. It handles"
        " the request when it gets to it; see `freshline status`.\n"
    )


def test_the_pause_is_seen_by_status(freshline, answer, shop):
    shop.file("orders", 1, [1])
    with LiveRun(shop):
        shop.recorder.wait_for("done small")
        freshline("pause", "big")
        eventually(
            lambda: (
                {item["name"]: item["state"] for item in answer("status")["tables"]}["big"]
                == "paused"
            )
        )


def test_a_view_found_wrong_is_trusted_again_when_retry_names_it(freshline, shop):
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    check = VersionCheck("big", 0, "wrong", "append", difference=Difference(1, 2))
    distrust(shop.project, check, definition_of(shop.project.table("big")), 1.0, str(shop.root))
    found = json.loads(freshline("status", "--json").stdout)["tables"][1]
    assert found["state"] == "wrong"
    assert (found["wrong"]["missing"], found["wrong"]["rebuilt"]) == (1, False)
    checked = freshline("status", "--check")
    assert checked.exit_code == 3
    assert "big: version 0 (append) was found wrong at 1970-01-01 00:00:01: 1 row missing" in (
        checked.stdout
    )
    assert freshline("retry").stdout == (
        "nothing to try again: no table has failed, no file is in quarantine\n"
    )
    done = freshline("retry", "BIG")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == (
        "big: 0 files are tried again at the next start; once it is rebuilt it is maintained from"
        " changes again\n"
    )
    # Its rows are still wrong, so that is not forgotten before they are computed anew.
    found = json.loads(freshline("status", "--json").stdout)["tables"][1]
    assert (found["state"], found["wrong"]["rebuilt"]) == ("wrong", False)
    checked = freshline("status", "--check")
    assert "; to be rebuilt, then maintained from changes again; " in checked.stdout
    shop.executor.requests.clear()
    shop.file("orders", 2, [2])
    shop.run_until_idle()
    assert any(each.table == "big" and each.full for each in shop.executor.requests)
    assert json.loads(freshline("status", "--json").stdout)["tables"][1]["wrong"] is None
    distrust(shop.project, check, definition_of(shop.project.table("big")), 1.0, str(shop.root))
    assert freshline("retry", "big").stdout.endswith("; it is maintained from changes again\n")
    assert json.loads(freshline("status", "--json").stdout)["tables"][1]["wrong"] is None


@pytest.mark.parametrize(
    "command",
    [
        ("pause", "big"),
        ("retry", "big"),
        ("backfill", "big", "--from", "2026-01-01", "--to", "2026-01-02"),
        ("report", "submit", "QUERY", "--window", "2100-01-01..2100-01-02", "--deadline", "1 h"),
        ("report", "withdraw", "asked"),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_what_cannot_be_written_is_not_said_to_be_noted(freshline, shop, monkeypatch, command):
    """Without a run nobody tries again later."""
    query = shop.root / "often.sql"
    query.write_text("SELECT n, count(*) AS times FROM orders GROUP BY n;\n")
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    line = ("submit", str(query), "--window", "2100-01-01..2100-01-02", "--deadline", "1 h")
    assert freshline("report", *line, "--name", "asked").exit_code == 0

    def is_full(name: str) -> None:
        if name == "journal.before_commit":
            raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(store, "failpoint", is_full)
    done = freshline(*(str(query) if each == "QUERY" else each for each in command))
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == (
        f"[journal] cannot write {journal_path(shop.project)}: its disk is full, or another process"
        " holds it. Check the disk and the permissions, then ask again.\n"
    )


def test_a_damaged_journal_is_not_moved_aside_in_silence_by_a_backfill(freshline, shop):
    path = journal_path(shop.project)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no database" * 1000)
    done = freshline("backfill", "big", "--from", "2026-01-01", "--to", "2026-01-02")
    assert done.stderr.startswith("the journal was damaged: it is kept as ")


def test_what_a_run_is_asked_that_ends_just_then_is_not_taken_for_something_else(
    freshline, monkeypatch
):
    monkeypatch.setattr("freshline.cli.commands.refresh.running_process", lambda _: 7)
    done = freshline("refresh", "big")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == (
        "[not-running] the process that ran this warehouse has just ended. Ask again.\n"
    )
