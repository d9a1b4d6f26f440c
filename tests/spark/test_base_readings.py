"""Spark's own plan of a base table's query, read beside its text; and what both are right about.

Queries are put together at random. Where either reading lets one pass, its rows over all records
are those over some records and those over the others.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

from freshline.project import analysis as of_text
from freshline.spark.analysis import analyse
from freshline.spark.engine import jvm
from freshline.spark.views.readings import analysed_tree
from freshline.sql.readings.linearity import row_wise_fault
from freshline.sql.text.reads import rewritten
from freshline.sql.text.rowwise import Verdict, row_wise
from tests.support.share import WHOLE

pytestmark = pytest.mark.spark

SOME = [(1, 1), (2, 3), (2, 3), (5, 5)]
OTHERS = [(2, 3), (None, 4), (4, None), (1, 9)]
S = [(1, 10), (2, 20), (2, 21), (None, 30), (6, 60)]
STATICS = (
    "s", "(SELECT a, max(b) AS b FROM s GROUP BY a)", "(VALUES (1, 2), (2, 5) AS v(a, b))",
    "(SELECT DISTINCT a, b FROM s ORDER BY a, b LIMIT 2)",
)  # fmt: skip
JOINS = (
    "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL OUTER JOIN", "LEFT SEMI JOIN", "ANTI JOIN",
)  # fmt: skip
SEVERAL = (
    "SELECT DISTINCT a, b FROM {f} x", "SELECT a, sum(b) AS b FROM {f} x GROUP BY a",
    "SELECT a, b FROM {f} x ORDER BY a LIMIT 2", "SELECT 1 AS a, 2 AS b FROM {f} x HAVING true",
    "SELECT a, row_number() OVER (ORDER BY b) AS b FROM {f} x", "SELECT a, b FROM {f} x OFFSET 1",
    "SELECT a, b FROM {f} x QUALIFY row_number() OVER (ORDER BY b) = 1",
    "SELECT x.* FROM {f} w PIVOT (sum(a) FOR b IN (1 AS a, 3 AS b)) x",
)  # fmt: skip
STEPS = (
    "WHERE a > 0", "EXTEND a + 1 AS n |> SELECT n AS a, b", "SET b = 3", "SELECT DISTINCT a, b",
    "AGGREGATE sum(b) AS b GROUP BY a", "ORDER BY a", "LIMIT 2", "UNION ALL (TABLE s)",
    "EXCEPT SELECT a, b FROM s", "AS w |> SELECT w.a, w.b", "WHERE a IN (SELECT a FROM s)",
    "LEFT JOIN s y USING (a) |> SELECT a, 1 AS b", "RIGHT JOIN s y USING (a) |> SELECT a, 1 AS b",
)  # fmt: skip


def any_query(chance: random.Random, depth: int) -> str:
    """One of two columns that reads the feed ``f`` once."""
    pick = chance.choice
    feed = f"({any_query(chance, depth - 1)})" if depth else pick(["STREAM f", "stream(F)"])
    other, kind = pick(STATICS), pick(JOINS)
    sides = chance.sample([f"{feed} AS x", f"{other} AS y"], 2)
    steps = " |> ".join(chance.sample(STEPS, chance.randint(1, 2)))
    inner = chance.sample([(feed, "x"), (other, "y")], 2)
    forms = [
        f"SELECT x.a, x.b + 1 AS b FROM {feed} x WHERE x.a > 1",
        f"SELECT a, 1 AS b FROM {sides[0]} {kind} {sides[1]} USING (a)",
        f"SELECT a, 1 AS b FROM ({sides[0]} {kind} {sides[1]} USING (a))",
        f"SELECT x.a, y.b FROM {sides[0]}, {sides[1]}",
        f"SELECT a, b FROM {other} y NATURAL {pick(['', 'LEFT', 'RIGHT'])} JOIN {feed} x",
        (
            f"SELECT {inner[0][1]}.* FROM {inner[0][0]} {inner[0][1]}"
            f" WHERE {pick(['', 'NOT '])}EXISTS"
            f" (SELECT 1 FROM {inner[1][0]} {inner[1][1]} WHERE x.a = y.a)"
        ),
        (
            f"SELECT {inner[0][1]}.* FROM {inner[0][0]} {inner[0][1]}"
            f" WHERE a {pick(['', 'NOT '])}IN (SELECT a FROM {inner[1][0]} z)"
        ),
        f"SELECT a, (SELECT max(b) FROM {inner[1][0]} z) AS b FROM {inner[0][0]} w",
        pick(SEVERAL).format(f=feed),
        (
            f"SELECT a, b FROM {inner[0][0]} v {pick(['UNION ALL', 'UNION', 'EXCEPT'])}"
            f" SELECT a, b FROM {inner[1][0]} w"
        ),
        (
            f"SELECT x.a, y.b FROM {feed} x {pick(['LEFT JOIN', ','])}"
            f" LATERAL (SELECT max(b) AS b FROM {other} i WHERE i.a = x.a) y"
        ),
        f"SELECT x.a, y.b FROM {other} x, LATERAL (SELECT b FROM {feed} i WHERE i.a = x.a) y",
        f"SELECT a, u AS b FROM {feed} x LATERAL VIEW explode(array(a, b)) e AS u",
        f"SELECT v AS a, 1 AS b FROM {feed} UNPIVOT (v FOR k IN (a, b))",
        (
            f"WITH w AS (SELECT a, b FROM {feed}) SELECT w.a, y.b"
            f" FROM w {pick(['LEFT', 'RIGHT', ''])} JOIN {other} y USING (a)"
        ),
        *[f"FROM {feed} x |> SELECT a, b |> {steps}" for _ in range(3)],
    ]
    query = pick(forms)
    return query.lower() if chance.random() < 0.2 else query


@pytest.fixture
def session(spark):
    own = spark.newSession()
    show(own, "s", S)
    return own


def show(session, name, rows):
    session.createDataFrame(rows, "a INT, b INT").createOrReplaceTempView(name)


@pytest.mark.parametrize("seed", range(20 if WHOLE else 1))
def test_what_passes_adds_up(session, seed):
    chance = random.Random(seed)
    show(session, "f", [])
    passed, refused, strict = {}, 0, 0
    for _ in range(40):
        query = any_query(chance, chance.choice([0, 0, 1]))
        text = rewritten(query, {"f": "f", "F": "f"})
        first = row_wise(query).fault
        second = row_wise_fault(analysed_tree(jvm.query(session, text)), "f")
        assert first is not None or second is None, f"the text passed alone: {query}: {second}"
        refused += second is not None
        strict += first is not None and second is None
        if second is None:
            passed[query] = text
    assert len(passed) > 8
    assert refused > 12
    assert strict < 10  # the text's reading is stricter where Spark alone knows a form
    every = " UNION ALL ".join(
        f"SELECT {at} AS number, q.* FROM ({text}) q" for at, text in enumerate(passed.values())
    )
    found = []
    for rows in (SOME + OTHERS, SOME, OTHERS):
        show(session, "f", rows)
        found.append(Counter(map(tuple, session.sql(every).collect())))
    together, one, two = found
    strange = {row[0] for row in (one + two - together) + (together - one - two)}
    assert [query for at, query in enumerate(passed) if at in strange] == []


def test_a_view_of_the_session_is_looked_into(session):
    show(session, "f", SOME)
    session.sql("SELECT a FROM f WHERE b > 1").createOrReplaceTempView("each")
    session.sql("SELECT DISTINCT a FROM each").createOrReplaceTempView("several")
    faults = [
        row_wise_fault(analysed_tree(session.sql(f"SELECT a FROM {view}")), "f")
        for view in ("each", "several")
    ]
    assert faults == [None, "Distinct looks at several rows at once"]


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ("FROM STREAM f |> WHERE a > 0 |> SELECT DISTINCT a", "Distinct looks at several rows"),
        ("SELECT s.a FROM (STREAM f FULL JOIN {s} s ON f.a = s.a)", "is a join of kind FullOuter"),
        ("SELECT a FROM STREAM f UNION ALL SELECT a FROM {s}", "there are rows beside those of f"),
        ("WITH f AS (SELECT 1 AS a) SELECT a FROM STREAM f", "nothing of f is read"),
        ("SELECT a FROM {s} WHERE a IN (SELECT a FROM STREAM f)", "a subquery that reads rows"),
    ],
)
def test_what_the_text_would_let_pass_is_refused_by_the_plan(shop, monkeypatch, query, fault):
    monkeypatch.setattr(of_text, "row_wise", lambda _: Verdict(None, analysed=True))
    static = str(shop.root / "static")
    shop.session.createDataFrame(S, "a INT, b INT").write.format("delta").save(static)
    shop.feed("f", "csv", "a INT, b INT")
    shop.table("orders", query.format(s=f"delta.`{static}`"))
    (error,) = analyse(shop.project, shop.session).errors
    assert error.code == "not-row-wise"
    assert fault in error.what
