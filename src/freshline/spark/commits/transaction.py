"""One Delta commit in two steps: write the data files, then commit them.

Delta's writer does both at once, and takes the commit's metadata before it starts. Ours must
say how many rows it writes, and rejected rows must be on disk before the rows they were left
out of become visible. So this module drives the very classes behind
``df.write.format("delta")`` (WriteIntoDelta in an OptimisticTransaction), and stops between
them: after the first step the number of rows is in the files' statistics, nothing is visible,
and what was written is an orphan that VACUUM removes if the second step never comes. That
saves the second pass over the input that counting would take. Delta's version is pinned
with ours; tests compare the commit with one that the public writer makes.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from freshline.delta.flushed import flush_commit, flush_files
from freshline.delta.log import application, checksum_rows, newest_transaction, size_bytes
from freshline.delta.retention import DAY_S, KNOWN, KNOWN_S, versions_kept_s
from freshline.executor.fence import before_commit
from freshline.project.model import Project, TableDef
from freshline.spark.commits.comments import Comments
from freshline.spark.commits.selection import ALL
from freshline.spark.engine import jvm
from freshline.spark.engine.columns import without_lost_partitions
from freshline.spark.engine.listed import is_misled, listed_files, rows_of, untold_files
from freshline.spark.engine.pins import known_snapshot
from freshline.spark.engine.sizing import together, weight

Mode = Literal["append", "overwrite"]

_TAKEN_WHOLE_BYTES = 64 * 1024
"""A table that is no larger is written anew sooner than Delta tells which of its files to write."""

_DELTA = "org.apache.spark.sql.delta"
_SAVE_MODES: Mapping[Mode, str] = {
    "append": "org.apache.spark.sql.SaveMode.Append",
    "overwrite": "org.apache.spark.sql.SaveMode.Overwrite",
}

CHECKPOINTS: Mapping[str, str] = {"delta.checkpointInterval": "40"}
"""Delta's own default is 10. A checkpoint takes it three jobs, about as long as an update, before
the commit returns; what is read instead is so many small files more (docs/design/0132)."""

TABLE_PROPERTIES: Mapping[str, str] = {
    **CHECKPOINTS,
    # Children are maintained from their parents' changes.
    "delta.enableChangeDataFeed": "true",
    # delta-rs and DuckDB read every version.
    "delta.enableDeletionVectors": "false",
    # A lost journal is rebuilt from a base table's commits, which say what files were loaded: a
    # file whose commit was forgotten would be loaded twice. And Delta would forget those that a
    # slow child has still to read. So vacuum.py removes what nobody needs, and nobody else.
    "delta.logRetentionDuration": "interval 36500 days",
}


def table_properties(project: Project, table: TableDef) -> dict[str, str]:
    """What a new table is made with: VACUUM must know what became of all that is still read."""
    kept_s = versions_kept_s(project, table)
    if kept_s <= KNOWN_S:
        return dict(TABLE_PROPERTIES)
    return {**TABLE_PROPERTIES, KNOWN: f"interval {math.ceil(kept_s / DAY_S)} days"}


class Transaction:
    """One transaction on the Delta table at ``path``, which need not exist yet.

    It fails where another one commits under the same table's name meanwhile.

    Args:
        session: The update's own session.
        path: Where the table is.
        table: Its name, for the transaction identifier.
        number: The update's number, for the transaction identifier.
    """

    def __init__(self, session: SparkSession, path: str, table: str, number: int) -> None:
        self._session = session
        self._path = path
        self._application = application(table)
        self._number = number
        jvm.activate(session)
        for_table = jvm.named(session, f"{_DELTA}.DeltaLog.forTable")
        self._log = for_table(jvm.java_session(session), path)
        nothing = jvm.none(session)
        known = known_snapshot(self._log, path)
        self._transaction = self._log.startTransaction(
            nothing, nothing if known is None else jvm.some(session, known)
        )
        # It fails if another one commits under the same name meanwhile, such as a fence; Delta adds
        # this only where it is asked for the number, which takes it a job.
        self._transaction.readTxn().addOne(self._application)
        self._mode = jvm.named(session, _SAVE_MODES["append"])
        self._partitioned_by: tuple[str, ...] = ()
        self._predicate: str | None = None
        # Taken now: the transaction's own metadata changes when data is staged.
        self._metadata = self._transaction.snapshot().metadata()
        self.version = int(self._transaction.readVersion())
        """The version that the transaction reads; -1 before the first."""

    @property
    def committed(self) -> bool:
        """Whether this update, or a later one, is in the table already.

        Raises:
            PlatformError: The log cannot be read.
        """
        newest = newest_transaction(self._path, self._application)
        if newest is None:
            newest = int(self._transaction.txnVersion(self._application))
        return newest >= self._number

    @property
    def exists(self) -> bool:
        """Whether there is a table yet."""
        return self.version >= 0

    @property
    def table_id(self) -> str:
        """What tells the table from another one made in its place; a new one's once staged."""
        return str(self._transaction.metadata().id())

    @cached_property
    def schema(self) -> StructType | None:
        """The table's columns; None before the first commit, or while it has none."""
        if not self.exists:
            return None
        schema = StructType.fromJson(json.loads(self._metadata.schemaString()))
        return schema if len(schema) else None

    def describe(self, comments: Comments) -> None:
        """Give an existing table the comments that its definition has now, with this commit.

        To be called before anything is staged, and not where this commit changes columns: Delta
        takes one change of a table's description a commit.
        """
        known = self.schema
        if known is None:
            return
        metadata, session = self._metadata, self._session
        described = comments.on(known)
        if described.jsonValue() == known.jsonValue() and comments.table == metadata.description():
            return
        copy = metadata.copy(
            metadata.id(),
            metadata.name(),
            comments.table,
            metadata.format(),
            described.json(),
            metadata.partitionColumns(),
            metadata.configuration(),
            metadata.createdTime(),
        )
        jvm.activate(session)
        self._transaction.updateMetadata(copy, False)

    @cached_property
    def partition_columns(self) -> tuple[str, ...]:
        """The table's partition columns."""
        columns = self._metadata.partitionColumns()
        return tuple(columns.apply(index) for index in range(columns.size()))

    def stage(
        self,
        frame: DataFrame,
        mode: Mode,
        *,
        partitioned_by: Sequence[str] = (),
        options: Mapping[str, str] | None = None,
        properties: Mapping[str, str] = TABLE_PROPERTIES,
    ) -> Staged:
        """Write ``frame`` into data files of the table that no reader sees yet.

        Args:
            frame: The rows.
            mode: append, or overwrite: replace all rows (with the option replaceWhere, those
                that satisfy it).
            partitioned_by: Columns, for a new table or one whose schema is overwritten. Any other
                keeps those that it has.
            options: Of Delta's writer: mergeSchema, overwriteSchema, replaceWhere.
            properties: The table's, when this commit makes it.
        """
        session = self._session
        self._mode = jvm.named(session, _SAVE_MODES[mode])
        self._partitioned_by = tuple(partitioned_by)
        is_laid_out_anew = not self.exists or "overwriteSchema" in (options or {})
        folders = self._partitioned_by if is_laid_out_anew else self.partition_columns
        self._predicate = (options or {}).get("replaceWhere")
        # With the setting of this name Spark would replace only the partitions that get rows.
        whole = {"partitionOverwriteMode": "static"} if mode == "overwrite" else {}
        frame = without_lost_partitions(frame, folders)
        nothing = jvm.none(session)
        command = jvm.named(session, f"{_DELTA}.commands.WriteIntoDelta")(
            self._log,
            self._mode,
            jvm.named(session, f"{_DELTA}.DeltaOptions")(
                jvm.scala_map(session, {**whole, **(options or {})}),
                jvm.java_session(session).sessionState().conf(),
            ),
            jvm.scala_seq(session, self._partitioned_by),
            jvm.scala_map(session, properties if not self.exists else {}),
            jvm.java_frame(frame),
            nothing,
            nothing,
            False,
        )
        jvm.activate(session)
        data = command.writeAndReturnCommitData(
            self._transaction, jvm.java_session(session), nothing, False
        )
        return Staged(self, data.actions(), data.tags())

    def overwrite(self, frame: DataFrame) -> Staged:
        """Write ``frame`` into data files that no reader sees yet, in place of all rows.

        As :meth:`stage` does, but for a table that exists, and whose columns these are.
        """
        self._mode = jvm.named(self._session, _SAVE_MODES["overwrite"])
        self._partitioned_by = self.partition_columns
        return self.write(frame, self._everything(listed_files(self._transaction.snapshot())))

    def _everything(self, files: Any | None) -> Touched:
        """All of the table's files, as listed or else as Delta finds them; they count as read."""
        if files is None:
            files = self._transaction.filterFiles()
        else:
            self._transaction.readWholeTable()
        return Touched(self._transaction.snapshot(), files, partitions_alone=False)

    @property
    def feeds_changes(self) -> bool:
        """Whether the table has a change feed."""
        changes = self._metadata.configuration().get("delta.enableChangeDataFeed")
        return bool(changes.isDefined() and str(changes.get()).lower() == "true")

    def touched(self, predicate: str, *, by_condition: bool = True) -> Touched:
        """The table's files that may hold rows which satisfy ``predicate``.

        They count as read, and the predicate too: the commit fails if another writer removes
        one of them or adds rows that satisfy it. Where the predicate is on partition columns
        alone they are not looked for: Delta's own replaceWhere is as quick. Of a small table
        all files are taken.

        Args:
            predicate: SQL over the table's columns.
            by_condition: Whether all rows that satisfy it are to be replaced, not some of them.
        """
        session, transaction = self._session, self._transaction
        self._mode, self._predicate = jvm.named(session, _SAVE_MODES["overwrite"]), predicate
        self._partitioned_by = self.partition_columns
        if predicate == ALL:
            return self._everything(listed_files(transaction.snapshot()))
        if not self._partitioned_by:
            small = listed_files(transaction.snapshot(), _TAKEN_WHOLE_BYTES)
            if small is not None:
                return self._everything(small)
        jvm.activate(session)
        no_files = jvm.scala_seq(session, ())
        rows = self._log.createDataFrame(
            transaction.snapshot(), no_files, False, jvm.none(session)
        ).filter(predicate)
        plan = rows.queryExecution().optimizedPlan()  # literals as Delta's skipping wants them
        kind, alone = str(plan.nodeName()), False
        if kind == "Filter":
            condition = plan.condition()
            columns = jvm.elements(condition.references().toSeq())
            partitions = {name.lower() for name in self.partition_columns}
            alone = {str(column.name()).lower() for column in columns} <= partitions
            files = no_files
            alone = alone and by_condition
            if not alone:
                files = transaction.filterFiles(jvm.scala_seq(session, (condition,)), True)
        elif kind == "LocalRelation":  # it is false
            files = no_files
        else:
            files = transaction.filterFiles()
        if not alone and is_misled(predicate):
            files = self._with_untold(files)
        return Touched(transaction.snapshot(), files, partitions_alone=alone)

    def _with_untold(self, files: Any) -> Any:
        """These files, and those whose statistics are wrong about their texts."""
        doubtful = untold_files(self._transaction.snapshot())
        if not doubtful.size():
            return files
        found = {str(each.path()): each for each in jvm.elements(files)}
        found |= {str(each.path()): each for each in jvm.elements(doubtful)}
        return jvm.scala_seq(self._session, list(found.values()))

    def weight_bytes(self, touched: Touched) -> int:
        """What these of the table's files count as, their rows taken as their share of all rows."""
        whole_bytes = size_bytes(self._path, self.version)
        rows = checksum_rows(self._path, self.version) if whole_bytes else None
        if not whole_bytes or rows is None:
            return touched.size_bytes
        return weight(touched.size_bytes, rows * touched.size_bytes // whole_bytes)

    def write(self, frame: DataFrame, instead_of: Touched) -> Staged:
        """Write ``frame`` into data files that no reader sees yet, in place of other files.

        Args:
            frame: The rows; with a column ``_change_type``, those where it is not null go into
                the change feed and not into the table.
            instead_of: What the commit removes.
        """
        session = self._session
        frame = without_lost_partitions(frame, self._partitioned_by)
        jvm.activate(session)
        added = self._transaction.writeFiles(
            jvm.java_frame(frame), jvm.none(session), jvm.scala_seq(session, ())
        )
        now_ms = time.time_ns() // 1_000_000
        removed = [file.removeWithTimestamp(now_ms, True) for file in instead_of.listed]
        actions = added.appendedAll(jvm.scala_seq(session, removed))
        return Staged(self, actions, jvm.scala_map(session, {}))

    def commit(self, actions: Any, tags: Any, metadata: str, names: Sequence[str]) -> int:
        """Commit what :meth:`stage` or :meth:`write` wrote; see :meth:`Staged.commit`.

        Args:
            actions, tags: Delta's own.
            metadata: The commit's userMetadata.
            names: Of the files that it adds, as the log has them.
        """
        flush_files(self._path, names)
        return self._commit(actions, tags, metadata)

    def advance(self, metadata: str) -> int:
        """Commit that nothing changed, for the metadata's sake; returns the version."""
        nothing = jvm.scala_seq(self._session, ())
        return self._commit(nothing, jvm.scala_map(self._session, {}), metadata)

    def _commit(self, actions: Any, tags: Any, metadata: str) -> int:
        metadata = before_commit(metadata)
        session = self._session
        nothing = jvm.none(session)
        identifier = jvm.named(session, f"{_DELTA}.actions.SetTransaction")(
            self._application,
            self._number,
            jvm.some(session, time.time_ns() // 1_000_000),
        )
        operation = jvm.named(session, f"{_DELTA}.DeltaOperations.Write")(
            self._mode,
            jvm.some(session, jvm.scala_seq(session, self._partitioned_by)),
            nothing if self._predicate is None else jvm.some(session, self._predicate),
            jvm.some(session, metadata),
            nothing,
            nothing,
            nothing,
            nothing,
            nothing,
        )
        jvm.activate(session)
        version = int(self._transaction.commit(actions.appended(identifier), operation, tags))
        flush_commit(self._path, version)
        return version


class Touched:
    """Files of a table's snapshot.

    Args:
        snapshot: Delta's own.
        files: A Scala sequence of AddFile.
        partitions_alone: The predicate is on partition columns, so files hold no other rows;
            ``files`` is empty.
    """

    def __init__(self, snapshot: Any, files: Any, *, partitions_alone: bool) -> None:
        self._snapshot = snapshot
        self._files = files
        self.listed = list(jvm.elements(files))
        """Each of the files."""
        self.partitions_alone = partitions_alone
        self.size_bytes = sum(int(file.size()) for file in self.listed)
        self._frame: DataFrame | None = None

    def __bool__(self) -> bool:
        return bool(self.listed)

    def frame(self, session: SparkSession) -> DataFrame:
        """All their rows; the same frame each time, for one session."""
        if self._frame is None:
            frame = rows_of(session, self._snapshot, self._files)
            self._frame = together(frame, self.size_bytes, len(self.listed))
        return self._frame


class Staged:
    """Data files that were written and not yet committed."""

    def __init__(self, transaction: Transaction, actions: Any, tags: Any) -> None:
        self._transaction = transaction
        self._actions = actions
        self._tags = tags
        told = [json.loads(action.json()) for action in jvm.elements(actions)]
        added = [each["add"] for each in told if "add" in each]
        fed = [each["cdc"] for each in told if "cdc" in each]
        self._names = [str(file["path"]) for file in (*added, *fed)]
        self.rows = sum(int(json.loads(file["stats"])["numRecords"]) for file in added)
        """Rows in the new files; who writes other rows beside the new ones corrects it."""
        self.feeds_changes = bool(fed)
        """Whether there are change files."""
        self.cuts = False
        """Whether they divide a large file in two; who divides it sets this."""

    def discard(self) -> None:
        """Leave the files to VACUUM: the commit changes no row."""
        self._actions, self._names = self._actions.take(0), []

    def commit(self, metadata: str) -> int:
        """Make the files the table's next version, in one atomic commit.

        Args:
            metadata: The commit's userMetadata.

        Returns:
            The version.
        """
        return self._transaction.commit(self._actions, self._tags, metadata, self._names)
