"""What each table's new rows make with all rows of the others: all that a join gains, no more.

DuckDB judges random joins over random rows, which come in two batches. Of the other tables only
those rows are read that an equality lets meet the new ones.
"""

from __future__ import annotations

from collections.abc import Mapping

import duckdb
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from freshline.sql.appends import appends_of_each
from freshline.sql.query.equalities import equalities
from freshline.sql.query.normal import normalise, source_name
from freshline.sql.query.records import Source
from tests.unit.sql.merging import first_difference

SOURCES = [
    Source("a", {"id": "bigint", "x": "int"}),
    Source("b", {"id": "bigint", "y": "int"}),
    Source("c", {"id": "bigint", "z": "int"}),
    Source("k", {"id": "bigint", "w": "int"}, static=True),
]
ALL = {"a", "b", "c"}


def made(query: str, streams: set[str]) -> bool:
    """Whether the query's rows are said to be made by each of these streams."""
    read = [source for source in SOURCES if source.static or source.name in streams]
    return appends_of_each(normalise(query, read), read)


@pytest.mark.parametrize(
    ("query", "streams"),
    [
        ("SELECT a.id, y FROM a JOIN b ON a.id = b.id", "ab"),
        ("select A.id, Y from a as A, b where A.ID = b.id and not y <=> x", "ab"),
        ("SELECT * FROM a JOIN b ON a.x < b.y LEFT JOIN k ON k.id = a.id AND w > y", "ab"),
        ("SELECT a.id FROM a CROSS JOIN b JOIN c ON c.id = a.id + b.id", "abc"),
        ("SELECT q.id FROM (SELECT id FROM a WHERE x > 0) q JOIN b ON q.id = b.id", "ab"),
        ("WITH q AS (SELECT a.id, y FROM a JOIN b USING (id)) SELECT id FROM q WHERE y > 1", "ab"),
        (
            (
                "SELECT x FROM a JOIN b ON x = y UNION ALL"
                " SELECT y FROM b JOIN a ON a.id = b.id WHERE x IN (SELECT w FROM k)"
            ),
            "ab",
        ),
        (
            "SELECT a.id, e FROM a JOIN b ON a.id = b.id LATERAL VIEW explode(array(x, y)) t AS e",
            "ab",
        ),
    ],
)
def test_made_by_each(query, streams):
    assert made(query, set(streams))


@pytest.mark.parametrize(
    ("query", "streams"),
    [
        ("SELECT a.id, y FROM a LEFT JOIN b ON a.id = b.id", "ab"),
        ("SELECT a.id FROM a LEFT SEMI JOIN b ON a.id = b.id", "ab"),
        ("SELECT a.id FROM a JOIN b ON a.id = b.id", "abc"),  # c is read by what nothing uses
        ("SELECT p.id FROM a p JOIN a q ON p.id = q.id JOIN b ON b.id = p.id", "ab"),
        ("SELECT DISTINCT a.id FROM a JOIN b ON a.id = b.id", "ab"),
        ("SELECT a.id FROM a JOIN b ON a.id = b.id ORDER BY y LIMIT 3", "ab"),
        ("SELECT a.id, rank() OVER (ORDER BY y) AS r FROM a JOIN b ON a.id = b.id", "ab"),
        ("SELECT count(*) AS n FROM a JOIN b ON a.id = b.id", "ab"),
        ("SELECT a.id FROM a JOIN b ON a.id = b.id WHERE x > (SELECT min(z) FROM c)", "abc"),
        ("SELECT x FROM a JOIN b ON x = y UNION ALL SELECT x FROM a", "ab"),
        ("SELECT x FROM a UNION ALL SELECT y FROM b", "ab"),
        ("SELECT x FROM a JOIN b ON x = y UNION SELECT y FROM b JOIN a ON x = y", "ab"),
        ("SELECT k.id FROM k LEFT JOIN a ON a.id = k.id JOIN b ON b.id = k.id", "ab"),
        ("SELECT a.id FROM a JOIN (SELECT id, sum(y) FROM b GROUP BY id) q ON q.id = a.id", "ab"),
    ],
)  # fmt: skip
def test_not_made_by_each(query, streams):
    assert not made(query, set(streams))


_JOINS = (*["JOIN"] * 8, "CROSS JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
_TABLES = (
    *("a", "b", "c", "k"),
    *("(SELECT id, x AS v FROM a WHERE x > 0)", "(SELECT id, y + 1 AS v FROM b)"),
    "(SELECT b.id, x AS v FROM b JOIN a ON x = y)",
)
_VALUES = {"a": "x", "b": "y", "c": "z", "k": "w"}


@st.composite
def joins(draw: st.DrawFn) -> str:
    """Two or three tables in joins of all kinds, with conditions on any of them."""
    tables = draw(st.lists(st.sampled_from(_TABLES), min_size=2, max_size=3, unique=True))
    values = [f"t{at}.{_VALUES.get(table, 'v')}" for at, table in enumerate(tables)]
    text = f"{tables[0]} AS t0"
    columns = st.sampled_from
    for at, table in enumerate(tables[1:], start=1):
        kind = draw(st.sampled_from(_JOINS))
        text += f" {kind} {table} AS t{at}"
        if kind != "CROSS JOIN":
            ours = draw(columns([f"t{at}.id", values[at]]))
            theirs = draw(columns([f"t{at - 1}.id", values[at - 1], "t0.id"]))
            operator = draw(st.sampled_from(["=", "=", "=", "<", "<=>"]))
            text += f" ON {theirs} {operator} {ours}"
    shown = ", ".join(f"{value} AS s{at}" for at, value in enumerate(values))
    where = draw(st.sampled_from(["", "", " WHERE t0.id = t1.id", " WHERE t1.id > 0"]))
    query = f"SELECT t0.id AS i, {shown} FROM {text}{where}"
    return f"{query} UNION ALL {query}" if draw(st.integers(0, 5)) == 0 else query


_number = st.none() | st.integers(0, 3)
_row = st.tuples(_number, _number, st.booleans())


@pytest.mark.slow
@settings(max_examples=150)
@given(
    query=joins(), rows=st.fixed_dictionaries({name: st.lists(_row, max_size=5) for name in "abck"})
)
def test_what_each_makes_is_what_is_gained(query, rows):
    tables = normalise(query, SOURCES).find_all(exp.Table)
    streams = {source_name(table) for table in tables} & ALL
    read = [source for source in SOURCES if source.static or source.name in streams]
    tree = normalise(query, read)
    if len(streams) < 2 or not appends_of_each(tree, read):
        event("refused")
        return
    event("made by each")
    text = tree.sql("duckdb")
    with duckdb.connect(config={"threads": 1}) as connection:
        for source in SOURCES:
            second = list(source.columns)[1]
            connection.execute(
                f"CREATE TABLE all_{source.name} (id BIGINT, {second} INT, old BOOL)"
            )
            if rows[source.name]:
                statement = f"INSERT INTO all_{source.name} VALUES (?, ?, ?)"
                connection.executemany(statement, rows[source.name])

        def over(shown: Mapping[str, str]) -> list[tuple[object, ...]]:
            for name in "abck":
                connection.execute(
                    f"CREATE OR REPLACE TEMP VIEW {name} AS SELECT * EXCLUDE (old) FROM all_{name}"
                    f" WHERE {shown.get(name, 'true')}"
                )
            return connection.execute(text).fetchall()

        names = sorted(streams)
        grown = over(dict.fromkeys(names, "old"))
        for number, name in enumerate(names):
            shown = {**dict.fromkeys(names[number + 1 :], "old"), name: "NOT old"}
            for each in equalities(tree):
                if each.other == name and each.source in streams:
                    met = f"SELECT {each.other_column} FROM all_{name} WHERE NOT old"
                    rest = shown.get(each.source, "true")
                    shown[each.source] = f"{rest} AND {each.column} IN ({met})"
            grown += over(shown)
        assert first_difference(over({}), grown) is None, query
