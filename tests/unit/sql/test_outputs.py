import pytest

from freshline.sql.text.functions import volatile_call
from freshline.sql.text.outputs import output_columns
from freshline.sql.text.tokens import tokens


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT a, t.b, a + 1 AS c, s.x.y FROM t", ("a", "b", "c", "y")),
        ("SELECT items[0].price, s.x.y FROM t", None),
        ("SELECT window(t, '1 hour').start FROM o GROUP BY 1", None),
        ("SELECT window(t, '1 hour').start AS h FROM o GROUP BY window(t, '1 hour')", ("h",)),
        ("WITH x AS (SELECT 1 AS i) SELECT i AS j FROM x UNION ALL SELECT 2", ("j",)),
        ("(SELECT `a b` FROM t)", ("a b",)),
        ("SELECT explode(m) AS (k, v) FROM t", ("k", "v")),
        ("SELECT * FROM t", None),
        ("SELECT a, t.* FROM t", None),
        ("SELECT a, max(b) FROM t", None),
        ("SELECT explode(m) FROM t", None),
        ("FROM t |> SELECT a", None),
        ("SELECT a FROM t WHERE x IN (TABLE s)", None),
    ],
)
def test_output_columns_are_known_where_the_text_tells_them(query, columns):
    assert output_columns(query) == columns


KNOWN = {"t": ("a", "b"), "u": ("b", "C d")}


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT * FROM t", ("a", "b")),
        ("SELECT * FROM STREAM t", ("a", "b")),
        ("SELECT 1 AS x, y.*, t.a AS z FROM T JOIN u AS y ON t.b = y.b", ("x", "b", "C d", "z")),
        ("SELECT * EXCEPT (B) FROM t CROSS JOIN (SELECT q FROM v) AS w", ("a", "q")),
        ("SELECT * FROM t LEFT ANTI JOIN u ON t.b = u.b", ("a", "b")),
        ("SELECT * FROM (SELECT a, 1 FROM t) AS s (p, q)", ("p", "q")),
        (
            "WITH t AS (SELECT 1 AS one), s (x) AS (SELECT * FROM t) SELECT * FROM s, t",
            ("x", "one"),
        ),
        ("SELECT * FROM t UNION ALL SELECT * FROM v", ("a", "b")),
        ("WITH t AS (SELECT max(a) FROM v) SELECT * FROM t", None),
        ("WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT * FROM r", None),
        ("SELECT * FROM t JOIN u USING (b)", None),
        ("SELECT * FROM t NATURAL JOIN u", None),
        ("SELECT * FROM v", None),
        ("SELECT * FROM other.t", None),
        ("SELECT * FROM t LATERAL VIEW explode(a) AS e", None),
        ("SELECT s.* FROM (SELECT struct(a) AS s FROM t)", None),
        ("SELECT a FROM t UNION BY NAME SELECT b FROM t", None),
    ],
)
def test_stars_are_known_where_their_tables_are(query, columns):
    assert output_columns(query, KNOWN) == columns


@pytest.mark.parametrize(
    ("query", "call"),
    [
        ("SELECT rand() FROM t", ("rand", "chance")),
        ("SELECT uuid(), 1", ("uuid", "chance")),
        ("SELECT * FROM t WHERE at > now() - INTERVAL 1 DAY", ("now", "clock")),
        ("SELECT current_date AS d", ("current_date", "clock")),
        ("SELECT unix_timestamp()", ("unix_timestamp", "clock")),
        ("SELECT a, date 'today' AS day FROM t", ("'today'", "clock")),
        ("SELECT * FROM t WHERE at > TIMESTAMP 'Now UTC'", ("'Now UTC'", "clock")),
        ("SELECT * FROM t WHERE day = cast('yesterday' AS DATE)", ("'yesterday'", "clock")),
        ("SELECT to_date('tomorrow')", ("'tomorrow'", "clock")),
        ("SELECT 'now' :: timestamp", ("'now'", "clock")),
        ("SELECT 'now' AS a, cast('today' AS STRING), date 'epoch', f('now') FROM t", None),
        ("SELECT unix_timestamp(at), t.current_date, rand, x AS current_date FROM t", None),
    ],
)
def test_functions_of_the_clock_and_of_chance_are_found(query, call):
    found = volatile_call(tokens(query))
    assert (found and (found[0].text, found[1])) == call
