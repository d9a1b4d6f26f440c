"""`freshline.emit` = `final`: a bucket is shown when it is complete, then once, or corrected."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from freshline.core.errors import UserError
from freshline.sql.maintenance import ViewPlan
from tests.spark.arrivals import START, Arrivals
from tests.spark.test_incremental_updates import BY_HOUR, HOURLY, NO, arrivals, view

pytestmark = pytest.mark.spark

__all__ = ["arrivals", "view"]


def row(at: datetime | None, cents: int = 1) -> dict[str, object]:
    return {"id": 1, "at": at, "person": "ann", "cents": cents}


def hours(count: float) -> datetime:
    return START + timedelta(hours=count)


def shown(arrivals: Arrivals) -> list[float]:
    """Hours since the start of the buckets that the view has."""
    found = [each["hour"] for each in arrivals.shop.rows("hourly")]
    return sorted((hour - START) / timedelta(hours=1) for hour in found)


def test_a_bucket_appears_when_its_hour_is_over(arrivals, view):
    view("hourly", HOURLY, ViewPlan(True, BY_HOUR, NO), emit="final")

    def step(*rows: dict[str, object], fresh: datetime) -> tuple[str, int, list[float]]:
        arrivals.come("events", rows, fresh.timestamp())
        result = arrivals.update("hourly")
        return result.strategy, arrivals.facts("hourly")["corrected"], shown(arrivals)

    first = [row(hours(0)), row(hours(0.5)), row(hours(1)), row(hours(1.2))]
    # The last microsecond of the first hour is not there yet.
    assert step(*first, fresh=hours(1) - timedelta(microseconds=2)) == ("full", 0, [])
    assert step(fresh=hours(1) - timedelta(microseconds=1)) == ("bucket-recompute", 0, [0.0])
    assert step(row(hours(5)), fresh=hours(1.5)) == ("bucket-recompute", 0, [0.0])
    assert step(row(hours(1.9)), fresh=hours(2)) == ("bucket-recompute", 0, [0.0, 1.0])
    before = arrivals.shop.rows("hourly")
    assert step(fresh=hours(2)) == ("bucket-recompute", 0, [0.0, 1.0])
    assert arrivals.shop.rows("hourly") == before
    # A late row corrects the hour that it belongs to.
    assert step(row(hours(0.1), 50), fresh=hours(2)) == ("bucket-recompute", 1, [0.0, 1.0])
    arrivals.update("hourly", full=True)
    assert shown(arrivals) == [0.0, 1.0]


def test_rows_without_a_bucket_are_shown_at_once(arrivals, view):
    view("hourly", HOURLY, ViewPlan(NO, BY_HOUR, NO), emit="final")
    for number in range(2):
        arrivals.come("events", [row(None), row(hours(3))], hours(1).timestamp())
        arrivals.update("hourly")
        assert [(each["hour"], each["n"]) for each in arrivals.shop.rows("hourly")] == [
            (None, number + 1)
        ]


def test_a_view_without_buckets_cannot_complete_them(arrivals, view):
    view("hourly", HOURLY, ViewPlan(NO, NO, NO), emit="final")
    arrivals.come("events", [row(hours(0))])
    with pytest.raises(UserError) as raised:
        arrivals.update("hourly")
    assert raised.value.code == "no-buckets"
    assert raised.value.rule == "the test leaves it out (NONE)"
