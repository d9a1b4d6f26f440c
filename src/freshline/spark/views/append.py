"""Append: the user's query over the parents' new rows alone, added to the view."""

from __future__ import annotations

from freshline.spark.engine import jvm
from freshline.spark.engine.columns import same_columns
from freshline.spark.engine.sizing import sized
from freshline.spark.views.incremental import Increment, NotIncrementalError, StagedUpdate


def append(increment: Increment) -> StagedUpdate:
    """Write the output of the inserted rows.

    Right where analysis says so (:attr:`freshline.sql.query.records.ViewPlan.appends`): the query
    over all rows is then the query over the old ones plus the query over the new ones.
    """
    if not any(parent.changes.some for parent in increment.parents):
        return StagedUpdate(None)
    for parent in increment.parents:
        increment.register(parent.name, parent.inserted())
    output = jvm.query(increment.session, increment.query)
    if not same_columns(output.schema, increment.schema):
        raise NotIncrementalError("schema-changed")
    size_bytes = sum(parent.changes.size_bytes for parent in increment.parents)
    staged = increment.transaction.stage(
        sized(increment.session, output, increment.project.configuration, size_bytes),
        "append",
        partitioned_by=increment.table.partitioned_by,
    )
    return StagedUpdate(staged)
