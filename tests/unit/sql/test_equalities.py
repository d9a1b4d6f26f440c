"""Rows that an equality says are not used can be left out; DuckDB judges."""

from __future__ import annotations

import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st

from freshline.sql.query.equalities import equalities
from freshline.sql.query.normal import normalise
from freshline.sql.query.records import Equality
from tests.unit.sql.merging import Merging, first_difference, in_duckdb
from tests.unit.sql.test_decompose_laws import WITHOUT_KEYS, _group, _maybe, _rows, queries

MET = [Equality("s", "id", "t", "tid"), Equality("t", "tid", "s", "id")]


def found(query: str) -> list[Equality]:
    return sorted(equalities(normalise(query, WITHOUT_KEYS)), key=str)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM s JOIN t ON s.id = t.tid",
        "select count(*) from s as one, t as two where TWO.tid = ID",
        "SELECT * FROM s CROSS JOIN t WHERE (x > 0 AND (tid = id)) AND y IS NULL",
        "SELECT * FROM (SELECT s.g, y FROM s JOIN t ON x = 1 AND tid = id) WHERE y = 2",
        "SELECT * FROM s LEFT JOIN t ON s.x = t.y WHERE tid = id",
        "SELECT count(*) FROM s JOIN r ON r.g = s.g JOIN t ON tid = id AND y > w",
    ],
)
def test_what_every_row_meets_is_found(query):
    assert {*MET} <= {*found(query)}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM s LEFT JOIN t ON s.id = t.tid",
        "SELECT count(*) FROM s FULL JOIN t ON s.id = t.tid",
        "SELECT count(*) FROM s JOIN t ON s.id = t.tid OR y = 1",
        "SELECT count(*) FROM s JOIN t ON NOT s.id = t.tid",
        "SELECT count(*) FROM s JOIN t ON s.id <=> t.tid",
        "SELECT count(*) FROM s JOIN t ON s.id = t.tid + 1",
        "SELECT id = tid FROM s CROSS JOIN t",
        "SELECT count(*) FROM s WHERE EXISTS (SELECT 1 FROM t WHERE tid = id)",
        "SELECT * FROM s WHERE id IN (SELECT tid FROM t)",
        "SELECT count(*) FROM s AS a JOIN s AS b ON a.id = b.x",
    ],
)
def test_what_some_rows_meet_is_not(query):
    assert found(query) == []


def test_a_source_that_is_mentioned_again_is_not_left_out():
    query = "SELECT count(*) FROM s JOIN t ON id = tid WHERE x > (SELECT min(y) FROM t)"
    assert found(query) == MET[:1]


def test_rows_of_a_function_are_not_those_of_a_table_of_its_name():
    assert found("SELECT count(*) FROM s JOIN t(3) AS f ON s.id = f.id CROSS JOIN t") == []


def test_a_field_within_a_column_is_no_column():
    assert (
        equalities(
            sqlglot.parse_one(
                "SELECT 1 FROM a AS one, b AS two WHERE one.two.x = two.y", dialect="spark"
            )
        )
        == ()
    )


@pytest.fixture(scope="module")
def database():
    return Merging(WITHOUT_KEYS, 3)


@pytest.mark.slow
@settings(max_examples=60)
@given(
    query=queries(),
    rows=st.lists(_rows, max_size=14),
    others=st.lists(st.tuples(st.integers(0, 13), _group, _maybe), max_size=8),
)
def test_without_the_rows_that_are_not_used_a_query_gives_the_same(database, query, rows, others):
    database.load(
        {
            "s": [(at, *row) for at, row in enumerate(rows)],
            "t": [(*row, 0) for row in others],
            "r": [("a", 1), ("a", 2), ("b", None), ("c", 3), (None, 4)],
        }
    )
    tree, run = normalise(query, WITHOUT_KEYS), database.database.execute
    text = tree.sql("spark")
    expected = database.at_once(text)
    for each in equalities(tree):
        if each.source not in database.streams:
            continue
        database.show()
        run(
            f"CREATE OR REPLACE TEMP VIEW {each.source} AS SELECT * EXCLUDE (batch_of) "
            f"FROM all_{each.source} WHERE {each.column} IN (SELECT {each.other_column} "
            f"FROM {each.other})"
        )
        rest = run(in_duckdb(text)).fetchall()
        database._shown.clear()
        assert first_difference(expected, rest) is None, f"{each}\n{text}"
