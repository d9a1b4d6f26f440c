"""The table of a base table's rejected rows, ``<table>__rejected``.

Its commit comes before the base table's. So a death between the two leaves rejected rows of
files that were not loaded; the update that loads them, whatever its number, replaces those
rows. They are told by their ``update``: it is higher than that of the base table's last
commit.

A reload puts its rows beside those of the updates before it, which may yet be all that there is:
it can be given up. Its commit names itself as their end (:data:`ENDS`), so they go as soon as the
base table's commit is made, or with the next rows that are written. No row is thus lost, and none
is there twice once an update has ended.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention
from pyspark.sql.types import StructType

from freshline.core.errors import PlatformError
from freshline.delta.log import commit_of, last_commit, last_load
from freshline.delta.metadata import encode
from freshline.executor.records import UpdateRequest
from freshline.failpoints import failpoint
from freshline.project.model import Project, TableDef
from freshline.project.names import rejected_name
from freshline.project.sections.reader_options import has_plain_lines
from freshline.spark.commits.transaction import Transaction
from freshline.spark.engine.errors import SparkError
from freshline.spark.engine.pins import location
from freshline.spark.feeds.misfits import lines_of, reason
from freshline.spark.feeds.reader import CORRUPT, FeedReader
from freshline.sql.text.reads import quoted

SCHEMA = "reason STRING, file STRING, line BIGINT, record STRING, update BIGINT, at TIMESTAMP"
_EXPLAINED = pa.schema(
    [("reason", pa.string()), ("file", pa.string()), ("line", pa.int64()), ("record", pa.string())]
)
_LEADING_BLANKS, _SHOWN_OF_ARRAY = 100, 1000  # characters

ENDS = "ends"
"""Of a reload's commit: rows of updates before this number go once the base table has it."""

MOST_EXPLAINED_ROWS = 10_000
"""Up to so many rows of an update get their line and an exact reason; more are too many to read."""


class RejectedRows:
    """Writes one base table's rejected rows; used by one update at a time.

    Attributes:
        suspect: There may be rows of an update that was never committed.
    """

    def __init__(self, project: Project, table: TableDef, reader: FeedReader) -> None:
        self._table = table
        self._reader = reader
        self._name = rejected_name(table.name)
        self._base_path = project.table_path(table.name)
        self._path = project.table_path(self._name)
        self.suspect = True
        self._rows_beside: int | None = None
        """Rows that a reload has written beside older ones."""

    def settled(self, session: SparkSession, request: UpdateRequest) -> None:
        """The base table's commit that belongs to the last :meth:`write` was made.

        What a reload has replaced goes now, or else with the next rows that are written.
        """
        if self._rows_beside is not None:
            rows, self._rows_beside = self._rows_beside, None
            try:
                self._replace(session, request, rows)
            except (*SparkError, OSError, PlatformError):
                return
        self.suspect = False

    def _replace(self, session: SparkSession, request: UpdateRequest, rows: int) -> None:
        """Remove the rows of updates before a reload that has written so many."""
        transaction = Transaction(session, location(self._path), self._name, request.number)
        failpoint("base.before_replaced")
        gone = {"replaceWhere": f"`update` < {request.number}"}
        staged = transaction.stage(_no_rows(session), "overwrite", options=gone)
        staged.commit(self._metadata(request, rows))

    def rows_of(self, number: int) -> int:
        """How many rows update ``number`` rejected."""
        commit = commit_of(self._path, number)
        return int(commit.metadata["rows"]) if commit else 0

    def write(
        self,
        session: SparkSession,
        request: UpdateRequest,
        schema: StructType,
        misfit: str | None,
        *,
        some: bool,
    ) -> int:
        """Write the rejected rows of the request's files, if there are any.

        Args:
            session: The update's own.
            request: The update.
            schema: The feed's.
            misfit: SQL that says whether a record does not fit; None where every record does.
            some: There are rows to reject, or nobody counted.

        Returns:
            How many rows were rejected.
        """
        self._rows_beside = None
        if not (some or self.suspect or request.full):
            return 0
        transaction = Transaction(session, location(self._path), self._name, request.number)
        # Should the JVM of a killed run commit its rejected rows from now on, ours conflict, and
        # the update is tried again.
        newest = last_commit(self._path)
        # A compaction or a backfill may have come since the update whose rows are stray, with its
        # number.
        loaded = last_load(self._base_path) or last_commit(self._base_path)
        number = loaded.update if loaded else 0
        stray = self.suspect and newest is not None and newest.update > number
        ends = None if newest is None else newest.metadata.get(ENDS)
        ended = self.suspect and ends is not None and ends <= number
        reloads = request.full and newest is not None
        if not (some or stray or ended or reloads):
            return 0
        self.suspect = True
        rows = self._rows(session, request, schema, misfit if some else None)
        failpoint("base.before_rejected")
        if stray or ended:
            gone = f"`update` > {number}"  # and our own number, which is higher
            if ended:
                gone = f"`update` < {ends} OR {gone}"
            staged = transaction.stage(rows, "overwrite", options={"replaceWhere": gone})
        else:
            staged = transaction.stage(rows, "append")
        failpoint("base.before_rejected_commit")
        if staged.rows or stray or ended or reloads:
            more = {ENDS: request.number} if reloads else {}
            staged.commit(self._metadata(request, staged.rows, more))
            self._rows_beside = staged.rows if reloads else None
        failpoint("base.after_rejected")
        return staged.rows

    def _metadata(
        self, request: UpdateRequest, rows: int, more: Mapping[str, int] | None = None
    ) -> str:
        names = [file.name for file in request.files]
        return encode(
            request,
            table=self._name,
            files=self._reader.loads(names),
            parents={},
            strategy="append",
            rows=rows,
            more=more,
        )

    def _rows(
        self,
        session: SparkSession,
        request: UpdateRequest,
        schema: StructType,
        misfit: str | None,
    ) -> DataFrame:
        """The rejected rows as they go into the table."""
        if misfit is None:
            return _no_rows(session)
        names = [file.name for file in request.files]
        is_text = self._reader.feed.format != "parquet"
        records = self._reader.read(session, names, schema)
        path, line = self._reader.origin(records)
        columns = [F.col(quoted(field.name)) for field in schema.fields]
        # Of an array each record brings the text of all of it: a thousand of them fill the heap.
        text = F.col(CORRUPT) if is_text else F.lit(None).cast("string")
        if self._reader.feed.format == "json":
            of_array = F.ltrim(F.substring(text, 1, _LEADING_BLANKS)).startswith("[")
            text = F.when(of_array, F.substring(text, 1, _SHOWN_OF_ARRAY)).otherwise(text)
        names_of_nulls = [
            F.when(column.isNull(), F.lit(each.name))
            for column, each in zip(columns, schema, strict=True)
        ]
        backslashed = [
            F.when(F.expr(condition), F.lit(name))
            for name, condition in self._reader.backslashed(schema).items()
        ]
        within = [
            F.when(F.expr(is_null), F.lit(path))
            for path, is_null in self._reader.nulls_within(schema).items()
        ]
        found = records.filter(misfit).select(
            path.alias("path"),
            line.alias("line"),
            text.alias("text"),
            F.array_compact(F.array(*names_of_nulls)).alias("nulls"),
            F.array_compact(F.array(*backslashed)).alias("backslashed"),
            F.array_compact(F.array(*within)).alias("within"),
            F.to_json(F.struct(*columns)).alias("parsed"),
        )
        first = found.limit(MOST_EXPLAINED_ROWS + 1).collect()
        at_us = time.time_ns() // 1000
        if len(first) <= MOST_EXPLAINED_ROWS:
            explained = self._explained(first, schema)
            # By way of Arrow: from a list, PySpark would start Python workers.
            named = [dict(zip(_EXPLAINED.names, row, strict=True)) for row in explained]
            frame = session.createDataFrame(pa.Table.from_pylist(named, schema=_EXPLAINED))
        else:
            frame = found.select(
                F.lit("it does not fit the schema").alias("reason"),
                self._reader.shown_file(F.col("path")).alias("file"),
                F.col("line"),
                F.coalesce("text", "parsed").alias("record"),
            )
        return frame.select(
            "*",
            F.lit(request.number).cast("bigint").alias("update"),
            F.timestamp_micros(F.lit(at_us)).alias("at"),
        ).coalesce(1)

    def _explained(
        self, rows: list[Row], schema: StructType
    ) -> list[tuple[str, str, int | None, str]]:
        """Reason, file, line and record of each row, in the order of files, then lines."""
        feed = self._reader.feed
        by_path: defaultdict[str, list[Row]] = defaultdict(list)
        for row in rows:
            by_path[row["path"]].append(row)
        explained = []
        for path, group in by_path.items():
            name = self._name_of(path)
            lines = self._lines(name, group, schema)
            for row, (line, as_it_stands) in zip(group, lines, strict=True):
                text = row["text"]
                columns = row["nulls"], row["backslashed"]
                why = reason(text, schema, *columns, feed, row["within"])
                record = row["parsed"] if text is None else text
                explained.append((why, name, line, as_it_stands or record))
        return sorted(explained, key=lambda entry: (entry[1], entry[2] or 0))

    def _lines(
        self, name: str, rows: list[Row], schema: StructType
    ) -> list[tuple[int | None, str | None]]:
        """The line of each row, and its text where that was found there."""
        if all(row["line"] is not None for row in rows):
            return [(row["line"], None) for row in rows]
        feed = self._reader.feed
        is_searched = feed.path.startswith("/") and feed.format != "parquet"
        if not (is_searched and has_plain_lines(feed.options)):
            return [(None, None)] * len(rows)
        records = [(row["text"], row["parsed"]) for row in rows]
        found = lines_of(Path(feed.path) / name, records, schema, feed)
        return [(None, None) if each is None else each for each in found]

    def _name_of(self, path: str) -> str:
        """A file's name relative to the feed, from Spark's encoded path."""
        decoded = unquote(path)
        folder = self._reader.feed.path.rstrip("/")
        if folder.startswith("/"):
            decoded = "/" + decoded.removeprefix("file:").lstrip("/")
        return decoded.removeprefix(folder + "/")


def _no_rows(session: SparkSession) -> DataFrame:
    return session.sql(f"SELECT inline(from_json('[]', 'ARRAY<STRUCT<{SCHEMA}>>'))")
