"""Two texts of one query have one canonical form; a change of what a query means changes it."""

from __future__ import annotations

import pytest

from freshline.spark.views.readings import spark_plan
from freshline.sql.readings.canonical_form import canonical_form

pytestmark = pytest.mark.spark

COLUMNS = {
    "orders": (
        "id BIGINT, usr BIGINT, ts TIMESTAMP, amount BIGINT, name STRING,"
        " attrs MAP<STRING, STRING>, items ARRAY<BIGINT>, place STRUCT<City: STRING, Zip: STRING>"
    ),
    "clicks": "id BIGINT, usr BIGINT, ts TIMESTAMP, amount BIGINT",
}

ONE_QUERY = [
    ("SELECT usr FROM orders", "select o.USR AS usr from ORDERS as o"),
    ("SELECT usr AS a FROM orders", "SELECT b AS c FROM (SELECT usr AS b, id FROM orders)"),
    ("SELECT * FROM clicks", "SELECT id, usr, ts, amount FROM clicks"),
    (
        "SELECT usr, count(*) AS n FROM orders GROUP BY 1",
        "SELECT usr, count(1) FROM orders GROUP BY usr",
    ),
    (
        "WITH a AS (SELECT usr, id + 1 AS b FROM orders) SELECT usr, sum(b) FROM a GROUP BY usr",
        "SELECT o.usr, sum(o.id + 1) AS s FROM orders o GROUP BY o.usr",
    ),
    (
        "SELECT o.id, c.amount FROM orders o, clicks c WHERE o.id = c.id",
        "SELECT o.id, c.amount FROM orders o CROSS JOIN clicks c WHERE o.id = c.id",
    ),
    (
        "SELECT usr, o.id, c.id FROM orders o FULL JOIN clicks c USING (usr)",
        "SELECT coalesce(a.usr, b.usr), a.id, b.id FROM orders a FULL JOIN clicks b ON a.usr=b.usr",
    ),
    (
        "SELECT usr, sum(sum(amount)) OVER (ORDER BY usr) AS s FROM orders GROUP BY usr",
        "SELECT o.usr, sum(sum(o.amount)) OVER (ORDER BY o.usr) FROM orders AS o GROUP BY o.usr",
    ),
    (
        "SELECT id FROM orders UNION SELECT id FROM clicks",
        "SELECT o.id AS x FROM orders o UNION SELECT id FROM clicks",
    ),
    ("SELECT place.city FROM orders", "SELECT orders.place.CITY AS c FROM orders"),
    (
        "SELECT transform(items, x -> x + 1) FROM orders",
        "SELECT transform(items, y -> y + 1) AS a FROM orders",
    ),
    (
        "SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM clicks c WHERE c.id = o.id)",
        "SELECT id FROM orders p WHERE EXISTS (SELECT 1 FROM clicks d WHERE d.id = p.id)",
    ),
    (
        "SELECT id FROM orders o LEFT SEMI JOIN clicks c ON c.id = o.id WHERE o.usr > 1",
        (
            "SELECT id FROM orders o WHERE o.usr > 1 AND EXISTS (SELECT 1 FROM clicks c"
            " WHERE c.id = o.id)"
        ),
    ),
    (
        "SELECT id FROM orders o LEFT ANTI JOIN clicks c ON c.id = o.id AND c.usr > 1",
        (
            "SELECT id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM clicks c"
            " WHERE c.id = o.id AND c.usr > 1)"
        ),
    ),
    (
        "SELECT usr, sum(amount) AS s, count(*) AS n, s / n AS m FROM orders GROUP BY usr",
        "SELECT usr, sum(amount), count(*), sum(amount) / count(*) FROM orders GROUP BY usr",
    ),
]
OTHER_QUERIES = [
    (
        (
            "SELECT o.id FROM orders o LEFT JOIN (SELECT id, coalesce(usr, 0) AS u FROM clicks) c"
            " ON c.id = o.id WHERE c.u IS NULL"
        ),
        (
            "SELECT o.id FROM orders o LEFT JOIN clicks c ON c.id = o.id"
            " WHERE coalesce(c.usr, 0) IS NULL"
        ),
    ),
    (
        "SELECT o.id, c.k FROM orders o LEFT JOIN (SELECT id, 1 AS k FROM clicks) c ON c.id = o.id",
        "SELECT o.id, 1 AS k FROM orders o LEFT JOIN clicks c ON c.id = o.id",
    ),
    (
        "SELECT o.id FROM orders o LEFT JOIN clicks c ON c.id = o.id WHERE isnan(c.usr) = false",
        "SELECT o.id FROM orders o JOIN clicks c ON c.id = o.id WHERE isnan(c.usr) = false",
    ),
    (
        (
            "SELECT o.id FROM orders o LEFT JOIN clicks c ON c.id = o.id"
            " WHERE format_string('%s', c.usr) <> 'b'"
        ),
        (
            "SELECT o.id FROM orders o JOIN clicks c ON c.id = o.id"
            " WHERE format_string('%s', c.usr) <> 'b'"
        ),
    ),
    (
        (
            "SELECT o.id FROM orders o LEFT JOIN clicks c ON c.id = o.id"
            " WHERE forall(o.items, x -> x > c.usr)"
        ),
        (
            "SELECT o.id FROM orders o JOIN clicks c ON c.id = o.id"
            " WHERE forall(o.items, x -> x > c.usr)"
        ),
    ),
    (
        "SELECT id FROM orders o LEFT SEMI JOIN clicks c ON c.id = o.id",
        "SELECT o.id FROM orders o JOIN clicks c ON c.id = o.id",
    ),
]

BASES = {
    "groups": (
        "SELECT usr, date_format(ts, 'yyyy') AS y, sum(amount) FILTER (WHERE id > 3) AS s,"
        " count(DISTINCT name) AS n FROM orders WHERE amount / 10 > 5 AND name LIKE 'a%'"
        " GROUP BY usr, date_format(ts, 'yyyy') HAVING sum(amount) >= 7 ORDER BY n DESC LIMIT 3"
    ),
    "joins": (
        "SELECT o.id, c.amount, coalesce(o.usr, c.usr) AS u FROM orders o LEFT JOIN clicks c"
        " ON o.id = c.id AND c.amount > 1 WHERE o.usr IN (SELECT usr FROM clicks WHERE amount = 2)"
    ),
    "windows": (
        "SELECT id, sum(amount) OVER (PARTITION BY usr ORDER BY ts ROWS BETWEEN 2 PRECEDING AND"
        " CURRENT ROW) AS s, lag(amount, 1) OVER (PARTITION BY usr ORDER BY ts) AS l FROM orders"
    ),
    "values": (
        "SELECT attrs.Color AS c, items[0] AS i, place.City AS p, CAST(amount AS INT) AS a,"
        " regexp_extract(name, '(a)(b)', 1) AS r, transform(items, x -> x + amount) AS t,"
        " CASE WHEN amount > 1 THEN 'x' ELSE 'y' END AS w, ts + INTERVAL 1 HOUR AS h FROM orders"
    ),
    "sets": (
        "SELECT usr FROM orders EXCEPT ALL SELECT usr FROM clicks UNION ALL SELECT DISTINCT id FROM"
        " clicks"
    ),
    "subtotals": "SELECT usr, name, count(*) AS n FROM orders GROUP BY ROLLUP (usr, name)",
    "rows": "SELECT id, item FROM orders LATERAL VIEW OUTER explode(items) e AS item",
    "asked": (
        "SELECT id, (SELECT max(c.amount) FROM clicks c WHERE c.usr = o.usr AND c.id > 1) AS m"
        " FROM orders o WHERE NOT EXISTS (SELECT 1 FROM clicks c WHERE c.id = o.id)"
    ),
}
CHANGES = {
    "groups": [
        ("'yyyy'", "'YYYY'"),
        ("id > 3", "id > 4"),
        ("id > 3", "id < 3"),
        ("id > 3", "usr > 3"),
        ("DISTINCT ", ""),
        ("/ 10", "* 10"),
        ("amount / 10", "abs(amount / 10)"),
        ("'a%'", "'A%'"),
        ("LIKE", "ILIKE"),
        (">= 7", "> 7"),
        ("DESC", "ASC"),
        ("n DESC", "s DESC"),
        ("DESC", "DESC NULLS FIRST"),
        ("LIMIT 3", "LIMIT 4"),
        ("LIMIT 3", "LIMIT 3 OFFSET 1"),
        ("HAVING sum", "HAVING max"),
        (" AND name", " OR name"),
        (" LIMIT 3", ""),
        ("count(DISTINCT name)", "count(DISTINCT id)"),
        ("sum(amount) F", "avg(amount) F"),
        ("FROM orders", "FROM orders o JOIN clicks USING (id, usr, ts, amount)"),
    ],
    "joins": [
        ("LEFT", "FULL"),
        ("LEFT", "INNER"),
        ("c.amount > 1", "o.amount > 1"),
        ("o.usr, c.usr", "c.usr, o.usr"),
        ("c.amount,", "o.amount,"),
        ("IN (", "NOT IN ("),
        ("amount = 2", "amount = 3"),
        ("o.id = c.id", "o.id = c.usr"),
        ("o.id = c.id", "o.id <=> c.id"),
        ("SELECT usr FROM clicks", "SELECT id FROM clicks"),
    ],
    "windows": [
        ("2 PRECEDING", "3 PRECEDING"),
        ("ORDER BY ts ROWS", "ORDER BY id ROWS"),
        ("ORDER BY ts R", "ORDER BY ts DESC R"),
        ("BETWEEN 2 PRECEDING AND CURRENT ROW", "BETWEEN 2 PRECEDING AND 1 FOLLOWING"),
        ("lag(amount, 1)", "lag(amount, 2)"),
        ("lag(amount, 1)", "lead(amount, 1)"),
        ("lag(amount, 1)", "lag(amount, 1, 0)"),
        ("lag(amount, 1)", "lag(amount, 1) IGNORE NULLS"),
        ("usr ORDER BY ts)", "id ORDER BY ts)"),
    ],
    "values": [
        ("Color", "color"),
        ("[0]", "[1]"),
        ("City", "Zip"),
        ("AS INT", "AS SMALLINT"),
        ("'(a)(b)', 1", "'(a)(B)', 1"),
        ("'(a)(b)', 1", "'(a)(b)', 2"),
        ("x + amount", "x + id"),
        ("x -> x + amount", "x -> amount + amount"),
        ("THEN 'x' ELSE 'y'", "THEN 'y' ELSE 'x'"),
        ("THEN 'x' ELSE 'y'", "THEN 'x'"),
        ("1 HOUR", "1 MINUTE"),
        ("ts +", "ts -"),
    ],
    "sets": [
        ("EXCEPT ALL", "EXCEPT"),
        ("EXCEPT", "INTERSECT"),
        ("UNION ALL", "UNION"),
        ("DISTINCT ", ""),
        ("DISTINCT id", "DISTINCT usr"),
    ],
    "subtotals": [
        ("ROLLUP", "CUBE"),
        ("ROLLUP (usr, name)", "ROLLUP (name, usr)"),
        ("ROLLUP (usr, name)", "usr, name"),
        ("ROLLUP (usr, name)", "GROUPING SETS ((usr, name), (usr))"),
    ],
    "rows": [
        ("OUTER ", ""),
        ("explode(items)", "explode(array_distinct(items))"),
    ],
    "asked": [
        ("max(", "min("),
        ("c.usr = o.usr", "c.usr = o.id"),
        ("c.id > 1", "c.id > 2"),
        ("NOT EXISTS", "EXISTS"),
        ("c.id = o.id)", "c.usr = o.id)"),
        ("(SELECT max(c.amount)", "(SELECT max(c.id)"),
    ],
}


@pytest.fixture(scope="module")
def empty(spark):
    session = spark.newSession()
    for name, columns in COLUMNS.items():
        session.createDataFrame([], columns).createOrReplaceTempView(name)
    return session


def form(session, query: str) -> str:
    return canonical_form(spark_plan(session, query))


@pytest.mark.parametrize(("one", "other"), ONE_QUERY)
def test_two_texts_of_one_query_have_one_form(empty, one, other):
    assert form(empty, one) == form(empty, other)


@pytest.mark.parametrize(("one", "other"), OTHER_QUERIES)
def test_what_an_outer_join_makes_null_is_told(empty, one, other):
    assert form(empty, one) != form(empty, other)


def test_what_changes_the_meaning_changes_the_form(empty):
    unnoticed = []
    for name, changes in CHANGES.items():
        own = form(empty, BASES[name])
        for before, after in changes:
            changed = BASES[name].replace(before, after)
            assert changed != BASES[name], (name, before)
            if own == form(empty, changed):
                unnoticed.append((name, before, after))
    assert unnoticed == []


def test_columns_of_one_name_are_told_apart(empty):
    """HAVING over a column that an alias hides, and over the alias."""
    query = (
        "SELECT floor({}amount / 10) AS amount, count(*) AS n FROM orders GROUP BY 1 HAVING {} > 2"
    )
    of_column = form(empty, query.format("", "floor(amount / 10)"))
    assert of_column == form(empty, query.format("orders.", "floor(orders.amount / 10)"))
    assert of_column != form(empty, query.format("", "floor(floor(orders.amount / 10) / 10)"))
