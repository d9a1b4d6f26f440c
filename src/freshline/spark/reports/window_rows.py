"""The rows that a stream brings in a window: by their event time, or by their arrival.

By event time where the base table names its column (``freshline.time``); where it does not, an
update's rows belong to the window (start, end] that holds the freshness it brought: what stands
for the data up to midnight is yesterday's. Either way every row is in one window, whatever the
order in which files come.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention
from pyspark.sql.types import TimestampType

from freshline.core.errors import PlatformError
from freshline.delta.changelog import ChangesGoneError
from freshline.delta.log import commits
from freshline.executor.report_records import Window
from freshline.project.model import Project
from freshline.spark.engine.columns import kind_of
from freshline.spark.engine.pins import asked_of, at_version
from freshline.spark.views.changes import Changes
from freshline.sql.text.reads import quoted
from freshline.times import seconds

NOTHING = -1
"""The version before a table's first."""


class RewrittenError(Exception):
    """A stream lost or changed rows, so partials of its old rows are worth nothing."""


@dataclass(frozen=True, slots=True)
class WindowRows:
    """One stream of a report.

    Attributes:
        session: The batch's own.
        path: Of the stream's Delta table.
        newest: The version up to which the batch reads.
        column: The event-time column; None: by arrival.
    """

    session: SparkSession
    path: str
    newest: int
    column: str | None
    window: Window

    def upto(self, version: int) -> DataFrame:
        """The window's rows at a version."""
        if version == NOTHING:
            return at_version(self.session, self.path, self.newest).limit(0)
        if self.column is None:
            first, last = self._arrived()
            return self._inserted(first, min(version, last))
        return self._in_time(self.whole(version))

    def whole(self, version: int) -> DataFrame:
        """All rows at a version, for the report's query."""
        return at_version(self.session, self.path, version, asked_of(self.window.table))

    def between(self, old: int, new: int) -> DataFrame:
        """The window's rows that came after version ``old``, up to ``new``.

        Raises:
            RewrittenError: Rows were deleted or updated too.
        """
        if old == NOTHING:
            return self.upto(new)
        if self.column is None:
            first, last = self._arrived()
            return self._inserted(max(old, first), min(new, last))
        return self._in_time(self._inserted(old, new))

    def _inserted(self, old: int, new: int) -> DataFrame:
        whole = at_version(self.session, self.path, self.newest)
        if new <= old:
            return whole.limit(0)
        try:
            changes = Changes(self.session, self.path, old, new)
        except ChangesGoneError as error:
            raise RewrittenError(self.path) from error
        if changes.rewrote:
            raise RewrittenError(self.path)
        return changes.inserted(whole.schema) if changes.some else whole.limit(0)

    def _in_time(self, rows: DataFrame) -> DataFrame:
        assert self.column is not None
        time, kind = F.col(quoted(self.column)), kind_of(rows.schema, self.column)
        if kind != "timestamp":
            time = time.cast(TimestampType())  # as the session's clock shows it
        start, end = (_moment(each) for each in (self.window.start_s, self.window.end_s))
        return rows.filter((time >= start) & (time < end))

    def _arrived(self) -> tuple[int, int]:
        """The versions (first, last] whose commits brought freshness within the window."""
        first = last = NOTHING
        for commit in commits(self.path):
            to_s = seconds(commit.metadata["to"])
            if to_s <= self.window.start_s:
                first = commit.version
            if to_s <= self.window.end_s:
                last = commit.version
        return first, last


def streams(
    session: SparkSession, project: Project, window: Window, pins: dict[str, int]
) -> dict[str, WindowRows]:
    """Every parent of a report, by name.

    Raises:
        PlatformError: One of them has no data yet.
    """
    found = {}
    for name in window.table.parents:
        if name not in pins:
            raise PlatformError(
                "no-data-yet",
                f"table {name} has no data yet, so the report {window.table.name} cannot be made",
                where=window.table.place,
                next_step="It is made as soon as there is some.",
            )
        parent = project.table(name)
        path = project.table_path(name)
        found[name] = WindowRows(session, path, pins[name], parent.time_column, window)
    return found


def whole_or_window(
    project: Project, rows: dict[str, WindowRows], pins: dict[str, int]
) -> Callable[[str], DataFrame]:
    """What a query that runs once reads of a parent: its window; of a view without time, all."""

    def frame(name: str) -> DataFrame:
        each = rows[name]
        if each.column is None and project.table(name).kind == "derived":
            return each.whole(pins[name])
        return each.upto(pins[name])

    return frame


def _moment(moment_s: float) -> Column:
    return F.timestamp_micros(F.lit(round(moment_s * 1_000_000)))
