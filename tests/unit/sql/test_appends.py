"""When the output of new rows can be added: what the analysis says, and DuckDB confirms."""

from __future__ import annotations

from collections import Counter

import duckdb
import pytest

from freshline.sql.appends import appends
from freshline.sql.query.normal import normalise
from freshline.sql.query.records import Reason
from tests.support.view_cases import SOURCES

APPENDS = [
    "SELECT * FROM orders WHERE amount > 1",
    "SELECT o.id, u.name FROM orders o JOIN users u ON u.usr = o.usr",
    "SELECT o.id, u.name FROM orders o LEFT JOIN users u ON u.usr = o.usr",
    "SELECT o.id, u.name FROM users u RIGHT JOIN orders o USING (usr)",
    "SELECT id FROM orders UNION ALL SELECT id FROM clicks",
    "SELECT id FROM orders UNION ALL SELECT -id FROM orders",
    "SELECT * FROM orders o WHERE EXISTS (SELECT 1 FROM users u WHERE u.usr = o.usr)",
    "SELECT * FROM orders o LEFT ANTI JOIN users u ON u.usr = o.usr",
    "SELECT id FROM (SELECT id, usr FROM orders WHERE id > 1) WHERE usr = 2",
    "WITH a AS (SELECT * FROM orders) SELECT id FROM a ORDER BY ts",
    (
        "SELECT o.id, u.n FROM orders o JOIN (SELECT usr, count(*) AS n FROM users GROUP BY usr) u "
        "ON u.usr = o.usr"
    ),
]

REFUSED = {
    "AGGREGATE": "SELECT count(*) AS n FROM orders",
    "DISTINCT": "SELECT DISTINCT usr FROM orders",
    "WINDOW": "SELECT rank() OVER (ORDER BY id) AS r FROM orders",
    "LIMIT": "SELECT id FROM orders ORDER BY id LIMIT 1",
    "SET_OPERATION": "SELECT usr FROM orders UNION SELECT usr FROM clicks",
    "STREAM_JOIN": "SELECT o.id FROM orders o JOIN clicks c ON o.usr = c.usr",
    "STATIC_OUTER": "SELECT u.name, o.id FROM users u LEFT JOIN orders o ON o.usr = u.usr",
    "STATIC_BRANCH": "SELECT usr FROM orders UNION ALL SELECT usr FROM users",
    "SUBQUERY": "SELECT id FROM orders WHERE id - 7 IN (SELECT id FROM clicks)",
}


@pytest.mark.parametrize("query", APPENDS)
def test_these_append(query):
    assert appends(query, SOURCES) == "joint"


@pytest.mark.parametrize(("code", "query"), REFUSED.items())
def test_these_do_not(code, query):
    reason = appends(query, SOURCES)
    assert isinstance(reason, Reason)
    assert reason.code == code


def test_more_that_do_not():
    codes = {
        "SELECT * FROM orders FULL JOIN users USING (usr)": "STATIC_OUTER",
        "SELECT id, rand() AS r FROM orders": "VOLATILE",
        "SELECT name FROM users": "STATIC",
        "SELECT id FROM orders EXCEPT SELECT id FROM clicks": "SET_OPERATION",
        "SELECT o.id FROM orders o JOIN (SELECT DISTINCT usr FROM clicks) c ON TRUE": "DISTINCT",
    }
    for query, code in codes.items():
        reason = appends(query, SOURCES)
        assert isinstance(reason, Reason)
        assert reason.code == code


def grows_by_its_new_rows(query):
    """Whether the query over all rows is that over the old plus that over the new."""
    text = normalise(query, SOURCES).sql(dialect="duckdb")
    connection = duckdb.connect(":memory:", config={"threads": 1})

    def run(low, high):
        ids = f"SELECT i AS id, i % 3 AS usr FROM range({low}, {high}) r(i)"
        connection.execute(
            "CREATE OR REPLACE TABLE orders AS SELECT TIMESTAMP '2024-01-01' AS ts, TIMESTAMP "
            f"'2024-01-01' AS shipped, id, usr, id % 5 AS amount FROM ({ids})"
        )
        connection.execute(
            "CREATE OR REPLACE TABLE clicks AS SELECT TIMESTAMP '2024-01-01' AS ts, id, usr, "
            f"1 AS n FROM ({ids})"
        )
        connection.execute(
            "CREATE OR REPLACE TABLE users AS SELECT i AS usr, 'n' || i AS name, TIMESTAMP "
            "'2024-01-01' AS since FROM range(1, 5) r(i)"
        )
        return Counter(connection.execute(text).fetchall())

    try:
        return run(0, 12) == run(0, 7) + run(7, 12)
    finally:
        connection.close()


@pytest.mark.parametrize("query", APPENDS)
def test_duckdb_agrees_that_they_append(query):
    assert grows_by_its_new_rows(query)


@pytest.mark.parametrize("query", REFUSED.values())
def test_duckdb_agrees_that_they_do_not(query):
    assert not grows_by_its_new_rows(query)
