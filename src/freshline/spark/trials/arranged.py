"""The same rows in other orders: whether a query's result depends on the order of rows."""

from __future__ import annotations

from pyspark.sql import DataFrame


def _backwards(frame: DataFrame) -> DataFrame:
    """The same rows the other way round."""
    return (
        frame.coalesce(1)
        .selectExpr("*", "monotonically_increasing_id() AS _place")
        .orderBy("_place", ascending=False)
        .drop("_place")
    )


def _spread(frame: DataFrame) -> DataFrame:
    """The same rows on three partitions."""
    return frame.repartition(3)


ARRANGEMENTS = (_backwards, _spread)
