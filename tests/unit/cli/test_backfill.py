"""``freshline backfill``: what it notes, what it refuses, and what ``status`` says of it."""

from __future__ import annotations

import pytest

from freshline.cli.commands.backfill import moment_s
from freshline.core.errors import UserError
from freshline.project.load import load_project

RANGE = ("--from", "2026-01-01", "--to", "2026-01-02T12:00:00+02:00")


def test_without_a_run_it_is_noted_and_shown(freshline, answer, shop):
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    done = freshline("backfill", "big", *RANGE)
    assert (done.exit_code, done.stdout) == (
        0, "big: noted; no warehouse is running, so it begins with the next `freshline run`\n",
    )  # fmt: skip
    (item,) = answer("status")["backfills"]
    assert item.pop("asked") is not None
    assert item == {
        "table": "big",
        "from": "2026-01-01T00:00:00.000000Z",
        "to": "2026-01-02T10:00:00.000000Z",
        "state": "waiting",
        "ended": None,
        "error": None,
    }
    shop.project = shop.executor.project = load_project(shop.root, shop.root)
    shop.run_until_idle()
    assert [each["state"] for each in answer("status")["backfills"]] == ["done"]
    assert [each.table for each in shop.executor.requests if each.range_s] == ["big"]


def test_a_base_table_without_an_event_time_is_refused(freshline, shop):
    shop.file("orders", 1, [1])
    shop.run_until_idle()
    done = freshline("backfill", "orders", *RANGE)
    assert done.exit_code == 2
    assert "[no-event-time] tables/shop.sql:1: table orders has no event time" in done.stderr


def test_an_unknown_table_or_moment_is_refused(freshline, shop):
    assert freshline("backfill", "nowhere", *RANGE).exit_code == 2
    with pytest.raises(UserError, match="--to is 'soon'"):
        moment_s("soon", "--to")
