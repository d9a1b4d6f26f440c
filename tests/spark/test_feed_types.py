"""Types in a feed's `schema:`: those that Spark cannot read are refused, and no others."""

from __future__ import annotations

from itertools import product

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention

from freshline.core.errors import Place, UserError
from freshline.project.model import Feed
from freshline.project.sections.reader_options import unknown_options
from freshline.spark.feeds.kafka_reader import RAW
from freshline.spark.feeds.reader import declared_schema

pytestmark = pytest.mark.spark

TYPES = (
    "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(38,10)", "STRING",
    "STRING COLLATE UNICODE_CI", "BINARY", "BOOLEAN", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIME",
    "TIME(3)", "INTERVAL", "INTERVAL DAY TO SECOND", "INTERVAL YEAR TO MONTH", "VARIANT", "VOID",
    "GEOMETRY(4326)", "GEOGRAPHY(4326)", "ARRAY<INT>", "MAP<STRING,INT>", "STRUCT<a: INT>",
    "ARRAY<TIME>", "MAP<STRING,TIME>", "STRUCT<a: ARRAY<INTERVAL>>", "ARRAY<VARIANT>",
)  # fmt: skip


def is_read(spark, kind, format_, ddl, folder):
    """Whether Spark reads a column of this type."""
    try:
        if kind == "kafka":
            parse = F.from_csv if format_ == "csv" else F.from_json
            texts = spark.range(1).select(F.lit("1" if format_ == "csv" else "{}").alias("text"))
            texts.select(parse(F.col("text"), f"x {ddl}").alias("r")).selectExpr(
                "r.x IS NULL"
            ).collect()
        else:
            read = spark.read.schema(f"id BIGINT, x {ddl}").format(format_)
            read.load(str(folder)).selectExpr("x IS NULL").collect()
    except PySparkException:
        return False
    return True


def is_declared(kind, format_, ddl):
    feed = Feed("f", kind, "", format_, {}, f"id BIGINT, x {ddl}", None, None, Place("f.yml", 1))
    try:
        declared_schema(feed)
    except UserError:
        return False
    return True


@pytest.mark.parametrize(
    ("kind", "format_"),
    [*product(["files"], ["csv", "json", "parquet"]), ("kafka", "csv"), ("kafka", "json")],
)
def test_a_schema_may_have_the_types_that_spark_reads(spark, tmp_path, kind, format_):
    spark.range(1).write.format(format_).save(str(tmp_path / "rows"))
    read = {ddl: is_read(spark, kind, format_, ddl, tmp_path / "rows") for ddl in TYPES}
    assert {ddl: is_declared(kind, format_, ddl) for ddl in TYPES} == read


def test_a_topic_whose_records_are_kept_as_they_are_has_columns():
    ddl = "key BINARY, value BINARY, topic STRING, headers ARRAY<STRUCT<key: STRING>>"
    feed = Feed("f", "kafka", "", RAW, {}, ddl, None, None, Place("f.yml", 1))
    schema = declared_schema(feed)
    assert schema is not None
    assert schema.names == ["key", "value", "topic", "headers"]


@pytest.mark.parametrize(
    ("format_", "where"),
    [
        ("csv", "catalyst.csv.CSVOptions"),
        ("json", "catalyst.json.JSONOptions"),
        ("parquet", "execution.datasources.parquet.ParquetOptions"),
    ],
)
def test_every_option_of_sparks_readers_is_known(spark, format_, where):
    named = spark._jvm.org.apache.spark.sql
    for part in where.split("."):
        named = getattr(named, part)
    names = str(named.getAllOptions().mkString(" ")).split()
    assert len(names) > 3
    assert unknown_options(format_, dict.fromkeys(names, "")) == []
