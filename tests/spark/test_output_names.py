"""Spark as the judge of what a query's columns are called, where its text alone tells it."""

from __future__ import annotations

import pytest

from freshline.sql.text.outputs import output_columns

pytestmark = pytest.mark.spark

TABLE = """
    SELECT 1 AS a, 2 AS `b c`, named_struct('x', named_struct('y', 1), 'Z', 2) AS s,
      array(named_struct('price', 1, 'of', named_struct('z', 2))) AS items, map('k', 1) AS m,
      map('k', named_struct('price', 1)) AS prices, '{"q": 1}' AS text
"""
KNOWN = """
    a; A; t.a; T.`A`; `b c`; t.`b c`; (a); s.x; s.X; s.x.y; t.s.x.y; m.k; prices.k.price
"""
MADE_UP = """
    items[0].price; items[0].of.z; t.items[0].price; `items`[0].`price`; items.price; items.of.z;
    m['k']; prices['k'].price; (s.x).Y; (s).z; (s); named_struct('q', a).q; struct(a).a; a + 1; -a;
    a IS NULL; a::STRING; CAST(a AS INT); count(*); sum(a) FILTER (WHERE a > 0); max(s).x; items;
    max(s).x.y; first(items)[0].price; from_json(text, 'q INT').q; (SELECT max(a) FROM t); a = 1;
    1; 'x'; NULL;
    (SELECT max(s) FROM t).x; CASE WHEN a = 1 THEN s.x END; coalesce(s.x, s.x).y; if(a = 1, s, s).x;
    sum(a) OVER (); s.*; explode(items); posexplode(items); inline(items); explode(items) AS each;
    stack(2, 1, 2); explode(m) AS (p, q); current_date; current_user; array(s)[0].x;
    CAST(s AS STRUCT<x: STRUCT<y: INT>, z: INT>).x; transform(items, i -> i.price);
    filter(items, i -> true)[0].price
"""


def items(text):
    return [" ".join(each.split()) for each in text.split(";")]


@pytest.fixture(scope="module")
def session(spark):
    session = spark.newSession()
    session.sql(TABLE).createOrReplaceTempView("t")
    return session


@pytest.mark.parametrize("item", items(KNOWN))
def test_a_column_and_its_fields_have_the_names_that_spark_gives_them(session, item):
    query = f"SELECT {item} FROM t"
    assert output_columns(query) in (None, tuple(session.sql(query).columns))


def test_most_of_these_are_known_from_the_text():
    unknown = [each for each in items(KNOWN) if output_columns(f"SELECT {each} FROM t") is None]
    assert unknown == []


@pytest.mark.parametrize("item", items(MADE_UP))
def test_no_expression_has_another_name_than_spark_makes_up_for_it(session, item):
    query = f"SELECT {item} FROM t"
    assert output_columns(query) in (None, tuple(session.sql(query).columns))
