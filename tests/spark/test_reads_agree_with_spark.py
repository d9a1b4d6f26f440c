"""Spark as the judge of what a query reads: only the new names exist, so every name that the
rewriting misses, and every one it changes wrongly, is a query that Spark does not analyse.
"""

import pytest

from freshline.sql.text.reads import rewritten

QUERIES = r"""
SELECT * FROM a
SELECT * FROM a, b x JOIN c ON a.i = c.i, c d
SELECT a.i FROM (a JOIN (b CROSS JOIN c))
SELECT * FROM ((SELECT i FROM a) UNION ALL (SELECT i FROM b)) u, c
(SELECT i FROM a) EXCEPT (SELECT i FROM b) MINUS SELECT i FROM c
TABLE a
SELECT * FROM a WHERE EXISTS (SELECT 1 FROM b) AND i IN (SELECT i FROM c)
SELECT (SELECT max(i) FROM a) m, abs((SELECT 1 FROM b)) FROM c
SELECT * FROM a, LATERAL (SELECT * FROM b WHERE b.i = a.i), c
SELECT * FROM a LATERAL VIEW explode(m) e AS k, v WHERE k IN (1, j)
SELECT * FROM a TABLESAMPLE (5 PERCENT) s, b
SELECT a.i FROM a TABLESAMPLE (5 PERCENT), b
SELECT extract(year FROM t), trim(BOTH y FROM y), substring(y FROM 2) FROM a
SELECT i IS NOT DISTINCT FROM j, i IS DISTINCT FROM j FROM a
FROM a |> WHERE i > 1 |> JOIN b USING (i) |> SELECT i |> UNION ALL (SELECT i FROM c)
FROM a SELECT i, j
SELECT i FROM a GROUP BY window(t, '1 hour'), i
SELECT * FROM (SELECT i, j, y FROM a) PIVOT (sum(j) FOR y IN ('x', 'z')) p
SELECT max(i) OVER w, min(i) OVER v FROM a WINDOW w AS (PARTITION BY j), v AS (ORDER BY j)
SELECT * FROM a LEFT SEMI JOIN b USING (i) CROSS JOIN c
SELECT /*+ BROADCAST(b) */ a.i, b.j FROM a FULL OUTER JOIN b ON true
WITH x AS (SELECT * FROM a) SELECT * FROM x, b
WITH X AS (SELECT * FROM a) SELECT * FROM x
WITH a AS (SELECT * FROM a) SELECT i FROM a
WITH x AS (SELECT 1 i), y AS (SELECT x.i FROM x, b) SELECT * FROM y
SELECT * FROM a WHERE i IN (WITH a AS (SELECT * FROM b) SELECT i FROM a)
WITH x AS (SELECT 1 i) SELECT * FROM a WHERE i IN (SELECT i FROM x)
WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r, a WHERE n < 3) TABLE r
WITH x(i, j) AS (SELECT 1, 2) SELECT * FROM x
SELECT * FROM VALUES (1, 2), (2, 3) AS v(i, j), a
SELECT * FROM range(10) r, a
SELECT a.i, a.j FROM a ORDER BY a.i LIMIT 3
SELECT `a`.i, A.j FROM `a`
SELECT r'\' AS x, 'it''s', "q""q", 'FROM b' /* FROM b /* FROM c */ */ FROM a -- FROM b
SELECT count(*) FILTER (WHERE a.i > 1), exists(array(1), x -> x > 1) FROM a GROUP BY ALL
SELECT i FROM a SORT BY i
SELECT * FROM a CROSS JOIN b INNER JOIN c ON a.i = c.i
SELECT i, table FROM (SELECT i, 1 AS table FROM a)
SELECT * FROM a |> AS z |> JOIN b ON z.i = b.i
SELECT * FROM explode(array(1,2)) AS e(x), a
SELECT i FROM a WHERE EXISTS ((SELECT 1 FROM b) |> JOIN c)
SELECT i AS from, j AS join FROM a
SELECT i from, j join FROM a JOIN b USING (i, j)
SELECT * FROM a window, b offset JOIN c limit ON offset.i = limit.i
SELECT window.i, c.j FROM a AS window LEFT JOIN b AS where ON where.i = window.i, c
TABLE a |> JOIN LATERAL (SELECT b.i FROM b WHERE b.i = a.i) |> SELECT a.j
TABLE a ORDER BY a.i LIMIT 3
TABLE a UNION ALL TABLE b ORDER BY i
SELECT * FROM a WHERE EXISTS (TABLE b ORDER BY b.i) AND i IN (TABLE c |> SELECT c.i)
""".strip().split("\n")


@pytest.fixture(scope="module")
def session(spark):
    session = spark.newSession()
    for name in ("new_a", "new_b", "new_c"):
        session.sql(
            "SELECT 1 AS i, 2 AS j, map(1, 2) AS m, TIMESTAMP'2024-01-01' AS t, 'x' AS y"
        ).createOrReplaceTempView(name)
    return session


@pytest.mark.spark
@pytest.mark.parametrize("query", QUERIES)
def test_spark_analyses_the_query_over_the_new_names_alone(session, query):
    new = rewritten(query, {"a": "new_a", "b": "new_b", "c": "new_c"})
    assert session.sql(new).columns
