"""Views as other people write them: every commit equals its query, none is refused or fails.

``make test`` runs a few views of each strategy through three of the steps, the proof all through
all.
"""

from __future__ import annotations

import re

import pytest

from tests.spark.habits.warehouse import AREAS, HISTORY, View, Warehouse, views
from tests.support.share import WHOLE, share

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(3600)]

SOME = (
    *("hourly_tag_sets", "hourly_revenue", "revenue_final", "reconciliation_by_user"),
    *("map_keys_of_groups", "first_places"),
)
STEPS = HISTORY if WHOLE else [HISTORY[at] for at in (0, 4, 8)]
"""The first rows; rows that come while others are deleted and changed; rows of every table."""


def chosen(area: str) -> list[View]:
    """Of an area: the share of this run, and the views that they read."""
    named = {view.name: view for view in views(area)}
    wanted = share(list(named), part=1)
    for name in wanted:
        words = set(re.findall(r"\w+", named[name].query))
        wanted += [other for other in named if other in words and other not in wanted]
    return [view for name, view in named.items() if name in wanted]


def groups() -> dict[str, list[View]]:
    """The views of each warehouse, by its name."""
    if WHOLE:
        return {area: chosen(area) for area in AREAS}
    return {"some": [view for area in AREAS for view in views(area) if view.name in SOME]}


@pytest.mark.parametrize("asked", groups().values(), ids=groups())
def test_every_version_equals_its_query(spark, tmp_path, asked):
    warehouse = Warehouse(spark, tmp_path, asked)
    warehouse.plan()
    assert warehouse.refused == []
    found = warehouse.run(STEPS)
    assert [fault for fault in found.faults if fault[2] != "both"] == []
    assert found.compared >= len(asked) * (len(STEPS) // 2)
    ways = {way.split()[0] for way in found.ways}
    assert ways > {"full"} if WHOLE else ways >= {"full", "group-merge", "bucket-recompute"}
    final = any(view.more.get("emit") == "final" for view in asked)
    assert not final or found.final > 0
