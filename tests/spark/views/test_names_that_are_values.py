"""Names of columns that become values: fields of structs, keys of JSON, texts of types.

The states of a view are queries of ours, whose names are in small letters.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from deltalake import DeltaTable

from tests.spark.conftest import Shop
from tests.spark.views.judges import as_of
from tests.support.share import WHOLE

pytestmark = pytest.mark.spark

VIEWS = {
    "newest": "SELECT orderId, max_by(struct(*), seen) AS Newest FROM orders GROUP BY orderId",
    "fields": (
        "SELECT ORDERID, MAX(STRUCT(SEEN, state AS State, seen + 1)) AS m FROM ORDERS"
        " GROUP BY ORDERID"
    ),
    "keys": "SELECT orderid, max(to_json(struct(OrderId, Seen))) AS j FROM orders GROUP BY orderid",
    "named": "SELECT orderId, min(to_json(named_struct('Of', seen))) AS j FROM orders GROUP BY 1",
    "types": "SELECT orderId, max(typeof(struct(SEEN, 1 AS One))) AS t FROM orders GROUP BY 1",
    "cast": (
        "SELECT orderId, max(to_json(CAST(struct(seen) AS STRUCT<Seen: STRING>))) AS j"
        " FROM orders GROUP BY orderId"
    ),
    "lines": (
        "SELECT k, max(to_json(struct(s.*))) AS j FROM (SELECT orderId AS K, seen AS Last"
        " FROM orders) s GROUP BY k"
    ),
    "all_lines": (
        "SELECT s.orderId, max(to_json(struct(*))) AS j FROM (SELECT * FROM orders) s"
        " GROUP BY s.orderId"
    ),
    "items": (
        "SELECT orderId, max(to_json(struct(*))) AS j FROM orders"
        " LATERAL VIEW explode(array(seen, 7)) e AS Item GROUP BY orderId"
    ),
    "within": (
        "SELECT k, count(DISTINCT to_json(o)) AS n, max(to_json(o.Inner)) AS j FROM"
        " (SELECT orderId AS k, struct(struct(seen AS Last) AS Inner) AS o FROM orders) GROUP BY k"
    ),
}
MERGED = {"newest", "fields", "keys", "named", "types", "cast", "within"}
BY_KEYS = {"lines", "all_lines", "items"}


def test_views_equal_their_queries(spark, tmp_path):
    shop = Shop(tmp_path, spark)
    folder = Path(shop.feed("orders_feed", "json", "orderId BIGINT, State STRING, seen BIGINT"))
    shop.table("orders", "SELECT * FROM STREAM orders_feed")
    for name, query in VIEWS.items():
        shop.table(name, query, refresh="incremental")
    ways: dict[str, list[str]] = {name: [] for name in VIEWS}
    for number in range(3 if WHOLE else 2):
        rows = [
            {"orderId": key, "State": "ab"[(key + number) % 2], "seen": 10 * number + key}
            for key in range(number, number + 4)
        ]
        file = folder / f"{number}.json"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        shop.load("orders", file.name)
        if not number:
            shop.plan()
        version = int(DeltaTable(shop.path("orders")).version())
        session = shop.session.newSession()
        as_of(session, shop.path("orders"), version).createOrReplaceTempView("orders")
        for name, query in VIEWS.items():
            ways[name].append(str(shop.derive(name, orders=version).strategy))
            expected = session.sql(query).toArrow().to_pylist()
            assert shop.rows(name) == sorted(expected, key=repr), (number, name)
    last = {name: told[-1] for name, told in ways.items()}
    assert {name for name, way in last.items() if way == "group-merge"} == MERGED, ways
    assert {name for name, way in last.items() if way == "key-recompute"} == BY_KEYS, ways
