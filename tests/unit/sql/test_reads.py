import pytest

from freshline.sql.text.reads import quoted, quoted_column, reads_of, rewritten
from freshline.sql.text.tokens import SqlTextError


def _names(query):
    return [("STREAM " if read.stream else "") + read.name for read in reads_of(query)]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("SELECT 1", []),
        ("SELECT * FROM a", ["a"]),
        ("SELECT * FROM a, b x JOIN c ON a.i = c.i, d", ["a", "b", "c", "d"]),
        ("SELECT * FROM STREAM f", ["STREAM f"]),
        ("SELECT * FROM STREAM(f) x JOIN STREAM g", ["STREAM f", "STREAM g"]),
        ("SELECT * FROM stream WHERE i > 1", ["stream"]),
        ("SELECT * FROM stream AS s", ["stream"]),
        ("SELECT * FROM delta.`/d/x` JOIN c.`we``ird`.t", ["delta.`/d/x`", "c.`we``ird`.t"]),
        ("SELECT * FROM `a`", ["a"]),
        ("SELECT i * 1. FROM a WHERE j > 2. ORDER BY b, c", ["a"]),
        ("SELECT * FROM 2024_a x JOIN c.2024_b 1st, d", ["`2024_a`", "c.`2024_b`", "d"]),
        ("SELECT * FROM range(10) r, explode(x), a", ["a"]),
        ("SELECT * FROM `range`(10) r, a", ["a"]),
        ("SELECT * FROM VALUES (1, x), (2, y) AS v(i, j), a", ["a"]),
        ("SELECT * FROM VALUES 'x', 'y' AS v(i), a", ["a"]),
        ("SELECT * FROM VALUES DATE'2026-01-01', current_date() v, a", ["a"]),
        ("SELECT * FROM a JOIN VALUES true, null v(i) ON i, b", ["a", "b"]),
        ("SELECT * FROM VALUES INTERVAL 1 DAY, INTERVAL '2' DAYS, -1 v, a", ["a"]),
        ("SELECT * FROM VALUES 1, 2.5 v(i), VALUES array(1)[0] w, a", ["a"]),
        ("SELECT * FROM VALUES (1, x), ((TABLE b), 2) LEFT JOIN a", ["b", "a"]),
        ("SELECT * FROM (a JOIN (b CROSS JOIN c))", ["a", "b", "c"]),
        ("SELECT * FROM ((SELECT * FROM a) UNION ALL (SELECT * FROM b)) u, c", ["a", "b", "c"]),
        ("(SELECT * FROM a) EXCEPT (TABLE b) MINUS TABLE c", ["a", "b", "c"]),
        ("SELECT * FROM a WHERE EXISTS (SELECT 1 FROM b) AND i IN (TABLE c)", ["a", "b", "c"]),
        ("SELECT (SELECT max(i) FROM a) m, f((SELECT 1 FROM b)) FROM c", ["a", "b", "c"]),
        ("SELECT * FROM a, LATERAL (SELECT * FROM b WHERE b.i = a.i), c", ["a", "b", "c"]),
        ("SELECT * FROM a LATERAL VIEW explode(m) e AS k, v WHERE k IN (1, x)", ["a"]),
        ("SELECT * FROM a TABLESAMPLE (5 PERCENT) s, b", ["a", "b"]),
        ("SELECT * FROM f(TABLE a), g(i => TABLE(SELECT * FROM b))", ["a", "b"]),
        ("SELECT extract(year FROM t), trim(BOTH x FROM y), substring(z FROM 2) FROM a", ["a"]),
        ("SELECT x IS NOT DISTINCT FROM y, x IS DISTINCT FROM z FROM a", ["a"]),
        ("SELECT t.from, t.join, t.table, `from` FROM a t ORDER BY t.join, b", ["a"]),
        ("FROM a |> WHERE i > 1 |> JOIN b USING (i) |> UNION ALL (TABLE c)", ["a", "b", "c"]),
        ("SELECT x:from, x:join.table[0] FROM a JOIN b ON i > :limit, c", ["a", "b", "c"]),
        ("FROM a SELECT i, j", ["a"]),
        ("SELECT 'FROM x', \"FROM y\" /* FROM z */ FROM a -- FROM w", ["a"]),
        ("SELECT i FROM a GROUP BY window(t, '1 hour'), j", ["a"]),
        ("SELECT * FROM a PIVOT (sum(x) FOR y IN (1, 2)) p", ["a"]),
        ("SELECT * FROM a PIVOT (sum(x) FOR y IN (1, 2)) p, b", ["a", "b"]),
        ("SELECT * FROM a UNPIVOT (x FOR y IN (p, q)) AS u, b WHERE i IN (1, c)", ["a", "b"]),
        ("SELECT pivot, unpivot FROM a JOIN b ON pivot = 1, c ORDER BY pivot, i", ["a", "b", "c"]),
        ("SELECT max(i) OVER w FROM a WINDOW w AS (PARTITION BY j), v AS (ORDER BY k)", ["a"]),
        ("SELECT * FROM a LEFT SEMI JOIN b USING (i) NATURAL JOIN c", ["a", "b", "c"]),
        ("SELECT /*+ BROADCAST(b) */ * FROM a FULL OUTER JOIN b ON true", ["a", "b"]),
        ("SELECT * FROM a VERSION AS OF 3, b TIMESTAMP AS OF '2024-01-01'", ["a", "b"]),
        ("SELECT 1 WHERE EXISTS ((TABLE a) |> JOIN b |> UNION ALL TABLE c)", ["a", "b", "c"]),
        ("WITH x (SELECT * FROM a), y(i, j) (FROM b) SELECT * FROM x, y, c", ["a", "b", "c"]),
        ("WITH x ((TABLE a)) (SELECT * FROM x)", ["a"]),
        ("SELECT i AS from, j AS join FROM a", ["a"]),
        ("SELECT i from, j, k join FROM a JOIN b", ["a", "b"]),
        ("SELECT as FROM a", ["a"]),
        ("FROM a |> SELECT i AS join |> JOIN b", ["a", "b"]),
        ("SELECT * FROM a window, b offset JOIN c limit ON i = j, d sort", ["a", "b", "c", "d"]),
        ("SELECT * FROM a AS window, b AS offset LEFT JOIN c AS where, d", ["a", "b", "c", "d"]),
        ("FROM a AS offset JOIN b AS sort ON offset.i = sort.i, c SELECT 1", ["a", "b", "c"]),
        ("SELECT * FROM a WINDOW w AS (ORDER BY i), b AS (ORDER BY j)", ["a"]),
    ],
)
def test_every_relation_is_found_and_nothing_else(query, names):
    assert _names(query) == names


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("WITH x AS (SELECT * FROM a) SELECT * FROM x, b", ["a", "b"]),
        ("WITH X AS (SELECT * FROM a) SELECT * FROM x JOIN c.x", ["a", "c.x"]),
        ("WITH x AS (SELECT * FROM x) SELECT * FROM x", ["x"]),
        ("WITH x AS (SELECT 1), y AS (SELECT * FROM x, z) SELECT * FROM y", ["z"]),
        ("WITH y AS (SELECT * FROM x), x AS (SELECT 1) SELECT * FROM y", ["x"]),
        ("SELECT * FROM x WHERE i IN (WITH x AS (SELECT * FROM a) SELECT i FROM x)", ["x", "a"]),
        ("WITH x AS (SELECT 1) SELECT * FROM a WHERE i IN (SELECT i FROM x)", ["a"]),
        (
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r, a) SELECT * FROM r",
            ["a"],
        ),
        ("WITH x(i, j) AS (SELECT 1, 2) SELECT * FROM x, STREAM x", ["STREAM x"]),
    ],
)
def test_names_of_with_shadow_tables_in_their_scope(query, names):
    assert _names(query) == names


def test_a_read_knows_its_text_its_line_and_whether_it_fixes_a_version():
    query = "SELECT *\nFROM STREAM f\nJOIN delta.`/x` VERSION AS OF 3 d"
    feed, static = reads_of(query)
    assert query[feed.start : feed.end] == "STREAM f"
    assert query[static.start : static.end] == "delta.`/x`"
    assert (feed.line, static.line) == (2, 3)
    assert (feed.time_travel, static.time_travel) == (False, True)


@pytest.mark.parametrize(
    ("query", "new"),
    [
        ("SELECT f.i FROM STREAM f WHERE f.i > 1", "SELECT f.i FROM n AS f WHERE f.i > 1"),
        ("SELECT f.i FROM STREAM(F)", "SELECT f.i FROM n AS F"),
        ("SELECT x.i FROM STREAM f x", "SELECT x.i FROM n x"),
        ("SELECT 1st.i FROM f 1st", "SELECT 1st.i FROM n 1st"),
        ("SELECT x.i FROM STREAM f AS x", "SELECT x.i FROM n AS x"),
        ("SELECT 'STREAM f' FROM f, f g", "SELECT 'STREAM f' FROM n AS f, n g"),
        (
            "SELECT * FROM f TABLESAMPLE (5 ROWS) REPEATABLE (1) JOIN o",
            "SELECT * FROM n TABLESAMPLE (5 ROWS) REPEATABLE (1) AS f JOIN o",
        ),
        ("SELECT * FROM g(TABLE f)", "SELECT * FROM g(TABLE n)"),
        ("TABLE f", "SELECT * FROM n AS f"),
        ("TABLE f |> SELECT f.i", "SELECT * FROM n AS f |> SELECT f.i"),
        ("SELECT 1 WHERE 1 IN (TABLE`f`)", "SELECT 1 WHERE 1 IN (SELECT * FROM n AS f)"),
        ("SELECT 1 UNION TABLE f ORDER BY 1", "SELECT 1 UNION SELECT * FROM n AS f ORDER BY 1"),
        ("SELECT * FROM f offset, f AS limit", "SELECT * FROM n offset, n AS limit"),
        ("FROM f UNPIVOT (v FOR k IN (i)) with", "FROM n AS f UNPIVOT (v FOR k IN (i)) with"),
        ("FROM f FOR VERSION AS OF 3", "FROM n FOR VERSION AS OF 3"),
        ("SELECT * FROM f JOIN cat.`left`", "SELECT * FROM n AS f JOIN cat.`left`"),
        ("SELECT * FROM f VERSION AS OF 3", "SELECT * FROM n VERSION AS OF 3"),
        ("WITH f AS (SELECT 1) SELECT * FROM f", "WITH f AS (SELECT 1) SELECT * FROM f"),
        ("SELECT * FROM cat.f /* f */", "SELECT * FROM cat.f /* f */"),
        ("SELECT`a`FROM`f`WHERE a>1", "SELECT`a`FROM n AS f WHERE a>1"),
        ("SELECT a FROM`f`x JOIN(`f`)ON 1=1", "SELECT a FROM n x JOIN(n AS f)ON 1=1"),
    ],
)
def test_rewriting_replaces_names_and_keeps_all_else(query, new):
    assert rewritten(query, {"f": "n"}) == new


@pytest.mark.parametrize(
    "word",
    ["with", "Tablesample", "pivot", "unpivot", "version", "timestamp", "for", "all", "outer"],
)
@pytest.mark.parametrize(
    "behind", ["", " JOIN o", ", o", " LEFT JOIN o", " WHERE i > 1", " |> JOIN o"]
)
def test_a_word_that_can_be_an_alias_is_one_where_its_clause_does_not_follow(word, behind):
    query = f"SELECT {word}.i FROM f {word}{behind}"
    assert rewritten(query, {"f": "n", "o": "o"}) == query.replace(" f ", " n ")


@pytest.mark.parametrize("word", ["left", "Full", "on", "using", "lateral", "union", "semi"])
def test_a_table_called_like_a_word_of_joins_keeps_its_name_in_backquotes(word):
    query = f"SELECT `{word}`.x FROM delta.`{word}`"
    new = rewritten(query, {f"delta.{word}": "n"})
    assert new == f"SELECT `{word}`.x FROM n AS `{word}`"


def test_a_mention_at_a_version_of_its_own_does_not_get_the_new_names_version():
    query = "SELECT * FROM f, f VERSION AS OF 0 AS old, f TIMESTAMP AS OF '2026-01-01' o"
    assert rewritten(query, {"f": "n VERSION AS OF 3"}) == (
        "SELECT * FROM n VERSION AS OF 3 AS f, n VERSION AS OF 0 AS old,"
        " n TIMESTAMP AS OF '2026-01-01' o"
    )


def test_a_version_of_the_same_name_leaves_the_name_that_columns_may_be_called_by():
    query = "SELECT db.t.id, t.id FROM db.t JOIN db.t AS o"
    assert rewritten(query, {"db.t": "db.t VERSION AS OF 3"}) == (
        "SELECT db.t.id, t.id FROM db.t VERSION AS OF 3 JOIN db.t VERSION AS OF 3 AS o"
    )


@pytest.mark.parametrize(
    ("query", "new"),
    [
        ("TABLE db.t |> SELECT t.i", "SELECT * FROM db.t VERSION AS OF 3 |> SELECT t.i"),
        (
            "SELECT 1 WHERE 1 IN (TABLE db.t)",
            "SELECT 1 WHERE 1 IN (SELECT * FROM db.t VERSION AS OF 3)",
        ),
        ("FROM g(TABLE db.t, 1)", "FROM g(TABLE (SELECT * FROM db.t VERSION AS OF 3), 1)"),
        (
            "FROM g(1, x => TABLE db.t)",
            "FROM g(1, x => TABLE (SELECT * FROM db.t VERSION AS OF 3))",
        ),
    ],
)
def test_behind_table_stands_no_version(query, new):
    assert rewritten(query, {"db.t": "db.t VERSION AS OF 3"}) == new


def test_paths_that_differ_in_case_alone_are_two_tables():
    query = (
        "SELECT * FROM delta.`/d/A` x JOIN delta.`/d/a` y JOIN delta.`K` z JOIN delta.`k` USING (i)"
    )
    names = {"delta.`/d/A`": "one", "delta.`/d/a`": "two", "delta.K": "three", "delta.k": "four"}
    assert rewritten(query.replace("`k`", "k"), names) == (
        "SELECT * FROM one x JOIN two y JOIN three z JOIN four AS k USING (i)"
    )
    assert rewritten("SELECT * FROM delta.`/d/a`", {"delta.`/d/A`": "one"}) == (
        "SELECT * FROM delta.`/d/a`"
    )
    assert rewritten("SELECT * FROM DB.T", {"db.t": "one"}) == "SELECT * FROM one AS T"


def test_changes_that_a_text_names_are_those_of_a_feed():
    with pytest.raises(SqlTextError, match=r"its changes by a feed \(docs/delta-feeds\.md\)"):
        reads_of("FROM table_changes('b', 0)")


def test_other_functions_and_names_like_those_that_read_a_text_are_read():
    query = "WITH table_changes(i) AS (SELECT 1) SELECT table_changes.i FROM lib.table_changes('b')"
    assert reads_of(f"{query}, table_changes, t AS table_changes(i)")[0].name == "t"


def test_rewriting_without_a_change_is_verbatim():
    query = "SELECT  *\r\nFROM STREAM f -- the feed"
    assert rewritten(query, {}) == query
    assert rewritten(query, {"f": "f"}) == "SELECT  *\r\nFROM f -- the feed"
    assert rewritten("SELECT * FROM delta.`/x y`", {"delta.`/x y`": "s"}) == (
        "SELECT * FROM s AS `/x y`"
    )


@pytest.mark.parametrize(
    ("query", "what"),
    [
        ("SELECT (1", "a parenthesis is not closed"),
        (f"SELECT {'(' * 3000}1{')' * 3000}", "parentheses are more than 300 deep"),
        ("SELECT 1)", "a parenthesis is closed that was not opened"),
        ("SELECT * FROM identifier('a')", "a table's name is computed by IDENTIFIER"),
        ("SELECT * FROM a JOIN table_changes('b', 0)", "table_changes reads a table that only a"),
        ("SELECT (SELECT max(i) FROM `Table_Changes_By_Path`('/b', 0)) FROM a",
         "table_changes_by_path reads a table that only a text names"),
        ("FROM system.builtin.table_changes('b', 0) |> SELECT i", "table_changes reads a table"),
        ('SELECT * FROM a JOIN "b"', "a table's name is in quotes, as a text is"),
        *[
            (f"SELECT * FROM {named}", "a table's name has a variable")
            for named in (
                "${db}.orders",
                "raw.${name}",
                "orders_${env} o",
                "`${db}`.orders",
                "${name}",
                "a JOIN ${db}.b",
                "a, ${db}.b",
                "STREAM ${db}.a",
                "STREAM(${db}.a)",
                "STREAM raw.${name}",
                "delta.`/data/${day}`",
            )
        ],
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said(query, what):
    with pytest.raises(SqlTextError, match=what):
        reads_of(query)


def test_a_variable_beside_names_is_left_to_spark():
    query = "SELECT ${a}, '${b}' FROM t WHERE trim(LEADING '0' FROM ${c}) IN (${d})"
    assert [read.name for read in reads_of(query)] == ["t"]


@pytest.mark.parametrize("before", ["SELECT ", "SELECT * FROM ", "SELECT 1 WHERE 1 IN "])
def test_as_many_parentheses_as_are_taken_can_be_walked(before):
    inner = "SELECT a FROM t" if "FROM" in before else "1"
    found = reads_of(f"{before}{'(' * 299}{inner}{')' * 299}")
    assert [read.name for read in found] == (["t"] if "FROM" in before else [])


def test_columns_called_by_words_of_sql_go_in_backquotes():
    assert [quoted_column(name) for name in ("null", "True", "not", "user", "at", "date")] == [
        "`null`", "`True`", "`not`", "`user`", "at", "date",
    ]  # fmt: skip
    assert [read.name for read in reads_of("SELECT * FROM user JOIN `left`")] == ["user", "left"]


def test_only_ascii_names_go_without_backquotes():
    names = ("usr", "_k1", "größe", "stündlich", "é", "1st", "a b", "naïve_2")
    assert [quoted(name) for name in names] == [
        "usr", "_k1", "`größe`", "`stündlich`", "`é`", "`1st`", "`a b`", "`naïve_2`",
    ]  # fmt: skip
