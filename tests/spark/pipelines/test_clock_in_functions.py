"""What a function computes anew each time is not called wrong."""

from __future__ import annotations

from typing import cast

import pytest
from pyspark.sql import SparkSession

from freshline.spark.verification.run import verified
from tests.spark.pipelines.test_pipeline import HEAD
from tests.spark.proof.support import UtcSessions, run_here

pytestmark = pytest.mark.spark


def test_clock_and_chance_of_functions_cannot_be_computed_again(pipeline, spark):
    taken = pipeline(
        f"""import uuid
{HEAD}
@dp.table
def orders():
    rows = spark.readStream.format("json").schema("id BIGINT").load("in")
    return rows.withColumn("loaded", F.current_timestamp())

@dp.materialized_view
def seen():
    return spark.table("orders").select("id", F.current_timestamp().alias("seen"))

@dp.materialized_view
def asked():
    row = spark.range(1).select(F.current_timestamp().alias("now"))
    return spark.table("orders").select("id", row.scalar().alias("seen"))

@dp.materialized_view
def drawn():
    drawn = F.udf(lambda: str(uuid.uuid4()), "STRING").asNondeterministic()
    return spark.table("orders").select("id", drawn().alias("drawn"))

@dp.materialized_view
def listed():
    return spark.table("orders").agg(F.collect_list("id").alias("ids"))

@dp.materialized_view
def plain():
    return spark.table("orders").select("id")
"""
    )
    taken.come("a.json", {"id": 1})
    run_here(taken, spark)
    checks = verified(
        cast("SparkSession", UtcSessions(spark)), taken.project, taken.project.tables, "newest"
    )
    again = "its query cannot be computed again: it "
    assert {check.table: (check.outcome, check.reason) for check in checks} == {
        "orders": ("skipped", f"{again}calls current_timestamp"),
        "seen": ("skipped", f"{again}calls current_timestamp"),
        "asked": ("skipped", f"{again}calls current_timestamp"),
        "drawn": ("skipped", f"{again}depends on chance"),
        "listed": ("right", ""),
        "plain": ("right", ""),
    }
