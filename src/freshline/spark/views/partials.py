"""A view's partials over what changed: their rows, and how rows of one group become one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce

from pyspark.sql import DataFrame

from freshline.spark.engine import jvm
from freshline.spark.engine.columns import cast_to, same_columns
from freshline.spark.views.incremental import Increment, NotIncrementalError, Parent
from freshline.spark.views.state import Combine
from freshline.sql.query.records import Decomposition, Partial
from freshline.sql.text.reads import quoted, reads_of, rewritten


def rows_of_changes(
    increment: Increment,
    plan: Decomposition,
    partial: Partial,
    news: Callable[[Parent], DataFrame],
) -> DataFrame:
    """The state rows of what changed.

    Args:
        increment: The update.
        plan: The view's.
        partial: One of its.
        news: A parent's rows that changed; none where nothing did.
    """
    if plan.linearity == "joint":
        for parent in increment.parents:
            increment.register(parent.name, news(parent))
        return sql_of(increment, partial.query)
    read = {mention.name.lower() for mention in reads_of(partial.query)}
    terms = []
    for number, changed in enumerate(increment.parents):
        if not changed.changes.some or quoted(changed.name).lower() not in read:
            continue
        for other, parent in enumerate(increment.parents):
            if other < number:
                frame = parent.frame
            elif other == number:
                frame = news(parent)
            else:
                frame = parent.before()
            increment.register(parent.name, frame)
        terms.append(sql_of(increment, partial.query))
    if not terms:  # of a partial that none of the changed parents has to do with
        for parent in increment.parents:
            increment.register(parent.name, news(parent))
        return sql_of(increment, partial.query).limit(0)
    return reduce(DataFrame.unionAll, terms)


def combining(increment: Increment, partial: Partial) -> Combine:
    """What makes one row a group of a partial's state rows."""

    def combine(rows: DataFrame) -> DataFrame:
        increment.register(partial.name, rows)
        return sql_of(increment, partial.combine)

    return combine


def final_rows(
    increment: Increment, plan: Decomposition, combined: Mapping[str, DataFrame]
) -> DataFrame:
    """The view's rows: the final query over each partial's combined state rows, by its name.

    Raises:
        NotIncrementalError: The view's columns are not those of the query any more.
    """
    for name, frame in combined.items():
        increment.register(name, frame)
    output = sql_of(increment, plan.final)
    if len(output.schema) != len(increment.schema):
        raise NotIncrementalError("schema-changed")
    if same_columns(output.schema, increment.schema):
        return output
    # The regenerated query's names can differ from the user's, its columns' order cannot.
    return cast_to(output.toDF(*increment.schema.fieldNames()), increment.schema)


def sql_of(increment: Increment, query: str) -> DataFrame:
    """A query made from the view's, with the static tables at their versions."""
    names = increment.statics
    return jvm.query(increment.session, rewritten(query, names) if names else query)
