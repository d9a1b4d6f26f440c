"""Names that sqlglot resolves otherwise than Spark does, in views whose states are cut by it.

The key of a map is data and no name; in HAVING, Spark takes the column where sqlglot takes the
alias that hides it; arrays_zip names its fields by its columns. Each of these views had wrong rows
from its first merge on.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from freshline.sql.query.records import Source
from tests.spark.views.proving import Proving

pytestmark = pytest.mark.spark

START = datetime(2026, 5, 4, 10, tzinfo=UTC)
INSTANT = pa.timestamp("us", "UTC")

EVENTS = Source(
    "events",
    {
        "id": "bigint", "ts": "timestamp", "shop": "string", "attrs": "map<string,string>",
        "payload": "string",
    },
    time_column="ts",
)  # fmt: skip
EVENT_SCHEMA = pa.schema([
    ("id", pa.int64()), ("ts", INSTANT), ("shop", pa.string()),
    ("attrs", pa.map_(pa.string(), pa.string())), ("payload", pa.string()),
])  # fmt: skip
ORDERS = Source("orders", {"id": "bigint", "amount": "bigint", "code": "string", "ok": "boolean"})
ORDER_SCHEMA = pa.schema([
    ("id", pa.int64()), ("amount", pa.int64()), ("code", pa.string()), ("ok", pa.bool_()),
])  # fmt: skip
CARTS = Source("carts", {"id": "bigint", "itemIds": "array<bigint>", "Prices": "array<bigint>"})
CART_SCHEMA = pa.schema([
    ("id", pa.int64()), ("itemIds", pa.list_(pa.int64())), ("Prices", pa.list_(pa.int64())),
])  # fmt: skip

MAPS = {
    "of_groups": "SELECT attrs.Color AS color, count(*) AS n FROM events GROUP BY attrs.Color",
    "of_distinct": "SELECT DISTINCT attrs.Color AS color FROM events",
    "in_where": "SELECT shop, count(*) AS n FROM events WHERE attrs.Color = 'red' GROUP BY shop",
    "in_sums": "SELECT shop, sum(CAST(attrs.Price AS INT)) AS s FROM events GROUP BY shop",
    "in_having": (
        "SELECT shop, count(*) AS n FROM events GROUP BY shop HAVING max(attrs.Color) = 'red'"
    ),
    "two_spellings": (
        "SELECT attrs.id AS a, attrs.ID AS b, count(*) AS n FROM events GROUP BY attrs.id, attrs.ID"
    ),
    "of_a_table": "SELECT e.attrs.Color AS color, count(*) AS n FROM events e GROUP BY 1",
    "in_quotes": "SELECT attrs.`Color` AS color, count(*) AS n FROM events GROUP BY 1",
    "of_a_function": (
        "SELECT from_json(payload, 'MAP<STRING, STRING>').Color AS color, count(*) AS n"
        " FROM events GROUP BY 1"
    ),
    "of_a_subquery": (
        "SELECT m.Color AS color, count(*) AS n FROM (SELECT from_json(payload,"
        " 'MAP<STRING, STRING>') AS m FROM events) GROUP BY m.Color"
    ),
    "in_a_lambda": (
        "SELECT shop, count_if(exists(array(attrs), x -> x.Color = 'red')) AS n"
        " FROM events GROUP BY shop"
    ),
    "of_hours": (
        "SELECT date_trunc('hour', ts) AS h, count_if(attrs.Color = 'red') AS n FROM events"
        " GROUP BY 1"
    ),
}
HIDDEN = {
    "histogram": (
        "SELECT floor(amount / 10) AS amount, count(*) AS n FROM orders"
        " GROUP BY floor(amount / 10) HAVING floor(amount / 10) >= 2"
    ),
    "cents": (
        "SELECT amount / 100 AS amount, count(*) AS n FROM orders GROUP BY 1"
        " HAVING amount / 100 > 5"
    ),
    "negated": (
        "SELECT -amount AS amount, count(*) AS n FROM orders GROUP BY -amount HAVING -amount < -30"
    ),
    "text": (
        "SELECT substr(code, 2) AS code, count(*) AS n FROM orders GROUP BY substr(code, 2)"
        " HAVING substr(code, 2) <> ''"
    ),
    "std": (
        "SELECT abs(amount) AS amount, count(*) AS n FROM orders GROUP BY abs(amount)"
        " HAVING std(amount) > 0"
    ),
    "mean": (
        "SELECT abs(amount) AS amount, count(*) AS n FROM orders GROUP BY abs(amount)"
        " HAVING mean(amount) < 1"
    ),
    "some": (
        "SELECT coalesce(ok, false) AS ok, count(*) AS n FROM orders GROUP BY coalesce(ok, false)"
        " HAVING some(ok) IS NULL"
    ),
}
WAITING = (
    "SELECT date_trunc('hour', e.ts) AS h, p.paid + INTERVAL 10 DAYS AS paid, count(*) AS n"
    " FROM events e JOIN pays p ON e.id = p.id"
    " GROUP BY date_trunc('hour', e.ts), p.paid + INTERVAL 10 DAYS"
    " HAVING paid + INTERVAL 10 DAYS BETWEEN date_trunc('hour', ts) + INTERVAL 15 DAYS"
    " AND date_trunc('hour', ts) + INTERVAL 15 DAYS"
)
TOLD = {
    "histogram_of_its_table": (
        "SELECT floor(o.amount / 10) AS amount, count(*) AS n FROM orders o"
        " GROUP BY floor(o.amount / 10) HAVING floor(o.amount / 10) >= 2"
    ),
    "another_alias": (
        "SELECT floor(amount / 10) AS tens, count(*) AS n FROM orders GROUP BY floor(amount / 10)"
        " HAVING floor(amount / 10) >= 2 AND tens < 5000"
    ),
}
ZIPPED = {
    "lines": (
        "SELECT to_json(arrays_zip(itemIds, Prices)) AS j, count(*) AS n FROM carts GROUP BY 1"
    ),
    "last_lines": (
        "SELECT id, max(to_json(arrays_zip(itemIds, Prices))) AS j FROM carts GROUP BY id"
    ),
}


BESIDE = {
    "of_conditions": (
        "SELECT e.shop, count(o.code = 'x' OR NULL) AS a, count(NOT o.ok) AS b,"
        " count(o.ok AND o.amount > 3) AS c, count(o.code IN ('x')) AS d,"
        " count(o.code IS NULL) AS f FROM events e LEFT JOIN orders o ON o.id = e.id"
        " GROUP BY e.shop"
    ),
    "in_lambdas": (
        "SELECT DISTINCT e.shop, exists(y.arr, shop -> shop = e.shop) AS z FROM events e JOIN"
        " (SELECT id, max_by(array(code, 'a'), id) AS arr FROM orders GROUP BY id) y ON y.id = e.id"
    ),
    "with_a_partner": (
        "SELECT o.code, count(*) AS n FROM orders o LEFT SEMI JOIN {static} s"
        " ON o.amount = s.amount GROUP BY o.code"
    ),
    "of_aliases": (
        "SELECT code, sum(amount) AS total, count(*) AS n, total / n AS mean FROM orders"
        " GROUP BY code"
    ),
    "of_ranks": (
        "SELECT code, count(*) AS n, rank() OVER (ORDER BY count(*) DESC, code) AS r FROM orders"
        " GROUP BY code"
    ),
}

FIELDS = {
    "zipped": "SELECT to_json(arrays_zip(items, prices)) AS j, count(*) AS n FROM carts"
    " GROUP BY items, prices",
    "rows": "SELECT kind, to_json((kind, count(*), sum(id))) AS j FROM carts GROUP BY kind",
    "read": "SELECT kind, get_json_object(to_json((kind, max(id))), '$.kind') AS k FROM carts"
    " GROUP BY kind",
    "structs": "SELECT to_json(struct(id % 2, kind)) AS j, count(*) AS n FROM carts"
    " GROUP BY id % 2, kind",
    "beside": "SELECT s.name, max(to_json((c.kind, s.name))) AS j FROM delta.`known` s"
    " LEFT JOIN carts c ON c.id = s.id GROUP BY s.name",
    "totals": "SELECT c.kind, max(to_json((c.id, t.n))) AS j FROM carts c JOIN (SELECT kind,"
    " count(*) AS n FROM carts GROUP BY kind) t ON t.kind = c.kind GROUP BY c.kind",
}
"""What shows names of fields that are the names of columns."""


def events(*rows: tuple[int, str, dict[str, str]]) -> pa.Table:
    """Rows of events: number, shop, and what the map holds; the payload is the map as JSON."""
    made: list[dict[str, Any]] = [
        {
            "id": number,
            "ts": START + timedelta(minutes=number),
            "shop": shop,
            "attrs": list(attrs.items()),
            "payload": "{" + ", ".join(f'"{k}": "{v}"' for k, v in attrs.items()) + "}",
        }
        for number, shop, attrs in rows
    ]
    return pa.Table.from_pylist(made, EVENT_SCHEMA)


def orders(*rows: tuple[int, int, str, bool | None]) -> pa.Table:
    names = ORDER_SCHEMA.names
    made = [dict(zip(names, row, strict=True)) for row in rows]
    return pa.Table.from_pylist(made, ORDER_SCHEMA)


def carts(*numbers: int) -> pa.Table:
    made = [{"id": each % 2, "itemIds": [each, 7], "Prices": [each * 2, 9]} for each in numbers]
    return pa.Table.from_pylist(made, CART_SCHEMA)


def maintained(shop, source: Source, views: dict[str, str], arrivals: list[pa.Table]) -> Proving:
    """The views after all arrivals; after each one, every view was compared with its query."""
    proving = Proving(shop)
    proving.feed(source)
    for name, query in views.items():
        proving.view(name, query)
    proving.plan()
    for rows in arrivals:
        proving.arrive(source.name, rows)
        for name in views:
            proving.update(name)
    return proving


def test_the_key_of_a_map_keeps_its_capitals(shop):
    first = events(
        (1, "a", {"Color": "red", "Price": "3", "ID": "X", "id": "x"}),
        (2, "a", {"Color": "red", "Price": "4", "ID": "Y", "id": "y", "color": "blue"}),
        (3, "b", {"Color": "blue", "Price": "5", "ID": "X", "id": "x"}),
    )
    second = events(
        (4, "a", {"Color": "red", "Price": "6", "ID": "X", "id": "x"}),
        (5, "b", {"Color": "green", "Price": "7", "ID": "Z", "id": "z", "color": "red"}),
    )
    third = events((6, "a", {"Color": "red", "color": "green"}), (7, "c", {"color": "red"}))
    proving = maintained(shop, EVENTS, MAPS, [first, second, third])
    ways = {name: told[-1][0] for name, told in proving.told.items()}
    assert ways.pop("of_hours") in ("bucket-recompute", "bucket-merge")
    assert set(ways.values()) == {"group-merge"}, ways

    proving.gone("events", "id = 1")
    for name in MAPS:
        proving.update(name)
    assert proving.told["of_groups"][-1][0] == "group-recompute"


def test_having_takes_the_column_that_an_alias_hides(shop):
    first = orders(
        (1, 25, "xab", None),
        (2, 27, "xa", None),
        (3, 31, "x", True),
        (4, 2050, "xyz", None),
        (5, 605, "ab", True),
        (6, -605, "abc", None),
    )
    second = orders(
        (7, 26, "xab", True), (8, 39, "xa", None), (9, 605, "x", None), (10, 60_500, "abc", None)
    )
    third = orders((11, -26, "xab", None), (12, 31, "y", None))
    proving = maintained(shop, ORDERS, HIDDEN | TOLD, [first, second, third])
    ways = {name: told[-1][0] for name, told in proving.told.items()}
    assert {name for name, way in ways.items() if way == "group-merge"} == set(TOLD), ways


def test_fields_of_zipped_arrays_keep_their_names(shop):
    maintained(shop, CARTS, ZIPPED, [carts(1, 2), carts(1, 4), carts(5)])


def test_what_is_computed_beside_columns_of_others(shop):
    """Brackets around what is counted, variables of lambdas, aliases, windows over groups.

    The first two were wrong when merged. The others are here so that they stay merged.
    """
    shop.delta("known", pa.table({"amount": pa.array([0, 3, 9], pa.int64())}))
    proving = Proving(shop)
    proving.feed(EVENTS)
    proving.feed(ORDERS)
    for name, query in BESIDE.items():
        proving.view(name, query.replace("{static}", "delta.`known`"))
    proving.plan()
    for batch in (0, 10, 20):
        kinds = [(batch + at, "ab"[at % 2], {"Color": "x" * (at % 3)}) for at in range(8)]
        proving.arrive("events", events(*kinds))
        bought = [
            (batch + at, at * 3, "xya"[at % 3], (True, False, None)[at % 3]) for at in range(8)
        ]
        proving.arrive("orders", orders(*bought))
        for name in BESIDE:
            proving.update(name)
    ways = {name: told[-1][0] for name, told in proving.told.items()}
    assert set(ways.values()) == {"group-merge"}, ways


def test_how_long_a_final_view_waits_for_a_view_is_confirmed_by_spark(shop):
    """By the alias in HAVING an hour is complete after an hour, by the column after five days."""
    proving = Proving(shop)
    proving.feed(EVENTS)
    proving.feed(Source("pays", {"id": "bigint", "paid": "timestamp"}, time_column="paid"))
    proving.view("due", WAITING)
    proving.view("final", "SELECT h, sum(n) AS n FROM due GROUP BY h", emit="final")
    with pytest.raises(AssertionError, match="NEVER_COMPLETE"):
        proving.plan()


def test_fields_that_are_called_as_columns_keep_their_names(shop):
    """Of a state their columns are k0 and k1. All of these were merged, and had such names."""
    names = pa.table({"id": pa.array([1, 2, 9], pa.int64()), "name": ["x", "y", "z"]})
    shop.delta("known", names)
    types = {"id": "bigint", "kind": "string", "items": "array<bigint>", "prices": "array<bigint>"}
    listed = pa.list_(pa.int64())
    schema = pa.schema([
        ("id", pa.int64()), ("kind", pa.string()), ("items", listed), ("prices", listed),
    ])  # fmt: skip
    arrivals = [
        [
            {"id": each, "kind": "ab"[each % 2], "items": [each, 7], "prices": [each * 2, 9]}
            for each in numbers
        ]
        for numbers in ((1, 2), (1, 4), (5,))
    ]
    tables = [pa.Table.from_pylist(rows, schema) for rows in arrivals]
    maintained(shop, Source("carts", types), FIELDS, tables)
