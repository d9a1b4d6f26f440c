"""A pipeline streams Delta tables of other programs: each table is its query over their rows."""

from __future__ import annotations

import json

import pytest
from pyspark.sql import SparkSession

from freshline.importing.pipelines.load import collect
from freshline.project.model import Project
from freshline.spark.verification.run import verified
from tests.spark.pipelines.conftest import SETTINGS
from tests.spark.pipelines.test_pipeline import rows
from tests.spark.proof.support import UtcSessions, run_here
from tests.support.share import WHOLE

pytestmark = pytest.mark.spark

PYTHON = """\
from pyspark import pipelines as dp


@dp.table
def by_name():
    return spark.readStream.option("maxFilesPerTrigger", 1).table("lake.clicks")


@dp.table
def by_path():
    return spark.readStream.format("delta").load("PATH").selectExpr("id * 2 AS twice")


@dp.temporary_view
def small():
    return spark.readStream.table("spark_catalog.lake.clicks").where("id < 2")


dp.create_streaming_table("both")


@dp.append_flow(target="both")
def ours():
    return spark.table("by_path").selectExpr("twice AS id")


@dp.append_flow(target="both")
def theirs(limit=3):
    return spark.readStream.format("delta").table("`lake`.clicks").where(f"id < {limit}")
"""
SQL = """\
create streaming table clicks as select id, 'sql' as way from stream(lake.`clicks`);
CREATE STREAMING TABLE few AS SELECT id + 10 AS more FROM small;
CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n, sum(id) AS total FROM clicks;
"""


@pytest.fixture
def lake(spark: SparkSession, tmp_path):
    """The path of a table that this pipeline does not make."""
    path = str(tmp_path / "lake" / "clicks")
    spark.sql("CREATE DATABASE IF NOT EXISTS lake")
    spark.sql("DROP TABLE IF EXISTS lake.clicks")
    spark.sql(f"CREATE TABLE lake.clicks (id INT) USING delta LOCATION '{path}'")
    yield path
    spark.sql("DROP TABLE lake.clicks")


def held(project: Project) -> dict[str, list[str]]:
    """Each table's rows as texts."""
    return {
        table.name: [", ".join(row) for row in rows(project, table.name)]
        for table in project.tables
    }


def test_tables_of_other_programs_are_streamed(pipeline, lake, spark, tmp_path):
    taken = pipeline(PYTHON.replace("PATH", lake), SQL)
    project = taken.project
    clicks = {"kind": "delta", "path": "", "table": "lake.clicks"}
    told = {
        name: {"kind": feed.kind, "path": feed.path, "table": feed.settings.table}
        for name, feed in project.feeds.items()
    }
    assert told["clicks_feed"] == told["by_name_feed"] == clicks
    assert told["by_path_feed"] == {"kind": "delta", "path": lake, "table": None}
    spark.sql("INSERT INTO lake.clicks VALUES (1), (2), (3)")
    run_here(taken, spark)
    assert held(project) == {
        "by_name": ["1", "2", "3"],
        "by_path": ["2", "4", "6"],
        "both__theirs": ["1", "2"],
        "both": ["1", "2", "2", "4", "6"],
        "clicks": ["1, sql", "2, sql", "3, sql"],
        "few": ["11"],
        "counted": ["3, 6"],
    }
    spark.sql("INSERT INTO lake.clicks VALUES (0)")
    spark.sql("DELETE FROM lake.clicks WHERE id = 2")
    run_here(taken, spark)
    assert held(project) == {
        "by_name": ["0", "1", "3"],
        "by_path": ["0", "2", "6"],
        "both__theirs": ["0", "1"],
        "both": ["0", "0", "1", "2", "6"],
        "clicks": ["0, sql", "1, sql", "3, sql"],
        "few": ["10", "11"],
        "counted": ["3, 4"],
    }
    if WHOLE:
        checks = list(verified(UtcSessions(spark), project, project.tables, "newest"))  # type: ignore[arg-type]
        assert {(check.table, check.outcome, check.reason) for check in checks} == {
            (table.name, "right", "") for table in project.tables
        }
    # Commands without Spark read what was written down.
    kept, errors = collect(tmp_path, tmp_path, analyse=False)
    assert errors == []
    assert kept is not None
    assert kept.feeds == project.feeds
    assert json.loads((project.own_folder / "pipeline.json").read_text())["feeds"]


def test_another_parameter_of_a_function_loads_all_rows_again(pipeline, lake, spark):
    """A base table over a Delta table equals its query over one version, as a view does."""
    taken = pipeline(
        """\
from pyspark import pipelines as dp
from pyspark.sql import functions as F


@dp.table
def clicks():
    rows = spark.readStream.table("lake.clicks")
    return rows.withColumn("region", F.lit(spark.conf.get("region", "none")))
"""
    )
    for number, region in enumerate(("north", "south")):
        spark.sql(f"INSERT INTO lake.clicks VALUES ({number})")
        (taken.root / "freshline.yml").write_text(
            f"{SETTINGS}configuration: {{region: {region}}}\n"
        )
        run_here(taken, spark)
        found = [row[1] for row in rows(taken.project, "clicks")]
        assert found == [region] * (number + 1)
