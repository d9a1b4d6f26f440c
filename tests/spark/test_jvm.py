"""What is said to the JVM in few messages says the same, and Hadoop's settings stay as they are."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from pyspark.sql.types import StructType

from freshline.spark.answers import Prompt
from freshline.spark.engine import jvm

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    "expressions",
    [
        ["id"],
        ["id + 1 AS `a,b`", "concat_ws(',', 'x', 'ä') AS text", "CAST(NULL AS STRING) AS nothing"],
        ["id", "'it''s\n\\\\' AS lines", "id AS `ID`"],
        ["'\x1f' AS one", "'a\x1f\x1fb' AS other"],
    ],
)
def test_selected_is_select_expr(spark, expressions):
    frame = spark.range(3)
    one, other = jvm.selected(frame, expressions), frame.selectExpr(*expressions)
    assert one.schema == other.schema
    assert one.collect() == other.collect()


@pytest.mark.parametrize("name", ["events", "Events", "a b", "select", "a.b", "ä`c", "1"])
def test_a_frame_is_shown_under_its_name_as_by_spark(spark, name):
    session = spark.newSession()
    in_sql = f"`{name.replace('`', '``')}`"
    for number in (1, 2):  # the second takes the place of the first
        frame = session.range(number, number + 2).selectExpr("id", "id AS `ID 2`")
        jvm.show(frame, name)
        found = jvm.query(session, f"SELECT * FROM {in_sql}")
        frame.createOrReplaceTempView(in_sql)
        expected = session.sql(f"SELECT * FROM {in_sql}")
        assert found.schema == expected.schema
        assert found.collect() == expected.collect() == frame.collect()
    assert jvm.query(session, f"SELECT * FROM {in_sql.upper()}").count() == 2


def test_metrics_are_observed_in_a_query_that_another_frame_is_part_of(spark):
    frame, asked = jvm.observing(
        spark.range(10), {"some": "count_if(id > 6)", "text": "concat('a', max(id))"}
    )
    assert frame.filter("id > 3").count() == 6
    assert jvm.observation(spark, asked, ("some", "text"), 5.0) == {"some": "3", "text": "a9"}


def test_metrics_by_name_are_told_by_the_frame_that_ran(spark):
    metrics = {"some": "count_if(id > 6)", "none": "count_if(id < 0)"}
    frame = jvm.measuring(spark.range(10), "told", metrics).filter("id > 3")
    assert jvm.observed(frame, "told") == (0, 0)
    assert jvm.observed(frame, "other") is None
    assert len(frame.collect()) == 6
    assert jvm.observed(frame, "told") == (3, 0)


@pytest.mark.parametrize("columns", [["ID"], ["a b", "nowhere"], [], ["id", "a b", "c`d"]])
def test_without_is_drop(spark, columns):
    frame = spark.range(2).selectExpr("id", "1 AS `a b`", "'x' AS `c``d`")
    one, other = jvm.without(frame, columns), frame.drop(*columns)
    assert one.schema == other.schema
    assert one.collect() == other.collect()


@pytest.mark.parametrize(
    ("kind", "options", "ddl"),
    [
        ("csv", {}, "id BIGINT, `a b` STRING"),
        (
            "csv",
            {"sep": ";", "SEP": ";", "nullValue": "\x1f"},
            "id BIGINT COMMENT 'it is', s STRING",
        ),
        ("json", {"mode": "FAILFAST"}, "id INT NOT NULL, v STRUCT<`x y`: ARRAY<DATE>>"),
    ],
)
def test_loaded_is_read_load(spark, tmp_path, kind, options, ddl):
    texts = {"csv": "1;x\n2;y,z\n", "json": '{"id":1,"v":{"x y":["2026-03-02"]}}\n'}
    paths = [tmp_path / "a.txt", tmp_path / "b c.txt"]
    for path in paths:
        path.write_text(texts[kind], "utf-8")
    names = [f"file:{path}" for path in paths]
    schema = StructType.fromDDL(ddl)
    for session in (spark.newSession(), spark.newSession()):  # what is sent once serves both
        one = jvm.loaded(session, kind, options, schema.json(), names)
        other = session.read.format(kind).options(**options).schema(schema).load(names)
        assert one.schema == other.schema
        assert [field.metadata for field in one.schema] == [f.metadata for f in other.schema]
        assert sorted(map(str, one.collect())) == sorted(map(str, other.collect()))


def test_a_wrong_query_is_an_error_of_spark_as_ever(spark):
    with pytest.raises(Exception, match="UNRESOLVED_COLUMN"):
        jvm.query(spark, "SELECT nowhere FROM range(1)")
    with pytest.raises(Exception, match="UNRESOLVED_COLUMN"):
        jvm.selected(spark.range(1), ["nowhere"])


def test_nothing_is_one_object_and_something_is_not(spark):
    assert jvm.scala_seq(spark, ()).isEmpty()
    assert jvm.scala_map(spark, {}).isEmpty()
    assert not jvm.none(spark).isDefined()
    assert int(jvm.scala_seq(spark, ["a", "b"]).size()) == 2
    assert jvm.scala_map(spark, {"a": "b"}).apply("a") == "b"
    assert jvm.scala_seq(spark, ()).isEmpty()


def test_hadoops_settings_have_no_notes_of_where_they_came_from(spark):
    settings = jvm.hadoop_settings(spark)
    notes = settings.getClass().getDeclaredField("updatingResource")
    notes.setAccessible(True)
    assert int(notes.get(settings).size()) < 10  # what Spark itself set after it started
    assert int(settings.size()) > 500
    assert settings.get("fs.defaultFS") == "file:///"
    # Those of a query are a copy, with notes of what its session sets and no others.
    copy = jvm.java_session(spark.newSession()).sessionState().newHadoopConf()
    assert int(copy.size()) > int(settings.size())
    assert 0 < int(notes.get(copy).size()) < 200


def test_long_answers_are_acknowledged_at_once_in_every_thread(spark):
    client = spark.sparkContext._gateway._gateway_client
    repeated = jvm.named(spark, "org.apache.commons.lang3.StringUtils.repeat")

    def asked() -> tuple[object, int]:
        length = len(repeated("ä", 100_000))
        return type(client.get_thread_connection().stream.raw), length

    with ThreadPoolExecutor(1) as pool:
        assert asked() == pool.submit(asked).result() == (Prompt, 100_000)
