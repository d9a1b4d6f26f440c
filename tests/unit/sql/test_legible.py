"""Texts that sqlglot would misread, put so that it reads what Spark reads."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from freshline.sql.query.normal import normalise
from freshline.sql.query.records import Source
from freshline.sql.text.sqlglot_compat import legible


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'it''s'", "it's"),
        ("''''", "'"),
        ("'''a'''''", "'a''"),
        ('"say ""so"""', 'say "so"'),
        ("'two \"\" of the others'", 'two "" of the others'),
        ("\"two '' of the others\"", "two '' of the others"),
        (r"'a\''''", "a''"),
        (r"'a\\''b'", "a\\'b"),
        ("''", ""),
    ],
)
def test_a_doubled_quote_is_one_quote(text, value):
    (literal,) = sqlglot.parse_one(f"SELECT {legible(text)}", dialect="spark").expressions
    assert literal == exp.Literal.string(value)


@pytest.mark.parametrize("text", ["'a' 'b'", "'a'\n'b'", "r'a''b'", "`a``b`", "x"])
def test_what_is_no_doubled_quote_stays(text):
    assert legible(text) == text


def test_a_window_is_a_function_where_it_is_called():
    query = "WITH window (a) AS (SELECT 1) SELECT count(*) FROM t AS window(b) GROUP BY window(ts)"
    assert legible(query) == query.replace("WITH window", "WITH `window`").replace(
        "BY window", "BY `window`"
    )


@pytest.mark.parametrize(
    ("grouping", "read"),
    [
        ("GROUP BY window", "GROUP BY `window`"),
        ("GROUP BY window HAVING count(*) > 1", "GROUP BY `window` HAVING count(*) > 1"),
        ("GROUP BY WINDOW.start, k", "GROUP BY `WINDOW`.start, k"),
        ("GROUP BY k, window", "GROUP BY k, window"),
        ("GROUP BY k WINDOW w AS (ORDER BY k)", "GROUP BY k WINDOW w AS (ORDER BY k)"),
    ],
)
def test_rows_can_be_grouped_by_a_column_called_window(grouping, read):
    query = "SELECT window, k, count(*) FROM (SELECT `window`(ts, '1 hour') AS window, k FROM t) "
    assert legible(query + grouping) == query + read
    columns = {"ts": "timestamp", "k": "int"}
    assert normalise(query + grouping, (Source("t", columns),)).find(exp.Group) is not None


def test_a_query_with_a_doubled_quote_is_understood():
    source = Source("t", {"shop": "string"})
    tree = normalise("SELECT 'it''s ' || shop AS s FROM t WHERE shop <> ''", (source,))
    assert (
        tree.sql(dialect="spark")
        == r"SELECT 'it\'s ' || t.shop AS s FROM t AS t WHERE t.shop <> ''"
    )


@pytest.mark.parametrize(
    ("query", "read"),
    [
        ("SELECT system.builtin.lag(x) FROM t", "SELECT lag(x) FROM t"),
        ("SELECT `System` . Builtin.`sum` (x) FROM t", "SELECT `sum` (x) FROM t"),
        ("SELECT builtin.any(x), a.builtin.any(x)", "SELECT any(x), a.builtin.any(x)"),
        ("SELECT system.builtin, builtin.x FROM builtin", None),
        ("SELECT mine.lag(x) FROM t", None),
    ],
)
def test_built_in_functions_have_their_short_names(query, read):
    assert legible(query) == (read or query)


def test_comments_are_left_out_and_hints_are_not():
    query = (
        "SELECT /*+ BROADCAST(t) */ a -- it''s\n, '--' /* b /* c */ */ FROM t "
        "GROUP /* key */ BY a --x"
    )
    assert legible(query) == "SELECT /*+ BROADCAST(t) */ a , '--' FROM t GROUP BY a "


def test_a_comment_makes_no_difference():
    plain = "SELECT x, count(*) AS n FROM t GROUP BY x"
    commented = "SELECT x /* a */, count(*) /* b */ AS n FROM t -- c\nGROUP /* d */ BY x /* e */"
    source = Source("t", {"x": "int"})
    assert normalise(commented, [source]) == normalise(plain, [source])
    assert normalise(commented, [source]).sql() == normalise(plain, [source]).sql()
