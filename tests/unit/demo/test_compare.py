from __future__ import annotations

import duckdb
import pytest

from demo.compare import difference

EXACT = "FROM (VALUES (1, 'a'), (1, 'a'), (2, NULL)) t(id, word)"
INEXACT = "FROM (VALUES (2, 0.3::DOUBLE), (1, NULL)) t(id, share)"


@pytest.fixture
def db():
    with duckdb.connect() as connection:
        yield connection


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (EXACT, "FROM (VALUES (2, NULL), (1, 'a'), (1, 'a')) t(id, word)"),
        (INEXACT, "FROM (VALUES (1, NULL), (2, (0.1::DOUBLE + 0.2))) t(id, share)"),
        (
            "SELECT DATE '1992-01-01' AS month, 0.5::DOUBLE AS share",
            "SELECT TIMESTAMP '1992-01-01' AS month, 0.5::DOUBLE AS share",
        ),
        (
            "SELECT 1.50::DECIMAL(15,2) AS price, DATE '1992-01-01' AS month",
            "SELECT 1.5000::DECIMAL(38,4) AS price, TIMESTAMP '1992-01-01' AS month",
        ),
    ],
    ids=[
        "whatever-the-order",
        "sums-in-another-order",
        "a-date-at-midnight",
        "other-width-same-value",
    ],
)
def test_equal_rows_do_not_differ(db, actual, expected):
    assert difference(db, actual, expected) is None


@pytest.mark.parametrize(
    ("actual", "expected", "text"),
    [
        (
            EXACT,
            "FROM (VALUES (1, 'a'), (2, NULL)) t(id, word)",
            "too many: 1 ((1, 'a')); missing: none",
        ),
        (
            EXACT,
            "FROM (VALUES (1, 'a'), (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')) t(id, word)",
            "too many: 1 ((2, None)); missing: 3 ((2, 'b'), (3, 'c'), ...)",
        ),
        (
            EXACT,
            "SELECT 'a' AS word, 1 AS id",
            "it has the columns id, word, its query word, id",
        ),
        (
            INEXACT,
            "FROM (VALUES (2, 0.300000001::DOUBLE), (1, NULL)) t(id, share)",
            "row (2, 0.3) should be (2, 0.300000001)",
        ),
        (
            INEXACT,
            "FROM (VALUES (2, 0.3::DOUBLE), (1, 0.0)) t(id, share)",
            "row (1, None) should be (1, 0.0)",
        ),
        (INEXACT, "SELECT 2 AS id, 0.3::DOUBLE AS share", "it has 2 rows, its query 1"),
    ],
    ids=["a-row-twice", "other-rows", "columns", "beyond-the-tolerance", "null", "a-row-missing"],
)
def test_what_differs_is_named(db, actual, expected, text):
    assert difference(db, actual, expected) == text
