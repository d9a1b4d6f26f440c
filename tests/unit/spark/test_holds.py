"""How far behind its freshness a view is complete, where its settings say another clock."""

from __future__ import annotations

from pathlib import Path

import pytest

from freshline.core.errors import Place
from freshline.project.model import Project, TableDef
from freshline.spark.views.holds import Holds
from freshline.sql.query.records import Buckets, Reads, Reason, Source, ViewPlan
from freshline.sql.query.zone import HOUR_US

HERE = Place("tables/a.sql", 1)
BY_DAY = "SELECT date_trunc('DAY', at) AS day, count(*) AS n FROM events GROUP BY 1"


def shown(zones: dict[str, str], *, confirmed: bool) -> ViewPlan:
    """The plan of a final view over a view by days, which Spark's plan confirms or not."""
    tables = (
        TableDef("events", "base", "SELECT * FROM STREAM f", HERE, HERE, feed="f"),
        TableDef("days", "derived", BY_DAY, HERE, HERE, parents=("events",)),
        TableDef("shown", "derived", "SELECT day, n FROM days", HERE, HERE, parents=("days",)),
    )
    project = Project("shop", Path("shop"), "shop/warehouse", tables, {}, {}, "local[1]")
    holds = Holds(
        project,
        lambda view: (view.query, [Source("events", {"at": "timestamp"}, time_column="at")]),
        lambda view: (zones.get(view.name, "UTC"), False),
        lambda *_: confirmed,
    )
    no = Reason("NO", "not asked for")
    plan = ViewPlan(no, Buckets("day", {"days": Reads("day", 0, 0)}), no)
    return holds.added(plan, tables[2], [Source("days", {"day": "timestamp", "n": "bigint"})])


@pytest.mark.parametrize(("zone", "hours"), [("UTC", 24), ("Europe/Berlin", 25)])
def test_a_view_is_as_far_behind_as_its_own_days_are_long(zone, hours):
    found = shown({"days": zone}, confirmed=True)
    assert found.holds_us == {"days": hours * HOUR_US - 1}


def held(time: str | None, column: str) -> ViewPlan:
    """The plan of a final view by a column of a base table."""
    table = TableDef("events", "base", "SELECT * FROM STREAM f", HERE, HERE, feed="f")
    shown = TableDef("shown", "derived", "SELECT 1", HERE, HERE, parents=("events",))
    project = Project("shop", Path("shop"), "shop/warehouse", (table, shown), {}, {}, "local[1]")
    source = Source("events", {"at": "timestamp", "day": "date"}, time_column=time)
    holds = Holds(project, lambda _: ("", []), lambda _: ("UTC", False), lambda *_: True)
    no = Reason("NO", "not asked for")
    plan = ViewPlan(no, Buckets(column, {"events": Reads(column, 0, 0)}), no)
    return holds.added(plan, shown, [source])


def test_a_day_is_complete_when_it_is_over():
    assert held("at", "at").holds_us == {}
    assert held("day", "day").holds_us == {"events": 24 * HOUR_US}
    assert held(None, "day").holds_us == {"events": 24 * HOUR_US}


def test_by_another_column_than_the_event_time_nothing_is_known_to_be_complete():
    found = held("at", "day").buckets
    assert isinstance(found, Reason)
    assert found.code == "NEVER_COMPLETE"
    assert found.message.endswith("its freshline.time is at")


def test_what_spark_does_not_confirm_of_a_view_holds_for_nobody():
    assert isinstance(shown({}, confirmed=True).buckets, Buckets)
    assert isinstance(shown({}, confirmed=False).buckets, Reason)


def apart(kind: str, made: str, read: str) -> int:
    """Hours that a final view in one zone waits for a base table's times of another."""
    table = TableDef("events", "base", "SELECT * FROM STREAM f", HERE, HERE, feed="f")
    shown = TableDef("shown", "derived", "SELECT 1", HERE, HERE, parents=("events",))
    project = Project("shop", Path("shop"), "shop/warehouse", (table, shown), {}, {}, "local[1]")
    zones = {"events": made, "shown": read}
    holds = Holds(
        project, lambda _: ("", []), lambda each: (zones[each.name], False), lambda *_: True
    )
    no = Reason("NO", "not asked for")
    plan = ViewPlan(no, Buckets("at", {"events": Reads("at", 0, 0)}), no)
    found = holds.added(plan, shown, [Source("events", {"at": kind}, time_column="at")])
    return found.holds_us.get("events", 0) // HOUR_US


def test_a_day_is_over_by_the_clock_that_it_was_made_by():
    assert apart("date", "Europe/Berlin", "Europe/Berlin") == 25
    assert apart("date", "-05:00", "UTC") == 29
    assert apart("date", "+05:00", "UTC") == 24
    assert apart("date", "-05:00", "+02:00") == 31


def test_an_hour_that_a_clock_shows_twice_is_over_after_the_second_time():
    assert apart("timestamp_ntz", "Europe/Berlin", "Europe/Berlin") == 1
    assert apart("timestamp_ntz", "UTC", "UTC") == 0
    assert apart("timestamp_ntz", "-05:00", "UTC") == 5
    assert apart("timestamp", "America/New_York", "UTC") == 0
