"""What `freshline explain` tells is true: Spark runs the SQL it prints, and rows stay in bounds.

One view of each strategy, over two halves of random rows: the first is what was there, the
second is what came.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from freshline.cli.commands.explain import record, sources_of, text
from freshline.sql.strategy import strategy
from tests.spark.arrivals import SCHEMA, Arrivals
from tests.spark.conftest import Shop
from tests.spark.test_view_plans import EXPECTED, VIEWS, declare
from tests.spark.views.judges import counted

pytestmark = pytest.mark.spark

Told = Mapping[str, Any]

ONE_OF_EACH = {
    "filtered": ["append", "bucket-recompute", "full"],
    "hourly": ["bucket-merge", "bucket-recompute", "full"],
    "near": ["bucket-recompute", "full"],
    "people": ["group-merge", "group-recompute", "full"],
    "pairs": ["group-merge", "group-recompute", "full"],
    "newest": ["key-recompute", "full"],
    "spread": ["full"],
}


@pytest.fixture(scope="module")
def told(spark, tmp_path_factory) -> dict[str, Told]:
    """What the command prints as JSON, by view; its text has the same in words."""
    shop = Shop(tmp_path_factory.mktemp("explained"), spark)
    declare(shop)
    found = shop.executor.analyse()
    records: dict[str, Told] = {}
    for name, ways in ONE_OF_EACH.items():
        table, plan = shop.project.table(name), found.plans[name]
        sources, chosen = sources_of(shop.project, table, found.columns), strategy(table, plan)
        records[name] = record(table, plan, sources, chosen)
        assert (records[name]["strategy"], records[name]["ways"]) == (EXPECTED[name], ways)
        words = text(table, plan, sources, chosen)
        assert words.startswith(f"tables/{name}.sql:1: {chosen.name}, {chosen.code}: ")
        for each in _sql(records[name]):
            assert f": {each}\n" in words
    return records


@pytest.fixture
def rows(shop) -> dict[str, list[pa.Table]]:
    """Two halves of each stream."""
    arrivals = Arrivals(shop, random.Random(9))
    streams = ("events", "visits")
    return {
        name: [pa.Table.from_pylist(arrivals.rows(20 * half, 60), SCHEMA) for half in range(2)]
        for name in streams
    }


def _sql(told: Told) -> list[str]:
    if "partials" not in told["merge"]:
        return []
    states = [each[key] for each in told["merge"]["partials"] for key in ("query", "combine")]
    return [*states, told["merge"]["final"]]


def over(session: SparkSession, tables: Mapping[str, pa.Table], query: str) -> DataFrame:
    """A query over streams with these rows."""
    for name, table in tables.items():
        session.createDataFrame(table).createOrReplaceTempView(name)
    return session.sql(query)


def values(frame: DataFrame) -> Counter[tuple[Any, ...]]:
    return counted(frame.toArrow())


def test_the_states_that_are_told_merge_to_the_view(spark, told, rows):
    session = spark.newSession()
    whole = {name: pa.concat_tables(halves) for name, halves in rows.items()}
    first = {name: halves[0] for name, halves in rows.items()}
    for name in ("hourly", "people", "pairs"):
        merge = told[name]["merge"]
        # What came of the first stream meets all of the second, and what was there of it what
        # came of the second.
        parts = [
            first,
            {"events": rows["events"][1], "visits": whole["visits"]},
            {"events": rows["events"][0], "visits": rows["visits"][1]},
        ]
        parts = parts if name == "pairs" else parts[:2]
        for partial in merge["partials"]:
            states = [over(session, part, partial["query"]).toArrow() for part in parts]
            state = session.createDataFrame(pa.concat_tables(states))
            state.createOrReplaceTempView(partial["name"])
            combined = session.sql(partial["combine"]).toArrow()
            session.createDataFrame(combined).createOrReplaceTempView(partial["name"])
        expected = values(over(session, whole, VIEWS[name]))
        assert values(session.sql(merge["final"])) == expected, name


def test_what_an_appended_view_is_told_to_add_is_what_new_rows_come_to(spark, told, rows):
    session = spark.newSession()
    assert told["filtered"]["append"] is True
    query, (was, came) = VIEWS["filtered"], rows["events"]
    found = [values(over(session, {"events": part}, query)) for part in (was, came)]
    whole = values(over(session, {"events": pa.concat_tables([was, came])}, query))
    assert found[0] + found[1] == whole


def test_a_row_touches_no_output_row_beyond_what_is_told(spark, told, rows):
    session = spark.newSession()
    whole = {name: pa.concat_tables(halves) for name, halves in rows.items()}
    for name in ("filtered", "hourly", "near"):
        query, buckets = VIEWS[name], told[name]["buckets"]
        before = over(session, whole, f"SELECT {buckets['column']} AS at, * FROM ({query})")
        before_rows = values(before)
        for stream, bounds in buckets["reads"].items():
            times = whole[stream]["at"].to_pylist()
            found: set[datetime] = set()
            # Some rows are in no output row: filtered, or near to none of the other stream.
            for gone in [number for number, at in enumerate(times) if at is not None][20:26]:
                less = pa.concat_tables(
                    [
                        whole[stream].slice(0, gone),
                        whole[stream].slice(gone + 1),
                    ]
                )
                after = over(
                    session,
                    {**whole, stream: less},
                    f"SELECT {buckets['column']} AS at, * FROM ({query})",
                )
                after_rows = values(after)
                changed = (before_rows - after_rows) + (after_rows - before_rows)
                touched = {each[0] for each in changed}
                lo = times[gone] - timedelta(microseconds=bounds["hi_us"])
                hi = times[gone] - timedelta(microseconds=bounds["lo_us"])
                assert all(lo <= utc(each) <= hi for each in touched), (name, stream, touched)
                found |= touched
            assert found or name == "near", name


def utc(at: datetime) -> datetime:
    return at.astimezone(UTC)


def test_a_view_by_keys_says_by_which(told):
    assert told["newest"]["keys"] == {
        "columns": ["person"],
        "reads": {"events": ["person"]},
        "touches": {"events": "a row of events touches the rows whose person is its person"},
    }
    assert told["spread"]["keys"]["code"] == "NO_KEY"


def test_a_view_in_full_says_why(told):
    assert told["spread"]["code"] == told["spread"]["merge"]["code"] == "APPROXIMATE"
    assert told["spread"]["buckets"]["code"] == "NO_TIME_BUCKET"
    assert told["near"]["merge"]["code"] == "KEEPS_ROWS"
    assert told["near"]["append"]["code"] == "STREAM_JOIN"
