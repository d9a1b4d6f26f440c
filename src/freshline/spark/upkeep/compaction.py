"""Compaction: a table's small files put together, as an update that changes no row.

Its commit carries the metadata of the one before on, with a number of its own: a view is made
of the same versions of its parents by the same query, a merging state is at the same version,
a base table has loaded the same files. Whoever looks for a table's last commit finds all that
the next update needs.
"""

from __future__ import annotations

import json
import time

from pyspark.sql import SparkSession

from freshline.core.errors import PlatformError
from freshline.delta.log import last_commit
from freshline.delta.metadata import COMPACT, carried_on
from freshline.delta.small_files import files_of, worth_merging
from freshline.executor.records import UpdateRequest, UpdateResult
from freshline.failpoints import failpoint
from freshline.project.model import Project, TableDef
from freshline.spark.commits.others import changed_by_others
from freshline.spark.commits.repeated import repeated_result
from freshline.spark.commits.rewrite import Rewrite
from freshline.spark.engine.errors import SparkError, update_failed
from freshline.spark.engine.pins import location


def compact(
    session: SparkSession, project: Project, table: TableDef, request: UpdateRequest
) -> UpdateResult:
    """Put small files of ``table`` together, in one commit.

    Args:
        session: The update's own.
        project: Of the table.
        table: Any table of it.
        request: Its number; what to merge is found here.

    Raises:
        PlatformError: Somebody else wrote into the table.
        FreshlineError: It failed; nothing was committed.
    """
    started_s = time.monotonic()
    path = project.table_path(table.name)
    try:
        transaction = Rewrite(session, location(path), table.name, request.number)
        if transaction.committed:
            return repeated_result(project, table, request, started_s)
        last = last_commit(path)
        if last is None or changed_by_others(path, last, transaction.version):
            # Under a commit of ours nobody would see that it happened.
            raise PlatformError(
                "changed-by-others",
                f"table {table.name} was written by somebody else, so it is not compacted",
                where=table.place,
                next_step="Its next update sees to it.",
            )
        chosen = worth_merging(files_of(path))
        size_bytes = sum(file.size_bytes for file in chosen)
        failpoint("compact.before_data")
        staged = transaction.stage_files(
            [file.name for file in chosen], size_bytes, project.configuration
        )
        failpoint("compact.after_data")
        facts = {"files": len(chosen), "bytes": size_bytes, "rows": staged.rows if staged else 0}
        fields = carried_on(last.metadata, request.number, "small-files")
        fields |= {"rewritten": facts, "after": transaction.version}
        metadata = json.dumps(fields, ensure_ascii=False)
        failpoint("compact.before_commit")
        version = staged.commit(metadata) if staged else transaction.advance(metadata)
        failpoint("compact.after_commit")
    except SparkError as error:
        raise update_failed(project, table, error) from error
    return UpdateResult(
        version=version,
        rows=0,
        rejected_rows=0,
        seconds=time.monotonic() - started_s,
        strategy=COMPACT,
        reason=f"{len(chosen)} small files were put together, {size_bytes / 1e6:.1f} MB",
        repeated=False,
        parents=dict(last.metadata.get("parents", {})),
        schema_changed=False,
        code="small-files",
    )
