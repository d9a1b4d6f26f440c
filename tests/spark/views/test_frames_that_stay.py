"""Frames of a window whose edge would go back: Spark never goes back, so a row has a former one.

A month after 30 January 12:00 ends later than a month after 31 January 10:00. Where clocks are
put back, a day after the first 02:59 ends later than a day after the second 02:30.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from tests.spark.conftest import Shop
from tests.spark.views.judges import as_of
from tests.spark.views.proving import session_in

pytestmark = pytest.mark.spark

VISITS = pa.schema([("id", pa.int64()), ("at", pa.timestamp("us", "UTC"))])


def of_2024(month: int, day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2024, month, day, hour, minute, tzinfo=UTC)


MONTH_AHEAD = "ORDER BY at RANGE BETWEEN CURRENT ROW AND INTERVAL 1 MONTH FOLLOWING"
MONTHS_AGO = "ORDER BY at RANGE BETWEEN INTERVAL 2 MONTHS PRECEDING AND INTERVAL 1 MONTH PRECEDING"
MONTH_BACK = "ORDER BY at DESC RANGE BETWEEN CURRENT ROW AND INTERVAL 1 MONTH FOLLOWING"
DAY_AHEAD = "ORDER BY at RANGE BETWEEN CURRENT ROW AND INTERVAL 1 DAY FOLLOWING"
ROWS = {
    MONTH_AHEAD: (of_2024(1, 30, 12), of_2024(1, 31, 10), of_2024(2, 29, 11)),
    MONTHS_AGO: (of_2024(2, 29, 11), of_2024(3, 30, 12), of_2024(3, 31, 10)),
    MONTH_BACK: (of_2024(3, 31, 10), of_2024(3, 30, 23), of_2024(2, 29, 12)),
    DAY_AHEAD: (of_2024(10, 27, 0, 59), of_2024(10, 27, 1, 30), of_2024(10, 28, 1, 45)),
}
"""Rows of which the second has the edge that the first one has."""


def late(frame: str) -> list[datetime]:
    """Rows of which one is just so far from the second that the first is out of its reach."""
    second = ROWS[frame][1]
    ahead = -1 if frame is MONTH_BACK else 1
    reach = timedelta(hours=26) if frame is DAY_AHEAD else timedelta(days=31)
    if frame is MONTHS_AGO:
        ahead, reach = -1, timedelta(days=28)
    return [second + ahead * (reach + timedelta(minutes=10 * step)) for step in range(-12, 7, 6)]


@pytest.mark.parametrize(
    "frame",
    [
        MONTH_AHEAD,
        pytest.param(DAY_AHEAD, marks=pytest.mark.proof),
        pytest.param(MONTHS_AGO, marks=pytest.mark.proof),
        pytest.param(MONTH_BACK, marks=pytest.mark.proof),
    ],
    ids=["month", "day", "months ago", "month back"],
)
def test_views_equal_their_queries(spark, tmp_path, frame):
    shop = Shop(tmp_path, session_in(spark, "Europe/Berlin" if frame is DAY_AHEAD else "UTC"))
    shop.feed("visits_feed", "parquet", "id BIGINT, at TIMESTAMP")
    shop.table("visits", "SELECT * FROM STREAM visits_feed", time_column="at")
    query = f"SELECT id, at, count(*) OVER ({frame}) AS n FROM visits"
    shop.table("counted", query, refresh="incremental")
    told = []
    for number, times in enumerate([list(ROWS[frame]), *([each] for each in late(frame))]):
        rows = [{"id": 10 * number + at, "at": time} for at, time in enumerate(times)]
        version = shop.come("visits", pa.Table.from_pylist(rows, VISITS))
        if not number:
            assert not shop.plan().errors
        told.append(shop.derive("counted", visits=version).strategy)
        session = shop.session.newSession()
        as_of(session, shop.path("visits"), version).createOrReplaceTempView("visits")
        expected = session.sql(query).toArrow().to_pylist()
        assert shop.rows("counted") == sorted(expected, key=repr), (number, times)
    assert told == ["full", *["bucket-recompute"] * (len(told) - 1)]
