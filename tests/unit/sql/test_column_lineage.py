"""Which input columns make each output column, whatever the query's form."""

from __future__ import annotations

import pytest

from freshline.sql.query.column_lineage import InputColumn, column_lineage
from freshline.sql.query.records import Source

ORDERS = Source(
    "orders", {"id": "bigint", "at": "timestamp", "customer": "bigint", "price": "double"}
)
CUSTOMERS = Source("customers", {"id": "bigint", "name": "string", "country": "string"})


def of(query):
    found = column_lineage(query, [ORDERS, CUSTOMERS])
    outputs = {
        name: {f"{each.source}.{each.column}": how for each, how in inputs.items()}
        for name, inputs in found.outputs.items()
    }
    rows = {f"{each.source}.{each.column}": sorted(hows) for each, hows in found.rows.items()}
    return outputs, rows


def test_a_join_with_an_aggregate():
    outputs, rows = of(
        "SELECT c.country, date_trunc('DAY', o.at) AS day, sum(o.price) AS revenue, count(*) AS n"
        " FROM orders o JOIN customers c ON o.customer = c.id WHERE o.price > 0"
        " GROUP BY c.country, date_trunc('DAY', o.at)"
    )
    assert outputs == {
        "country": {"customers.country": "IDENTITY"},
        "day": {"orders.at": "TRANSFORMATION"},
        "revenue": {"orders.price": "AGGREGATION"},
        "n": {},
    }
    assert rows == {
        "customers.country": ["GROUP_BY"],
        "customers.id": ["JOIN"],
        "orders.at": ["GROUP_BY"],
        "orders.customer": ["JOIN"],
        "orders.price": ["FILTER"],
    }


@pytest.mark.parametrize(
    ("query", "outputs"),
    [
        ("SELECT * FROM customers", {
            "id": {"customers.id": "IDENTITY"},
            "name": {"customers.name": "IDENTITY"},
            "country": {"customers.country": "IDENTITY"},
        }),
        ("SELECT price AS p, (price) AS q, price + 1 AS r FROM orders", {
            "p": {"orders.price": "IDENTITY"},
            "q": {"orders.price": "IDENTITY"},
            "r": {"orders.price": "TRANSFORMATION"},
        }),
        (("WITH t AS (SELECT customer, sum(price) AS s FROM orders GROUP BY customer)"
         " SELECT t.s * 2 AS twice, t.customer FROM t"), {
            "twice": {"orders.price": "AGGREGATION"},
            "customer": {"orders.customer": "IDENTITY"},
        }),
        ("SELECT id AS k FROM orders UNION ALL SELECT id + 1 FROM customers", {
            "k": {"customers.id": "TRANSFORMATION", "orders.id": "IDENTITY"},
        }),
        (("SELECT u.k FROM (SELECT id AS k, at FROM orders UNION ALL SELECT length(name), NULL"
         " FROM customers) u"), {
            "k": {"customers.name": "TRANSFORMATION", "orders.id": "IDENTITY"},
        }),
        (("SELECT id AS k, customer FROM orders UNION ALL BY NAME SELECT name AS customer, id AS K"
         " FROM customers"), {
            "k": {"customers.id": "IDENTITY", "orders.id": "IDENTITY"},
            "customer": {"customers.name": "IDENTITY", "orders.customer": "IDENTITY"},
        }),
        (("SELECT u.k FROM (SELECT at, id AS k FROM orders UNION BY NAME (SELECT 1 AS k, at"
         " FROM orders UNION ALL SELECT id, NULL FROM customers)) u"), {
            "k": {"customers.id": "IDENTITY", "orders.id": "IDENTITY"},
        }),
        (("SELECT id AS k, customer, at FROM orders UNION ALL"
         " SELECT stack(1, id, 0, NULL) FROM customers"), {
            "k": {"customers.id": "TRANSFORMATION", "orders.id": "IDENTITY"},
            "customer": {"orders.customer": "IDENTITY"},
            "at": {"orders.at": "IDENTITY"},
        }),
        ("SELECT a.id, b.id AS other FROM orders a JOIN orders b ON a.id = b.customer", {
            "id": {"orders.id": "IDENTITY"},
            "other": {"orders.id": "IDENTITY"},
        }),
        ("SELECT word FROM customers LATERAL VIEW explode(split(name, ' ')) w AS word", {
            "word": {"customers.name": "TRANSFORMATION"},
        }),
        ("SELECT CASE WHEN price > 1 THEN at END AS c FROM orders", {
            "c": {"orders.at": "TRANSFORMATION", "orders.price": "TRANSFORMATION"},
        }),
    ],
)  # fmt: skip
def test_outputs(query, outputs):
    assert of(query)[0] == outputs


def test_a_subquery_of_a_filter_decides_rows_too():
    _, rows = of(
        "SELECT id FROM orders WHERE customer IN (SELECT id FROM customers WHERE name = 'x')"
    )
    assert {"orders.customer", "customers.name"} <= set(rows)
    assert InputColumn("orders", "id") < InputColumn("orders", "price")
