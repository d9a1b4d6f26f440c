"""Products, quotients and averages have Snowflake's digits."""

from __future__ import annotations

import pytest

from freshline.importing.snowflake.script import read_snowflake
from freshline.importing.writing import write
from freshline.project.load import load_project
from tests.support.snowflake import DECLARED, on_one_line, one_query


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("select a / q as v from t",
         "CAST(CAST(a AS DECIMAL(38, 2)) / CAST(q AS DECIMAL(38, 0)) AS DECIMAL(38, 8)) AS v"),
        ("select avg(q) as v from t", "AVG(CAST(q AS DECIMAL(38, 2))) AS v"),
        ("select avg(distinct q) as v from t", "AVG(DISTINCT CAST(q AS DECIMAL(38, 2))) AS v"),
        ("select avg(a) over () as v from t", "AVG(CAST(a AS DECIMAL(12, 4))) OVER () AS v"),
        ("select avg(r) as v from t", "AVG(r) AS v"),
        ("select r * r as v from t", "CAST(r * r AS DECIMAL(38, 12)) AS v"),
        ("select q * r as v from t", "q * r AS v"),
        ("select f / q as v, avg(f) as n from t", "f / q AS v, AVG(f) AS n"),
        ("with c as (select q z from t) select z / 3 as v from c",
         "CAST(CAST(z AS DECIMAL(38, 0)) / CAST(3 AS DECIMAL(38, 0)) AS DECIMAL(38, 6)) AS v"),
        ("select i.z / 3 as v from (select max(a) z from t) i",
         "CAST(CAST(i.z AS DECIMAL(38, 2)) / CAST(3 AS DECIMAL(38, 0)) AS DECIMAL(38, 8)) AS v"),
        ("select y / 3 as v from w",
         "CAST(CAST(y AS DECIMAL(38, 8)) / CAST(3 AS DECIMAL(38, 0)) AS DECIMAL(38, 12)) AS v"),
        ("select (select max(q) from t) / 3 as v from t",
         "CAST(CAST((SELECT MAX(q) FROM shop.raw.t AS t) AS DECIMAL(38, 0)) / CAST(3 AS"),
        ("select lag(a, 1, 0) over (order by q) as v from t", "LAG(a, 1, 0) OVER"),
        ("select * from t where (select sum(b.a) from t b) / 2 > 1",
         "DECIMAL(38, 2)) / CAST(2 AS DECIMAL(38, 0)) AS DECIMAL(38, 8)) > 1"),
    ],
)  # fmt: skip
def test_digits_follow_from_the_types_that_the_script_declares(tmp_path, query, text):
    item = one_query(tmp_path, query)
    assert text in on_one_line(item)
    assert item.changed == ()


@pytest.mark.parametrize(
    ("query", "text", "noted"),
    [
        ("select z / 3 as v from other", "(z * CAST(1 AS DECIMAL(38, 0))) / CAST(3", "`/` keeps"),
        ("select a / z as v from t, other", "CAST(a AS DECIMAL(38, 2)) / (z *", "`/` keeps"),
        ("select avg(z) as v from other", "AVG(z * CAST(1 AS DECIMAL(3, 2)))", "AVG has"),
        ("select z * a as v from other, t", "z * a AS v", "`*` keeps"),
        ("select q, (select q / 3 from copied) as v from t", "(q * CAST(1", "`/` keeps"),
        ("with recursive c as (select z from c) select z / 3 as v from c", "(z * ", "`/` keeps"),
    ],
)
def test_where_types_are_not_declared_digits_are_kept_and_the_page_says_so(
    tmp_path, query, text, noted
):
    """A FLOAT stays one: as a product with a whole number it has the same value."""
    declared = f"{DECLARED}create table copied clone other;\n"
    item = one_query(tmp_path, query, declared=declared)
    assert text in on_one_line(item)
    assert [each.startswith(noted) for each in item.changed] == [True]


def test_an_imported_project_computes_decimals_without_losing_their_fraction(tmp_path):
    (tmp_path / "one.sql").write_text(
        "create dynamic table x target_lag='1 hour' warehouse=w as select 1 as v from t;"
    )
    write(read_snowflake(tmp_path / "one.sql"), tmp_path / "new")
    assert load_project(tmp_path / "new", tmp_path / "new").configuration == {
        "spark.sql.legacy.decimal.retainFractionDigitsOnTruncate": "true",
        "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    }


def test_a_quotient_with_more_digits_than_spark_keeps_is_refused(tmp_path):
    item = one_query(tmp_path, "select z::number(38,20) / 3 as v from t", declared="")
    assert item.refusal == (
        "`CAST(z AS DECIMAL(38, 20)) / 3` has 20 digits behind the point, and Spark keeps 18:"
        " cast its numerator to fewer"
    )


@pytest.mark.parametrize("values", ["q", "z"])
def test_a_default_with_more_digits_than_the_values_is_refused(tmp_path, values):
    item = one_query(tmp_path, f"select lag({values}, 1, 0.5) over (order by q) as v from t, u")
    assert item.refusal == (
        f"the default of `LAG({values}, 1, 0.5)` has more digits behind the point than its values:"
        " cast the values to as many"
    )
