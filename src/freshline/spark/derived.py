"""An update of a derived table: its query over pinned parents, in one atomic commit.

The place for incremental strategies: :func:`freshline.sql.strategy.strategy` chooses one, and
each computes the rows to replace from the same pinned query. Here is the one that always
works, computing all of them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from pyspark.sql import SparkSession

from freshline.failpoints import failpoint
from freshline.project.model import Project, TableDef
from freshline.spark.columns import same_columns
from freshline.spark.commit import Transaction
from freshline.spark.deltalog import size_bytes
from freshline.spark.failures import SparkError, update_failed
from freshline.spark.metadata import encode
from freshline.spark.pins import location, pin_statics, register_parents
from freshline.spark.records import UpdateRequest, UpdateResult
from freshline.spark.repeated import repeated_result
from freshline.spark.sizing import sized
from freshline.sql.strategy import strategy


class DerivedUpdates:
    """Updates of one derived table.

    Args:
        project: Of the table.
        table: The derived table.
    """

    def __init__(self, project: Project, table: TableDef) -> None:
        self._project = project
        self._table = table
        self._path = location(project.table_path(table.name))

    def run(self, session: SparkSession, request: UpdateRequest) -> UpdateResult:
        """Recompute the table from the request's versions of its parents.

        Raises:
            FreshlineError: The update failed; nothing was committed.
        """
        started_s = time.monotonic()
        try:
            transaction = Transaction(session, self._path, self._table.name, request.number)
            if transaction.committed:
                return repeated_result(self._project, self._table, request, started_s)
            return self._recompute(session, transaction, request, started_s)
        except SparkError as error:
            raise update_failed(self._table, error) from error

    def _recompute(
        self,
        session: SparkSession,
        transaction: Transaction,
        request: UpdateRequest,
        started_s: float,
    ) -> UpdateResult:
        table = self._table
        register_parents(session, self._project, request.parents)
        pinned = pin_statics(session, table)
        output = session.sql(pinned.query)
        changed = transaction.schema is not None and not (
            same_columns(transaction.schema, output.schema)
            and transaction.partition_columns == table.partitioned_by
        )
        options = {"overwriteSchema": "true"} if changed else {}
        failpoint("derived.before_data")
        staged = transaction.stage(
            sized(session, output, self._project.configuration, self._input_bytes(request)),
            "overwrite",
            partitioned_by=table.partitioned_by,
            options=options,
        )
        failpoint("derived.after_data")
        chosen = strategy(table)
        parents: Mapping[str, int] = {**request.parents, **pinned.versions}
        metadata = encode(
            request,
            table=table.name,
            files=None,
            parents=parents,
            strategy=chosen.name,
            rows=staged.rows,
        )
        failpoint("derived.before_commit")
        version = staged.commit(metadata)
        failpoint("derived.after_commit")
        return UpdateResult(
            version=version,
            rows=staged.rows,
            rejected_rows=0,
            seconds=time.monotonic() - started_s,
            strategy=chosen.name,
            reason=chosen.reason,
            repeated=False,
            parents=parents,
            schema_changed=changed,
        )

    def _input_bytes(self, request: UpdateRequest) -> int | None:
        """Size of the parents' data; None where it is not known without a Spark job."""
        if self._table.statics:
            return None
        total = 0
        for name, pin in request.parents.items():
            size = size_bytes(self._project.table_path(name), pin)
            if size is None:
                return None
            total += size
        return total
