"""Reports over a topic of a real broker: windows by event time, and by arrival."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import deltalake
import pytest

from freshline.times import rfc3339
from tests.spark.kafka.shop import BASE_S, TopicShop
from tests.spark.proof.equality import utc_session
from tests.spark.reports.live import LiveReports, as_json, check_replays, reports_of, results_of
from tests.spark.views.judges import as_of

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.timeout(600)]

QUERY = (
    "SELECT id % 3 AS third, count(*) AS n, sum(id) AS ids, max(at) AS latest FROM {} GROUP BY 1"
)
BASES = """\
CREATE STREAMING TABLE timed TBLPROPERTIES ('freshline.time' = 'at')
  AS SELECT id, CAST(name AS TIMESTAMP) AS at FROM STREAM orders_feed;
CREATE STREAMING TABLE untimed AS SELECT id, CAST(name AS TIMESTAMP) AS at FROM STREAM orders_feed;
"""
REPORT = """\
CREATE MATERIALIZED VIEW {}
  TBLPROPERTIES ('freshline.window' = '1 minute', 'freshline.deadline' = '30 seconds') AS {};
"""
SQL = BASES + "".join(
    REPORT.format(f"of_{table}", QUERY.format(table)) for table in ("timed", "untimed")
)
START = datetime.fromtimestamp(BASE_S, UTC)
MINUTE = timedelta(minutes=1)
MICROSECOND = timedelta(microseconds=1)
EDGES = [START - MICROSECOND, START, START + MINUTE - MICROSECOND, START + MINUTE]


def test_windows_by_event_time_and_by_arrival_equal_the_query_at_once(shop, spark):
    shop.broker.make_topic(shop.topic, 1)
    shop.declare(sql=SQL)
    # Record n arrives n seconds after the window's start; its event time is another one.
    with LiveReports(shop, spark, BASE_S + 40.0) as live:
        send(shop, [*EDGES, *(START + timedelta(seconds=2 * n) for n in range(26))])
        loaded(live, shop)
        assert [each.batches for each in live.reports()] == [1, 1]  # measured at once
        live.go_on(BASE_S + 58.0)
        send(shop, [START + timedelta(seconds=n) for n in range(40, 66)])
        loaded(live, shop)
        live.go_on(BASE_S + 62.0)
        send(shop, [START + timedelta(seconds=n) for n in range(5)])  # the last at 60 s sharp
        loaded(live, shop)
        # Both are complete and made; what comes now is in no result, whatever its time.
        send(shop, [START + timedelta(seconds=7), START + MINUTE])
        loaded(live, shop)
        live.go_on(BASE_S + 90.0)

    batches = {}
    for table, of_window in (
        ("timed", f"at >= '{START}' AND at < '{START + MINUTE}'"),
        ("untimed", "id BETWEEN 0 AND 60"),
    ):
        (told,) = results_of(shop.project, f"of_{table}")
        assert told["window"] == {"start": rfc3339(BASE_S), "end": rfc3339(BASE_S + 60.0)}
        assert told["deadline"] == "2026-01-01T00:01:30.000000Z"
        assert (told["complete"], told["strategy"]) == (True, "report")
        batches[f"of_{table}"] = len(told["batches"])
        found = as_json(shop.rows(f"of_{table}"))
        assert found == at_once(shop, spark, table, told["parents"][table], of_window)
        assert found
    ended = {each.wanted.view: each for each in reports_of(shop.project) if each.state == "done"}
    assert {view: each.batches for view, each in ended.items()} == batches
    assert min(batches.values()) >= 2
    for each in ended.values():
        assert (each.late, each.wanted.deadline_s) == (None, BASE_S + 90.0)
        assert each.finish_s is not None
        assert each.finish_s <= each.wanted.deadline_s
    check_replays(shop.project)


def send(shop: TopicShop, times: list[datetime]) -> None:
    """Records with these event times, stamped one second after the other."""
    producer = shop.broker.producer()
    for at in times:
        shop.put(producer, json.dumps({"id": shop.next_id, "name": at.isoformat()}))
        shop.next_id += 1
    producer.flush()


def loaded(live: LiveReports, shop: TopicShop) -> None:
    """Until all that was sent is in both tables, in however many updates, and settled."""
    for table in ("timed", "untimed"):
        live.until(partial(has_all, shop, table))
    live.settle()


def has_all(shop: TopicShop, table: str) -> bool:
    there = deltalake.DeltaTable.is_deltatable(shop.project.table_path(table))
    return there and len(shop.rows(table)) == shop.next_id


def at_once(shop: TopicShop, spark: Any, table: str, version: int, of_window: str) -> list[str]:
    session = utc_session(spark)
    rows = as_of(session, shop.project.table_path(table), version).filter(of_window)
    rows.createOrReplaceTempView(table)
    return as_json(session.sql(QUERY.format(table)).toArrow().to_pylist())
