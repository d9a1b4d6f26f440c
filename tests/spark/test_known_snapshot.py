"""Delta's snapshot in memory is taken for the newest only while it is: judged by delta-rs."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from freshline.project.model import StaticRead
from freshline.spark.commits.transaction import Transaction
from freshline.spark.engine import jvm, pins
from freshline.spark.engine.pins import at_version, known_snapshot, location, newest_snapshot

pytestmark = pytest.mark.spark

VERSIONS = 3


def rows(*numbers: int) -> pa.Table:
    return pa.table({"id": pa.array(numbers, pa.int64())})


def nothing(_: Path) -> None:
    pass


def an_append(path: Path) -> None:
    deltalake.write_deltalake(str(path), rows(9), mode="append")


def a_delete(path: Path) -> None:
    deltalake.DeltaTable(str(path)).delete("id = 0")


def a_restore(path: Path) -> None:
    deltalake.DeltaTable(str(path)).restore(0)


def a_compaction(path: Path) -> None:
    deltalake.DeltaTable(str(path)).optimize.compact()


def a_checkpoint(path: Path) -> None:
    deltalake.DeltaTable(str(path)).create_checkpoint()


def a_checkpoint_after_an_append(path: Path) -> None:
    an_append(path)
    a_checkpoint(path)


def another_table(path: Path) -> None:
    shutil.rmtree(path)
    for number in range(VERSIONS):
        deltalake.write_deltalake(str(path), rows(70 + number), mode="append")


def a_longer_table(path: Path) -> None:
    another_table(path)
    an_append(path)


def an_older_copy(path: Path) -> None:
    """Put back with the times that its files had."""
    (path / "_delta_log" / f"{VERSIONS - 1:020d}.json").unlink()


def an_older_copy_that_went_on(path: Path) -> None:
    an_older_copy(path)
    an_append(path)


def a_staged_commit(path: Path) -> None:
    """As catalogs have them; the commit's own file may come later."""
    folder = path / "_delta_log" / "_staged_commits"
    folder.mkdir(exist_ok=True)
    (folder / f"{VERSIONS:020d}.{uuid.uuid4()}.json").write_text("{}\n")


def a_newer_time(path: Path) -> None:
    """As a copy has whose files got the time of the copying."""
    for file in (path / "_delta_log").iterdir():
        os.utime(file)


UNCHANGED = (nothing, a_checkpoint)


@pytest.mark.parametrize(
    "act",
    [
        *UNCHANGED, an_append, a_checkpoint_after_an_append, another_table,
        an_older_copy_that_went_on, a_newer_time, a_staged_commit,
        *(
            pytest.param(act, marks=pytest.mark.proof)
            for act in (a_delete, a_restore, a_compaction, a_longer_table, an_older_copy)
        ),
    ],
    ids=lambda act: act.__name__,
)  # fmt: skip
def test_after_what_others_do_the_newest_version_is_that_of_delta_rs(
    act: Callable[[Path], None], spark: SparkSession, tmp_path: Path
):
    path = tmp_path / "table"
    for number in range(VERSIONS):
        deltalake.write_deltalake(str(path), rows(number), mode="append")
    session = spark.newSession()
    assert at_version(session, str(path), VERSIONS - 1).count() == VERSIONS
    log = jvm.named(session, "org.apache.spark.sql.delta.DeltaLog.forTable")(
        jvm.java_session(session), str(path)
    )
    assert known_snapshot(log, str(path)) is not None
    act(path)
    assert (known_snapshot(log, str(path)) is not None) is (act in UNCHANGED)

    found = deltalake.DeltaTable(str(path))
    transaction = Transaction(session, str(path), "table", 1)
    assert transaction.version == found.version()
    assert transaction.table_id == str(found.metadata().id)
    read = at_version(session, str(path), found.version()).collect()
    expected = found.to_pyarrow_table().column("id").to_pylist()
    assert sorted(row.id for row in read) == sorted(expected)
    assert (known_snapshot(log, str(path)) is None) is (act is a_staged_commit)


@pytest.mark.parametrize("act", [nothing, an_append, another_table], ids=lambda act: act.__name__)
@pytest.mark.parametrize("folder", ["table", "two words"])
def test_a_static_table_is_fixed_at_the_version_of_delta_rs_and_listed_only_for_it(
    act: Callable[[Path], None],
    folder: str,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    path = tmp_path / folder
    for number in range(VERSIONS):
        deltalake.write_deltalake(str(path), rows(number), mode="append")
    found: list[bool] = []

    def told(log: Any, path: str) -> Any | None:
        snapshot = known_snapshot(log, path)
        found.append(snapshot is not None)
        return snapshot

    monkeypatch.setattr(pins, "known_snapshot", told)
    session, read = spark.newSession(), StaticRead("t", "delta", location(str(path)), ())
    assert newest_snapshot(session, read) is not None
    act(path)
    newest = newest_snapshot(session, read)
    assert found[-1] is (act is nothing)
    judge = deltalake.DeltaTable(str(path))
    assert newest is not None
    assert int(newest.version()) == judge.version()
    assert str(newest.metadata().id()) == str(judge.metadata().id)


def test_of_a_table_that_is_not_there_nothing_is_known(spark: SparkSession, tmp_path: Path):
    session = spark.newSession()
    transaction = Transaction(session, str(tmp_path / "none"), "none", 1)
    assert transaction.version == -1
    log = jvm.named(session, "org.apache.spark.sql.delta.DeltaLog.forTable")(
        jvm.java_session(session), str(tmp_path / "none")
    )
    assert known_snapshot(log, str(tmp_path / "none")) is None


def test_a_static_table_by_a_path_is_of_this_machine(spark: SparkSession, tmp_path: Path) -> None:
    """Also where paths without a scheme are those of a cluster."""
    deltalake.write_deltalake(str(tmp_path / "regions"), rows(1))
    session = spark.newSession()
    session.conf.set("fs.defaultFS", "hdfs://cluster.invalid:8020")
    found = newest_snapshot(session, StaticRead("regions", "delta", str(tmp_path / "regions"), ()))
    assert found is not None
    assert int(found.version()) == 0
