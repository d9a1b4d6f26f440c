"""One query in other words: bands in WHERE, fields in backticks, parentheses, constants as keys."""

from __future__ import annotations

import pytest

from freshline.sql.buckets.timeline import buckets
from freshline.sql.query.normal import normalise, parsed
from freshline.sql.query.records import Buckets, Reason, Source
from freshline.sql.text.canonical import unquote

COLUMNS = {"ts": "timestamp", "id": "bigint", "usr": "string"}
SOURCES = (
    Source("orders", COLUMNS),
    Source("clicks", COLUMNS),
    Source("users", {"usr": "string", "id": "bigint"}, static=True),
)
HOUR = "INTERVAL 1 HOUR"

SAME = {
    "a band in WHERE": (
        f"SELECT o.ts, c.id FROM orders o JOIN clicks c ON c.ts BETWEEN o.ts - {HOUR} AND o.ts",
        f"SELECT o.ts, c.id FROM orders o, clicks c WHERE c.ts BETWEEN o.ts - {HOUR} AND o.ts",
    ),
    "a chain of bands in WHERE": (
        (
            f"SELECT a.ts FROM orders a JOIN clicks b ON b.ts BETWEEN a.ts AND a.ts + {HOUR}"
            f" JOIN orders c ON c.ts BETWEEN b.ts AND b.ts + {HOUR} AND c.id = b.id"
        ),
        (
            f"SELECT a.ts FROM orders a CROSS JOIN clicks b CROSS JOIN orders c WHERE c.id = b.id"
            f" AND c.ts BETWEEN b.ts AND b.ts + {HOUR} AND b.ts BETWEEN a.ts AND a.ts + {HOUR}"
        ),
    ),
    "times that are the same or both missing": (
        "SELECT o.ts, c.id FROM orders o JOIN clicks c ON o.ts <=> c.ts",
        "SELECT o.ts, c.id FROM orders o, clicks c WHERE o.ts <=> c.ts",
    ),
    "a static table joined outer behind": (
        (
            "SELECT o.ts, c.id FROM orders o JOIN clicks c ON o.ts = c.ts"
            " LEFT JOIN users u ON u.usr = o.usr"
        ),
        (
            "SELECT o.ts, c.id FROM orders o CROSS JOIN clicks c LEFT JOIN users u ON u.usr = o.usr"
            " WHERE o.ts = c.ts"
        ),
    ),
    "a field of a window in backticks": (
        "SELECT window.start AS w, count(*) AS n FROM orders GROUP BY window(ts, '1 hour')",
        "SELECT window.`START` AS `w`, count(*) AS n FROM `orders` GROUP BY window(`ts`, '1 hour')",
    ),
    "a field of a window's column in backticks": (
        (
            "SELECT w.end AS e, count(*) AS n FROM"
            " (SELECT window(ts, '1 hour', '15 minutes') AS w FROM orders) GROUP BY w.end"
        ),
        (
            "SELECT `w`.`end` AS e, count(*) AS n FROM"
            " (SELECT window(ts, '1 hour', '15 minutes') AS w FROM orders) GROUP BY w.`End`"
        ),
    ),
    "parentheses around a key": (
        "SELECT CAST(ts AS DATE) AS d, count(*) AS n FROM orders GROUP BY CAST(ts AS DATE)",
        "SELECT (((ts))::DATE) AS d, count(*) AS n FROM orders GROUP BY CAST((ts) AS DATE)",
    ),
}


@pytest.mark.parametrize("pair", SAME.values(), ids=SAME)
def test_other_words_have_the_same_buckets(pair):
    one, other = (buckets(query, SOURCES) for query in pair)
    assert isinstance(one, Buckets)
    assert other == one


def test_a_later_join_that_keeps_rows_alone_keeps_where_from_the_joins_before():
    query = (
        "SELECT c.ts FROM orders o JOIN orders p ON o.id = p.id RIGHT JOIN clicks c ON c.ts = o.ts"
        " WHERE o.ts = p.ts"
    )
    found = buckets(query, SOURCES)
    assert isinstance(found, Reason)
    assert found.code == "UNBOUNDED"


KEYS = {
    "parentheses": ("SELECT (usr) AS u FROM orders GROUP BY (usr)", "usr"),
    "parentheses around parentheses": ("SELECT ((usr)) AS u FROM orders GROUP BY ((usr))", "usr"),
    "the place of a text": ("SELECT 'all' AS u FROM orders GROUP BY 1", "'all'"),
    "the place of a number": ("SELECT 7 AS u FROM orders GROUP BY 1", "1"),
    "a sum": ("SELECT (id + 1) * 2 AS u FROM orders GROUP BY (id + 1) * 2", "(id + 1) * 2"),
}


@pytest.mark.parametrize(("query", "key"), KEYS.values(), ids=KEYS)
def test_keys_are_spelt_out(query, key):
    tree = normalise(query, SOURCES)
    (found,) = tree.args["group"].expressions
    assert found.sql(dialect="spark").replace("orders.", "") == key
    if not key.isdecimal():
        assert tree.expressions[0].unalias().sql(dialect="spark").replace("orders.", "") == key


def test_names_that_need_their_quotes_keep_them():
    tree = parsed("SELECT `t`.`a.b`, `t`.`End`, s.`b c` FROM `t`")
    unquote(tree)
    assert tree.sql(dialect="spark") == "SELECT t.`a.b`, t.End, s.`b c` FROM t"
