"""A function that streams from outside makes rows of each record by itself, whatever it asks."""

from __future__ import annotations

import pytest

from tests.spark.pipelines.test_pipeline import HEAD

pytestmark = pytest.mark.spark

DEAR = f"""{HEAD}
@dp.table
def dear():
    rows = spark.readStream.format("json").schema("id BIGINT, price DOUBLE").load("in")
"""


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (
            "return rows.where(F.col('price') > rows.select(F.avg('price')).scalar())",
            "a subquery over the stream",
        ),
        (
            "return rows.where(rows.where('id = 1').exists())",
            "a subquery over the stream",
        ),
        (
            "return rows.where(F.col('price') > rows.count())",
            "count of what the stream has",
        ),
        (
            "return rows.where(F.lit(rows.select('id').first() is None))",
            "collect of what the stream has",
        ),
        (
            "return rows.where(F.lit(len(rows.groupBy('id').count().take(2)) < 2))",
            "collect of what the stream has",
        ),
        (
            "return rows if rows.isEmpty() else rows.limit(1)",
            "isEmpty of what the stream has",
        ),
        (
            "return rows if rows.rdd.getNumPartitions() else rows",
            "rdd of what the stream has",
        ),
    ],
)
def test_what_looks_at_other_records_is_refused(pipeline, body, told):
    (error,) = pipeline(f"{DEAR}    {body}\n").errors
    assert error.render().startswith(
        f"[not-row-wise] t/a.py:4: the function of dear does more than pass on each record: {told};"
    )


def test_a_temporary_view_that_passes_a_stream_on_is_looked_at_too(pipeline):
    python = f"""{HEAD}
@dp.temporary_view
def all_rows():
    return spark.readStream.format("json").schema("id BIGINT, price DOUBLE").load("in")

@dp.table
def dear():
    rows = spark.table("all_rows")
    return rows.where(F.col("price") > rows.select(F.avg("price")).scalar())
"""
    (error,) = pipeline(python).errors
    assert error.code == "not-row-wise"
    assert "the function of dear" in error.what


def test_what_is_asked_of_other_rows_is_nobodys_business(pipeline):
    body = """
    least = spark.range(3).select(F.min("id"))
    assert spark.range(3).count() == 3 and least.first()[0] == 0
    return rows.where(F.col("id") >= least.scalar())
"""
    assert pipeline(DEAR + body).errors == []
