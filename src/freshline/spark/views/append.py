"""Append: the rows that the parents' new rows make, added to the view."""

from __future__ import annotations

from pyspark.sql import DataFrame

from freshline.spark.engine import jvm
from freshline.spark.engine.columns import same_columns
from freshline.spark.engine.sizing import sized
from freshline.spark.views.incremental import (
    Increment,
    NotIncrementalError,
    Parent,
    StagedUpdate,
)
from freshline.spark.views.partials import made_by_each


def append(increment: Increment) -> StagedUpdate:
    """Write the output of the inserted rows.

    Right where analysis says so (:attr:`freshline.sql.query.records.ViewPlan.appends`): the query
    over all rows is then the query over the old ones plus what is written.
    """
    if not any(parent.changes.some for parent in increment.parents):
        return StagedUpdate(None)
    if increment.plan.appends == "each":
        names = [parent.name for parent in increment.parents]
        output = made_by_each(
            increment, names, increment.plan.equal, Parent.inserted, lambda: _output(increment)
        )
        assert output is not None
        size_bytes = None
    else:
        for parent in increment.parents:
            increment.register(parent.name, parent.inserted())
        output = _output(increment)
        size_bytes = sum(parent.changes.size_bytes for parent in increment.parents)
    staged = increment.transaction.stage(
        sized(increment.session, output, increment.project.configuration, size_bytes),
        "append",
        partitioned_by=increment.table.partitioned_by,
    )
    return StagedUpdate(staged)


def _output(increment: Increment) -> DataFrame:
    """The user's query over what the parents' names mean now."""
    output = jvm.query(increment.session, increment.query)
    if not same_columns(output.schema, increment.schema):
        raise NotIncrementalError("schema-changed")
    return output
