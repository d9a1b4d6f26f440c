import pytest

from freshline.sql.text.rowwise import Verdict, minds_columns, row_wise


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a, upper(b) AS b FROM STREAM f WHERE a IS NOT NULL",
        "SELECT f.a FROM STREAM f JOIN delta.`/x` x ON f.a = x.a",
        "SELECT f.a FROM STREAM f LEFT JOIN c.s x ON f.a = x.a LEFT ANTI JOIN c.t USING (a)",
        "SELECT f.a FROM c.s x RIGHT JOIN STREAM f ON f.a = x.a",
        "SELECT f.a FROM c.s x, STREAM f",
        "SELECT a FROM (c.s x JOIN STREAM f ON x.a = f.a)",
        "SELECT f.a FROM (STREAM f LEFT JOIN c.s x ON x.a = f.a)",
        "SELECT f.a FROM (c.s x RIGHT JOIN STREAM f ON x.a = f.a)",
        "WITH x AS (SELECT a FROM STREAM f) SELECT a FROM x",
        "WITH m AS (SELECT a, max(b) FROM c.s GROUP BY a) SELECT a FROM STREAM f JOIN m USING (a)",
        "SELECT a, (SELECT max(b) FROM c.s) AS m FROM (SELECT * FROM STREAM f) q",
        "SELECT a FROM STREAM f WHERE EXISTS (SELECT 1 FROM c.s ORDER BY 1 LIMIT 1)",
        "SELECT a, u FROM STREAM f LATERAL VIEW explode(z) t AS u",
        "SELECT transform(a, x -> x + 1) AS t, array_max(a) AS m, greatest(a, b) FROM STREAM f",
        "SELECT window(t, '1 hour').start AS hour FROM STREAM f",
        "SELECT f.a FROM STREAM f, LATERAL (SELECT f.a + 1)",
        "FROM STREAM f SELECT a",
        "SELECT * FROM STREAM f UNPIVOT (v FOR k IN (a, b))",
        "SELECT * FROM STREAM f JOIN c.s USING (a) UNPIVOT (v FOR k IN (b, c))",
        "SELECT a FROM STREAM f JOIN (SELECT * FROM c.s PIVOT (sum(v) FOR k IN (1))) USING (a)",
        "SELECT a FROM c.s PIVOT (sum(v) FOR k IN (1)) JOIN STREAM f USING (a)",
    ],
)
def test_row_wise_queries_pass(query):
    assert row_wise(query) == Verdict(None, analysed=True)


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ("SELECT a FROM STREAM f GROUP BY a", "GROUP BY groups records"),
        ("SELECT max_by(a, b) FROM STREAM f", "the aggregate max_by looks at many records"),
        ("SELECT vector_sum(a) FROM STREAM f", "the aggregate vector_sum looks at many records"),
        ("SELECT 1 + sum(a) FROM STREAM f", "the aggregate sum looks at many records"),
        ("SELECT a FROM (SELECT a FROM STREAM f LIMIT 2)", "LIMIT counts records"),
        (
            "WITH x AS (SELECT a FROM STREAM f), y AS (SELECT sum(a) AS s FROM x) SELECT * FROM y",
            "the aggregate sum looks at many records",
        ),
        (
            "SELECT f.a FROM STREAM f RIGHT JOIN c.s ON f.a = s.a",
            "the RIGHT JOIN keeps rows of the other side that no record of the feed meets",
        ),
        (
            "SELECT f.a FROM c.s JOIN STREAM f ON f.a = s.a FULL JOIN c.t ON f.a = t.a",
            "the FULL JOIN keeps rows of the other side that no record of the feed meets",
        ),
        *[
            (query, "the FULL JOIN keeps rows of the other side that no record of the feed meets")
            for query in (
                "SELECT f.a FROM (STREAM f FULL JOIN c.t ON f.a = t.a)",
                "SELECT q.a FROM ((SELECT a FROM STREAM f) q FULL JOIN c.t USING (a)) JOIN c.s",
                "WITH x AS (SELECT a FROM STREAM f) SELECT a FROM (x FULL JOIN c.t USING (a))",
            )
        ],
        *[
            (f"SELECT * FROM {joined} PIVOT (sum(v) FOR k IN (1, 2))", "PIVOT aggregates records")
            for joined in (
                "STREAM f",
                "STREAM f JOIN c.s USING (a)",
                "STREAM f CROSS JOIN c.s",
                "STREAM f JOIN c.s USING (a) LEFT JOIN c.t ON s.b = t.b",
                "c.s JOIN STREAM f ON s.a = f.a",
                "c.s JOIN STREAM f",
            )
        ],
        (
            "SELECT * FROM (STREAM f JOIN c.s USING (a) PIVOT (sum(v) FOR k IN (1, 2)))",
            "PIVOT aggregates records",
        ),
        (
            "SELECT s.a FROM c.s LEFT SEMI JOIN STREAM f ON f.a = s.a",
            "the SEMI JOIN gives rows of the other side, not of the feed",
        ),
        (
            "SELECT a FROM STREAM f EXCEPT SELECT a FROM c.s",
            "EXCEPT adds or compares rows beside the feed's",
        ),
        (
            "WITH RECURSIVE r AS (SELECT a FROM STREAM f UNION SELECT a FROM r) SELECT a FROM r",
            "UNION adds or compares rows beside the feed's",
        ),
        ("WITH x AS (SELECT a FROM STREAM f) SELECT 1 AS a", "its WITH query x is read 0 times"),
        (
            "WITH F AS (SELECT 7 AS a) SELECT s.a FROM STREAM f s",
            "its WITH query f has the name of the feed",
        ),
        (
            "WITH f AS (SELECT 7 AS a), g AS (SELECT a FROM STREAM f) SELECT a FROM g",
            "its WITH query f has the name of the feed",
        ),
        ("SELECT * FROM STREAM f PIVOT (sum(x) FOR y IN (1, 2))", "PIVOT aggregates records"),
    ],
)
def test_what_looks_beyond_one_record_is_named(query, fault):
    assert row_wise(query) == Verdict(fault, analysed=True)


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ("TABLE STREAM f", None),
        ("SELECT a IS DISTINCT FROM b FROM STREAM f WHERE x IN (TABLE c.s)", None),
        (
            "SELECT every(a) FROM STREAM f WHERE x IN (TABLE c.s)",
            "the aggregate every looks at many records",
        ),
        (
            "SELECT DISTINCT a FROM STREAM f WHERE x IN (TABLE c.s)",
            "DISTINCT compares records with each other",
        ),
        (
            "SELECT a FROM STREAM f WHERE x IN (TABLE c.s) ORDER BY a",
            "ORDER BY sorts records",
        ),
        *[
            (f"FROM STREAM f |> {steps}", fault)
            for steps, fault in (
                ("SELECT DISTINCT a", "DISTINCT compares records with each other"),
                ("WHERE a > 1 |> SELECT a", None),
                ("AGGREGATE my_sum(a) AS s", "AGGREGATE groups records"),
                (
                    "WHERE a > 1 |> EXCEPT SELECT a FROM c.s",
                    "EXCEPT adds or compares rows beside the feed's",
                ),
            )
        ],
        ("FROM STREAM f |> AS x |> LEFT JOIN c.s USING (a) |> SELECT x.a", None),
        ("FROM c.s |> RIGHT JOIN (SELECT a FROM STREAM(f)) USING (a) |> DROP b", None),
        (
            "FROM STREAM f |> FULL OUTER JOIN c.s USING (a) |> DROP b",
            "the FULL JOIN keeps rows of the other side that no record of the feed meets",
        ),
        (
            "SELECT s.a FROM c.s JOIN STREAM f EXACT NEAREST 1 BY DISTANCE abs(s.a - f.a)",
            "NEAREST BY compares records with each other",
        ),
        (
            "FROM c.s |> LEFT JOIN STREAM f USING (a) |> DROP b",
            "the LEFT JOIN keeps rows of the other side that no record of the feed meets",
        ),
        (
            "FROM c.s |> LEFT SEMI JOIN STREAM f USING (a) |> DROP b",
            "the SEMI JOIN gives rows of the other side, not of the feed",
        ),
        (
            "FROM c.s |> WHERE EXISTS (SELECT 1 FROM STREAM f WHERE f.a = s.a) |> DROP b",
            "the feed is read inside an expression",
        ),
        (
            "WITH x AS (SELECT a FROM STREAM f) FROM x |> JOIN x AS y ON x.a = y.b |> DROP b",
            "a WITH query reads the feed, in a form that is known to Spark alone",
        ),
    ],
)
def test_a_form_known_to_spark_alone_is_judged_by_its_words(query, fault):
    assert row_wise(query) == Verdict(fault, analysed=False)


@pytest.mark.parametrize(
    ("query", "minds"),
    [
        ("SELECT * FROM STREAM f", False),
        ("SELECT f.*, a * (b + c * 2) AS t, round(a * b) AS r FROM STREAM f", False),
        ("SELECT x.a FROM (SELECT a, * FROM STREAM f) x", False),
        ("SELECT x.a FROM (SELECT (a), f.* FROM STREAM f) x", False),
        ("SELECT hash(*) AS h FROM STREAM f", True),
        ("SELECT sha2(to_csv(struct(f.*)), 256) AS h FROM STREAM f", True),
        ("SELECT array(0, *) AS all_of_it FROM STREAM f", True),
        ("SELECT a FROM STREAM f NATURAL JOIN delta.`d`", True),
        ("SELECT a AS Gained, gained + 1 AS b FROM STREAM f", True),
        ("SELECT a AS `gained` FROM STREAM f", True),
    ],
)
def test_whether_rows_mind_a_column_that_their_feed_gains(query, minds):
    assert minds_columns(query, {"GAINED"}) == minds
