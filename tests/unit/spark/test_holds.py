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


@pytest.mark.parametrize(("zone", "hours"), [("UTC", 24), ("Europe/Berlin", 25)])
def test_a_view_is_as_far_behind_as_its_own_days_are_long(zone, hours):
    zones = {"days": zone}
    tables = (
        TableDef("events", "base", "SELECT * FROM STREAM f", HERE, HERE, feed="f"),
        TableDef("days", "derived", BY_DAY, HERE, HERE, parents=("events",)),
        TableDef("shown", "derived", "SELECT day, n FROM days", HERE, HERE, parents=("days",)),
    )
    project = Project("shop", Path("shop"), "shop/warehouse", tables, {}, {}, "local[1]")
    holds = Holds(
        project,
        lambda view: (view.query, [Source("events", {"at": "timestamp"}, time_column="at")]),
        lambda view: zones.get(view.name, "UTC"),
    )
    no = Reason("NO", "not asked for")
    plan = ViewPlan(no, Buckets("day", {"days": Reads("day", 0, 0)}), no)
    found = holds.added(plan, tables[2], [Source("days", {"day": "timestamp", "n": "bigint"})])
    assert found.holds_us == {"days": hours * HOUR_US - 1}
