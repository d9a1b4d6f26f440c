"""By which keys queries fall apart, and which columns only look like keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from freshline.sql.buckets import keys as analysis
from freshline.sql.buckets.keys import keys
from freshline.sql.buckets.walk import Walk
from freshline.sql.query.records import Keys, Reason, Source
from tests.support.view_cases import SOURCES

Reads = Mapping[str, tuple[str, ...]]
PAIR: Reads = {"orders": ("usr",), "clicks": ("usr",)}
ORDERS: Reads = {"orders": ("usr",)}

FOUND: dict[str, tuple[tuple[str, ...], Reads]] = {
    # Windows
    "SELECT usr, ts, id FROM orders QUALIFY row_number() OVER (PARTITION BY usr ORDER BY ts) = 1": (
        ("usr",), ORDERS),
    "select * from (select usr u, lag(ts) over w l from orders window w as (partition by usr, "
    "amount order by ts))": (("u",), ORDERS),
    "SELECT usr, sum(amount) OVER (ORDER BY usr RANGE BETWEEN CURRENT ROW AND CURRENT ROW) AS s "
    "FROM orders": (("usr",), ORDERS),
    # Joins
    "SELECT o.usr, c.n FROM orders o LEFT JOIN clicks c ON c.usr = o.usr AND c.n < o.id": (
        ("usr",), PAIR),
    "SELECT c.usr AS of, o.id FROM orders o RIGHT JOIN clicks c ON c.usr = o.usr": (
        ("of",), {"orders": ("usr",), "clicks": ("usr",)}),
    "SELECT c.usr, count(*) AS n FROM orders o LEFT JOIN clicks c ON c.usr = o.usr WHERE c.n > 0 "
    "GROUP BY c.usr": (("usr",), PAIR),
    "SELECT usr, o.id AS o, c.id AS c FROM orders o FULL OUTER JOIN clicks c USING (usr)": (
        ("usr",), PAIR),
    "SELECT o.usr, c.usr AS other FROM orders o JOIN clicks c ON o.usr <=> c.usr": (
        ("usr",), PAIR),
    "SELECT u.usr, count(o.id) AS n FROM users u LEFT JOIN orders o ON o.usr = u.usr GROUP BY 1": (
        ("usr",), ORDERS),
    "SELECT o.usr FROM orders o, users u, clicks c WHERE u.usr = o.usr AND u.usr = c.usr": (
        ("usr",), PAIR),
    "SELECT a.usr, b.id FROM orders a JOIN orders b ON a.usr = b.usr AND a.id < b.id": (
        ("usr",), ORDERS),
    # Subqueries
    "SELECT usr FROM orders WHERE usr IN (SELECT usr FROM clicks)": (("usr",), PAIR),
    "SELECT o.usr, (SELECT count(*) FROM clicks c WHERE c.usr = o.usr) AS n FROM orders o": (
        ("usr",), PAIR),
    "SELECT usr FROM orders o WHERE id NOT IN (SELECT id FROM clicks c WHERE c.usr = o.usr)": (
        ("usr",), PAIR),
    # Groups and sets
    "SELECT usr, percentile_approx(amount, 0.5) AS p FROM orders GROUP BY usr": (("usr",), ORDERS),
    "SELECT usr, id, count(*) AS n FROM orders GROUP BY GROUPING SETS ((usr), (usr, id))": (
        ("usr",), ORDERS),
    "SELECT id, usr FROM orders UNION SELECT usr, id FROM clicks": (
        ("id", "usr"), {"orders": ("id", "usr"), "clicks": ("usr", "id")}),
    "SELECT DISTINCT amount, id, usr, shipped FROM orders": (
        ("amount", "id", "usr"), {"orders": ("amount", "id", "usr")}),
    "SELECT usr, session_window(ts, '5 minutes').start AS s, max(id) AS m FROM orders GROUP BY usr,"
    " session_window(ts, '5 minutes')": (("usr",), ORDERS),
    # Names
    "SELECT usr AS id, id AS usr, rank() OVER (PARTITION BY usr ORDER BY id) AS r FROM orders": (
        ("id",), ORDERS),
    "WITH o AS (SELECT usr AS k, max(id) AS id FROM orders GROUP BY usr) SELECT K, c.n FROM o "
    "LEFT JOIN clicks c ON c.usr = o.k": (("k",), PAIR),
}  # fmt: skip

NONE = (
    # A row looks at rows of other keys.
    "SELECT usr, rank() OVER (ORDER BY amount) AS r FROM orders",
    "SELECT usr, rank() OVER (PARTITION BY id ORDER BY amount) AS r FROM orders",
    "SELECT usr, sum(id) OVER (ORDER BY usr) AS s FROM orders",
    "SELECT usr, sum(id) OVER (ORDER BY usr RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM orders",
    "SELECT max(usr) AS usr, count(*) AS n FROM orders GROUP BY session_window(ts, '5 minutes')",
    "SELECT usr, id FROM orders ORDER BY id LIMIT 3",
    "SELECT usr FROM orders WHERE usr NOT IN (SELECT usr FROM clicks)",
    "SELECT usr FROM orders WHERE usr IN (SELECT usr FROM clicks) OR id > 3",
    "SELECT usr, usr IN (SELECT usr FROM clicks) AS had FROM orders",
    "SELECT usr FROM orders WHERE usr IN (SELECT max(usr) FROM clicks)",
    "SELECT usr FROM orders WHERE EXISTS (SELECT 1 FROM clicks WHERE n > 2)",
    "SELECT usr, id FROM orders WHERE id > (SELECT avg(id) FROM orders)",
    "SELECT o.usr, o.id FROM orders o LEFT ANTI JOIN clicks c ON c.usr < o.usr",
    "SELECT usr, id, count(*) AS n FROM orders GROUP BY ROLLUP (usr, id)",
    "SELECT usr, count(*) AS n FROM orders GROUP BY GROUPING SETS ((usr), (id))",
    # It is NULL where rows of any key have no partner.
    "SELECT c.usr, o.id FROM orders o LEFT JOIN clicks c ON c.usr = o.usr",
    "SELECT o.usr, c.id FROM orders o FULL JOIN clicks c ON c.usr = o.usr",
    "SELECT coalesce(o.usr, c.id) AS usr FROM orders o FULL JOIN clicks c ON c.usr = o.usr",
    # It is no column of a source, or not of all.
    "SELECT usr + 1 AS usr, count(*) AS n FROM orders GROUP BY usr",
    "SELECT max(usr) AS usr FROM orders GROUP BY id",
    "SELECT coalesce(usr, 0) AS usr, percentile(id, 0.5) AS p FROM orders GROUP BY 1",
    "SELECT CASE WHEN id > 1 THEN usr END AS usr, count(*) AS n FROM orders GROUP BY 1",
    "SELECT o.usr, c.usr AS c FROM orders o CROSS JOIN clicks c",
    "SELECT a.usr, b.id FROM orders a JOIN orders b ON a.usr = b.id",
    "SELECT usr FROM orders UNION ALL SELECT -usr FROM clicks",
    "SELECT count(*) AS usr FROM orders",
    # Times make buckets.
    "SELECT ts, count(*) AS n FROM orders GROUP BY ts",
)


NEWEST = "SELECT * FROM clicks QUALIFY row_number() OVER (PARTITION BY usr ORDER BY ts DESC) = 1"
RANKED = "SELECT usr, name, row_number() OVER (PARTITION BY {} ORDER BY since) AS r FROM users"


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT o.usr, c.n FROM orders o LEFT JOIN ({NEWEST}) c ON c.usr = o.usr",
        f"SELECT o.usr, c.n FROM ({NEWEST}) c RIGHT JOIN orders o ON c.usr = o.usr AND c.n > o.id",
        f"SELECT coalesce(c.usr, o.usr) AS usr, n FROM ({NEWEST}) c FULL JOIN orders o USING (usr)",
        f"SELECT usr, o.id, n FROM orders o FULL JOIN ({NEWEST}) c USING (usr) WHERE n IS NULL",
    ],
)
def test_what_is_chosen_among_ties_of_a_key_may_be_joined_by_it(query):
    assert keys(query, SOURCES) == Keys(("usr",), PAIR)


@pytest.mark.parametrize("by", ["usr", "name"])
@pytest.mark.parametrize(
    "query",
    [
        "SELECT o.usr, u.r FROM orders o LEFT JOIN ({}) u ON u.usr = o.usr",
        "SELECT coalesce(o.usr, u.usr) AS usr FROM orders o FULL JOIN ({}) u ON u.usr = o.usr",
    ],
)
def test_what_is_chosen_among_ties_of_several_keys_gives_no_key(query, by):
    found = keys(query.format(RANKED.format(by)), SOURCES)
    assert isinstance(found, Keys) == (by == "usr"), found


def test_what_matches_have_in_common_is_not_shared_by_rows_without_one():
    other = Source("u", {"k": "int", "b": "int", "s": "string"}, static=True)
    query = (
        "SELECT {}.k, r FROM (SELECT k, b, row_number() OVER (PARTITION BY b ORDER BY s) AS r FROM"
        " u) u LEFT JOIN t ON t.k = u.k AND u.k = u.b WHERE t.k {} NULL"
    )
    assert isinstance(keys(query.format("t", "IS NOT"), [TYPED, other]), Keys)
    assert isinstance(keys(query.format("u", "IS"), [TYPED, other]), Reason)


@pytest.mark.parametrize("query", FOUND)
def test_rows_of_a_key_depend_on_rows_of_that_key(query):
    columns, reads = FOUND[query]
    assert keys(query, SOURCES) == Keys(columns, reads)


@pytest.mark.parametrize("query", NONE)
def test_what_looks_at_other_rows_has_no_key(query):
    found = keys(query, SOURCES)
    assert isinstance(found, Reason), found
    assert found.code in ("NO_KEY", "KEY_NOT_SHOWN", "LIMIT"), found


HIDDEN = {
    "SELECT id, lag(ts) OVER (PARTITION BY usr ORDER BY ts) AS before FROM orders": "usr of orders",
    "SELECT o.id, c.id AS c FROM orders o LEFT JOIN clicks c ON c.usr = o.usr": "usr of orders",
    "SELECT id FROM (SELECT id, usr AS u, row_number() OVER (PARTITION BY usr ORDER BY ts) AS r "
    "FROM orders) WHERE r = 1": "u",
    "SELECT max(id) AS m FROM orders GROUP BY usr": "usr of orders",
    "SELECT c.usr, o.id FROM orders o LEFT JOIN clicks c ON c.usr = o.usr": "usr of orders",
}


@pytest.mark.parametrize("query", HIDDEN)
def test_a_key_that_is_not_shown_is_named(query):
    found = keys(query, SOURCES)
    assert isinstance(found, Reason)
    assert found.code == "KEY_NOT_SHOWN"
    assert found.message.startswith(f"each row depends only on rows with the same {HIDDEN[query]};")


NOTHING_TO_SHOW = (
    "SELECT DISTINCT o.id FROM orders o LEFT JOIN clicks c ON c.usr = o.usr",
    "SELECT max(id) AS m FROM orders",
)


@pytest.mark.parametrize("query", NOTHING_TO_SHOW)
def test_where_one_more_column_makes_other_rows_none_is_named(query):
    found = keys(query, SOURCES)
    assert isinstance(found, Reason)
    assert found.code == "NO_KEY"


TYPED = Source("t", {"k": "int", "b": "bigint", "f": "double", "s": "string", "d": "decimal(9,2)"})
OTHER = Source("u", {"k": "bigint", "f": "double", "s": "string", "d": "decimal(9,3)", "n": "int"})


@pytest.mark.parametrize("column", ["k", "f", "d"])
def test_equal_values_of_two_types_are_no_key(column):
    query = f"SELECT t.{column}, u.n FROM t LEFT JOIN u ON u.{column} = t.{column}"
    assert isinstance(keys(query, [TYPED, OTHER]), Reason)


def test_two_columns_of_one_side_of_a_full_join_are_no_key():
    static = Source("v", {"x": "int", "k": "int"}, static=True)
    query = "SELECT coalesce(v.x, v.k) AS p, u.n FROM v FULL JOIN u ON v.k = u.n AND v.x = u.n"
    assert isinstance(keys(query, [static, OTHER]), Reason)
    both = query.replace("v.x, v.k", "v.x, u.n")
    assert keys(both, [static, OTHER]) == Keys(("p",), {"u": ("n",)})


def test_many_wide_branches_do_not_keep_the_analysis_for_long(monkeypatch):
    wide = {f"c{number}": "int" for number in range(40)}
    tables = [Source(f"t{number}", wide) for number in range(3)]
    union = " UNION ALL ".join(f"SELECT * FROM {each.name}" for each in tables)
    walks: list[Walk] = []

    def counted(*given: Any) -> Walk:
        walks.append(Walk(*given))
        return walks[-1]

    monkeypatch.setattr(analysis, "Walk", counted)
    found = keys(f"SELECT *, row_number() OVER (ORDER BY c0) AS r FROM ({union})", tables)
    assert isinstance(found, Reason)
    assert len(walks) <= 32


def test_a_column_that_is_padded_is_no_key():
    query = "SELECT t.s, u.n FROM t LEFT JOIN u ON u.s = t.s"
    assert isinstance(keys(query, [TYPED, OTHER]), Keys)
    padded = Source("u", OTHER.columns, padded=frozenset({"s"}))
    assert isinstance(keys(query, [TYPED, padded]), Reason)


def test_a_static_table_that_chooses_among_ties_gives_no_key():
    query = (
        "SELECT o.usr, u.name FROM orders o JOIN (SELECT usr, name, row_number() OVER (ORDER BY"
        " since) AS r FROM users) u ON u.usr = o.usr WHERE u.r < 3"
    )
    assert isinstance(keys(query, SOURCES), Reason)
    by_key = query.replace("ORDER BY", "PARTITION BY usr ORDER BY")
    assert keys(by_key, SOURCES) == Keys(("usr",), ORDERS)
