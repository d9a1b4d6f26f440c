"""A version's files from its checksum file: the same rows as Delta's own way, in fewer jobs."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from freshline.spark.engine import jvm
from freshline.spark.engine.listed import SMALL_BYTES, listed_files, rows_of
from freshline.spark.engine.pins import at_version
from tests.support.share import share

pytestmark = pytest.mark.spark

PARTS = 3

Make = Callable[[SparkSession, str], None]


@cache
def made(make: Make, spark: SparkSession) -> tempfile.TemporaryDirectory[str]:
    """A folder with the table that ``make`` makes."""
    folder = tempfile.TemporaryDirectory()
    make(spark, f"{folder.name}/table")
    return folder


def put(make: Make, spark: SparkSession, path: str) -> None:
    """Copy the table that ``make`` makes: Spark writes each of them once."""
    shutil.copytree(f"{made(make, spark).name}/table", path)


def plain(spark: SparkSession, path: str) -> None:
    for number in range(PARTS):
        rows = spark.range(5).selectExpr(
            f"id + {5 * number} AS id", "id % 2 AS half", "id * 0.5 AS x"
        )
        rows.coalesce(1).write.format("delta").mode("append").save(path)


def partitioned(spark: SparkSession, path: str) -> None:
    rows = spark.range(9).selectExpr(
        "id", "IF(id > 6, NULL, date_add(DATE'2026-03-28', int(id))) AS day"
    )
    for _ in range(2):
        rows.write.format("delta").partitionBy("day").mode("append").save(path)


def renamed(spark: SparkSession, path: str) -> None:
    put(plain, spark, path)
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    spark.sql(f"ALTER TABLE delta.`{path}` RENAME COLUMN x TO y")
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (99, 1, 2.5)")


def deleted_from(spark: SparkSession, path: str) -> None:
    put(plain, spark, path)
    vectors = "'delta.enableDeletionVectors' = 'true'"
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ({vectors})")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id IN (1, 12)")


def of_many_files(spark: SparkSession, path: str) -> None:
    spark.range(1000).repartition(100).write.format("delta").save(path)


def by_another_writer(_: SparkSession, path: str) -> None:
    with tempfile.TemporaryDirectory() as folder:  # delta-rs takes no % in a path
        deltalake.write_deltalake(f"{folder}/t", pa.table({"id": [1, 2]}))
        deltalake.write_deltalake(f"{folder}/t", pa.table({"id": [3]}), mode="append")
        shutil.copytree(f"{folder}/t", path)


def without_checksum(spark: SparkSession, path: str) -> None:
    put(plain, spark, path)
    for file in (Path(path) / "_delta_log").glob("*.crc"):
        file.unlink()


def with_half_a_checksum(spark: SparkSession, path: str) -> None:
    put(plain, spark, path)
    for file in (Path(path) / "_delta_log").glob("*.crc"):
        file.write_text(file.read_text()[:200])


def with_the_checksum_of_another_commit(spark: SparkSession, path: str) -> None:
    """As where the newest commit was taken away, and another one was made."""
    put(plain, spark, path)
    (Path(path) / "_delta_log" / f"{PARTS - 1:020d}.json").unlink()
    jvm.named(spark, "org.apache.spark.sql.delta.DeltaLog").clearCache()
    rows = spark.range(90, 92).selectExpr("id", "id % 2 AS half", "id * 0.5 AS x")
    rows.write.format("delta").mode("append").save(path)


def with_comments(spark: SparkSession, path: str) -> None:
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id INT COMMENT 'a number', at TIMESTAMP_NTZ) USING delta"
    )
    spark.sql(
        f"INSERT INTO delta.`{path}` VALUES (1, TIMESTAMP_NTZ'2026-03-29 02:30:00'), (2, NULL)"
    )


def of_chars(spark: SparkSession, path: str) -> None:
    spark.sql(f"CREATE TABLE delta.`{path}` (id INT NOT NULL, code CHAR(4)) USING delta")
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (1, 'a'), (2, 'bcde')")


def of_nothing(spark: SparkSession, path: str) -> None:
    spark.sql(f"CREATE TABLE delta.`{path}` (id INT, nothing VOID) USING delta")
    spark.sql(f"INSERT INTO delta.`{path}` (id) VALUES (1), (2)")


def with_row_ids(spark: SparkSession, path: str) -> None:
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id INT) USING delta"
        " TBLPROPERTIES ('delta.enableRowTracking' = 'true')"
    )
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (1), (2)")


def widened(spark: SparkSession, path: str) -> None:
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id SMALLINT) USING delta"
        " TBLPROPERTIES ('delta.enableTypeWidening' = 'true')"
    )
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (1), (2)")
    spark.sql(f"ALTER TABLE delta.`{path}` CHANGE COLUMN id TYPE INT")
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (70000)")


def with_a_column_that_came_later(spark: SparkSession, path: str) -> None:
    put(plain, spark, path)
    rows = spark.sql("SELECT 50L AS id, named_struct('a', 1, 'b', array('x')) AS more")
    rows.write.format("delta").mode("append").option("mergeSchema", "true").save(path)


def a_shallow_clone(spark: SparkSession, path: str) -> None:
    put(plain, spark, f"{path}_original")
    spark.sql(f"CREATE TABLE delta.`{path}` SHALLOW CLONE delta.`{path}_original`")


def with_files_that_are_named_like_partitions(_: SparkSession, path: str) -> None:
    """Delta takes a file's name for nothing but a name; Spark's reader would see a column in it."""
    with tempfile.TemporaryDirectory() as other:
        deltalake.write_deltalake(f"{other}/t", pa.table({"id": [1, 2]}))
        shutil.copytree(f"{other}/t", path)
    (file,) = Path(path).glob("*.parquet")
    folder = file.parent / "id=7"
    folder.mkdir()
    file.rename(folder / file.name)
    log = Path(path) / "_delta_log" / f"{0:020d}.json"
    log.write_text(log.read_text().replace(file.name, f"id=7/{file.name}"))


def renamed_file(path: str, before: str) -> None:
    """The newest file of a table gets ``before`` in front of its name."""
    (log,) = (Path(path) / "_delta_log").glob("*.json")
    (file,) = Path(path).glob("*.parquet")
    file.rename(file.with_name(before + file.name))
    log.write_text(log.read_text().replace(file.name, before + file.name))


def with_a_file_that_begins_like_a_note(_: SparkSession, path: str) -> None:
    """Delta reads it; Spark's own reader takes it for some program's notes."""
    with tempfile.TemporaryDirectory() as other:
        deltalake.write_deltalake(f"{other}/t", pa.table({"id": [1, 2]}))
        shutil.copytree(f"{other}/t", path)
    renamed_file(path, "_")


def with_a_hidden_file(_: SparkSession, path: str) -> None:
    with tempfile.TemporaryDirectory() as other:
        deltalake.write_deltalake(f"{other}/t", pa.table({"id": [1, 2]}))
        shutil.copytree(f"{other}/t", path)
    renamed_file(path, ".")


def snapshot_at(session: SparkSession, path: str, version: int):
    """Delta's own object, as a process has it that did not make the table."""
    jvm.activate(session)
    delta_log = jvm.named(session, "org.apache.spark.sql.delta.DeltaLog")
    delta_log.clearCache()
    nothing = jvm.none(session)
    log = delta_log.forTable(jvm.java_session(session), path)
    return log.getSnapshotAt(version, nothing, nothing, False)


def contents(frame: DataFrame) -> Counter[str]:
    return Counter(str(row.asDict()) for row in frame.collect())


@pytest.mark.parametrize(
    ("make", "is_listed"),
    [
        (plain, True),
        (partitioned, True),
        (renamed, True),
        (deleted_from, False),
        (of_many_files, False),
        (by_another_writer, False),
        (without_checksum, False),
        (with_half_a_checksum, False),
        (with_the_checksum_of_another_commit, False),
    ],
    ids=lambda each: each.__name__ if callable(each) else "",
)
def test_every_version_has_the_rows_that_delta_finds(make: Make, is_listed, spark, tmp_path):
    path = str(tmp_path / "table")
    put(make, spark, path)
    newest = deltalake.DeltaTable(path).version() if make is not deleted_from else PARTS + 1
    session = spark.newSession()
    for version in share(range(newest + 1), part=newest + 1, first=newest):
        expected = session.read.format("delta").option("versionAsOf", version).load(path)
        found = at_version(session, path, version)
        assert found.schema == expected.schema
        assert contents(found) == contents(expected)
    files = listed_files(snapshot_at(session, path, newest))
    assert (files is not None) is is_listed


@pytest.mark.parametrize(
    ("make", "is_sparks"),
    [
        (plain, True),
        (with_comments, True),
        (with_a_column_that_came_later, True),
        (by_another_writer, True),
        (partitioned, False),
        (renamed, False),
        (deleted_from, False),
        (of_chars, False),
        (of_nothing, False),
        (with_row_ids, False),
        (widened, False),
        (of_many_files, False),
        (a_shallow_clone, False),
        (with_files_that_are_named_like_partitions, False),
        (with_a_file_that_begins_like_a_note, False),
        (with_a_hidden_file, False),
    ],
    ids=lambda each: each.__name__ if callable(each) else "",
)
@pytest.mark.parametrize(
    "folder", [pytest.param("table", marks=pytest.mark.proof), "a folder/with %41 ü {x}"]
)
def test_a_table_that_is_nothing_but_parquet_is_read_by_sparks_own_reader(
    make: Make, is_sparks, folder, spark, tmp_path
):
    path = str(tmp_path / folder)
    if make is a_shallow_clone:  # its log names the files of the other table by their whole path
        make(spark, path)
    else:
        put(make, spark, path)
    session = spark.newSession()
    jvm.activate(session)
    nothing = jvm.none(session)
    delta_log = jvm.named(session, "org.apache.spark.sql.delta.DeltaLog")
    log = delta_log.forTable(jvm.java_session(session), path)
    snapshot = log.update(False, nothing, nothing)
    files = jvm.seq_of(session, snapshot.allFiles().collectAsList())
    found = rows_of(session, snapshot, files)
    expected = session.read.format("delta").load(path)
    assert found.schema == expected.schema
    assert contents(found) == contents(expected)
    plan = jvm.java_frame(found).queryExecution().analyzed()
    (relation,) = jvm.elements(plan.collectLeaves())
    index = str(relation.relation().location().getClass().getSimpleName())
    assert index == ("InMemoryFileIndex" if is_sparks else "TahoeBatchFileIndex")


def test_two_versions_of_a_table_are_two_tables(spark, tmp_path):
    """Spark computes what two parts of a query have in common once, and goes by their files."""
    path = str(tmp_path / "table")
    put(plain, spark, path)
    session = spark.newSession()
    old, new = (at_version(session, path, version) for version in (0, PARTS - 1))
    both = new.groupBy("half").count().join(old.groupBy("half").count(), "half")
    assert sorted(both.collect()) == [(0, 9, 3), (1, 6, 2)]
    assert sorted(new.unionAll(old).groupBy("id").count().collect()) == sorted(
        (number, 2 if number < 5 else 1) for number in range(15)
    )


def test_a_table_made_anew_by_another_process_is_not_taken_for_the_one_before(spark, tmp_path):
    path, other = str(tmp_path / "table"), str(tmp_path / "other")
    put(plain, spark, path)
    assert at_version(spark.newSession(), path, PARTS - 1).count() == 15
    for number in range(PARTS):
        deltalake.write_deltalake(other, pa.table({"id": [number]}), mode="append")
    shutil.rmtree(path)
    shutil.move(other, path)
    found = at_version(spark.newSession(), path, PARTS - 1)
    assert sorted(row.id for row in found.collect()) == [0, 1, 2]


def test_of_a_large_table_delta_is_asked_which_files_a_query_needs(spark, tmp_path):
    path = str(tmp_path / "table")
    put(plain, spark, path)
    snapshot = snapshot_at(spark.newSession(), path, PARTS - 1)
    size_bytes = int(snapshot.checksumOpt().get().tableSizeBytes())
    assert size_bytes < SMALL_BYTES
    listed = listed_files(snapshot, size_bytes)
    assert listed is not None
    assert listed.size() == PARTS
    assert listed_files(snapshot, size_bytes - 1) is None


def test_a_small_view_is_made_anew_without_replaying_logs(shop, spark):
    folder = shop.feed("feed", "json", "id BIGINT, x DOUBLE")
    shop.table("events", "SELECT id, x FROM STREAM feed")
    shop.table("doubled", "SELECT id, 2 * x AS y FROM events", refresh="full")
    jobs = spark.sparkContext.statusTracker()
    made = []
    for number in range(1, 5):
        (folder / f"{number}.json").write_text(f'{{"id": {number}, "x": {number / 2}}}\n')
        version = shop.load("events", f"{number}.json").version
        shop.derive("doubled", events=version)
        assert len(shop.rows("doubled")) == number
        made.append(len(jobs.getJobIdsForGroup(f"freshline/doubled/{number}")))
    # One computes the view; by the other Delta checks its checksum where the zone is not UTC.
    assert max(made[1:]) <= 2
