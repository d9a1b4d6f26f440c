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
SELECT * FROM a TABLESAMPLE (100 PERCENT) s, b
SELECT a.i FROM a TABLESAMPLE (100 PERCENT), b
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
WITH x (SELECT * FROM a), y(i, j) (SELECT x.i, x.j FROM x, b), z ((TABLE c)) (SELECT * FROM y, z)
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
SELECT * FROM VALUES 'x', 'y' AS v, VALUES 1, 2.5 w, VALUES INTERVAL 1 DAY, INTERVAL '2' DAYS u, a
SELECT * FROM VALUES DATE'2026-01-01', current_date() v(k) JOIN VALUES true, null w ON true, a
SELECT i FROM a WHERE EXISTS ((SELECT 1 FROM b) |> JOIN c)
SELECT i AS from, j AS join FROM a
SELECT i from, j join FROM a JOIN b USING (i, j)
SELECT * FROM a window, b offset JOIN c limit ON offset.i = limit.i
SELECT window.i, c.j FROM a AS window LEFT JOIN b AS where ON where.i = window.i, c
TABLE a |> JOIN LATERAL (SELECT b.i FROM b WHERE b.i = a.i) |> SELECT a.j
SELECT with.i, for.j FROM a with JOIN b for ON for.i = with.i, c version
SELECT pivot.i, timestamp.j FROM a pivot LEFT JOIN b timestamp USING (i), c outer WHERE outer.i = 1
SELECT unpivot.i, tablesample.j FROM a unpivot, b tablesample JOIN c system_time USING (t)
TABLE a ORDER BY a.i LIMIT 3
TABLE a UNION ALL TABLE b ORDER BY i
SELECT * FROM a WHERE EXISTS (TABLE b ORDER BY b.i) AND i IN (TABLE c |> SELECT c.i)
SELECT 1, 2, NULL, NULL, NULL UNION ALL TABLE b ORDER BY 2 LIMIT 9
SELECT j FROM a UNION ALL (SELECT 7 UNION TABLE i UNION ALL SELECT j FROM (TABLE b))
SELECT 7 INTERSECT TABLE i
""".strip().split("\n")


@pytest.fixture(scope="module")
def session(spark):
    return tables(spark.newSession(), "new_")


@pytest.fixture(scope="module")
def as_written(spark):
    return tables(spark.newSession(), "")


def tables(session, before):
    for number, name in enumerate("abc"):
        rows = f"SELECT 1 AS i, {number} AS j, map(1, 2) AS m, TIMESTAMP'2024-01-01' AS t, 'x' AS y"
        session.sql(rows).createOrReplaceTempView(before + name)
    session.sql("SELECT 7 AS j").createOrReplaceTempView(f"{before}i")
    return session


@pytest.mark.spark
@pytest.mark.parametrize("query", QUERIES)
def test_spark_makes_the_same_of_the_query_over_the_new_names_alone(session, as_written, query):
    new = rewritten(query, {name: f"new_{name}" for name in "abci"})
    found, expected = session.sql(new), as_written.sql(query)
    assert found.columns == expected.columns
    assert sorted(found.collect(), key=repr) == sorted(expected.collect(), key=repr)
