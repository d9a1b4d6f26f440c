"""Merging into a view that is its own state: one job where it is small, one commit always.

The view's rows of the touched groups and the state rows of the changes are put together as two
states are, and the final query over them replaces those rows. Every commit of ours leaves the
view equal to its query over the versions that it names, whichever way it was made, so every one
can be merged into; what others write is noticed before (:mod:`freshline.spark.views.hindrances`).

A small view is written as a whole (:mod:`freshline.spark.views.whole`).
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from freshline.spark.commits.replacement import replace
from freshline.spark.engine import jvm
from freshline.spark.engine.columns import same_columns
from freshline.spark.engine.in_driver import held
from freshline.spark.views.groups import Scope, scope
from freshline.spark.views.incremental import Increment, NotIncrementalError, Parent, Prepared
from freshline.spark.views.partials import combining, final_rows, rows_of_changes
from freshline.spark.views.whole import EVERYTHING, is_small
from freshline.sql.query.records import Decomposition
from freshline.sql.text.reads import quoted


def merge_into_view(increment: Increment, plan: Decomposition) -> Prepared:
    """Add the inserted rows' state to the view's own rows."""
    if not any(parent.changes.some for parent in increment.parents):
        return Prepared(None)
    (partial,) = plan.partials
    rows = rows_of_changes(increment, plan, partial, Parent.inserted)
    if not partial.keys or is_small(increment):
        return _written(increment, plan, rows, EVERYTHING)
    with held(rows) as changed:
        may_join = increment.transaction.feeds_changes
        touched = scope(increment.plan, changed, increment.schema, may_join=may_join)
        if touched is not None and touched.is_empty:
            return Prepared(None)
        return _written(increment, plan, changed.frame, touched or EVERYTHING)


def _written(
    increment: Increment, plan: Decomposition, rows: DataFrame, touched: Scope
) -> Prepared:
    """The view's rows of these groups and the changes' put together."""
    (partial,), own = plan.partials, plan.own_state
    assert own is not None
    transaction, session = increment.transaction, increment.session
    files = transaction.touched(touched.view.sql, by_condition=False)
    columns = (f"{quoted(own[name])} AS {quoted(name)}" for name in rows.columns)
    state = touched.view.of(files.frame(session)).selectExpr(*columns)
    if not same_columns(state.schema, rows.schema):
        raise NotIncrementalError("schema-changed")
    combined = combining(increment, partial)(state.unionAll(rows))
    output = final_rows(increment, plan, {partial.name: combined})
    made = replace(
        transaction,
        output,
        touched.view,
        configuration=increment.project.configuration,
        input_bytes=jvm.input_bytes(output),
        apart=touched.earlier,
        touched=files,
    )
    return Prepared(made.staged, made.facts)
