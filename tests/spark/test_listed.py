"""A version's files from its checksum file: the same rows as Delta's own way, in fewer jobs."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from freshline.spark.engine import jvm
from freshline.spark.engine.listed import SMALL_BYTES, listed_files
from freshline.spark.engine.pins import at_version
from tests.support.share import share

pytestmark = pytest.mark.spark

PARTS = 3


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
    plain(spark, path)
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    spark.sql(f"ALTER TABLE delta.`{path}` RENAME COLUMN x TO y")
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (99, 1, 2.5)")


def deleted_from(spark: SparkSession, path: str) -> None:
    plain(spark, path)
    vectors = "'delta.enableDeletionVectors' = 'true'"
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ({vectors})")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id IN (1, 12)")


def of_many_files(spark: SparkSession, path: str) -> None:
    spark.range(1000).repartition(100).write.format("delta").save(path)


def by_another_writer(_: SparkSession, path: str) -> None:
    deltalake.write_deltalake(path, pa.table({"id": [1, 2]}))
    deltalake.write_deltalake(path, pa.table({"id": [3]}), mode="append")


def without_checksum(spark: SparkSession, path: str) -> None:
    plain(spark, path)
    for file in (Path(path) / "_delta_log").glob("*.crc"):
        file.unlink()


def with_half_a_checksum(spark: SparkSession, path: str) -> None:
    plain(spark, path)
    for file in (Path(path) / "_delta_log").glob("*.crc"):
        file.write_text(file.read_text()[:200])


def with_the_checksum_of_another_commit(spark: SparkSession, path: str) -> None:
    """As where the newest commit was taken away, and another one was made."""
    plain(spark, path)
    (Path(path) / "_delta_log" / f"{PARTS - 1:020d}.json").unlink()
    jvm.named(spark, "org.apache.spark.sql.delta.DeltaLog").clearCache()
    rows = spark.range(90, 92).selectExpr("id", "id % 2 AS half", "id * 0.5 AS x")
    rows.write.format("delta").mode("append").save(path)


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
def test_every_version_has_the_rows_that_delta_finds(
    make: Callable[[SparkSession, str], None], is_listed, spark, tmp_path
):
    path = str(tmp_path / "table")
    make(spark, path)
    newest = deltalake.DeltaTable(path).version() if make is not deleted_from else PARTS + 1
    session = spark.newSession()
    for version in share(range(newest + 1), part=3, always=[newest]):
        expected = session.read.format("delta").option("versionAsOf", version).load(path)
        found = at_version(session, path, version)
        assert found.schema == expected.schema
        assert contents(found) == contents(expected)
    files = listed_files(snapshot_at(session, path, newest))
    assert (files is not None) is is_listed


def test_a_table_made_anew_by_another_process_is_not_taken_for_the_one_before(spark, tmp_path):
    path, other = str(tmp_path / "table"), str(tmp_path / "other")
    plain(spark, path)
    assert at_version(spark.newSession(), path, PARTS - 1).count() == 15
    for number in range(PARTS):
        deltalake.write_deltalake(other, pa.table({"id": [number]}), mode="append")
    shutil.rmtree(path)
    shutil.move(other, path)
    found = at_version(spark.newSession(), path, PARTS - 1)
    assert sorted(row.id for row in found.collect()) == [0, 1, 2]


def test_of_a_large_table_delta_is_asked_which_files_a_query_needs(spark, tmp_path):
    path = str(tmp_path / "table")
    plain(spark, path)
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
