"""Which failures of an update from changes are followed by one in full."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.errors import SparkRuntimeException

from freshline.spark.engine.errors import is_of_the_machine
from freshline.spark.views.incremental import NotIncrementalError, prepared_by
from tests.unit.spark.test_unreadable import Thrown


def failed(kind: str, text: str, below: Thrown | None = None) -> BaseException:
    """What an update does in which Java throws this."""
    error: Any = SparkRuntimeException(text)
    thrown = Thrown(kind, text, below)
    error._origin = Thrown("org.apache.spark.SparkException", "Job aborted", thrown)

    def strategy(increment: Any) -> Any:
        raise error

    increment: Any = SimpleNamespace(is_trial=False)
    with pytest.raises((NotIncrementalError, SparkRuntimeException)) as caught:
        prepared_by(strategy, increment)
    return caught.value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("org.apache.spark.SparkRuntimeException", "[DUPLICATED_MAP_KEY] a. SQLSTATE: 23505"),
        ("org.apache.spark.SparkRuntimeException", "[USER_RAISED_EXCEPTION] no. SQLSTATE: P0001"),
        ("org.apache.spark.SparkArithmeticException", "[DIVIDE_BY_ZERO] b. SQLSTATE: 22012"),
        ("org.apache.spark.SparkRuntimeException", "[EXCEED_LIMIT_LENGTH] c. SQLSTATE: 54006"),
        ("java.util.regex.PatternSyntaxException", "Unclosed group near index 1"),
        # Spark has no SQLSTATE for these.
        ("org.apache.spark.SparkIllegalArgumentException", "Illegal sequence boundaries: 1 to -1"),
        ("java.util.UnknownFormatConversionException", "Conversion = '%q'"),
        ("java.lang.ArithmeticException", "long overflow"),
        (
            "org.apache.spark.SparkRuntimeException",
            "[USER_RAISED_EXCEPTION] Could not execute broadcast in 300 secs. SQLSTATE: P0001",
        ),
        ("java.util.concurrent.ExecutionException", "java.lang.ArithmeticException: overflow"),
        (
            "org.apache.spark.SparkRuntimeException",
            "[USER_RAISED_EXCEPTION] Python worker exited unexpectedly. SQLSTATE: P0001",
        ),
        ("java.io.EOFException", "a value ended too soon"),
    ],
)
def test_what_a_row_or_the_query_did_is_tried_once_in_full(kind, text):
    error = failed(kind, text)
    assert isinstance(error, NotIncrementalError)
    assert error.code == "changes-failed"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("java.lang.OutOfMemoryError", "Java heap space"),
        (
            "org.apache.spark.SparkException",
            "ShuffleMapStage 3 has failed the maximum allowable number of times: 4",
        ),
        ("org.apache.spark.SparkException", "Could not execute broadcast in 300 secs."),
        (
            "org.apache.spark.SparkException",
            (
                "Job aborted due to stage failure: ShuffleMapStage 20 (save at Native.java:0) has"
                " failed the maximum allowable number of times: 4. Most recent failure reason:\n"
            ),
        ),
        (
            "org.apache.spark.SparkException",
            (
                "Job aborted due to stage failure: Task 0 in stage 7.0 failed 4 times, most recent"
                " failure: Lost task 0.3 in stage 7.0 (TID 31) (10.0.0.7 executor 5):"
                " java.lang.OutOfMemoryError: Java heap space"
            ),
        ),
        ("org.apache.spark.memory.SparkOutOfMemoryError", "[UNABLE_TO_ACQUIRE_MEMORY] of 9 bytes"),
        ("org.apache.spark.shuffle.FetchFailedException", "Connection from 10.0.0.7:7 closed"),
        ("java.util.concurrent.TimeoutException", "Futures timed out after [300 seconds]"),
        ("io.delta.exceptions.ConcurrentAppendException", "it is there"),
        ("org.apache.spark.sql.delta.ConcurrentTransactionException", "it is there"),
        ("java.nio.file.AccessDeniedException", "s3a://lake/a: Forbidden (Status Code: 403)"),
        ("org.apache.spark.SparkException", "Python worker exited unexpectedly (crashed)"),
        (
            "org.apache.spark.SparkException",
            (
                "Job aborted due to stage failure: Task 0 in stage 7.0 failed 4 times, most recent"
                " failure: Lost task 0.3 in stage 7.0 (TID 31) (10.0.0.7 executor 5):"
                " org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)"
            ),
        ),
    ],
)
def test_what_the_machine_did_is_not_tried_again_over_all_rows(kind, text):
    assert isinstance(failed(kind, text), SparkRuntimeException)


@pytest.mark.parametrize(
    ("kind", "text", "is_of_the_store"),
    [
        ("java.io.EOFException", "End of file reached before reading fully.", True),
        ("org.apache.hadoop.hdfs.BlockMissingException", "Could not obtain block: b-1", True),
        ("java.lang.RuntimeException", "a.parquet is not a Parquet file", False),
        ("java.io.IOException", "FAILED_TO_UNCOMPRESS(5)", False),
    ],
)
def test_an_old_file_that_is_damaged_is_not_the_stores_fault(kind, text, is_of_the_store):
    reading = "[FAILED_READ_FILE.NO_HINT] Error while reading a. SQLSTATE: KD001"
    below = Thrown("org.apache.spark.SparkException", reading, Thrown(kind, text))
    writing = "[TASK_WRITE_FAILED] Task failed while writing rows to b. SQLSTATE: 58030"
    error = failed("org.apache.spark.SparkException", writing, below)
    assert isinstance(error, SparkRuntimeException) == is_of_the_store


def test_no_row_is_blamed_for_a_jvm_that_is_gone():
    assert is_of_the_machine(Py4JNetworkError("Answer from Java side is empty"))
