"""Where clocks are put forward, a wall clock that shows the hour left out means the next one.

In Berlin 02:00 of 31 March 2024 became 03:00: a wall clock's 02:45 and 03:45 are both 01:45 UTC.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from tests.spark.conftest import Shop
from tests.spark.views.judges import as_of
from tests.spark.views.proving import session_in

pytestmark = pytest.mark.spark

VISITS = pa.schema([("id", pa.int64()), ("wall", pa.timestamp("us"))])
WALLS = [
    datetime(2024, 3, 31, hour, minute)  # noqa: DTZ001 - a wall clock's
    for hour in (1, 2, 3, 4, 8)
    for minute in (15, 30, 45)
]
VIEWS = {
    "starts": "SELECT CAST(wall AS TIMESTAMP) AS t, count(*) AS n FROM visits GROUP BY 1",
    "groups": "SELECT CAST(CASE WHEN id >= 0 THEN wall END AS TIMESTAMP) AS t, id % 1 AS k,"
    " count(*) AS n FROM visits GROUP BY 1, 2",
}


@pytest.mark.parametrize(
    "changed", [7, *(pytest.param(each, marks=pytest.mark.proof) for each in (1, 4, 12, 13, 14))]
)
def test_views_equal_their_queries(spark, tmp_path, changed):
    shop = Shop(tmp_path, session_in(spark, "Europe/Berlin"))
    folder = Path(shop.feed("visits_feed", "parquet", "id BIGINT, wall TIMESTAMP_NTZ"))
    shop.table("visits", "SELECT * FROM STREAM visits_feed", time_column="wall")
    for name, query in VIEWS.items():
        shop.table(name, query, refresh="incremental")
    rows = [{"id": at, "wall": wall} for at, wall in enumerate(WALLS)]
    pq.write_table(pa.Table.from_pylist(rows, VISITS), folder / "0.parquet")
    shop.load("visits", "0.parquet")
    assert not shop.plan().errors
    told, wrong = {}, []
    for version in (1, 2):
        if version == 2:
            DeltaTable(shop.path("visits")).delete(f"id = {changed}")
        at = DeltaTable(shop.path("visits")).version()
        session = shop.session.newSession()
        as_of(session, shop.path("visits"), at).createOrReplaceTempView("visits")
        for name, query in VIEWS.items():
            told[name] = shop.derive(name, visits=at).strategy
            expected = session.sql(query).toArrow().to_pylist()
            if shop.rows(name) != sorted(expected, key=repr):
                wrong.append((version, name))
    assert wrong == []
    assert told == {"starts": "bucket-recompute", "groups": "group-recompute"}
