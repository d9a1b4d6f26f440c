"""An update of a base table: the rows of exactly these files, appended in one commit."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from freshline.core.errors import UserError
from freshline.delta.histories import KEY
from freshline.delta.metadata import encode
from freshline.delta.standing import changed_between, departure, rows_changed
from freshline.executor.records import UpdateRequest, UpdateResult
from freshline.failpoints import failpoint
from freshline.project.model import Project, TableDef
from freshline.spark.commits.comments import Comments
from freshline.spark.commits.repeated import repeated_result
from freshline.spark.commits.transaction import Transaction, table_properties
from freshline.spark.engine import jvm
from freshline.spark.engine.columns import (
    cast_to,
    holds,
    same_chars,
    same_columns,
    same_names,
    without_mixed_chars,
)
from freshline.spark.engine.errors import SparkError, update_failed
from freshline.spark.engine.pins import location, pin_statics
from freshline.spark.engine.sizing import sized
from freshline.spark.feeds.reader import FeedReader, those_that_fit, view_of
from freshline.spark.feeds.rejected import RejectedRows
from freshline.spark.feeds.unreadable import (
    empty_parquet,
    misread_files,
    moved_files,
    no_files,
    refuse,
    unreadable_files,
)
from freshline.spark.pipelines.programs import register_programs
from freshline.spark.storable import refuse_unstorable
from freshline.sql.text.tokens import tokens

_COUNTS = "freshline.counts"
_ENOUGH = ("LIMIT", "EXISTS", "TABLESAMPLE")
"""Words of queries for which some rows are enough."""


class BaseUpdates:
    """Updates of one base table.

    The files are read once: while the good rows are written, Spark counts those that do not
    fit. Only when there are some are the files read again, for the table of rejected rows.

    Args:
        project: Of the table.
        table: The base table.
        reader: Of its feed.
        confirm: Called before the first update with the columns of the feed, by its name: raises
            where the query cannot be updated.
    """

    def __init__(
        self,
        project: Project,
        table: TableDef,
        reader: FeedReader,
        confirm: Callable[[SparkSession, Mapping[str, StructType]], None] | None = None,
    ) -> None:
        self._project = project
        self._table = table
        self._reader = reader
        self._path = location(project.table_path(table.name))
        self._rejected = RejectedRows(project, table, reader)
        self._known: tuple[int, str] | None = None
        self._columns: StructType | None = None
        """With which that version's load has read the feed."""
        self._unseen: int | None = None
        self._confirm = confirm

    def run(self, session: SparkSession, request: UpdateRequest) -> UpdateResult:
        """Load the request's files.

        Raises:
            UnreadableFilesError: Some of the files cannot be read; nothing was committed.
            FreshlineError: The update failed; nothing was committed.
        """
        started_s = time.monotonic()
        names = [file.name for file in request.files]
        schema: StructType | None = None
        try:
            transaction = Transaction(session, self._path, self._table.name, request.number)
            if transaction.committed:
                return repeated_result(self._project, self._table, request, started_s)
            self.check_standing(transaction, request)
            self._refuse(no_files(self._reader, names))
            empty = [name for name in names if empty_parquet(self._reader, name)]
            if empty:
                self._refuse(unreadable_files(session, self._reader, names, None))
            schema = self._schema(session, transaction, request)
            self._refuse(self._reader.unreadable(session, names))
            self._refuse(misread_files(session, self._reader, names, schema))
            return self.load(session, transaction, request, self._reader, schema, started_s)
        except (*SparkError, OSError) as error:
            self._refuse(unreadable_files(session, self._reader, names, schema))
            raise update_failed(self._project, self._table, error) from error

    def _schema(
        self, session: SparkSession, transaction: Transaction, request: UpdateRequest
    ) -> StructType:
        """The feed's; the log is not read again where nobody has committed since our last load."""
        is_ours = self._known is not None and _found(transaction) == self._known
        if not request.full and self._columns is not None and is_ours:
            return self._columns
        names = [file.name for file in request.files]
        return self._reader.schema(session, names, anew=request.full, table=self._table.name)

    def check_standing(self, transaction: Transaction, request: UpdateRequest) -> None:
        """Refuse to load into a table that lost what was loaded before, or that is not ours.

        Raises:
            PlatformError: One of ``freshline.delta.standing.CODES``.
        """
        if request.full:
            return
        accepted, kind = request.accepted, self._reader.feed.kind
        if self._unseen is not None and (accepted is None or 0 <= accepted < self._unseen):
            raise changed_between(self._table, self._unseen, kind)
        found = _found(transaction)
        if found is not None and found == self._known:
            return  # nobody has committed since our last update
        path = self._project.table_path(self._table.name)
        error = departure(
            self._table, path, found, self._known, accepted, kind, filled=request.filled
        )
        if error is not None:
            raise error

    def load(
        self,
        session: SparkSession,
        transaction: Transaction,
        request: UpdateRequest,
        reader: FeedReader,
        schema: StructType,
        started_s: float,
    ) -> UpdateResult:
        """Read what the request names, and commit it.

        Raises:
            UnreadableFilesError: Some of it is gone, or changed meanwhile.
        """
        names = [file.name for file in request.files]
        as_read = reader.stands(names)
        records = reader.read(session, names, schema)
        misfit = reader.misfit(schema)
        fitting = records
        if misfit is not None:
            fitting = those_that_fit(records, schema, misfit, _COUNTS)
        assert self._table.feed is not None
        if self._confirm is not None:
            self._confirm(session, {self._table.feed: reader.visible(schema)})
            self._confirm = None
        seen = view_of(fitting, self._table.query, reader.feed)
        jvm.show(seen, self._table.feed)
        pinned = pin_statics(session, self._table)
        register_programs(session, self._project, self._table, pinned.names)
        parents = {**pinned.versions, **reader.pins()}
        output = without_mixed_chars(session.sql(pinned.query))
        output, changed, options = self.fitted(transaction, request, output)
        if changed or not transaction.exists:
            refuse_unstorable(self._table, output)
        output = sized(session, output, self._project.configuration, files=len(names))
        comments = Comments.of(self._table)
        if not (changed or options):
            transaction.describe(comments)
        failpoint("base.before_data")
        staged = transaction.stage(
            comments.in_frame(output) if changed or not transaction.exists else output,
            "overwrite" if request.full else "append",
            partitioned_by=self._table.partitioned_by,
            options=options,
            properties=table_properties(self._project, self._table) | comments.properties,
        )
        failpoint("base.after_data")
        some = misfit is not None and self._some_misfit(output)
        rejected = 0
        if some or request.full or self._rejected.suspect:
            rejected = self._rejected.write(session, request, schema, misfit, some=some)
        self._refuse(self._reader.unreadable(session, names))
        self._refuse(moved_files(self._reader, names, as_read))
        before = transaction.version
        metadata = encode(
            request,
            table=self._table.name,
            files=reader.loads(names),
            parents=parents,
            strategy=reader.how.name,
            rows=staged.rows,
            more={
                "id": transaction.table_id,
                "after": before,
                **reader.facts(schema),
                **({"ids": pinned.ids, KEY: pinned.marks} if pinned.versions else {}),
            },
        )
        failpoint("base.before_commit")
        version = staged.commit(metadata)
        failpoint("base.after_commit")
        self._known, self._columns = (version, transaction.table_id), schema
        path = self._project.table_path(self._table.name)
        others_came = before + 1 < version and rows_changed(self._table, path, before, version - 1)
        self._unseen = version if others_came else None
        self._rejected.settled(session, request)
        return UpdateResult(
            version=version,
            rows=staged.rows,
            rejected_rows=rejected,
            seconds=time.monotonic() - started_s,
            strategy=reader.how.name,
            reason=reader.how.reason,
            repeated=False,
            parents=parents,
            schema_changed=changed,
            code=reader.how.code,
            read={
                file.name: as_read[file.name]
                for file in request.files
                if as_read.get(file.name, (file.size_bytes, file.modified_s))
                != (file.size_bytes, file.modified_s)
            },
        )

    def fitted(
        self, transaction: Transaction, request: UpdateRequest, output: DataFrame
    ) -> tuple[DataFrame, bool, Mapping[str, str]]:
        """The query's result as the table takes it, whether its columns change, and how.

        A full update takes the columns of the query as they are. An append keeps the table's
        types, and adds columns that the query has gained since.
        """
        there = transaction.schema
        if there is None:
            return output, False, {}
        if request.full:
            changed = not (
                same_columns(there, output.schema)
                and same_chars(there, output.schema)
                and same_names(transaction.partition_columns, self._table.partitioned_by)
            )
            return output, changed, {"overwriteSchema": "true"} if changed else {}
        if same_columns(there, output.schema):
            return output, False, {}
        self._refuse_other_types(there, output.schema)
        output = cast_to(output, there)
        known = {field.name.lower() for field in there}
        gained = any(field.name.lower() not in known for field in output.schema)
        return output, gained, {"mergeSchema": "true"} if gained else {}

    def _refuse_other_types(self, there: StructType, now: StructType) -> None:
        """Raise if a column could get values that its type does not hold.

        A cast would cut them without a word (1.5 to 1, a time to its day), or fail at one of them.
        """
        kinds = {each.name.lower(): each.dataType for each in there}
        wrong = [
            f"{each.name} is {kinds[each.name.lower()].simpleString().upper()} in it and"
            f" {each.dataType.simpleString().upper()} now"
            for each in now
            if each.name.lower() in kinds and not holds(kinds[each.name.lower()], each.dataType)
        ]
        if wrong:
            raise UserError(
                "other-types",
                f"table {self._table.name} was not updated: column {'; column '.join(wrong)}",
                where=self._table.query_place,
                rule="what is loaded from now on goes into columns as they are",
                next_step=f"`freshline refresh {self._table.name} --full` loads all files again,"
                " into the new types; or CAST the column in the query to its type in the table.",
            )

    def _some_misfit(self, written: DataFrame) -> bool:
        """Whether a record did not fit, as counted while ``written`` was written.

        Not counted means maybe, and so does no record: Spark reads nothing where it sees that the
        query has no rows, before it runs or meanwhile (a join that finds nothing).
        """
        records, misfits, _ = jvm.observed(written, _COUNTS) or (0, 0, 0)
        return records == 0 or misfits > 0 or _may_stop_early(self._table.query)

    def _refuse(self, faults: Sequence[tuple[str, str]] | None) -> None:
        refuse(self._table.name, self._reader, faults)


def _found(transaction: Transaction) -> tuple[int, str] | None:
    """Version and identity of the table as the update found it; None: there is none."""
    return (transaction.version, transaction.table_id) if transaction.exists else None


@lru_cache(maxsize=4096)
def _may_stop_early(query: str) -> bool:
    """Whether Spark may have its rows before it has read all records of the feed."""
    return any(token.text.upper() in _ENOUGH for token in tokens(query))
