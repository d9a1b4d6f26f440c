"""Which failures of an update from changes are followed by one in full."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import SparkRuntimeException

from freshline.spark.views.incremental import NotIncrementalError, prepared_by
from tests.unit.spark.test_unreadable import Thrown


def failed(kind: str, text: str) -> BaseException:
    """What an update does in which Java throws this."""
    error: Any = SparkRuntimeException(text)
    error._origin = Thrown("org.apache.spark.SparkException", "Job aborted", Thrown(kind, text))

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
        ("java.util.regex.PatternSyntaxException", "Unclosed group near index 1"),
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
        ("java.util.concurrent.TimeoutException", "Futures timed out after [300 seconds]"),
        ("org.apache.spark.sql.delta.ConcurrentTransactionException", "it is there"),
    ],
)
def test_what_the_machine_did_is_not_tried_again_over_all_rows(kind, text):
    assert isinstance(failed(kind, text), SparkRuntimeException)
