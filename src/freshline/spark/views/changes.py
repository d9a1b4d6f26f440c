"""The rows by which a parent changed between two of its versions.

The cheap way where the parent only gained rows: the files that its commits added, read as
Parquet. Otherwise Delta's change feed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property, reduce
from itertools import groupby

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention
from pyspark.sql.types import StructType

from freshline.delta.changelog import AddedFile, ChangesGoneError, LoggedChanges, logged_changes
from freshline.delta.log_files import StoreLog, unreadable
from freshline.spark.engine import jvm
from freshline.spark.engine.columns import CHARS
from freshline.spark.engine.listed import (
    MOST_FILES,
    ParquetFile,
    is_left_out,
    is_plain_column,
    rows_of_parquet,
)
from freshline.spark.engine.pins import location, snapshot_at
from freshline.spark.engine.sizing import together
from freshline.sql.text.reads import quoted_column

_MOST_PARTITIONS = 16
"""Values of partition columns for which files are read apart; more: the change feed."""

_AS_TEXT = ("string", "tinyint", "smallint", "int", "bigint", "date", "boolean")
"""Types of partition columns whose text in the log means the same in every session."""

_CHANGE = "_change_type"
_DELTA = "org.apache.spark.sql.delta"


class Changes:
    """What happened to one parent from version ``old`` (not included) to ``new``.

    Args:
        session: The update's own.
        path: Of the parent's Delta table.
        old, new: The versions; ``old`` is at most ``new``.

    Raises:
        ChangesGoneError: What changed can no longer be told.
        PlatformError: The log cannot be read.
    """

    def __init__(self, session: SparkSession, path: str, old: int, new: int) -> None:
        self.old = old
        self.new = new
        self._session = session
        self._path = path
        self._frame: DataFrame | None = None
        self._told = logged_changes(path, old, new)

    @cached_property
    def redefined(self) -> bool:
        """Whether the parent's columns or properties changed."""
        if self._told is not None:
            return self._told.redefined
        return _redefines(self._path, self.old, self.new)

    @cached_property
    def _logged(self) -> LoggedChanges:
        """What is told from the change feed waits until it is asked for.

        Where a column's type changed, rows from before may not be readable.
        """
        return self._asked() if self._told is None else self._told

    @property
    def some(self) -> bool:
        """Whether any row changed."""
        return bool(self._logged.added) or self._logged.rewrote

    @property
    def rewrote(self) -> bool:
        """Whether rows were deleted or updated, not only inserted."""
        return self._logged.rewrote

    @property
    def rows(self) -> int:
        """Change rows, at most."""
        return self._logged.rows

    @property
    def size_bytes(self) -> int:
        """Of the files that were added."""
        return self._logged.size_bytes

    def times_us(self, column: str) -> list[tuple[tuple[int, int] | None, bool]] | None:
        """Per file added, what the log says of a TIMESTAMP column's values.

        See :meth:`freshline.delta.changelog.AddedFile.times_us`; None: the rows must be read.
        """
        if not self._has_statistics:
            return None
        told = [file.times_us(column) for file in self._logged.added]
        return None if None in told else [each for each in told if each is not None]

    def numbers(self, column: str) -> list[tuple[int, int]] | None:
        """Per file added, what the log says of a column of whole numbers or dates.

        See :meth:`freshline.delta.changelog.AddedFile.numbers`; None: the rows must be read.
        """
        if not self._has_statistics:
            return None
        told = [file.numbers(column) for file in self._logged.added]
        return None if None in told else [each for spans in told for each in spans or ()]

    @property
    def _has_statistics(self) -> bool:
        """Whether the log can say something of all change rows, by the columns' names."""
        # Statistics are kept by names that a renamed column no longer has.
        return not self._logged.rewrote and not self._renamed

    def replaced_us(self, column: str) -> tuple[list[tuple[int, int]], bool] | None:
        """Intervals of a TIMESTAMP column's values in all change rows, and whether NULL is there.

        As the commits say that replaced rows by such intervals; None: the rows must be read.
        """
        told = self._logged.replaced
        if not told or any(each.column.lower() != column.lower() for each in told):
            return None
        spans = [span for each in told for span in each.spans_us]
        return spans, any(each.null for each in told)

    def inserted(self, schema: StructType) -> DataFrame:
        """The rows inserted, where some were and none were deleted or updated.

        Args:
            schema: Of the parent at ``new``.
        """
        files = self._readable(schema)
        if files is not None:
            rows = reduce(DataFrame.unionAll, files)
            return together(rows, self.size_bytes, len(self._logged.added))
        return self._fed(schema)

    def all(self, schema: StructType) -> DataFrame:
        """The rows inserted and deleted, updated ones before and after, where there are some."""
        return self._fed(schema) if self.rewrote else self.inserted(schema)

    def _fed(self, schema: StructType) -> DataFrame:
        rows = jvm.selected(self._feed(), [quoted_column(field.name) for field in schema])
        return rows if self._told is None else together(rows, self.size_bytes)

    def _readable(self, schema: StructType) -> list[DataFrame] | None:
        """The added files as frames, one for each partition; None: take the change feed."""
        logged = self._logged
        if not logged.added or not logged.readable or logged.rewrote or self._renamed:
            return None
        if any(is_left_out(file.path) for file in logged.added):
            return None
        columns = list(logged.added[0].partition)
        if any(list(file.partition) != columns for file in logged.added):
            return None
        fields = {field.name: field for field in schema}
        types = {name: field.dataType for name, field in fields.items()}
        if any(types[name].simpleString() not in _AS_TEXT for name in columns):
            return None
        if any(CHARS in fields[name].metadata for name in columns):
            return None
        stored = StructType([field for field in schema if field.name not in columns])
        if not len(stored):
            return None

        def values(file: AddedFile) -> list[tuple[bool, str]]:
            return [(value is None, value or "") for value in file.partition.values()]

        frames: list[DataFrame] = []
        for _, group in groupby(sorted(logged.added, key=values), key=values):
            files = list(group)
            if len(frames) == _MOST_PARTITIONS:
                return None
            frame = self._parquet(files, stored)
            for name, value in files[0].partition.items():
                frame = frame.withColumn(name, F.lit(value).cast(types[name]))
            # Parquet's reader has them in this order already.
            names = [quoted_column(field.name) for field in schema]
            frames.append(jvm.selected(frame, names) if columns else frame)
        return frames

    def _parquet(self, files: Sequence[AddedFile], schema: StructType) -> DataFrame:
        session = self._session
        is_plain = all(is_plain_column(each.jsonValue()) for each in schema)
        # Spark leaves out a file whose size it takes for zero.
        if len(files) <= MOST_FILES and is_plain and all(each.size_bytes for each in files):
            found = [
                ParquetFile(location(each.path), each.size_bytes, each.modified_ms)
                for each in files
            ]
            kind = jvm.java_session(session).parseDataType(schema.json())
            return rows_of_parquet(session, kind, found)
        reader = session.read.schema(schema)
        # A folder's name such as day=2026-01-01 is no column of these files.
        reader = reader.option("recursiveFileLookup", "true")
        return reader.parquet(*(location(each.path) for each in files))

    @cached_property
    def _renamed(self) -> bool:
        """Whether the files' columns have other names than the table's."""
        session = self._session
        jvm.activate(session)
        log = jvm.named(session, f"{_DELTA}.DeltaLog.forTable")(
            jvm.java_session(session), location(self._path)
        )
        metadata = log.unsafeVolatileSnapshot().metadata()
        return str(metadata.columnMappingMode().name()) != "none"

    def _feed(self) -> DataFrame:
        """Delta's change feed, as Spark's own rows.

        What ``readChangeFeed`` reads goes through objects of Java, in which a text that is not
        UTF-8 becomes another one: its bytes come back as U+FFFD.
        """
        if self._frame is None:
            session, nothing = self._session, jvm.none(self._session)
            snapshot = snapshot_at(session, self._path, self.new)
            changes = jvm.named(session, f"{_DELTA}.commands.cdc.CDCReader.changesToBatchDF")(
                snapshot.deltaLog(),
                self.old + 1,
                self.new,
                jvm.java_session(session),
                nothing,
                jvm.some(session, snapshot),
                False,
                nothing,
            )
            self._frame = DataFrame(changes, session)
        return self._frame

    def _asked(self) -> LoggedChanges:
        """The same from the change feed itself, where the log is not on this machine."""
        if self.old == self.new:
            return LoggedChanges()
        by_type = {
            row[_CHANGE]: int(row["count"])
            for row in self._feed().groupBy(_CHANGE).count().collect()
        }
        inserted = (AddedFile("", {}),) if "insert" in by_type else ()
        return LoggedChanges(
            inserted,
            rewrote=bool(set(by_type) - {"insert"}),
            rows=sum(by_type.values()),
            readable=False,
        )


def _redefines(path: str, old: int, new: int) -> bool:
    """Whether a commit changed columns or properties, of a log that is not on this machine."""
    log = StoreLog(path)
    try:
        for number, lines in log.all_lines(range(old + 1, new + 1)):
            if any('"metaData"' in each and _is_metadata(log, number, each) for each in lines):
                return True
    except FileNotFoundError as error:
        raise ChangesGoneError(f"a commit of {path} was cleaned up") from error
    return False


def _is_metadata(log: StoreLog, number: int, line: str) -> bool:
    """Whether a line of a commit that has the word says it of the table."""
    try:
        return "metaData" in json.loads(line)
    except ValueError as error:
        raise unreadable(log.file(number), error) from error
