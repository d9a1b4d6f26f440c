"""Group-recompute: the groups that changes touch are computed again, and no others.

For a view that merges, without buckets, one of whose parents lost or rewrote rows: no state can
take those back. Of which groups the change rows are, deleted ones and those from before an
update among them, the first half of the view's decomposition tells; the query over the parents
as they are now, in these groups alone, gives what replaces them. Spark moves the condition on
the groups below the aggregate, to the parents' rows, and skips files by it where it can.

A group of which no row changed is as it was. That holds because the rows that are aggregated
are a sum over the parents' rows (:class:`freshline.sql.query.records.Decomposition`; for joins,
of each parent's change with the others whole), which batch keys would undo: rows that share
one count together. The sources of views have none (:mod:`freshline.spark.views.plans`).
"""

from __future__ import annotations

from freshline.spark.commits.replacement import replace
from freshline.spark.commits.selection import Selection
from freshline.spark.engine import jvm
from freshline.spark.engine.columns import same_columns
from freshline.spark.engine.in_driver import Held, held
from freshline.spark.views.groups import scope
from freshline.spark.views.incremental import Increment, NotIncrementalError, Parent, StagedUpdate
from freshline.spark.views.merge import named_versions, state_facts, state_of, write
from freshline.spark.views.partials import combining, rows_of_changes, sql_of
from freshline.sql.query.records import Decomposition, Partial


def recompute_groups(increment: Increment) -> StagedUpdate:
    """Write the groups that the parents' changes touch anew; a state is kept up with them."""
    plan = increment.plan.merge
    assert isinstance(plan, Decomposition)
    (partial,) = plan.partials
    with held(rows_of_changes(increment, plan, partial, Parent.changed)) as changed:
        return _recomputed(increment, plan, partial, changed)


def _recomputed(
    increment: Increment, plan: Decomposition, partial: Partial, changed: Held
) -> StagedUpdate:
    may_join = increment.transaction.feeds_changes
    touched = scope(increment.plan, changed, increment.schema, may_join=may_join)
    if touched is None:
        raise NotIncrementalError("groups-unknown")
    named = named_versions(increment, plan)
    if touched.is_empty:
        return StagedUpdate(None, state_facts(increment, plan, named))
    for parent in increment.parents:
        increment.register(parent.name, parent.frame_for(touched.view.sql))
    if named is None:
        return from_query(increment, touched.view)
    rows = sql_of(increment, partial.query)
    version = state_of(increment, partial).replace(
        touched.state.of(rows), touched.state, named[partial.name], combining(increment, partial)
    )
    return write(increment, plan, {partial.name: version}, touched)


def from_query(increment: Increment, touched: Selection) -> StagedUpdate:
    """The touched rows of the view by the user's own text, over what the parents' names mean."""
    output = jvm.query(increment.session, increment.query)
    if not same_columns(output.schema, increment.schema):
        raise NotIncrementalError("schema-changed")
    output = touched.of(output)
    replaced = replace(
        increment.transaction,
        output,
        touched,
        configuration=increment.project.configuration,
        input_bytes=increment.input_bytes(output),
    )
    return StagedUpdate(replaced.staged, replaced.facts)
