"""A join of two tables that grow reads few old rows for the new ones, and the right ones."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest

from freshline.spark.engine import jvm, pins
from freshline.spark.views import partials
from freshline.spark.views.incremental import Parent
from freshline.spark.views.meeting import met_by
from freshline.sql.query.records import Equality
from tests.spark.arrivals import Arrivals, arrivals_in
from tests.spark.conftest import Shop
from tests.spark.views.proving import session_in
from tests.support.share import WHOLE

pytestmark = pytest.mark.spark

SUMS = """SELECT e.person, count(*) AS n, sum(v.cents) AS cents FROM events e
    JOIN visits v ON e.id = v.id GROUP BY e.person"""
MEANS = """SELECT e.person, avg(v.cents) AS mean FROM events e, visits v
    WHERE v.id = e.id AND to_date(e.at) = to_date(v.at) GROUP BY e.person"""
ONCE_MORE = """SELECT person, sum(n) AS n FROM (SELECT e.person, v.cents AS n
    FROM events e JOIN visits v ON v.id = e.id
    UNION ALL SELECT e.person, 1 FROM events e JOIN visits v ON v.cents = e.cents)
    GROUP BY person"""
VIEWS = {"sums": SUMS, "once_more": ONCE_MORE} | ({"means": MEANS} if WHOLE else {})


@pytest.fixture
def arrivals(shop) -> Arrivals:
    return arrivals_in(shop, 11)


def test_only_files_with_the_new_rows_keys_are_read(shop, arrivals, monkeypatch):
    """Late items of old orders, items before their order, keys of NULL and far apart."""
    read: dict[str, list[tuple[int, int]]] = {}

    def noted(parent: Parent, changed: Parent, equal: Sequence[Equality]) -> str | None:
        condition = met_by(parent, changed, equal)
        if condition is not None:
            frame = parent.before()
            files = len(frame.where(condition).inputFiles()), len(frame.inputFiles())
            read.setdefault(parent.name, []).append(files)
        return condition

    def come(table: str, ids: list[int | None]) -> None:
        rows: list[dict[str, Any]] = arrivals.rows(1, len(ids))
        arrivals.come(table, [{**row, "id": number} for row, number in zip(rows, ids, strict=True)])

    for name, query in VIEWS.items():
        shop.table(name, query, refresh="incremental")
    for first in (0, 10, 20, 30):
        come("events", [*range(first, first + 10), None])
        come("visits", [*range(first, first + 10), *range(first, first + 10), None])
    for name in VIEWS:
        arrivals.update(name)
    monkeypatch.setattr(partials, "met_by", noted)
    monkeypatch.setattr(pins, "SMALL_BYTES", -1)  # of small tables Delta is not asked
    steps: list[tuple[list[int | None], list[int | None]]] = [
        ([40, 41], [40, 41, 42, None]),
        ([42, -(2**63), 2**63 - 1], [3, 42]),
        ([None], [2**63 - 1, 12]),
        ([], [None, None]),
    ]
    for events, visits in steps if WHOLE else steps[:2]:
        for table, ids in (("events", events), ("visits", visits)):
            if ids:
                come(table, ids)
        for name in VIEWS:
            result = arrivals.update(name)
            assert result.strategy == "group-merge", (name, result)
    # Of the four old files none has the first step's keys; then those of the late items.
    assert read["events"][0] == (0, 4)
    assert read["visits"][0] == (0, 4)
    assert min(few for few, _ in read["events"]) == 0
    assert all(few <= files for few, files in (*read["events"], *read["visits"]))


ROWS = """SELECT e.id, e.person, v.cents AS spent FROM events AS e JOIN visits v USING (id)
    WHERE NOT v.cents <=> e.cents"""
PAIRS = """with v as (select person as who, cents from visits where cents is not null)
    SELECT e.at, e.cents, v.cents AS other FROM events e, v WHERE v.who = e.person
    AND v.cents < e.cents UNION ALL SELECT v.at, -1, e.cents FROM events e JOIN visits v
    ON e.id = v.id"""
SPENT = "SELECT person, count(*) AS n, sum(spent) AS spent FROM items GROUP BY person"


def test_what_new_rows_make_with_old_ones_is_appended(shop, arrivals):
    """Rows on either side, on both at once, on none; views over it are merged into."""
    for name, query in (("items", ROWS), ("pairs", PAIRS), ("spent", SPENT)):
        shop.table(name, query, refresh="incremental")

    def step(events: int, visits: int, older: int = 0) -> list[str]:
        for table, count in (("events", events), ("visits", visits)):
            if count:
                arrivals.next_id = max(0, arrivals.next_id - older)
                arrivals.come(table, arrivals.rows(1, count))
        return [arrivals.update(name).code for name in ("items", "pairs", "spent")]

    assert step(20, 1) == ["first-build"] * 3
    assert step(0, 20, older=21) == ["joined", "joined", "merges"]
    assert step(10, 30, older=15) == ["joined", "joined", "merges"]
    assert step(10, 0, older=30) == ["joined", "joined", "merges"]
    assert step(0, 0) == ["joined", "joined", "merges"]
    arrivals.go("events", "id % 3 = 0")
    # Items show what they are joined by, pairs do not.
    assert step(5, 5, older=9)[:2] == ["keys", "parent-rewrote"]
    assert step(5, 5, older=9)[:2] == ["joined", "joined"]


def test_all_is_computed_where_the_log_no_longer_tells_the_old_rows(shop, arrivals):
    """The commits since are there, and those are gone that the version before is made of."""
    shop.table("items", ROWS, refresh="incremental")
    for _ in range(3):
        for table in ("events", "visits"):
            arrivals.come(table, arrivals.rows(1, 5))
    assert arrivals.update("items").code == "first-build"
    for table in ("events", "visits"):
        arrivals.come(table, arrivals.rows(1, 5))
        deltalake.DeltaTable(shop.path(table)).create_checkpoint()
        Path(shop.path(table), "_delta_log", f"{0:020d}.json").unlink()
    jvm.named(shop.session, "org.apache.spark.sql.delta.DeltaLog").clearCache()
    assert arrivals.update("items").code == "changes-gone"


def test_a_date_that_comes_back_is_met(spark, tmp_path):
    """Of ``CAST(at AS DATE) = day`` Spark holds the cast against what a condition says of day.

    In St John's 00:01 of 7 November 2010 became 23:01 of the day before.
    """
    shop = Shop(tmp_path, session_in(spark, "America/St_Johns"))
    for name in ("visits", "days"):
        shop.feed(f"{name}_feed", "parquet", "id BIGINT, day DATE, at TIMESTAMP")
        shop.table(name, f"SELECT * FROM STREAM {name}_feed")
    joined = "FROM visits v JOIN days d ON v.day = d.day WHERE CAST(v.at AS DATE) = v.day"
    shop.table("pairs", f"SELECT v.id, d.id AS of {joined}", refresh="incremental")
    shop.table("counts", f"SELECT v.id, count(*) AS n {joined} GROUP BY 1", refresh="incremental")
    columns = [("id", pa.int64()), ("day", pa.date32()), ("at", pa.timestamp("us", "UTC"))]

    def come(table: str, number: int, day: date, at: datetime | None) -> None:
        rows = pa.Table.from_pylist([{"id": number, "day": day, "at": at}], pa.schema(columns))
        settings = {"delta.enableChangeDataFeed": "true"}
        deltalake.write_deltalake(shop.path(table), rows, mode="append", configuration=settings)

    come("visits", 1, date(2010, 11, 6), datetime(2010, 11, 7, 2, 45, tzinfo=UTC))  # 23:15 again
    codes = []
    for version in range(2):
        come("days", version, date(2010, 11, 6), None)
        codes += [shop.derive(name, visits=0, days=version).code for name in ("pairs", "counts")]
    assert codes == ["first-build", "first-build", "joined", "merges"]
    assert [row["of"] for row in shop.rows("pairs")] == [0, 1]
    assert shop.rows("counts") == [{"id": 1, "n": 2}]
