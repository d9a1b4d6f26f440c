"""A range of a table loaded or computed again: its rows replaced in one atomic commit.

Both kinds of table are functions of what their last commit says: a base table of the files
loaded so far, a view of its parents' versions. So the rows whose event time lies in the range
are computed again from all of it, and replace the rows of the table in that range
(:mod:`freshline.spark.commits.replacement`). That holds wherever an event's row came from: a
late file's rows too are in exactly once. Rows without an event time are outside every range and
stay as they are.

The table's children are told of the rows that came out otherwise, and of no others. The commit
brings no freshness, names no files (they are in the table already, by the commits that name
them), and carries a view's pins and its state's versions on unchanged.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from freshline.core.errors import UserError
from freshline.delta.histories import KEY, marks_of, put_back
from freshline.delta.log import last_commit, same_rows
from freshline.delta.metadata import BACKFILL, encode
from freshline.executor.distrust import distrusted
from freshline.executor.records import UpdateRequest, UpdateResult
from freshline.failpoints import failpoint
from freshline.project.model import Project, TableDef
from freshline.spark.commits.others import changed_by_others
from freshline.spark.commits.repeated import repeated_result
from freshline.spark.commits.replacement import replace
from freshline.spark.commits.transaction import Transaction
from freshline.spark.engine import jvm
from freshline.spark.engine.columns import same_columns
from freshline.spark.engine.errors import SparkError, update_failed
from freshline.spark.engine.pins import Pinned, location, pin_statics, register_parents
from freshline.spark.engine.result_settings import settings_of
from freshline.spark.feeds.base import BaseUpdates
from freshline.spark.feeds.reader import FeedReader, those_that_fit, view_of
from freshline.spark.feeds.unreadable import misread_files, moved_files, refuse
from freshline.spark.pipelines.programs import register_programs
from freshline.spark.views.derived import DerivedUpdates
from freshline.spark.views.full_refresh import are_others, has_unversioned, ids_of
from freshline.sql.query.records import Buckets, Reason, ViewPlan
from freshline.sql.text.reads import quoted_column
from freshline.times import rfc3339

_COUNTS = "freshline.counts"
_CARRIED_ON = ("settings", "state", "costs", "ids", "plan")
"""Keys of a view's commit that its next incremental update counts on."""


class Backfills:
    """Backfills of one table.

    Args:
        project: Of the table.
        table: The table.
        reader: Of a base table's feed.
        derived: Of a view: what computes all of it, where a range cannot be replaced.
        base: Of a base table: what knows whether it still has what was loaded.
    """

    def __init__(
        self,
        project: Project,
        table: TableDef,
        reader: FeedReader | None = None,
        derived: DerivedUpdates | None = None,
        base: BaseUpdates | None = None,
    ) -> None:
        self._project = project
        self._table = table
        self._reader = reader
        self._derived = derived
        self._base = base
        self._path = location(project.table_path(table.name))

    def run(self, session: SparkSession, request: UpdateRequest) -> UpdateResult:
        """Load or compute the request's range again.

        Raises:
            PlatformError: Others changed rows of a base table (``freshline.delta.standing``).
            UserError: A base table's rows in the range cannot be told apart, or its columns
                have changed.
            UnreadableFilesError: A file of the feed cannot be read as it is written.
            FreshlineError: It failed; nothing was committed.
        """
        started_s = time.monotonic()
        try:
            transaction = Transaction(session, self._path, self._table.name, request.number)
            if transaction.committed:
                return repeated_result(self._project, self._table, request, started_s)
            if self._base is not None:
                # Behind a commit of ours nobody would see what others did before it.
                self._base.check_standing(transaction, request)
            output, pinned, read = self._output(session, request)
            parents = {**request.parents, **pinned.versions}
            ids = ids_of(session, self._project, request, pinned)
            facts = self._facts(transaction, request, output, parents, ids, pinned)
            if facts is None:
                assert self._derived is not None
                return self._derived.run(session, dataclasses.replace(request, full=True))
            marks = {**marks_of(self._project, request.parents), **pinned.marks}
            facts = {**facts, **read, KEY: marks}
            return self._replace(transaction, request, output, parents, facts, started_s)
        except (*SparkError, OSError) as error:
            raise update_failed(self._project, self._table, error) from error

    def _output(
        self, session: SparkSession, request: UpdateRequest
    ) -> tuple[DataFrame, Pinned, Mapping[str, Any]]:
        """The whole query over what the table is made of, its static tables, how a feed is read."""
        read: Mapping[str, Any] = {}
        if self._reader is not None:
            names = [file.name for file in request.files]
            schema = self._reader.schema(session, names, table=self._table.name)
            read = self._reader.facts(schema)
            misread = misread_files(session, self._reader, self._changed(request), schema)
            refuse(self._table.name, self._reader, misread)
            records = self._reader.read(session, names, schema)
            misfit = self._reader.misfit(schema)
            if misfit is not None:
                records = those_that_fit(records, schema, misfit, _COUNTS)
            assert self._table.feed is not None
            fitting = view_of(records, self._table.query, self._reader.feed)
            jvm.show(fitting, self._table.feed)
        else:
            register_parents(session, self._project, self._table, request.parents)
        pinned = pin_statics(session, self._table)
        register_programs(session, self._project, self._table, pinned.names)
        return session.sql(pinned.query), pinned, read

    def _changed(self, request: UpdateRequest) -> list[str]:
        """Files that are not as they were when they were loaded and looked at.

        In an object store nobody looks: each file there would be read once more.
        """
        assert self._reader is not None
        now = self._reader.stands([file.name for file in request.files])
        return [
            file.name
            for file in request.files
            if file.name in now and now[file.name] != (file.size_bytes, file.modified_s)
        ]

    def _facts(
        self,
        transaction: Transaction,
        request: UpdateRequest,
        output: DataFrame,
        parents: Mapping[str, int],
        ids: Mapping[str, str],
        pinned: Pinned,
    ) -> Mapping[str, Any] | None:
        """What the last commit says that stays true; None: all of a view must be computed."""
        schema, column = transaction.schema, self._table.time_column
        same = schema is not None and same_columns(schema, output.schema)
        has_time = column is not None and any(
            field.name.lower() == column.lower() for field in output.schema
        )
        if self._reader is not None:
            if not same or not has_time:
                raise UserError(
                    "backfill-refused",
                    f"a range of table {self._table.name} cannot be loaded again: "
                    + ("its columns have changed" if has_time else "it has no event time"),
                    where=self._table.place,
                    rule="a range is replaced by event time, with the columns that are there",
                    next_step=f"`freshline refresh {self._table.name} --full` loads all again.",
                )
            return {}
        path = self._project.table_path(self._table.name)
        last = last_commit(path)
        settings = settings_of(output.sparkSession, self._project, self._table)
        unchanged = (
            last is not None
            and self._has_read(last.metadata.get("parents", {}), parents)
            and not are_others(ids, pinned, last)
            and not put_back(self._project, last.metadata)
            and last.metadata.get("definition", "") == request.definition
            and last.metadata.get("settings") == settings
            and self._table.emit != "final"
            # Rows outside the range may be wrong, too, and nobody would look for them any more.
            and distrusted(self._project, self._table.name, request.definition) is None
            and not changed_by_others(path, last, transaction.version)
        )
        if last is None or not (same and has_time and unchanged):
            return None
        assert self._derived is not None
        plan, _ = self._derived.plan_and_key(output.sparkSession, request)
        if not _is_apart(plan, str(column)):
            return None
        return {key: last.metadata[key] for key in _CARRIED_ON if key in last.metadata}

    def _has_read(self, pins: Mapping[str, int], parents: Mapping[str, int]) -> bool:
        """Whether the view is made of these versions, or of others with the same rows."""
        if has_unversioned(self._table, parents):
            return False
        return pins.keys() == parents.keys() and all(
            pins[name] == version
            or (
                name in self._table.parents
                and same_rows(self._project.table_path(name), pins[name], version)
            )
            for name, version in parents.items()
        )

    def _replace(
        self,
        transaction: Transaction,
        request: UpdateRequest,
        output: DataFrame,
        parents: Mapping[str, int],
        facts: Mapping[str, Any],
        started_s: float,
    ) -> UpdateResult:
        table = self._table
        assert request.range_s is not None
        from_s, to_s = request.range_s
        within = _within(str(table.time_column), from_s, to_s)
        configuration = self._project.configuration
        rows = output.filter(within)
        names = [file.name for file in request.files]
        as_read = {} if self._reader is None else self._reader.stands(names)
        failpoint("backfill.before_data")
        replaced = replace(
            transaction,
            rows,
            within,
            configuration=configuration,
            input_bytes=jvm.input_bytes(rows),
        )
        staged = replaced.staged
        failpoint("backfill.after_data")
        if self._reader is not None:
            refuse(table.name, self._reader, moved_files(self._reader, names, as_read))
        metadata = encode(
            request,
            table=table.name,
            files=self._reader.loads(()) if self._reader is not None else None,
            parents=parents,
            strategy=BACKFILL,
            rows=staged.rows,
            more={
                **facts,
                **replaced.facts,
                "after": transaction.version,
                "range": {"from": rfc3339(from_s), "to": rfc3339(to_s)},
            },
        )
        failpoint("backfill.before_commit")
        version = staged.commit(metadata)
        failpoint("backfill.after_commit")
        return UpdateResult(
            version=version,
            rows=staged.rows,
            rejected_rows=0,
            seconds=time.monotonic() - started_s,
            strategy=BACKFILL,
            reason="asked for; the rows of its range were replaced",
            repeated=False,
            parents=parents,
            schema_changed=False,
        )


def _is_apart(plan: ViewPlan, column: str) -> bool:
    """Whether a view's rows of some times can stand beside those of another run of its query.

    What Spark chooses freely among rows that tie it may choose otherwise this time: a row could be
    the first of its day beside another that was (docs/design/0251).
    """
    if not isinstance(plan.appends, Reason):
        return True
    return isinstance(plan.buckets, Buckets) and plan.buckets.column.lower() == column.lower()


def _within(column: str, from_s: float, to_s: float) -> str:
    """The condition that a row's event time lies in [from_s, to_s); the zone is in the text."""
    name = quoted_column(column)
    return f"{name} >= TIMESTAMP '{rfc3339(from_s)}' AND {name} < TIMESTAMP '{rfc3339(to_s)}'"
