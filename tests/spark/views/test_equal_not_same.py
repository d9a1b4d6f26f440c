"""Views that show the text of a number of a join's other side: 0.0 and -0.0 are one group of a
state, and have two texts. The law over all shapes is tests/unit/sql/test_equal_not_same.py."""

from __future__ import annotations

import pyarrow as pa
import pytest

from freshline.sql.query.records import Source
from tests.spark.views.proving import Proving

pytestmark = pytest.mark.spark

ORDERS = Source("orders", {"id": "bigint", "shop": "string"})
EVENTS = Source("events", {"shop": "string", "lat": "double"})
QUERY = (
    "SELECT CAST(e.lat AS STRING) AS lat, count(*) AS n FROM orders o LEFT JOIN events e"
    " ON e.shop = o.shop GROUP BY 1"
)


MEDIANS = (
    "SELECT shop, CAST(m AS STRING) AS m FROM"
    " (SELECT shop, median(lat) AS m FROM events GROUP BY shop)"
)


def test_two_zeros_of_an_outer_join_keep_their_texts(shop):
    proving = Proving(shop)
    for source in (ORDERS, EVENTS):
        proving.feed(source)
    proving.view("lats", QUERY)
    proving.plan()
    for at in range(2):
        proving.arrive("orders", pa.table({"id": [at], "shop": ["a"]}))
        proving.arrive("events", pa.table({"shop": ["a", "a"], "lat": [0.0, -0.0]}))
        proving.update("lats", judged=False)
    assert {row["lat"]: row["n"] for row in shop.rows("lats")} == {"0.0": 4, "-0.0": 4}


def test_a_merged_median_is_minus_zero_where_the_query_s_is(shop):
    proving = Proving(shop)
    proving.feed(EVENTS)
    proving.view("medians", MEDIANS)
    proving.plan()
    for lat in (-0.0, -0.0, 0.0):
        name = "minus" if str(lat) == "-0.0" else "plus"
        proving.arrive("events", pa.table({"shop": [name, "both"], "lat": [lat, lat * 2 - 1]}))
        proving.update("medians")
    assert {row["shop"]: row["m"] for row in shop.rows("medians")} == {
        "minus": "-0.0", "plus": "0.0", "both": "-1.0"
    }  # fmt: skip
