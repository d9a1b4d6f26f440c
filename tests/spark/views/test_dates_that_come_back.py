"""Where clocks are put back over a midnight a date comes back after the next one has begun.

In St John's 00:01 of 7 November 2010 became 23:01 of the day before.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from tests.spark.conftest import Shop
from tests.spark.views.judges import as_of
from tests.spark.views.proving import session_in

pytestmark = pytest.mark.spark

VISITS = pa.schema([
    ("id", pa.int64()), ("at", pa.timestamp("us", "UTC")), ("day", pa.date32()),
])  # fmt: skip
TIMES = (
    datetime(2010, 11, 7, 2, 30, 30, tzinfo=UTC),  # the 7th, 00:00:30
    datetime(2010, 11, 7, 2, 45, tzinfo=UTC),  # the 6th again, 23:15
    datetime(2010, 11, 7, 3, 40, tzinfo=UTC),  # the 7th again, 00:10
    datetime(2010, 11, 6, 20, tzinfo=UTC),
    datetime(2010, 11, 7, 20, tzinfo=UTC),
)
VIEWS = {
    "by_date": "SELECT CAST(at AS DATE) AS d, count(*) AS n FROM visits GROUP BY 1",
    "groups": "SELECT CAST(CASE WHEN id >= 0 THEN at END AS DATE) AS d, id % 1 AS k, count(*) AS n"
    " FROM visits GROUP BY 1, 2",
    "starts": "SELECT CAST(day AS TIMESTAMP) AS t, count(*) AS n FROM visits GROUP BY 1",
}


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        (3, 200),
        pytest.param(4, 0, marks=pytest.mark.proof),
        pytest.param(3, 0, marks=pytest.mark.proof),
        pytest.param(4, 200, marks=pytest.mark.proof),
    ],
)
def test_views_equal_their_queries(spark, tmp_path, monkeypatch, changed, named):
    monkeypatch.setattr("freshline.spark.views.groups.MOST_NAMED", named)
    shop = Shop(tmp_path, session_in(spark, "America/St_Johns"))
    folder = Path(shop.feed("visits_feed", "parquet", "id BIGINT, at TIMESTAMP, day DATE"))
    shop.table("visits", "SELECT * FROM STREAM visits_feed", time_column="at")
    for name, query in VIEWS.items():
        shop.table(name, query, refresh="incremental")
    days = [date(2010, 11, 6 + number % 2) for number in range(len(TIMES))]
    rows = [{"id": at, "at": time, "day": days[at]} for at, time in enumerate(TIMES)]
    pq.write_table(pa.Table.from_pylist(rows, VISITS), folder / "0.parquet")
    shop.load("visits", "0.parquet")
    assert not shop.plan().errors
    told, wrong = {}, []
    for version in (1, 2):
        if version == 2:
            table = DeltaTable(shop.path("visits"))
            table.update(updates={"id": "id + 10"}, predicate=f"id = {changed}")
        at = DeltaTable(shop.path("visits")).version()
        session = shop.session.newSession()
        as_of(session, shop.path("visits"), at).createOrReplaceTempView("visits")
        for name, query in VIEWS.items():
            told[name] = shop.derive(name, visits=at).strategy
            expected = session.sql(query).toArrow().to_pylist()
            if shop.rows(name) != sorted(expected, key=repr):
                wrong.append((version, name))
    assert wrong == []
    assert told == {
        "by_date": "bucket-recompute",
        "groups": "group-recompute",
        "starts": "bucket-recompute",
    }
