"""One Structured Streaming query per table, each as fast as it can.

A base table is a stream from its folder into Delta. A view is a query over its parents'
changes that recomputes it from their newest versions in foreachBatch: of an appended table
the stream sees the new rows, of an overwritten one the change feed. All queries share one
scheduling pool: with a pool each, some starved.

The tables exist before the clock starts, empty, because a stream cannot read a table that
is not there; the other variants make theirs while it runs. Commits of views carry the
parents' versions, for measuring; those of base tables need nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.overload.plain import recompute
from freshline.delta.log import version
from freshline.project.model import Project, TableDef
from freshline.spark.commits.transaction import TABLE_PROPERTIES


def create_tables(project: Project, session: SparkSession) -> None:
    """Every table that is not there yet, empty."""
    for table in project.tables:
        path = project.table_path(table.name)
        if version(path) is not None:
            session.read.format("delta").load(path).createOrReplaceTempView(table.name)
            continue
        if table.feed is not None:
            schema = project.feeds[table.feed].schema
            assert schema is not None
            empty = session.createDataFrame([], schema)
        else:
            empty = session.sql(table.query).limit(0)
        empty.write.format("delta").options(**TABLE_PROPERTIES).save(path)
        session.read.format("delta").load(path).createOrReplaceTempView(table.name)


def start(project: Project, session: SparkSession, checkpoints: Path) -> list[StreamingQuery]:
    """A query for each table, parents first."""
    queries = []
    for table in project.tables:
        checkpoint = str(checkpoints / table.name)
        if table.feed is not None:
            feed = project.feeds[table.feed]
            assert feed.schema is not None
            files = session.readStream.format(feed.format).schema(feed.schema).load(feed.path)
            writer = files.writeStream.format("delta").queryName(table.name)
            path = project.table_path(table.name)
            queries.append(writer.option("checkpointLocation", checkpoint).start(path))
        else:
            writer = _changes(project, session, table).writeStream.queryName(table.name)
            writer = writer.foreachBatch(_recomputation(project, table))
            queries.append(writer.option("checkpointLocation", checkpoint).start())
    return queries


def _changes(project: Project, session: SparkSession, table: TableDef) -> DataFrame:
    """Something for every change of a parent; what it is does not matter."""
    changes: DataFrame | None = None
    for name in table.parents:
        reader = session.readStream.format("delta")
        if project.table(name).kind == "derived":
            reader = reader.option("readChangeFeed", "true")  # it is overwritten
        one = reader.load(project.table_path(name)).select(F.lit(1).alias("change"))
        changes = one if changes is None else changes.unionAll(one)
    assert changes is not None
    return changes


def _recomputation(project: Project, table: TableDef) -> Callable[[DataFrame, int], None]:
    """What the view's query does with a batch of changes."""

    def on_batch(changes: DataFrame, _: int) -> None:
        recompute(project, changes.sparkSession, table)

    return on_batch
