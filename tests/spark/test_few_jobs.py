"""How many Spark jobs and commits an update from changes takes."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from freshline.delta.log import last_commit
from freshline.spark.views import groups, whole
from freshline.sql.strategy import incremental
from tests.spark.arrivals import SCHEMA, START, Arrivals

pytestmark = pytest.mark.spark

VIEWS = {
    "filtered": "SELECT id, at FROM events WHERE cents > 300",
    "people": "SELECT person, count(*) AS n, sum(cents) AS cents FROM events GROUP BY person",
    "means": "SELECT person, avg(cents) AS mean FROM events GROUP BY person",
    "hourly": "SELECT date_trunc('HOUR', at) AS hour, count(*) AS n FROM events GROUP BY 1",
    "daily": "SELECT date_trunc('DAY', hour) AS day, sum(n) AS n FROM hourly GROUP BY 1",
}


def merging(_table, plan, _costs, *, rewrote, **_others):
    """Merges where that is right."""
    return incremental(plan, rewrote=rewrote, final=False)[-1]


@pytest.fixture
def arrivals(shop) -> Arrivals:
    """Views of each kind, built over some rows."""
    shop.feed("events_feed", "parquet", "id BIGINT, at TIMESTAMP, person STRING, cents BIGINT")
    shop.table("events", "SELECT * FROM STREAM events_feed", time_column="at")
    for name, query in VIEWS.items():
        shop.table(name, query, refresh="incremental")
    return Arrivals(shop, random.Random(3))


def test_an_update_from_changes_takes_few_jobs_and_commits(shop, arrivals, monkeypatch):
    tracker = shop.session.sparkContext.statusTracker()

    def versions(view: str) -> int:
        """Of the view and of the states beside it, together."""
        paths = [shop.path(view), *Path(shop.project.own_path, "state", view).glob("*")]
        return sum(len(list(Path(path, "_delta_log").glob("*.json"))) for path in paths)

    def step(*views: str) -> dict[str, tuple[int, int]]:
        """Jobs and commits of an update of each view, after some rows of one hour came."""
        rows = [row | {"at": START} for row in arrivals.rows(0, 20)]
        name = f"{arrivals.next_id}.parquet"
        pq.write_table(
            pa.Table.from_pylist(rows, SCHEMA), f"{shop.feeds['events_feed'].path}/{name}"
        )
        shop.load("events", name)
        found = {}
        for view in views:
            before = versions(view)
            arrivals.update(view)
            commit = last_commit(shop.path(view))
            assert commit is not None
            jobs = tracker.getJobIdsForGroup(f"freshline/{view}/{commit.update}")
            commits = versions(view) - before
            found[view] = (len(jobs), commits)
        return found

    def strategy_of(view: str) -> str:
        commit = last_commit(shop.path(view))
        assert commit is not None
        return str(commit.metadata["strategy"])

    step(*VIEWS)
    step(*VIEWS)
    assert step(*VIEWS) == {
        "filtered": (1, 1),
        "people": (1, 1),
        "means": (2, 2),
        "hourly": (1, 1),
        "daily": (1, 1),
    }
    monkeypatch.setattr(whole, "WHOLE_BYTES", 0)
    assert step("people", "means") == {"people": (2, 1), "means": (3, 2)}
    with monkeypatch.context() as patch:
        patch.setattr(groups, "MOST_NAMED", 1)
        assert step("people")["people"][1] == 1
    # Of which hour the new rows are is in the log, and what was merged says it to the day.
    monkeypatch.setattr(shop.executor._updates["hourly"], "_choose", merging)
    assert step("hourly", "daily") == {"hourly": (1, 1), "daily": (1, 1)}
    assert strategy_of("hourly") == "bucket-merge"
    monkeypatch.undo()
    monkeypatch.setattr(shop.executor._updates["hourly"], "_choose", merging)
    assert step("hourly", "daily") == {"hourly": (1, 1), "daily": (1, 1)}
