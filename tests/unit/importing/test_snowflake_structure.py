"""What belongs together in a query stays together: operators without parentheses, rows."""

from __future__ import annotations

import pytest

from tests.support.snowflake import on_one_line, one_query


@pytest.mark.parametrize(
    "loose",
    [
        "s || q + 1",
        "s || q - 1 || s",
        "s LIKE 'a' = s LIKE 'b'",
        "q = a = f",
        "q <> a IN (1, 2)",
        "q BETWEEN 1 AND a = f",
        "q > 3 IS TRUE",
        "s = 'a' IS NULL",
        "q = 1 AND s = 'a' IS NOT NULL",
        "s IS NULL = (q = 1)",
        "s LIKE 'a' IS NULL",
        "case when s = 'a' IS NULL then 1 end",
    ],
)
def test_operators_that_bind_otherwise_in_spark_are_refused(tmp_path, loose):
    """Before, `s || (q + 1)` lost the structure that it was read with: `(s || q) + 1` in Spark."""
    refusal = one_query(tmp_path, f"select {loose} as v from t").refusal
    assert refusal is not None
    assert refusal.endswith("has no parentheses that say what belongs together: write them")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("s || (q + 1)", "s || (q + 1)"),
        ("(s || q) || '-' || q * 2", "(s || q) || '-' || q * 2"),
        ("q + 1 || s", "q + 1 || s"),
        ("(q = a) = (f = 1)", "(q = a) = (f = 1)"),
        ("(s = 'a') IS NULL", "(s = 'a') IS NULL"),
        ("(s IS NULL) = (q = 1)", "(s IS NULL) = (q = 1)"),
        ("exists (select 1 from t) = (q > 1)", "EXISTS(SELECT 1 FROM shop.raw.t AS t) = (q > 1)"),
        (
            "(q = 1 or q = 2, s) in ((true, 'a'), (q > 3, s))",
            "(((q = 1 OR q = 2) = TRUE AND s = 'a') OR ((q = 1 OR q = 2) = (q > 3) AND s = s))",
        ),
    ],
)
def test_what_belongs_together_stays_together(tmp_path, value, text):
    item = one_query(tmp_path, f"select {value} as v from t")
    assert f"SELECT {text} AS v" in on_one_line(item)
