"""Why a file cannot be read, in words that its owner can do something with."""

from __future__ import annotations

from types import SimpleNamespace

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
    ((name, reason),) = unreadable_files(None, reader, ["a.parquet"], None)  # type: ignore[arg-type]
    assert name == "a.parquet"
    assert reason.startswith("it has times in nanoseconds, which Spark does not read: have its")
