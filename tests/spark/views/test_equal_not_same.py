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


SETS = {
    "v_numbers": "SELECT g, size(collect_set(d)) AS n, count(*) AS c FROM probes GROUP BY g",
    "v_floats": "SELECT g, collect_set(FLOAT(d)) AS s, count(*) AS c FROM probes GROUP BY g",
    "v_rows": "SELECT g, size(collect_set(named_struct('v', d))) AS n, count(*) AS c FROM probes"
    " GROUP BY g",
    "v_arrays": "SELECT g, size(collect_set(array(d))) AS n, count(*) AS c FROM probes GROUP BY g",
    "v_texts": "SELECT g, size(collect_set(string(d))) AS n, count(*) AS c FROM probes GROUP BY g",
}
NAN = float("nan")
STEPS = {
    "NaN": ([NAN, NAN, 1.0], [NAN, 1.0], [2.0]),
    "zeros": ([0.0, -0.0, 1.0], [-0.0, 1.0], [2.0]),
}


@pytest.mark.parametrize("values", STEPS)
def test_a_set_of_floating_point_numbers_is_not_merged(shop, values):
    """To Spark's set no NaN is another one, and a row with -0.0 is none with 0.0."""
    proving = Proving(shop)
    proving.feed(Source("probes", {"g": "bigint", "d": "double"}))
    for view, query in SETS.items():
        proving.view(view, query)
    proving.plan()
    for part in STEPS[values]:
        proving.arrive("probes", pa.table({"g": [1] * len(part), "d": part}))
        for view in SETS:
            proving.update(view)
    merged = {view for view in SETS if proving.told[view][-1][0] == "group-merge"}
    assert merged == {"v_texts"}
