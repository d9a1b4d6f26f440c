"""Stars, USING and NATURAL mean what Spark reads (its own answers are in the Spark tests)."""

from __future__ import annotations

import pytest

from freshline.sql.query.normal import normalise
from freshline.sql.query.records import Source
from freshline.sql.query.unsupported import Unsupported

SOURCES = tuple(
    Source(name, dict.fromkeys(columns.split(), "int"))
    for name, columns in {"a": "x k", "b": "k y", "c": "z k y", "d": "k z"}.items()
)

SPELT_OUT = {
    "inner": (
        "SELECT * FROM a JOIN b USING (k)",
        "SELECT a.k AS k, a.x AS x, b.y AS y FROM a AS a JOIN b AS b ON a.k = b.k",
    ),
    "right": (
        "SELECT k, x FROM a RIGHT JOIN b USING (K) WHERE k > 1",
        "SELECT b.k AS k, a.x AS x FROM a AS a RIGHT JOIN b AS b ON a.k = b.k WHERE b.k > 1",
    ),
    "behind a full join": (
        "SELECT k, z FROM a FULL JOIN b USING (k) LEFT JOIN d USING (k)",
        (
            "SELECT COALESCE(a.k, b.k) AS k, d.z AS z FROM a AS a FULL JOIN b AS b ON a.k = b.k "
            "LEFT JOIN d AS d ON COALESCE(a.k, b.k) = d.k"
        ),
    ),
    "behind a right join": (
        "SELECT k, z FROM a RIGHT JOIN b USING (k) LEFT JOIN d USING (k)",
        (
            "SELECT b.k AS k, d.z AS z FROM a AS a RIGHT JOIN b AS b ON a.k = b.k "
            "LEFT JOIN d AS d ON b.k = d.k"
        ),
    ),
    "natural": (
        "SELECT * FROM b NATURAL FULL JOIN c",
        (
            "SELECT COALESCE(b.k, c.k) AS k, COALESCE(b.y, c.y) AS y, c.z AS z FROM b AS b "
            "FULL JOIN c AS c ON b.k = c.k AND b.y = c.y"
        ),
    ),
    "a table's star": (
        "SELECT a.*, b.y FROM a JOIN b USING (k)",
        "SELECT a.k AS k, a.x AS x, b.y AS y FROM a AS a JOIN b AS b ON a.k = b.k",
    ),
    "a table's star, the newest join first": (
        "SELECT c.* FROM c JOIN b USING (k) JOIN (SELECT z FROM d) e USING (z)",
        (
            "SELECT c.z AS z, c.k AS k, c.y AS y FROM c AS c JOIN b AS b ON c.k = b.k "
            "JOIN (SELECT d.z AS z FROM d AS d) AS e ON c.z = e.z"
        ),
    ),
    "a star without its own side": (
        "SELECT a.* FROM a FULL JOIN b USING (k)",
        "SELECT a.k AS k, a.x AS x FROM a AS a FULL JOIN b AS b ON a.k = b.k",
    ),
    "a star but for a column": (
        "SELECT * EXCEPT (Y) FROM a JOIN b USING (k)",
        "SELECT a.k AS k, a.x AS x FROM a AS a JOIN b AS b ON a.k = b.k",
    ),
    "in ON, behind": (
        "SELECT z FROM a FULL JOIN b USING (k) JOIN d ON d.k = coalesce(a.k, 1) AND z > x",
        (
            "SELECT d.z AS z FROM a AS a FULL JOIN b AS b ON a.k = b.k "
            "JOIN d AS d ON d.k = COALESCE(a.k, 1) AND d.z > a.x"
        ),
    ),
    "in a subquery that has none of its own": (
        (
            "SELECT x FROM a FULL JOIN b USING (k) WHERE EXISTS (SELECT 1 FROM (SELECT z FROM d) e "
            "WHERE e.z = k)"
        ),
        (
            "SELECT a.x AS x FROM a AS a FULL JOIN b AS b ON a.k = b.k WHERE EXISTS(SELECT 1 AS "
            "_col_0 FROM (SELECT d.z AS z FROM d AS d) AS e WHERE e.z = COALESCE(a.k, b.k))"
        ),
    ),
    "in a subquery that has its own": (
        "SELECT x FROM a FULL JOIN b USING (k) WHERE EXISTS (SELECT 1 FROM d WHERE k = 1)",
        (
            "SELECT a.x AS x FROM a AS a FULL JOIN b AS b ON a.k = b.k WHERE EXISTS(SELECT 1 AS "
            "_col_0 FROM d AS d WHERE d.k = 1)"
        ),
    ),
    "grouped and ordered by": (
        "SELECT k, count(*) AS n FROM a FULL JOIN b USING (k) GROUP BY k ORDER BY k",
        (
            "SELECT COALESCE(a.k, b.k) AS k, COUNT(*) AS n FROM a AS a FULL JOIN b AS b "
            "ON a.k = b.k GROUP BY COALESCE(a.k, b.k) ORDER BY k"
        ),
    ),
    "other names for a query's columns": (
        "SELECT y, k FROM (SELECT k, y FROM b) t (y, k)",
        (
            "SELECT t.y AS y, t.k AS k FROM (SELECT named.k AS y, named.y AS k FROM "
            "(SELECT b.k AS k, b.y AS y FROM b AS b) AS named) AS t"
        ),
    ),
    "a name twice in a branch": (
        "SELECT k, y FROM b UNION ALL SELECT b.k, d.k FROM b JOIN d ON b.y = d.z",
        (
            "SELECT b.k AS k, b.y AS y FROM b AS b UNION ALL SELECT b_2.k AS k, d.k AS k_1 "
            "FROM b AS b_2 JOIN d AS d ON b_2.y = d.z"
        ),
    ),
    "a star with a name twice": (
        "SELECT x FROM (SELECT * FROM a JOIN b ON a.k = b.k) t",
        (
            "SELECT t.x AS x FROM (SELECT a.x AS x, a.k AS k, b.k AS k_2, b.y AS y FROM a AS a "
            "JOIN b AS b ON a.k = b.k) AS t"
        ),
    ),
}


@pytest.mark.parametrize(("query", "spelt_out"), SPELT_OUT.values(), ids=SPELT_OUT)
def test_columns_are_those_that_spark_reads(query, spelt_out):
    assert normalise(query, SOURCES).sql(dialect="spark") == spelt_out


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT x FROM a, b JOIN d USING (k)", "SYNTAX"),
        ("SELECT x FROM a, b FULL JOIN d ON b.k = d.k", "SYNTAX"),
        ("SELECT x FROM a CROSS JOIN b RIGHT JOIN d ON b.k = d.k", "SYNTAX"),
        ("SELECT x FROM a JOIN b ON a.k = b.k JOIN d USING (k)", "UNRESOLVED"),
        ("SELECT x FROM a JOIN b USING (y)", "UNRESOLVED"),
        ("SELECT x FROM a JOIN (b JOIN d USING (k)) ON a.k = b.k", "SYNTAX"),
        ("SELECT x FROM a JOIN explode(array(1)) AS e USING (k)", "UNRESOLVED"),
        ("SELECT x, max(y) AS k FROM a JOIN b USING (k) GROUP BY x HAVING k > 1", "SYNTAX"),
        ("SELECT k.f FROM a FULL JOIN b USING (k)", "UNRESOLVED"),
        ("SELECT t.* REPLACE (1 AS x) FROM a t", "SYNTAX"),
    ],
)
def test_what_cannot_be_told_is_refused(query, code):
    with pytest.raises(Unsupported) as refused:
        normalise(query, SOURCES)
    assert refused.value.reason.code == code
