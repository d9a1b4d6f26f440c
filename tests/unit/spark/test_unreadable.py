"""Why a file cannot be read, in words that its owner can do something with."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import AnalysisException

from freshline.spark.feeds.unreadable import unreadable_files


def test_times_in_nanoseconds_of_a_feed_without_a_schema():
    def schema(*_: object) -> None:
        raise AnalysisException(
            "[PARQUET_TYPE_ILLEGAL] Illegal Parquet type: INT64 (TIMESTAMP(NANOS,false))."
            " SQLSTATE: 42846"
        )

    reader = SimpleNamespace(
        feed=SimpleNamespace(path="s3://lake/orders", format="parquet"),
        schema=schema,
        unreadable=lambda *_: None,
    )
    ((name, reason),) = unreadable_files(session(), reader, ["a.parquet"], None)  # type: ignore[arg-type]
    assert name == "a.parquet"
    assert reason.startswith("it has times in nanoseconds, which Spark does not read: have its")


class Thrown:
    """An exception of Java, behind Spark's own."""

    def __init__(self, kind: str, text: str, cause: Thrown | None = None) -> None:
        self._kind, self._text, self._cause = kind, text, cause

    def getClass(self) -> Any:  # noqa: N802 - Java's name
        return SimpleNamespace(getName=lambda: self._kind)

    def getMessage(self) -> str:  # noqa: N802
        return self._text

    def getCause(self) -> Thrown | None:  # noqa: N802
        return self._cause


def session(*, stopped: bool = False) -> Any:
    """Of a Spark that answers, or of one that has stopped."""
    java = SimpleNamespace(sc=lambda: SimpleNamespace(isStopped=lambda: stopped))
    return SimpleNamespace(sparkContext=SimpleNamespace(_jsc=java))


def blamed(
    faults: Mapping[str, tuple[str, str]],
    path: str = "s3a://lake/orders",
    *,
    stopped: bool = False,
) -> list[str]:
    """The files that are blamed, where reading some of them alone or together fails so."""

    def read(_: object, names: list[str], __: object) -> Any:
        for name in names:
            if name in faults:
                spark = "org.apache.spark.SparkException"
                error: Any = AnalysisException("it failed")
                error._origin = Thrown(spark, f"it failed at {name}", Thrown(*faults[name]))
                raise error
        written: Any = SimpleNamespace(save=lambda: None, mode=lambda _: written)
        return SimpleNamespace(write=SimpleNamespace(format=lambda _: written))

    reader = SimpleNamespace(
        feed=SimpleNamespace(path=path, format="json"),
        schema=lambda *_: None,
        read=read,
        unreadable=lambda *_: None,
    )
    names = ["a.json", "b.json", "c.json"]
    found = unreadable_files(session(stopped=stopped), reader, names, None)  # type: ignore[arg-type]
    return [name for name, _ in found]


EXPIRED = (
    "java.nio.file.AccessDeniedException",
    "s3a://lake/orders/a.json: S3Exception: The token has expired. (Service: S3):ExpiredToken",
)
DENIED = (
    "java.nio.file.AccessDeniedException",
    "s3a://lake/orders/a.json: getFileStatus: S3Exception: null (Service: S3, Status Code: 403)",
)
STOPPED = (
    "java.lang.IllegalStateException",
    "Cannot call methods on a stopped SparkContext.\nThis stopped SparkContext was created at:\n",
)
LOST = (
    "org.apache.spark.SparkException",
    (
        "Job aborted due to stage failure: Task 0 in stage 7.0 failed 4 times, most recent"
        " failure: Lost task 0.3 in stage 7.0 (TID 31) (10.0.0.7 executor 5): ExecutorLostFailure"
        " (executor 5 exited caused by one of the running tasks) Reason: worker lost"
    ),
)
BROKEN = ("java.io.EOFException", "Unexpected end of input stream")


@pytest.mark.parametrize(
    "fault",
    [
        EXPIRED,
        ("java.net.UnknownHostException", "store"),
        ("java.net.SocketTimeoutException", "Read timed out"),
        ("org.apache.hadoop.fs.s3a.AWSServiceThrottledException", "open: SlowDown"),
        ("java.io.FileNotFoundException", "/data/a.json (Too many open files)"),
        STOPPED,
        ("org.apache.spark.SparkException", "Job 3 cancelled because SparkContext was shut down"),
        (
            "org.apache.spark.SparkException",
            "[SPARK_JOB_CANCELLED] Job 3 cancelled. SQLSTATE: XXKDA",
        ),
    ],
)
def test_no_file_is_blamed_for_what_the_store_the_network_or_spark_did(
    fault: tuple[str, str],
) -> None:
    assert blamed({"a.json": fault}) == []
    assert blamed(dict.fromkeys(("a.json", "b.json", "c.json"), fault)) == []


def test_a_store_that_gives_out_no_file_at_all_blames_none() -> None:
    assert blamed(dict.fromkeys(("a.json", "b.json", "c.json"), DENIED)) == []
    assert blamed({"b.json": DENIED}) == ["b.json"]  # its own permission
    assert blamed(dict.fromkeys(("a.json", "b.json", "c.json"), DENIED), "s3x") != []


def test_a_file_that_costs_executors_while_others_can_be_read_is_blamed() -> None:
    assert blamed(dict.fromkeys(("a.json", "b.json", "c.json"), LOST)) == []
    # Were it not, its table would stand still: all else is read with it each time.
    assert blamed({"b.json": LOST}) == ["b.json"]
    assert blamed({"b.json": LOST, "c.json": BROKEN}) == ["b.json", "c.json"]


def test_a_file_that_is_gone_is_blamed_while_all_others_cost_executors(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    lost = dict.fromkeys(("a.json", "b.json"), LOST)
    assert blamed(lost, str(tmp_path)) == ["c.json"]
    assert blamed({"a.json": LOST}, str(tmp_path)) == ["a.json", "c.json"]


def test_a_file_is_blamed_for_what_it_holds_whatever_words_are_in_it() -> None:
    assert blamed({"b.json": BROKEN}) == ["b.json"]
    row = ("com.fasterxml.jackson.core.JsonParseException", "Unexpected 'Connection refused'")
    assert blamed({"b.json": row, "c.json": BROKEN}) == ["b.json", "c.json"]
    task = (
        f"Job aborted due to stage failure: Lost task 0.0 in stage 1.0: Unexpected '{STOPPED[1]}'"
    )
    for kind, text in ((row[0], STOPPED[1]), (row[0], LOST[1]), (LOST[0], task)):
        assert blamed({"b.json": (kind, text)}) == ["b.json"]


def test_no_file_is_blamed_once_spark_has_stopped_whatever_it_says() -> None:
    assert blamed({"b.json": BROKEN}, stopped=True) == []


def test_a_file_that_may_not_be_read_is_there(tmp_path, monkeypatch) -> None:
    """Hadoop says FileNotFoundException of it, whose text Spark leaves out."""
    (tmp_path / "a.csv").write_text("1")
    monkeypatch.setattr(os, "access", lambda *_: False)
    feed = SimpleNamespace(path=str(tmp_path), format="csv", kind="files")
    reader: Any = SimpleNamespace(feed=feed, unreadable=lambda *_: None)
    session: Any = None
    ((name, reason),) = unreadable_files(session, reader, ["a.csv"], None)
    assert (name, reason) == ("a.csv", "its permissions do not let freshline read it")
