"""A backfill that was given up is told until somebody makes up for it, or has seen it."""

from __future__ import annotations

import dataclasses
import time
from contextlib import closing

import pytest

from freshline.cli import running
from freshline.render.status import faults, remarks, status_record
from freshline.runtime.alerts.conditions import Conditions
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.runtime.options import RunOptions
from freshline.runtime.requests.backfills import note_backfill
from freshline.runtime.requests.handler import carry_out_offline
from freshline.runtime.status.status import read_status
from tests.support.shop import LiveRun, made_shop

TOLD = (
    "orders: the backfill of 1970-01-01T00:00:05.000000Z to 1970-01-01T00:00:09.000000Z is given"
    " up: [made-to-fail] no room"
)


@pytest.fixture
def shop(tmp_path):
    """A shop whose backfill of one range failed until it was given up; now it would work."""
    shop = made_shop(tmp_path, {"orders": (), "total": ("orders",)})
    tables = tuple(
        dataclasses.replace(table, time_column="n") if table.name == "orders" else table
        for table in shop.project.tables
    )
    shop.project = shop.executor.project = dataclasses.replace(shop.project, tables=tables)
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    backfill(shop, 5.0, 9.0)
    shop.executor.failing["orders"] = "no room"
    shop.run_until_idle()
    del shop.executor.failing["orders"]
    return shop


def backfill(shop, from_s, to_s, name="orders"):
    with closing(Journal(journal_path(shop.project), create=False)) as journal:
        note_backfill(journal, name, from_s, to_s, time.time())


def told(shop):
    """What a probe, people, a run until idle and the alerts' receivers hear of it."""
    status = read_status(shop.project, time.time())
    behind = running._behind(status, shop.project, RunOptions(until_idle=True), {})
    alerts = Conditions(shop.project).now(status)
    return {
        "faults": TOLD in faults(status),
        "remarks": any(line.startswith(TOLD) for line in remarks(status)),
        "behind": [f"{name}: {why}" for name, why in behind] == [TOLD],
        "alerts": ("failing", "orders") in alerts,
        "json": status_record(status)["backfills"][0]["error"] == "[made-to-fail] no room",
    }


def test_it_is_told_until_a_retry_also_where_its_table_loads_on(shop):
    assert all(told(shop).values()), told(shop)
    shop.file("orders", 2, [2])
    assert shop.run_until_idle() == 0
    assert all(told(shop).values())
    with closing(Journal(journal_path(shop.project), create=False)) as journal:
        answer = carry_out_offline(journal, "retry", "orders", time.time())
    assert answer["message"].endswith(
        "; the backfill that was given up is not: ask for it with `freshline backfill`"
    )
    status = read_status(shop.project, time.time())
    assert not [line for line in faults(status) if line.startswith("orders")]
    assert status.backfills == ()


def test_a_retry_that_a_run_answers_ends_it(shop):
    with LiveRun(shop):
        shop.recorder.wait_for("ready", 2)
        answer = shop.ask("retry", "orders")
    assert "ask for it with `freshline backfill`" in answer["message"]
    assert read_status(shop.project, time.time()).backfills == ()


def test_that_its_table_is_accepted_does_not_end_it(shop):
    with LiveRun(shop):
        shop.recorder.wait_for("ready", 2)
        assert shop.ask("accept", "orders")["ok"]
    (given_up,) = read_status(shop.project, time.time()).backfills
    assert given_up.error == "[made-to-fail] no room"


@pytest.mark.parametrize("range_s", [(5.0, 9.0), (0.0, 20.0)])
def test_one_of_its_range_that_is_done_ends_it(shop, range_s):
    backfill(shop, *range_s)
    assert shop.run_until_idle() == 0
    assert TOLD not in faults(read_status(shop.project, time.time()))


def test_one_of_another_range_that_is_done_does_not_end_it(shop):
    backfill(shop, 20.0, 30.0)
    assert shop.run_until_idle() == 0
    assert TOLD in faults(read_status(shop.project, time.time()))


def test_one_of_its_range_that_is_given_up_takes_its_place(shop):
    backfill(shop, 0.0, 20.0)
    shop.executor.failing["orders"] = "no room"
    shop.run_until_idle()
    (given_up,) = read_status(shop.project, time.time()).backfills
    assert (given_up.from_s, given_up.to_s) == (0.0, 20.0)


def test_of_a_table_that_left_the_project_it_is_told_no_more(shop):
    tables = tuple(table for table in shop.project.tables if table.name == "other")
    shop.project = dataclasses.replace(shop.project, tables=tables)
    assert not [line for line in remarks(read_status(shop.project, time.time())) if TOLD in line]


def test_a_reload_of_its_table_ends_it(shop):
    shop.warehouse(RunOptions(until_idle=True, refresh=("orders",), rebuilt=("orders",))).run()
    assert read_status(shop.project, time.time()).backfills == ()


def test_a_full_update_of_its_view_ends_it(shop, monkeypatch):
    backfill(shop, 5.0, 9.0, "total")
    shop.executor.failing["total"] = "no room"
    shop.run_until_idle()
    del shop.executor.failing["total"]

    def tables():
        return {each.table for each in read_status(shop.project, time.time()).backfills}

    assert tables() == {"orders", "total"}
    result = shop.executor._result
    monkeypatch.setattr(
        shop.executor, "_result",
        lambda *given, **named: dataclasses.replace(result(*given, **named), strategy="full"),
    )  # fmt: skip
    shop.file("orders", 2, [2])
    shop.run_until_idle()
    assert "total" not in tables()


def test_the_failure_of_a_view_whose_update_waits_stays_where_its_backfill_is_given_up(tmp_path):
    shop = made_shop(tmp_path, {"orders": (), "total": ("orders",)})
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    backfill(shop, 5.0, 9.0, "total")
    shop.executor.failing["total"] = "no room"
    shop.file("orders", 2, [2])
    shop.run_until_idle()
    status = read_status(shop.project, time.time())
    (total,) = [each for each in status.tables if each.name == "total"]
    assert total.failures
    assert total.error == "[made-to-fail] no room"
