"""A Delta commit that puts files together and changes no row.

The data files are written by the same writer as every update's, with ``dataChange`` false; the
files they stand for are removed in the same commit, likewise. Readers of any version, the
change feed and :mod:`freshline.delta.changelog` see no change.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from freshline.delta.flushed import flush_commit
from freshline.executor.fence import before_commit
from freshline.spark.commits.transaction import Staged, Transaction
from freshline.spark.engine import jvm
from freshline.spark.engine.sizing import sized

_DELTA = "org.apache.spark.sql.delta"
_METADATA = "spark.databricks.delta.commitInfo.userMetadata"


class Rewrite(Transaction):
    """A transaction that replaces some of a table's files by fewer with the same rows.

    Args:
        session: The update's own; its setting of Delta's metadata is used up.
        path, table, number: As for every transaction.
    """

    def __init__(self, session: SparkSession, path: str, table: str, number: int) -> None:
        super().__init__(session, path, table, number)
        self._removed: list[Any] = []

    def stage_files(
        self, names: Sequence[str], size_bytes: int, configuration: Mapping[str, str]
    ) -> Staged | None:
        """Write the rows of these files into one new file a partition, which no reader sees yet.

        Args:
            names: What stands behind the last slash of the files' paths; those that the table
                no longer has are left out.
            size_bytes: Of them together.
            configuration: The project's Spark settings.

        Returns:
            None where fewer than two are left.
        """
        if not names:
            return None
        session = self._session
        listed = ", ".join(f"'{name}'" for name in names)
        snapshot = self._transaction.snapshot()
        found = snapshot.allFiles().where(f"substring_index(path, '/', -1) IN ({listed})")
        files = list(found.collect())
        if len(files) < 2:  # noqa: PLR2004 - nothing to put together
            return None
        now_ms = time.time_ns() // 1_000_000
        self._removed = [file.removeWithTimestamp(now_ms, False) for file in files]
        rows = self._log.createDataFrame(
            snapshot, jvm.scala_seq(session, files), False, jvm.none(session)
        )
        frame = sized(session, DataFrame(rows, session), configuration, size_bytes)
        return self.stage(
            frame,
            "append",
            partitioned_by=self.partition_columns,
            options={"dataChange": "false"},
        )

    def _commit(self, actions: Any, tags: Any, metadata: str) -> int:
        metadata = before_commit(metadata)
        session = self._session
        identifier = jvm.named(session, f"{_DELTA}.actions.SetTransaction")(
            self._application, self._number, jvm.some(session, time.time_ns() // 1_000_000)
        )
        nothing = jvm.scala_seq(session, ())
        operation = jvm.named(session, f"{_DELTA}.DeltaOperations.Optimize")(
            nothing, nothing, False, jvm.none(session), False
        )
        # An OPTIMIZE takes its metadata from the session, which is this update's alone.
        session.conf.set(_METADATA, metadata)
        jvm.activate(session)
        for action in (*self._removed, identifier):
            actions = actions.appended(action)
        version = int(self._transaction.commit(actions, operation, tags))
        flush_commit(self._path, version)
        return version
