"""The one shape of a query: names resolved, shorthand spelt out, aliases unique."""

from __future__ import annotations

import pytest

from freshline.sql.query.normal import normalise
from freshline.sql.query.records import Source
from freshline.sql.query.unsupported import Unsupported

SOURCES = (
    Source("t", {"ts": "timestamp", "x": "int", "id": "int", "arr": "array<int>"}),
    Source("u", {"ts": "timestamp", "id": "int", "y": "int"}),
    Source("db.v", {"k": "int"}, static=True),
)

NORMAL = [
    (
        "select t.x from t left outer join u on t.id = u.id, db.v where u.y + 1 > 3",
        (
            "SELECT t.x AS x FROM t AS t JOIN u AS u ON t.id = u.id CROSS JOIN db.v AS v "
            "WHERE u.y + 1 > 3"
        ),
    ),
    (
        "select t.x from t left join u on t.id = u.id join db.v on v.k = u.y",
        "SELECT t.x AS x FROM t AS t JOIN u AS u ON t.id = u.id JOIN db.v AS v ON v.k = u.y",
    ),
    (
        (
            "select t.x from t left join u on t.id = u.id left join db.v on v.k = u.y "
            "where v.k is not null"
        ),
        (
            "SELECT t.x AS x FROM t AS t JOIN u AS u ON t.id = u.id JOIN db.v AS v ON v.k = u.y "
            "WHERE NOT v.k IS NULL"
        ),
    ),
    (
        "select t.x from t left join u on t.id = u.id where u.y > 3 or t.x > 1",
        ("SELECT t.x AS x FROM t AS t LEFT JOIN u AS u ON t.id = u.id WHERE u.y > 3 OR t.x > 1"),
    ),
    (
        "select t.x from t left join u on t.id = u.id where coalesce(u.y, 9) > 3",
        "SELECT t.x AS x FROM t AS t LEFT JOIN u AS u ON t.id = u.id WHERE COALESCE(u.y, 9) > 3",
    ),
    (
        (
            "select t.x from t left join u on t.id = u.id and t.x > 1 full join db.v on v.k = u.y "
            "where u.y > 1"
        ),
        (
            "SELECT t.x AS x FROM t AS t LEFT JOIN u AS u ON t.id = u.id AND t.x > 1 "
            "FULL JOIN db.v AS v ON v.k = u.y WHERE u.y > 1"
        ),
    ),
    (
        "SELECT /*+ BROADCAST(b), REPARTITION(2) */ a.x FROM t a JOIN db.v b ON a.id = b.k",
        "SELECT a.x AS x FROM t AS a JOIN db.v AS b ON a.id = b.k",
    ),
    (
        "SELECT date_trunc('hour', ts) AS ts, sum(x) AS s FROM t GROUP BY ts",
        "SELECT DATE_TRUNC('HOUR', t.ts) AS ts, SUM(t.x) AS s FROM t AS t GROUP BY t.ts",
    ),
    (
        "SELECT x + 1 AS x, x * 2 AS y FROM t",
        "SELECT t.x + 1 AS x, t.x * 2 AS y FROM t AS t",
    ),
    (
        "SELECT x, count(*) FROM t GROUP BY ALL",
        "SELECT t.x AS x, COUNT(*) AS _col_1 FROM t AS t GROUP BY t.x",
    ),
    (
        (
            "SELECT x % 2 AS p, sum(x) / count(*) AS a, any(y > 1) AS b FROM t JOIN u USING (id) "
            "GROUP BY ALL"
        ),
        (
            "SELECT t.x % 2 AS p, SUM(t.x) / COUNT(*) AS a, BOOL_OR(u.y > 1) AS b FROM t AS t "
            "JOIN u AS u ON t.id = u.id GROUP BY t.x % 2"
        ),
    ),
    (
        "SELECT * EXCEPT (arr, id) FROM t JOIN u USING (id)",
        "SELECT t.ts AS ts, t.x AS x, u.ts AS ts, u.y AS y FROM t AS t JOIN u AS u ON t.id = u.id",
    ),
    (
        "SELECT x FROM t a WHERE EXISTS (SELECT 1 FROM t a WHERE a.id = 1)",
        (
            "SELECT a.x AS x FROM t AS a WHERE EXISTS(SELECT 1 AS _col_0 FROM t AS a_2 "
            "WHERE a_2.id = 1)"
        ),
    ),
    (
        "WITH t AS (SELECT id FROM t WHERE x > 1) SELECT a.id FROM t a JOIN t b ON a.id < b.id",
        (
            "SELECT a.id AS id FROM (SELECT t.id AS id FROM t AS t WHERE t.x > 1) AS a JOIN "
            "(SELECT t_2.id AS id FROM t AS t_2 WHERE t_2.x > 1) AS b ON a.id < b.id"
        ),
    ),
    (
        "WITH a AS (SELECT 1 AS k), b (z) AS (SELECT k FROM a) SELECT z FROM b",
        (
            "SELECT b_2.z AS z FROM (SELECT b.z AS z FROM (SELECT named.k AS z FROM (SELECT a.k "
            "AS k FROM (SELECT 1 AS k) AS a) AS named) AS b) AS b_2"
        ),
    ),
    (
        "SELECT x FROM t LEFT ANTI JOIN u ON t.id = u.id",
        (
            "SELECT t.x AS x FROM t AS t WHERE NOT EXISTS(SELECT 1 AS `1` FROM u AS u "
            "WHERE t.id = u.id)"
        ),
    ),
    (
        "SELECT window.start, window FROM t GROUP BY window(ts, '1 hour')",
        (
            "SELECT `WINDOW`(t.ts, '1 hour').start AS start, `WINDOW`(t.ts, '1 hour') AS window "
            "FROM t AS t GROUP BY `WINDOW`(t.ts, '1 hour')"
        ),
    ),
    ("SELECT K FROM `DB`.V", "SELECT v.k AS k FROM db.v AS v"),
    ("SELECT CAST(ts AS DATE) FROM t", "SELECT CAST(t.ts AS DATE) AS _col_0 FROM t AS t"),
    (
        "SELECT MAX(STRUCT(TS, t.X AS Price, X + 1)) AS M FROM T",
        ("SELECT MAX(STRUCT(t.ts AS TS, t.x AS Price, t.x + 1 AS col3)) AS m FROM t AS t"),
    ),
    (
        "SELECT MAX(CAST(named_struct('Id', ID) AS STRUCT<Of: STRUCT<Id: INT>>)) AS M FROM T",
        ("SELECT MAX(CAST(STRUCT(t.id AS Id) AS STRUCT<Of: STRUCT<Id: INT>>)) AS m FROM t AS t"),
    ),
]


@pytest.mark.parametrize(("query", "normal"), NORMAL)
def test_one_shape(query, normal):
    assert normalise(query, SOURCES).sql(dialect="spark") == normal


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT (", "PARSE"),
        ("SELECT 'open", "PARSE"),
        ("FROM t |> WHERE x > 1", "SYNTAX"),
        ("FROM t |> EXCEPT SELECT x FROM u", "SYNTAX"),
        ("WITH x AS (TABLE t) SELECT * FROM x", "SYNTAX"),
        ("INSERT INTO t SELECT * FROM u", "SYNTAX"),
        ("SELECT date_trunc(hour, ts) FROM t", "SYNTAX"),
        ("SELECT missing FROM t", "UNRESOLVED"),
        ("SELECT ts, localtimestamp AS now FROM t", "CLOCK"),
        ("SELECT id FROM t WHERE ts < LOCALTIMESTAMP", "CLOCK"),
        ("SELECT ts FROM t, u", "UNRESOLVED"),
        ("SELECT * FROM other", "UNKNOWN_TABLE"),
        (
            "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT n FROM r",
            "RECURSIVE",
        ),
        ("SELECT * FROM t TABLESAMPLE (10 PERCENT)", "SAMPLE"),
        ("SELECT * FROM t VERSION AS OF 1", "TIME_TRAVEL"),
        ("SELECT * FROM t PIVOT (sum(x) FOR id IN (1, 2))", "PIVOT"),
        ("SELECT * FROM t, LATERAL (SELECT y FROM u WHERE u.id = t.id)", "LATERAL_SUBQUERY"),
        ("SELECT x, sum(id) + x AS s FROM t GROUP BY ALL", "GROUP_BY_ALL"),
    ],
)
def test_what_cannot_be_brought_into_it_is_refused_with_a_code(query, code):
    with pytest.raises(Unsupported) as refusal:
        normalise(query, SOURCES)
    assert refusal.value.reason.code == code
