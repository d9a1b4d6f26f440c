"""Tables outside the pipeline that functions read: at one version, recorded, and looked at."""

from __future__ import annotations

from typing import cast

import deltalake
import pytest
from pyspark.sql import SparkSession

from freshline.delta.log import last_commit
from freshline.spark.verification.run import verified
from tests.spark.pipelines.test_pipeline import HEAD
from tests.spark.proof.support import UtcSessions, run_here

pytestmark = pytest.mark.spark

PYTHON = f"""{HEAD}
@dp.table
def orders():
    return spark.readStream.format("json").schema("id BIGINT").load("in")

@dp.materialized_view
def by_function():
    return spark.table("orders").join(spark.table("lake_of_rates.rates"), "id")

@dp.materialized_view
def by_text():
    return spark.sql("SELECT id, rate FROM orders JOIN lake_of_rates.rates USING (id)")

@dp.materialized_view
def by_reader():
    rates = spark.read.format("delta").table("lake_of_rates.rates")
    return spark.table("orders").join(rates, "id").select("id", "rates.rate")

@dp.materialized_view
def by_path():
    return spark.table("orders").join(spark.read.format("delta").load("PATH"), "id")

@dp.materialized_view
def by_option():
    rates = spark.read.options(Path="PATH").format("delta").load()
    return spark.table("orders").join(rates, "id")

@dp.materialized_view
def by_expression():
    rate = "(SELECT max(rate) FROM lake_of_rates.rates)"
    return spark.table("orders").select("id", F.expr(rate).alias("rate"))

@dp.materialized_view
def by_temporary():
    return spark.table("orders").join(spark.table("known"), "id")

@dp.materialized_view
def of_then():
    return spark.read.option("versionAsOf", 0).table("lake_of_rates.rates")
"""
SQL = """
CREATE TEMPORARY VIEW known AS SELECT id, rate FROM lake_of_rates.rates;
CREATE MATERIALIZED VIEW by_sql AS
  SELECT o.id, r.rate FROM orders o JOIN lake_of_rates.rates r ON o.id = r.id;
"""
VIEWS = (
    "by_sql", "by_function", "by_text", "by_reader", "by_path", "by_option",
    "by_expression", "by_temporary",
)  # fmt: skip


@pytest.fixture
def rates(spark, tmp_path):
    """A table in a database of others, and its path."""
    spark.sql("DROP DATABASE IF EXISTS lake_of_rates CASCADE")
    spark.sql("CREATE DATABASE lake_of_rates")
    path = tmp_path / "rates"
    made = "CREATE TABLE lake_of_rates.rates (id BIGINT, rate INT) USING delta LOCATION"
    spark.sql(f"{made} '{path}'")
    spark.sql("INSERT INTO lake_of_rates.rates VALUES (1, 10)")
    yield path
    spark.sql("DROP DATABASE lake_of_rates CASCADE")


def utc(spark):
    """The shared session, whose new sessions are in UTC."""
    return cast("SparkSession", UtcSessions(spark))


def commit_of(project, name):
    found = last_commit(project.table_path(name))
    assert found is not None
    return found.metadata["parents"]


def rows(project, table):
    found = deltalake.DeltaTable(project.table_path(table)).to_pyarrow_table().to_pylist()
    return sorted(tuple(row.values()) for row in found)


def test_a_change_of_one_has_the_views_of_functions_made_again(pipeline, rates, spark):
    taken = pipeline(PYTHON.replace("PATH", str(rates)), SQL)
    taken.come("a.json", {"id": 1})
    run_here(taken, spark)
    project = taken.project
    assert {name: rows(project, name) for name in VIEWS} == {key: [(1, 10)] for key in VIEWS}
    spark.sql("UPDATE lake_of_rates.rates SET rate = 11")
    checks = verified(utc(spark), project, project.tables, "newest")
    assert {(check.outcome, check.reason) for check in checks} == {("right", "")}
    run_here(taken, spark)
    assert {name: rows(project, name) for name in VIEWS} == {key: [(1, 11)] for key in VIEWS}
    assert rows(project, "of_then") == []
    checks = verified(utc(spark), project, project.tables, "all")
    assert {check.outcome for check in checks} == {"right"}


def test_the_commit_names_its_version(pipeline, rates, spark):
    taken = pipeline(PYTHON.replace("PATH", str(rates)), SQL)
    taken.come("a.json", {"id": 1})
    run_here(taken, spark)
    project = taken.project
    named = {name: commit_of(project, name) for name in VIEWS}
    by_path = {"orders": 0, f"delta.`{rates}`": 1}
    by_name = {"orders": 0, "lake_of_rates.rates": 1}
    assert named == dict.fromkeys(VIEWS, by_name) | {
        "by_path": by_path,
        "by_option": by_path,
    }


def test_one_with_deletion_vectors_and_doubtful_statistics_is_read_whole(pipeline, rates, spark):
    """Its rows are a view of the session then, which has the table's name."""
    spark.sql("ALTER TABLE lake_of_rates.rates ADD COLUMN share DOUBLE")
    spark.sql(
        "ALTER TABLE lake_of_rates.rates SET TBLPROPERTIES ('delta.enableDeletionVectors' = true)"
    )
    taken = pipeline(
        PYTHON.replace("PATH", str(rates)).replace('"id", "rates.rate"', '"id", "rates.share"')
    , SQL)  # fmt: skip
    taken.come("a.json", {"id": 1})
    run_here(taken, spark)
    assert rows(taken.project, "by_reader") == [(1, None)]
    assert rows(taken.project, "by_path") == [(1, 10, None)]


def test_files_have_no_versions_to_be_verified_over(pipeline, spark, tmp_path):
    (tmp_path / "rates.csv").write_text("1,10\n")
    taken = pipeline(
        f"""{HEAD}
@dp.materialized_view
def rated():
    return spark.read.csv("{tmp_path}/rates.csv", schema="id BIGINT, rate INT")
"""
    )
    run_here(taken, spark)
    (tmp_path / "rates.csv").write_text("1,11\n")
    (check,) = verified(utc(spark), taken.project, taken.project.tables, "newest")
    assert (check.outcome, check.reason) == (
        "skipped", f"it reads csv.`{tmp_path}/rates.csv`, which has no versions",
    )  # fmt: skip


def test_one_that_is_read_outside_of_functions_is_warned_of(pipeline, rates):
    text = "\nkept = spark.table('lake_of_rates.rates')\n\n\n"
    text += "@dp.materialized_view\ndef v():\n    return kept\n"
    text += "@dp.materialized_view\ndef w():\n    return kept\n"
    (warning,) = pipeline(HEAD + text).project.warnings
    assert warning == (
        "t/a.py:7: v and what else its file defines can use lake_of_rates.rates, which is read"
        " outside of functions (t/a.py:4): no change of it is noticed, and versions over it"
        " cannot be verified; read it in a function"
    )
