"""Asking for the Delta table that a feed reads, by its path or by its name in the catalog."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from freshline.core.errors import PlatformError, UserError
from freshline.executor.source import SourceLook, SourceMissingError
from freshline.project.model import DeltaSource, Feed, StaticRead
from freshline.spark.engine.errors import SparkError, condition, one_line
from freshline.spark.engine.pins import location, newest_snapshot

_MISSING = frozenset(
    {
        "TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "NO_SUCH_TABLE", "NO_SUCH_DATABASE",
        "DELTA_TABLE_NOT_FOUND", "DELTA_PATH_DOES_NOT_EXIST",
    }
)  # fmt: skip
_BY_THE_CATALOG = ("catalogManaged", "catalogOwned")
"""Features of tables whose commits a catalog keeps; the names begin so."""


class SourceTable:
    """One feed's table; see :class:`freshline.executor.source.Source`.

    Args:
        session: A running session.
        feed: A feed of kind delta.
    """

    def __init__(self, session: SparkSession, feed: Feed) -> None:
        assert isinstance(feed.settings, DeltaSource)
        self._session = session
        self._feed = feed
        self._table = feed.settings.table

    @property
    def shown(self) -> str:
        """The table as the feed names it."""
        return self._table or self._feed.path

    def look(self) -> SourceLook:
        """How the table stands now.

        Raises:
            SourceMissingError: There is no such table.
            PlatformError: It cannot be read.
            UserError: Its commits are kept by a catalog.
        """
        snapshot = self.newest(self._session)
        path = str(snapshot.deltaLog().dataPath().toString())
        return SourceLook(path, str(snapshot.metadata().id()), int(snapshot.version()))

    def newest(self, session: SparkSession) -> Any:
        """Delta's own object for the table as it is now.

        Raises:
            FreshlineError: As for :meth:`look`.
        """
        feed = self._feed
        path = None if self._table else location(feed.path)
        read = StaticRead(self.shown, "delta" if path else None, path, ())
        try:
            snapshot = newest_snapshot(session, read)
        except SparkError as error:
            if condition(error) in _MISSING:
                raise SourceMissingError(feed.name, self.shown, where=feed.place) from error
            raise PlatformError(
                "source-unreadable",
                f"the Delta table {self.shown} of feed {feed.name} cannot be read:"
                f" {one_line(error)}",
                where=feed.place,
                next_step="Check that the storage or the catalog can be reached, and that this"
                " version of Delta knows the table's features; it is tried again.",
            ) from error
        if snapshot is None:
            raise SourceMissingError(feed.name, self.shown, where=feed.place)
        if any(name in str(snapshot.protocol().writerFeatures()) for name in _BY_THE_CATALOG):
            raise UserError(
                "source-catalog-managed",
                f"the Delta table {self.shown} of feed {feed.name} keeps its commits in a catalog",
                where=feed.place,
                rule="a feed of kind delta reads the commits in the table's log",
                next_step="Read a table without the feature catalogManaged, or a copy.",
            )
        return snapshot
