"""Merging into a view that is its own state: one job where it is small, one commit always.

The view's rows of the touched groups and the state rows of the changes are put together as two
states are, and the final query over them replaces those rows. Every commit of ours leaves the
view equal to its query over the versions that it names, whichever way it was made, so every one
can be merged into; what others write is noticed before (:mod:`freshline.spark.views.full_refresh`).

A small view is written as a whole (:mod:`freshline.spark.views.whole`). Of a larger one the rows of
the touched groups: of the buckets that the log says the changes are of, where it does, else those
that the changes' own rows name, which are collected first. What the log says is not believed
blindly: the job that writes the rows counts those that are of other buckets, whose rows in the view
were not merged. Where there are some the view is computed in full.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from pyspark.sql import DataFrame

from freshline.spark.commits.replacement import replace
from freshline.spark.commits.selection import Selection
from freshline.spark.engine import jvm
from freshline.spark.engine.columns import kind_of
from freshline.spark.engine.in_driver import held
from freshline.spark.engine.sizing import together
from freshline.spark.views.bucket import logged_buckets
from freshline.spark.views.groups import Scope, scope
from freshline.spark.views.incremental import Increment, NotIncrementalError, Parent, StagedUpdate
from freshline.spark.views.partials import combining, final_rows, rows_of_changes
from freshline.spark.views.timesets import (
    MOST_INTERVALS,
    TimeSet,
    earlier,
    replaced_rows,
    time_set,
    within,
)
from freshline.spark.views.whole import EVERYTHING, is_small
from freshline.sql.query.records import Buckets, Decomposition
from freshline.sql.text.reads import quoted_column

_OUTSIDE = "outside"


def merge_into_view(increment: Increment, plan: Decomposition) -> StagedUpdate:
    """Add the inserted rows' state to the view's own rows."""
    if not any(parent.changes.some for parent in increment.parents):
        return StagedUpdate(None)
    (partial,) = plan.partials
    rows = rows_of_changes(increment, plan, partial, Parent.inserted)
    if not partial.keys or is_small(increment):
        return _written(increment, plan, rows, EVERYTHING, is_few=True)
    column = _bucket_column(increment)
    times = _logged(increment) if column is not None else None
    if column is not None and times is not None:
        selected = Selection(within(column, "timestamp", times, increment.zone))
        before = earlier(column, "timestamp", times, increment.zone)
        told = Scope(selected, selected, before)
        prepared = _written(increment, plan, rows, told, is_few=False, is_told=True)
        return dataclasses.replace(prepared, more={**prepared.more, **replaced_rows(column, times)})
    with held(rows) as changed:
        is_few = changed.is_in_driver
        may_join = increment.transaction.feeds_changes
        touched = scope(increment.plan, changed, increment.schema, may_join=may_join)
        if touched is not None and touched.is_empty:
            return StagedUpdate(None)
        return _written(increment, plan, changed.frame, touched or EVERYTHING, is_few=is_few)


def _bucket_column(increment: Increment) -> str | None:
    """The column of the view's buckets, where it is a group key and a TIMESTAMP."""
    merging, buckets = increment.plan.merge, increment.plan.buckets
    if not isinstance(merging, Decomposition) or not isinstance(buckets, Buckets):
        return None
    name = buckets.column
    is_key = name.lower() in (output.lower() for output in merging.group_columns or ())
    is_timestamp = is_key and kind_of(increment.schema, name) == "timestamp"
    return name if is_timestamp else None


def _logged(increment: Increment) -> TimeSet | None:
    """The few buckets that can differ, as the log says; None: the changes' rows must say it."""
    buckets = increment.plan.buckets
    assert isinstance(buckets, Buckets)
    times, unknown = logged_buckets(increment, buckets)
    is_few = times and not unknown and len(times.intervals) <= MOST_INTERVALS
    return times if is_few else None


def _written(
    increment: Increment,
    plan: Decomposition,
    rows: DataFrame,
    touched: Scope,
    *,
    is_few: bool,
    is_told: bool = False,
) -> StagedUpdate:
    """The view's rows of these groups and the changes' put together.

    Args:
        is_few: The rows that differ are so few that the commit can say of which times they are.
        is_told: The groups are what the log says, not what the changes' rows have.

    Raises:
        NotIncrementalError: The view's columns changed, or rows are of groups that the log did
            not tell.
    """
    (partial,), own = plan.partials, plan.own_state
    assert own is not None
    transaction, session = increment.transaction, increment.session
    files = transaction.touched(touched.view.sql, by_condition=False)
    shown = {each.name.lower(): each.dataType.simpleString() for each in increment.schema}
    kinds = {each.name: each.dataType.simpleString() for each in rows.schema}
    if any(shown.get(own[name].lower()) != kind for name, kind in kinds.items()):
        raise NotIncrementalError("schema-changed")
    columns = [f"{quoted_column(own[name])} AS {quoted_column(name)}" for name in kinds]
    state = jvm.selected(touched.view.of(files.frame(session)), columns)
    both_bytes = files.size_bytes + increment.sizes.changed_bytes
    combined = combining(increment, partial)(together(state.unionAll(rows), both_bytes))
    output = final_rows(increment, plan, {partial.name: combined})
    timed = _bucket_column(increment) if is_few else None
    alone = len(increment.parents) == 1 and not increment.table.statics
    # Nothing else is read then, so Spark need not be asked.
    read_bytes = files.size_bytes + sum(each.changes.size_bytes for each in increment.parents)
    input_bytes = read_bytes if alone else jvm.input_bytes(output)
    made = replace(
        transaction,
        output,
        touched.view,
        configuration=increment.project.configuration,
        input_bytes=input_bytes,
        apart=touched.earlier,
        touched=files,
        timed=timed,
        counted={_OUTSIDE: f"NOT ({touched.view.sql})"} if is_told else None,
    )
    facts: dict[str, Any] = dict(made.facts)
    if facts.pop(_OUTSIDE, 0):
        raise NotIncrementalError("log-untrue")
    if timed is None or made.times_us is None:
        return StagedUpdate(made.staged, facts)
    values, null = made.times_us
    times = time_set(((value, value) for value in values), null=null)
    return StagedUpdate(made.staged, {**facts, **replaced_rows(timed, times)})
