"""Queries mean the same after their names are replaced: DuckDB runs both."""

from __future__ import annotations

import duckdb
import pytest

from freshline.importing.inlining import Source, View, inlined

ORDERS, ITEMS = Source(table="orders"), Source(table="items")
VIEWS = {
    "v": View("v", "select id, n + 1 as n from shop.orders -- all \\", {"shop.orders": ORDERS}),
    "w": View(
        "w",
        "with v as (select * from shop.v), orders as (select id, 0 - n as n from v) "
        "select v.id, v.n + orders.n + o.n as n from v join orders using (id) "
        "join shop.orders o using (id);",
        {"shop.orders": ORDERS, "shop.v": Source(view="v")},
    ),
}
SOURCES = {
    "shop.orders": ORDERS,
    "shop.items": ITEMS,
    "shop.v": Source(view="v"),
    "shop.w": Source(view="w"),
}


@pytest.fixture(scope="module")
def database():
    with duckdb.connect() as connection:
        for schema in ("main", "shop"):
            connection.execute(f"create schema if not exists {schema}")
            connection.execute(
                f"create table {schema}.orders as select range as id, range * 10 as n from range(5)"
            )
            connection.execute(f"create table {schema}.items as select range as id from range(3)")
        for name, view in VIEWS.items():
            connection.execute(
                f"create view shop.{name} as {view.query.removesuffix('-- all ' + chr(92))}"
            )
        yield connection


@pytest.mark.parametrize(
    "query",
    [
        "select * from shop.orders",
        "select * from shop.v",
        "select * from shop.w",
        "with orders as (select * from shop.orders where n > 10) select * from orders",
        # The entry orders is visible where the table is read.
        (
            "with orders as (select 7 as id, 7 as n), x as (select * from shop.orders) "
            "select * from x union all select * from orders"
        ),
        (
            "with v as (select id from shop.items), v_view as (select * from v) "
            "select a.id, v_view.id from shop.v a, v_view"
        ),
        (
            "select * from (with orders as (select 1 as id) select o.id from shop.orders o "
            "join orders using (id)) union all select id from shop.items"
        ),
        (
            "with recursive items as (select 1 as id union all "
            "select id + 1 from items where id < 3)"
            " select * from items join shop.items i using (id)"
        ),
        (
            "select w.n, v.n from shop.w w join shop.v v on w.id = v.id where exists "
            "(select 1 from shop.items where items.id = w.id)"
        ),
        "(select id from shop.v) union all (select n from shop.w)",
        "with orders(a, b) as (select * from shop.v) select a, b, o.n from orders, shop.orders o",
    ],
)
def test_the_rows_stay_the_same(database, query):
    before = database.execute(query).fetchall()
    after = database.execute(inlined(query, SOURCES, VIEWS)).fetchall()
    assert sorted(after) == sorted(before)
    assert before


@pytest.mark.parametrize(
    ("query", "reason"),
    [("select 1; select 2", "it is several statements"), (" ; -- nothing", "it is empty")],
)
def test_what_is_no_query(query, reason):
    with pytest.raises(ValueError, match=reason):
        inlined(query, {}, {})


def test_a_column_with_its_schema_is_refused():
    query = "select Shop.orders.id, o.shop.orders.id from shop.orders, shop.t o"
    with pytest.raises(
        ValueError, match=r"it names a column with schema and table \(shop\.orders\)"
    ):
        inlined(query, SOURCES, VIEWS)
    assert inlined("select o.shop.orders.id from shop.orders o", SOURCES, VIEWS) == (
        "select o.shop.orders.id from orders o"
    )


def test_a_view_that_is_read_over_many_ways_is_put_in_once():
    views = {"v0": View("v0", "select id from shop.orders", {"shop.orders": ORDERS})}
    for layer in range(1, 60):
        below = f"shop.v{layer - 1}"
        views[f"v{layer}"] = View(
            f"v{layer}",
            f"select a.id from {below} a join {below} b using (id) join {below} c using (id)",
            {below: Source(view=f"v{layer - 1}")},
        )
    text = inlined("select * from shop.v59", {"shop.v59": Source(view="v59")}, views)
    assert text.count("from orders") == 1
    assert text.count(" AS (\n") == 60
