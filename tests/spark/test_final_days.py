"""Days of a final view are shown when they are over by the clock that they were made by."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pyarrow as pa
import pytest

from tests.spark.conftest import Shop
from tests.spark.views.proving import session_in

pytestmark = pytest.mark.spark


def test_a_day_of_a_clock_farther_west_is_shown_when_it_is_over_there(spark, tmp_path):
    shop = Shop(tmp_path, session_in(spark, "UTC"))
    shop.feed("events_feed", "parquet", "at TIMESTAMP")
    shop.table("events", "SELECT * FROM STREAM events_feed", time_column="at")
    # As SET spark.sql.session.timeZone = America/New_York in a file of a pipeline.
    settings = {"spark.sql.session.timeZone": "America/New_York"}
    by_day = "SELECT CAST(at AS DATE) AS day, count(*) AS n FROM events GROUP BY 1"
    shop.table("days", by_day, refresh="incremental", settings=settings)
    shop.table("shown", "SELECT day, n FROM days", refresh="incremental", emit="final")

    def step(fresh: datetime, *times: datetime) -> dict[date, int]:
        rows = pa.table({"at": pa.array(times, pa.timestamp("us", "UTC"))})
        at, to_s = shop.come("events", rows, fresh.timestamp()), fresh.timestamp()
        run = shop.executor.run
        days = run(shop.request("days", parents={"events": at}, from_s=to_s, to_s=to_s))
        run(shop.request("shown", parents={"days": days.version}, from_s=to_s, to_s=to_s))
        return {each["day"]: each["n"] for each in shop.rows("shown")}

    def at(day: int, hour: int, minute: int = 0) -> datetime:
        return datetime(2026, 7, day, hour, minute, tzinfo=UTC)

    # July 14 of New York lasts until July 15 04:00 UTC.
    assert step(at(15, 1, 30), at(14, 12)) == {}
    assert step(at(15, 3, 30), at(15, 3, 30)) == {}
    assert step(at(17, 12))[date(2026, 7, 14)] == 2


def test_a_day_of_25_hours_is_shown_when_it_is_over(spark, tmp_path):
    shop = Shop(tmp_path, session_in(spark, "Europe/Berlin"))
    shop.feed("events_feed", "parquet", "day DATE, n BIGINT")
    shop.table("events", "SELECT * FROM STREAM events_feed", time_column="day")
    query = "SELECT CAST(day AS TIMESTAMP) AS t, sum(n) AS n FROM events GROUP BY 1"
    shop.table("daily", query, refresh="incremental", emit="final")

    def step(fresh: datetime, n: int) -> list[int]:
        rows = {"day": pa.array([date(2026, 10, 25)]), "n": pa.array([n], pa.int64())}
        at, to_s = shop.come("events", pa.table(rows), fresh.timestamp()), fresh.timestamp()
        shop.executor.run(shop.request("daily", parents={"events": at}, from_s=to_s, to_s=to_s))
        return [each["n"] for each in shop.rows("daily")]

    # October 25 of Berlin lasts from 24 22:00 UTC to 25 23:00 UTC.
    assert step(datetime(2026, 10, 25, 22, 30, tzinfo=UTC), 1) == []
    assert step(datetime(2026, 10, 25, 22, 59, tzinfo=UTC), 2) == []
    assert step(datetime(2026, 10, 25, 23, tzinfo=UTC), 4) == [7]
