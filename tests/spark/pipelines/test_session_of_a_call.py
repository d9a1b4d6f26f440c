"""Which session a function of a pipeline reads by: in pools of threads, and by readers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from multiprocessing.pool import ThreadPool

import pytest
from pyspark.sql import SparkSession

from freshline.spark.engine.result_settings import settings_of
from freshline.spark.pipelines.call import Call
from freshline.spark.pipelines.current import CURRENT, calling
from freshline.spark.pipelines.programs import register_programs

pytestmark = pytest.mark.spark

HEAD = "from pyspark import pipelines as dp\nfrom pyspark.sql import functions as F\n"


class _Kind(StrEnum):
    A = "a"


def test_work_given_to_a_pool_is_done_for_the_call_that_gives_it(spark: SparkSession) -> None:
    """Not for the one in which the pool's thread started, which may still run."""
    calls = []
    for name in ("first", "second"):
        own = spark.newSession()
        own.sql(f"SELECT '{name}' AS name").createOrReplaceTempView("v")
        calls.append(Call(own, lambda _: None, lambda _: ""))

    def read(_: object = None) -> str:
        return str(CURRENT.table("v").first()["name"])  # type: ignore[index]  # there is a row

    with ThreadPoolExecutor(1) as one, ThreadPool(1) as other, calling(calls[0]):
        assert (one.submit(read).result(), other.apply(read)) == ("first", "first")
        with calling(calls[1]):
            assert one.submit(read).result() == "second"
            assert list(one.map(read, [1, 2])) == ["second", "second"]
            assert other.map(read, [1]) == other.starmap(read, [(1,)]) == ["second"]
            assert list(other.imap(read, [1])) == [other.apply(read)] == ["second"]
        assert one.submit(read).result() == "first"
        # Items are made, and what follows is done, in threads of the pool.
        with calling(calls[1]):
            made = (read() for _ in range(2))
            assert list(other.imap(str, made)) == ["second", "second"]
            after: list[str] = []
            other.apply_async(str, ("x",), {}, lambda _: after.append(read())).wait()
            other.apply_async(str, ("x",), callback=lambda _: after.append(read())).wait()
            one.submit(str).add_done_callback(lambda _: after.append(read()))
            one.submit(str).result()
            assert after == ["second"] * 3


def test_the_session_of_a_frame_knows_the_datasets(pipeline, spark):
    """A table of the dataset's name in the catalog is another one."""
    spark.sql("DROP TABLE IF EXISTS dim")
    spark.sql("CREATE TABLE dim USING delta AS SELECT 99L AS id")
    try:
        found = pipeline(
            f"""{HEAD}
@dp.materialized_view
def dim():
    return spark.range(3)


@dp.materialized_view
def joined():
    frame = spark.range(2)
    session = frame.sparkSession
    return frame.join(session.table("dim"), "id").union(session.sql("SELECT id FROM dim"))


@dp.materialized_view
def asked():
    rows = spark.range(9).where("id = (SELECT max(id) FROM dim)")
    return rows.selectExpr("id", "(SELECT count(*) FROM dim) AS n").withColumn(
        "low", F.expr("(SELECT min(id) FROM dim)")
    )
"""
        )
        assert found.errors == []
        own = spark.newSession()
        own.range(3).createOrReplaceTempView("dim")
        register_programs(own, found.project, found.project.table("joined"))
        assert sorted(row.id for row in own.table("joined").collect()) == [0, 0, 1, 1, 2]
        assert found.project.table("joined").parents == ("dim",)
        register_programs(own, found.project, found.project.table("asked"))
        assert [tuple(row) for row in own.table("asked").collect()] == [(2, 3, 0)]
        assert found.project.table("asked").parents == ("dim",)
    finally:
        spark.sql("DROP TABLE dim")


def test_options_of_a_reader_hold_for_tables_outside(pipeline, spark):
    spark.sql("CREATE DATABASE IF NOT EXISTS old_lake")
    spark.sql("CREATE OR REPLACE TABLE old_lake.t USING delta AS SELECT 1 AS id")
    spark.sql("INSERT INTO old_lake.t VALUES (2)")
    try:
        found = pipeline(
            f"""{HEAD}
@dp.materialized_view
def then():
    return spark.read.option("versionAsOf", 0).table("old_lake.t")


@dp.materialized_view
def now():
    return spark.read.format("delta").table("old_lake.t")
"""
        )
        for name, ids in (("then", [1]), ("now", [1, 2])):
            own = spark.newSession()
            register_programs(own, found.project, found.project.table(name))
            assert sorted(row.id for row in own.table(name).collect()) == ids
    finally:
        spark.sql("DROP DATABASE old_lake CASCADE")


def test_a_table_outside_is_read_in_the_database_of_the_specification(pipeline, spark):
    """By functions as by SQL; one of that name in the session's own database is another one."""
    spark.sql("CREATE DATABASE IF NOT EXISTS own_lake")
    spark.sql("CREATE OR REPLACE TABLE own_lake.areas USING delta AS SELECT 1 AS id")
    spark.sql("CREATE OR REPLACE TABLE areas USING delta AS SELECT 9 AS id")
    try:
        found = pipeline(
            f"""{HEAD}
kept = spark.table("areas")

@dp.materialized_view
def by_name():
    return spark.table("areas").union(spark.sql("SELECT id + 1 FROM areas")).union(kept)
"""
        )
        spec = found.root / "spark-pipeline.yml"
        spec.write_text(spec.read_text() + "database: own_lake\n")
        own = spark.newSession()
        register_programs(own, found.project, found.project.table("by_name"))
        assert sorted(row.id for row in own.table("by_name").collect()) == [1, 1, 2]
    finally:
        spark.sql("DROP TABLE areas")
        spark.sql("DROP DATABASE own_lake CASCADE")


def test_a_variable_in_a_temporary_view_is_one_of_the_settings_of_who_reads_it(pipeline, spark):
    """With another value of it the same function has other rows."""
    found = pipeline(
        f"""{HEAD}
@dp.materialized_view
def named():
    return spark.table("who")
""",
        "CREATE TEMPORARY VIEW who AS SELECT '${spark.shop.who}' AS who;",
    )
    project = found.project
    told = []
    for who in ("ann", "bob", "ann"):
        own = spark.newSession()
        own.conf.set("spark.shop.who", who)
        told.append(settings_of(own, project, project.table("named")))
    assert told[0] == told[2] != told[1]
