"""The log that a stream of Spark keeps beside its files, as a feed's listing reads it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from freshline.runtime.feeds.listing import FeedListing
from tests.support.shop import made_project

pytestmark = pytest.mark.spark


def test_the_files_of_a_stream_are_those_that_its_log_names(
    spark: SparkSession, tmp_path: Path
) -> None:
    feed = made_project(tmp_path, {"orders": ()}).feeds["orders_feed"]
    source, sink = tmp_path / "in", Path(feed.path)
    source.mkdir()
    for number in range(12):  # each is a batch; the log is put together after ten
        (source / f"{number}.csv").write_text(f"{number},a b:c{number % 2}\n")
    rows = spark.readStream.schema("n BIGINT, k STRING").option("maxFilesPerTrigger", 1)
    query = (
        rows.csv(str(source))
        .writeStream.format("parquet")
        .partitionBy("k")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(sink))
    )
    query.awaitTermination()
    assert list((sink / "_spark_metadata").glob("*.compact"))
    (folder, _) = sorted(sink.glob("k=*"))
    failed = folder / "part-00000-00000000-0000-0000-0000-000000000000.c000.snappy.parquet"
    failed.write_bytes(next(folder.glob("*.parquet")).read_bytes())
    for path in (feed.path, sink.as_uri()):
        look = FeedListing(dataclasses.replace(feed, path=path)).look()
        files = {str(sink / file.name) for file in look.files}
        assert (look.problems, look.left_out) == ([], 1)
        assert files == {str(path) for path in sink.glob("k=*/*.parquet")} - {str(failed)}
        assert len(files) == 12
