"""An update of a base table over a feed of kind delta: to a version of the feed's table."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from freshline.delta.log import last_commit
from freshline.executor.records import UpdateRequest, UpdateResult
from freshline.project.model import Project, TableDef
from freshline.spark.commits.repeated import repeated_result
from freshline.spark.commits.transaction import Transaction
from freshline.spark.engine.errors import SparkError, is_gone, update_failed
from freshline.spark.engine.result_settings import settings_of
from freshline.spark.feeds.base import BaseUpdates
from freshline.spark.feeds.source_plan import Step
from freshline.spark.feeds.source_reader import SourceReader, StepReader


class _OtherColumnsError(Exception):
    """The query's columns are no longer those of the rows that were loaded before."""


class SourceUpdates(BaseUpdates):
    """Updates of one base table.

    Args:
        project: Of the table.
        table: The base table.
        reader: Of its feed.
        confirm: As of :class:`BaseUpdates`.
    """

    def __init__(
        self,
        project: Project,
        table: TableDef,
        reader: SourceReader,
        confirm: Callable[[SparkSession, Mapping[str, StructType]], None] | None = None,
    ) -> None:
        super().__init__(project, table, reader, confirm)
        self._source = reader

    def run(self, session: SparkSession, request: UpdateRequest) -> UpdateResult:
        """Bring the table to the newest version that the request names, or beyond.

        Raises:
            PlatformError: ``source-replaced``: the feed's table is not what was loaded from.
            FreshlineError: The update failed; nothing was committed.
        """
        started_s = time.monotonic()
        try:
            transaction = self._transaction(session, request)
            if transaction.committed:
                return repeated_result(self._project, self._table, request, started_s)
            self.check_standing(transaction, request)
            # As they are before anything is read; reading sets some of them.
            settings = settings_of(session, self._project, self._table)
            query = self._table.query
            planning = self._source.planning(session, request, query, settings)
            last = last_commit(self._project.table_path(self._table.name))
            step = planning.step(None if last is None else last.metadata)
            try:
                return self._taken(session, transaction, request, step, settings, started_s)
            except _OtherColumnsError:
                step = planning.whole("source-redefined", "the query's columns changed")
            except SparkError as error:
                if (step.newest and step.whole) or not is_gone(error):
                    raise
                # VACUUM removed what the log still names; the newest version has its rows.
                planning = self._source.planning(session, request, query, settings)
                step = planning.whole("source-files-gone", "files of its versions were removed")
            transaction = self._transaction(session, request)
            return self._taken(session, transaction, request, step, settings, started_s)
        except (*SparkError, OSError) as error:
            raise update_failed(self._project, self._table, error) from error

    def _taken(
        self,
        session: SparkSession,
        transaction: Transaction,
        request: UpdateRequest,
        step: Step,
        settings: Mapping[str, str],
        started_s: float,
    ) -> UpdateResult:
        reader = StepReader(self._project, self._source.feed, step, settings)
        request = dataclasses.replace(request, full=step.replaces and transaction.exists)
        schema = reader.schema(session, ())
        return self.load(session, transaction, request, reader, schema, started_s)

    def fitted(
        self, transaction: Transaction, request: UpdateRequest, output: DataFrame
    ) -> tuple[DataFrame, bool, Mapping[str, str]]:
        """As for files, but what was loaded before must have the query's columns as they are."""
        there = transaction.schema
        if there is not None and not request.full:
            now = _types(output.schema)
            if any(now.get(name) != kind for name, kind in _types(there).items()):
                raise _OtherColumnsError
        return super().fitted(transaction, request, output)

    def _transaction(self, session: SparkSession, request: UpdateRequest) -> Transaction:
        return Transaction(session, self._path, self._table.name, request.number)


def _types(schema: StructType) -> dict[str, str]:
    return {each.name.lower(): each.dataType.simpleString() for each in schema}
