"""``freshline wait``: beside a run, without one, and what it says when the time is over."""

from __future__ import annotations

import json
import threading
import time
from datetime import UTC, datetime

import pytest

from freshline.runtime.journal.paths import journal_path
from freshline.runtime.status.waiting import Goal, look, wait
from tests.support.shop import LiveRun, eventually

MINUTE_1_S = datetime(2026, 1, 2, 0, 1, tzinfo=UTC).timestamp()
MINUTE_1 = "2026-01-02T00:01:00Z"
MINUTE_2 = "2026-01-02T00:02:00Z"


def test_tables_that_are_fresh_enough_end_it_at_once(freshline, answer, shop):
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    done = freshline("wait", "orders", "small", "--fresh-to", MINUTE_1)
    assert done.exit_code == 0
    assert [line.partition(",")[0] for line in done.stdout.splitlines()] == [
        "orders: fresh to 2026-01-02 00:01:00 UTC",
        "small: fresh to 2026-01-02 00:01:00 UTC",
    ]
    told = answer("wait", "ORDERS", "--fresh-to", MINUTE_1, "--timeout", "0")
    (table,) = told["tables"]
    assert (told["fresh"], table["name"], table["held_up"]) == (True, "orders", None)
    assert table["freshness"] == "2026-01-02T00:01:00.000000Z"


def test_without_a_run_the_tables_logs_decide_not_the_journal(freshline, shop):
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    assert freshline("wait", "big", "--fresh-to", MINUTE_1, "--timeout", "0").exit_code == 0
    journal_path(shop.project).unlink()
    assert freshline("wait", "big", "--fresh-to", MINUTE_1, "--timeout", "0").exit_code == 0
    done = freshline("wait", "big", "--fresh-to", MINUTE_2, "--timeout", "0")
    assert done.exit_code == 3
    assert done.stdout.endswith("stale; no process runs the warehouse\n")


def test_a_table_without_a_version_is_not_fresh(freshline):
    wanted = ("small", "--within", "36000 days", "--timeout", "0s")
    done = freshline("wait", *wanted, "--json")
    assert done.exit_code == 3
    told = json.loads(done.stdout)
    assert told["fresh"] is False
    assert told["tables"] == [
        {
            "name": "small",
            "fresh": False,
            "freshness": None,
            "staleness_s": None,
            "state": "new",
            "held_up": "no process runs the warehouse",
        }
    ]


def test_beside_a_run_it_ends_when_the_last_table_is_fresh(shop):
    gate = threading.Event()
    shop.executor.gates = {"small": gate}
    shop.file("orders", 1, [1])
    goal = Goal(fresh_to_s=MINUTE_1_S)
    with LiveRun(shop):
        shop.recorder.wait_for("start small")
        early = wait(shop.project, ("big", "small"), goal, 0.0)
        assert [table.fresh for table in early.tables] == [True, False]
        assert (early.tables[1].state, early.fresh) == ("running", False)
        assert (early.tables[1].held_up or "").startswith("running on track")
        waiting = threading.Timer(0.1, gate.set)
        waiting.start()
        assert wait(shop.project, ("big", "small"), goal, 30.0).fresh


def test_the_ancestor_that_holds_a_table_up_is_named(shop):
    shop.file("orders", 1, [1])
    shop.executor.failing["big"] = "the disk is full"
    now_s = time.time()
    with LiveRun(shop):
        failing = "waits for big: failing: [made-to-fail] the disk is full"
        goal = Goal(fresh_to_s=MINUTE_1_S)
        eventually(lambda: look(shop.project, ("small",), goal, now_s)[0].held_up == failing)
        later = Goal(fresh_to_s=MINUTE_1_S + 60.0)
        (orders,) = look(shop.project, ("orders",), later, now_s)
        assert orders.held_up in (
            "feed orders_feed brought no newer data",
            "feed orders_feed is silent (nothing for 0.0 s, expected every 1.0 s)",
        )


def test_a_paused_table_says_so(shop):
    shop.file("orders", 1, [1])
    with LiveRun(shop):
        shop.recorder.wait_for("done small")
        shop.ask("pause", "big")
        goal = Goal(fresh_to_s=MINUTE_1_S + 60.0)

        def held_up():
            return look(shop.project, ("big",), goal, time.time())[0].held_up

        eventually(lambda: held_up() == "paused; `freshline resume big`")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ((), "bad-option"),
        (("--fresh-to", MINUTE_1, "--within", "5s"), "bad-option"),
        (("--fresh-to", "soon"), "bad-option"),
        (("--within", "soon"), "bad-duration"),
        (("--within", "0s"), "bad-duration"),
        (("--within", "5s", "--timeout", "5"), "bad-duration"),
    ],
)
def test_wrong_options_are_the_user_s(freshline, options, code):
    done = freshline("wait", "big", *options)
    assert done.exit_code == 2
    assert f"[{code}]" in done.stderr


def test_an_unknown_table_is_the_user_s(freshline):
    assert freshline("wait", "nowhere", "--within", "5s").exit_code == 2


def test_a_clock_that_is_set_back_makes_no_wait_longer(shop):
    passed_s = [0.0]

    def slept(seconds):
        passed_s[0] += seconds

    waited = wait(
        shop.project, ("big",), Goal(within_s=1.0), 5.0,
        clock=lambda: MINUTE_1_S - 3600.0 * passed_s[0], elapsed=lambda: passed_s[0], sleep=slept,
    )  # fmt: skip
    assert not waited.fresh
    assert waited.waited_s == pytest.approx(5.0)
