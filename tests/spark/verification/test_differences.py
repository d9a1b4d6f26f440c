"""Two frames as multisets: every type, and what counts as the same."""

from __future__ import annotations

import pytest

from freshline.executor.verified import Difference, DifferingRow
from freshline.spark.verification import differences as module
from freshline.spark.verification.differences import differences

pytestmark = pytest.mark.spark


@pytest.fixture
def differ(spark):
    """How the rows of one query differ from those of another."""

    def differ(actual: str, expected: str) -> Difference:
        session = spark.newSession()
        return differences(session, session.sql(actual), session.sql(expected), {}, 1000)

    return differ


def rows(difference):
    return sorted((each.times, tuple(each.row.values())) for each in difference.rows)


SAME = [
    ("NULL", "CAST(NULL AS INT)", "CAST(NULL AS INT)"),
    ("NaN", "double('NaN')", "double('NaN')"),
    ("-0.0", "-0.0D", "0.0D"),
    ("infinity", "double('Infinity')", "double('Infinity')"),
    ("the order of a sum", "0.1D + 0.2D + 0.3D", "0.3D + 0.2D + 0.1D"),
    ("a float's last digits", "CAST(0.1D + 0.2D AS FLOAT)", "CAST(0.3000001D AS FLOAT)"),
    ("-0.0 in a struct", "named_struct('a', -0.0D)", "named_struct('a', 0.0D)"),
    ("NaN in an array", "array(double('NaN'), 1D)", "array(double('NaN'), 1D)"),
    ("a map's order", "map('a', 1, 'b', 2)", "map('b', 2, 'a', 1)"),
    ("a map in a map", "map(1, map('a', 1D, 'b', 2D))", "map(1, map('b', 2D, 'a', 1D))"),
    ("a variant", """parse_json('{"a": 1, "b": 2.5}')""", """parse_json('{"b": 2.5,"a":1}')"""),
    ("binary", "X'00FF'", "X'00FF'"),
]
OTHER = [
    ("NULL and 0", "CAST(NULL AS INT)", "0"),
    ("NULL and NaN", "CAST(NULL AS DOUBLE)", "double('NaN')"),
    ("NULL and empty", "CAST(NULL AS STRING)", "''"),
    ("the ninth digit", "1234567.89D", "1234567.90D"),
    ("small numbers", "1e-20D", "2e-20D"),
    ("two infinities", "double('Infinity')", "double('-Infinity')"),
    ("a decimal's last digit", "0.12345678901234567890BD", "0.12345678901234567891BD"),
    ("a long", "9007199254740993", "9007199254740992"),
    ("a microsecond", "TIMESTAMP'2026-01-01 00:00:00.000001'", "TIMESTAMP'2026-01-01 00:00:00'"),
    ("case", "'a'", "'A'"),
    ("case, collated", "collate('a', 'UTF8_LCASE')", "collate('A', 'UTF8_LCASE')"),
    ("blanks", "'a '", "'a'"),
    ("a missing struct", "named_struct('a', CAST(NULL AS DOUBLE))",
     "CAST(NULL AS STRUCT<a: DOUBLE>)"),
    ("an array's order", "array(1D, 2D)", "array(2D, 1D)"),
    ("a map's value", "map('a', 1D)", "map('a', 2D)"),
    ("a map's NULL", "map('a', CAST(NULL AS INT))", "map('b', CAST(NULL AS INT))"),
    ("a variant's number", "parse_json('{\"a\": 1}')", "parse_json('{\"a\": 2}')"),
    ("a struct's field", "named_struct('a', 1, 'b', 2D)", "named_struct('a', 1, 'b', 2.1D)"),
    ("a variant's type", "to_variant_object(named_struct('a', DATE'2026-01-01'))",
     "to_variant_object(named_struct('a', '2026-01-01'))"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), [case[1:] for case in SAME], ids=[c[0] for c in SAME])
def test_these_are_the_same(differ, one, other):
    assert not differ(f"SELECT {one} AS v", f"SELECT {other} AS v")


@pytest.mark.parametrize(("one", "other"), [case[1:] for case in OTHER], ids=[c[0] for c in OTHER])
def test_these_are_not(differ, one, other):
    found = differ(f"SELECT {one} AS v, 7 AS k", f"SELECT {other} AS v, 7 AS k")
    assert (found.missing, found.extra) == (1, 1)
    assert sorted(each.times for each in found.rows) == [-1, 1]


_ODD = "CAST(X'FF' AS STRING)"
BESIDE_FLOATS = [
    ("a column", _ODD, "1D AS d"),
    ("a FLOAT", _ODD, "CAST(1 AS FLOAT) AS d"),
    ("a struct", f"named_struct('s', {_ODD}, 'd', 1D)", "1 AS k"),
    ("an array", f"array(named_struct('s', {_ODD}, 'd', 1D))", "1 AS k"),
    ("a map's value", f"map(1D, {_ODD})", "1 AS k"),
    ("a map's key", f"map({_ODD}, 1D)", "1 AS k"),
    ("a collated column", f"collate({_ODD}, 'UTF8_LCASE')", "1D AS d"),
]  # fmt: skip


@pytest.mark.parametrize("other", ["X'FE'", "X'EFBFBD'"])
@pytest.mark.parametrize(
    ("value", "more"), [case[1:] for case in BESIDE_FLOATS], ids=[c[0] for c in BESIDE_FLOATS]
)
def test_texts_are_compared_by_their_bytes_also_beside_floats(differ, value, more, other):
    query = f"SELECT {value} AS v, {more}"
    found = differ(query, query.replace("X'FF'", other))
    assert (found.missing, found.extra) == (1, 1)


def test_numbers_do_not_change_places_in_a_map_whose_keys_are_not_utf_8(differ):
    one = "SELECT map(CAST(X'FF' AS STRING), {0}D, CAST(X'FE' AS STRING), {1}D) AS v"
    found = differ(one.format(1, 2), one.format(2, 1))
    assert (found.missing, found.extra) == (1, 1)
    assert not differ(one.format(1, 2), one.format(1, "2.0000000000001"))


def test_each_row_counts_as_often_as_it_is_there(differ):
    found = differ(
        "SELECT * FROM VALUES (1, 'a'), (1, 'a'), (1, 'a'), (2, 'b') t(n, s)",
        "SELECT * FROM VALUES (1, 'a'), (2, 'b'), (2, 'b'), (3, NULL) t(n, s)",
    )
    assert (found.missing, found.extra) == (2, 2)
    assert rows(found)[0] == (-1, (2, "b"))
    assert DifferingRow({"n": 3, "s": None}, -1) in found.rows
    assert DifferingRow({"n": 1, "s": "a"}, 2) in found.rows


def test_rows_that_rounding_parts_are_paired_by_what_else_they_are(differ):
    # 1.0000000005 is where ten digits round up: the two sides are 1e-16 and 1e-13 apart.
    one = "SELECT * FROM VALUES (1, 1.00000000050000D, 5), (2, 2D, 5), (3, 1.0000000005D, 5) t"
    other = "SELECT * FROM VALUES (1, 1.00000000049999D, 5), (2, 2D, 5), (4, 1.0000000005D, 5) t"
    found = differ(one, other)
    assert rows(found) == [(-1, (4, 1.0000000005, 5)), (1, (3, 1.0000000005, 5))]


def test_rows_are_paired_by_the_bytes_of_their_texts(differ):
    one = "SELECT * FROM VALUES (X'FF', 1.0000000005D), (X'FE', 1.00000000049999D) t(s, d)"
    other = "SELECT * FROM VALUES (X'FE', 1.0000000005D), (X'FF', 1.00000000049999D) t(s, d)"
    texts = "SELECT CAST(s AS STRING) AS s, named_struct('d', d, 's', CAST(s AS STRING)) AS v"
    assert not differ(f"{texts} FROM ({one})", f"{texts} FROM ({other})")
    assert differ(f"{texts} FROM ({one})", f"{texts} FROM ({other} WHERE s = X'FF')").missing == 0


def test_what_a_sum_leaves_of_nothing_is_measured_by_its_column(differ):
    one, other = (
        "SELECT explode(array(0.1D + 0.2D - 0.3D, {0}D)) AS v",
        "SELECT explode(array(0D, {0}D)) AS v",
    )
    assert not differ(one.format("1e-3"), other.format("1e-3"))
    assert differ(one.format("1e-15"), other.format("1e-15"))


def test_other_columns_are_told_and_all_rows_differ(differ):
    found = differ("SELECT 1 AS n", "SELECT 1 AS m UNION ALL SELECT 2")
    assert (found.missing, found.extra) == (2, 1)
    assert found.columns == "it has the columns struct<n:int>, its query gives struct<m:int>"


def test_of_very_many_rows_the_number_is_told(differ, monkeypatch):
    monkeypatch.setattr(module, "MOST_ROWS", 10)
    found = differ("SELECT id FROM range(100)", "SELECT id + 90 AS id FROM range(100)")
    assert (found.missing, found.extra, len(found.rows)) == (90, 90, 10)


def test_where_nothing_differs_it_takes_one_job(spark):
    session = spark.newSession()
    context = spark.sparkContext
    context.setJobGroup("differences", "one job")
    try:
        one, other = (session.sql("SELECT id, id / 7 AS part FROM range(1000)") for _ in "ab")
        assert not differences(session, one, other, {}, 1000)
        jobs = context.statusTracker().getJobIdsForGroup("differences")
        assert len(jobs) == 1
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
