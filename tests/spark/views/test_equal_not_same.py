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
