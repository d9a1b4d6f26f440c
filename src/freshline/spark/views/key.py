"""Key-recompute: the keys of the rows that changed are computed again, and no others.

For a view whose rows of a key depend on the parents' rows of that key alone
(:class:`freshline.sql.query.records.Keys`): the newest row of each key, rows that have a partner
or have none, joins by a key. The keys of all change rows, deleted ones and those from before an
update among them -> the parents' rows of these keys -> the user's own query over them -> its
rows of these keys, which replace those that the view has.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame

from freshline.spark.engine.columns import kind_of
from freshline.spark.engine.in_driver import held
from freshline.spark.views.group import from_query
from freshline.spark.views.groups import NOWHERE, of_keys
from freshline.spark.views.incremental import Increment, NotIncrementalError, Parent, StagedUpdate
from freshline.sql.query.records import Keys
from freshline.sql.text.reads import quoted_column


def recompute_keys(increment: Increment) -> StagedUpdate:
    """Compute the keys of the rows that changed in the parents again."""
    keys = increment.plan.keys
    assert isinstance(keys, Keys)
    parents = {
        parent.name: (parent, keys.reads[parent.name.lower()])
        for parent in increment.parents
        if parent.name.lower() in keys.reads
    }
    if not any(parent.changes.some for parent, _ in parents.values()):
        return StagedUpdate(None)
    types = [kind_of(increment.schema, column) for column in keys.columns]
    for parent, columns in parents.values():
        if [parent.kind(column) for column in columns] != types:
            raise NotIncrementalError("keys-unknown")
    changed = [_keys(*each) for each in parents.values() if each[0].changes.some]
    with held(reduce(DataFrame.unionAll, changed)) as touched:
        named = [keys.columns, *(columns for _, columns in parents.values())]
        may_join = increment.transaction.feeds_changes
        selected = of_keys(touched, types, named, may_join=may_join)
        if selected is None:
            raise NotIncrementalError("keys-unknown")
        in_view, *in_parents = selected
        if in_view.sql == NOWHERE:
            return StagedUpdate(None)
        wanted = dict(zip(parents, in_parents, strict=True))
        for parent in increment.parents:
            of_parent = wanted.get(parent.name)  # None: named in a WITH query that nothing reads
            rows = parent.frame_for(in_view.sql)
            increment.register(parent.name, rows if of_parent is None else of_parent.of(rows))
        return from_query(increment, in_view)


def _keys(parent: Parent, columns: tuple[str, ...]) -> DataFrame:
    """The keys of a parent's change rows."""
    names = (f"{quoted_column(name)} AS freshline_key_{at}" for at, name in enumerate(columns))
    return parent.changed().selectExpr(*names)
