"""A view's query and its partials over what changed, and how rows of one group become one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import reduce

from pyspark.sql import DataFrame

from freshline.spark.engine import jvm
from freshline.spark.engine.columns import cast_to, same_columns
from freshline.spark.views.incremental import Increment, NotIncrementalError, Parent
from freshline.spark.views.meeting import met_by
from freshline.spark.views.state import Combine
from freshline.sql.query.records import Decomposition, Equality, Partial
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
    if plan.linearity == "each":
        read = {mention.name.lower() for mention in reads_of(partial.query)}
        names = [each.name for each in increment.parents if quoted(each.name).lower() in read]
        made = made_by_each(
            increment, names, partial.equal, news, lambda: sql_of(increment, partial.query)
        )
        if made is not None:
            return made
    for parent in increment.parents:
        increment.register(parent.name, news(parent))
    rows = sql_of(increment, partial.query)
    # Of a partial that none of the changed parents has to do with: no row, not one of zeros.
    return rows.limit(0) if plan.linearity == "each" else rows


def made_by_each(
    increment: Increment,
    names: Collection[str],
    equal: Sequence[Equality],
    news: Callable[[Parent], DataFrame],
    query: Callable[[], DataFrame],
) -> DataFrame | None:
    """What the changes of each parent make with the others whole; None: none of them changed.

    The parents before it are read with their changes, those behind it without, so what several
    changes make together is there once.

    Args:
        increment: The update.
        names: Of the parents that the query reads.
        equal: Which of their columns are equal.
        news: A parent's rows that changed.
        query: Gives its rows over what the parents' names mean when it is called.
    """
    terms = []
    for number, changed in enumerate(increment.parents):
        if not changed.changes.some or changed.name not in names:
            continue
        for other, parent in enumerate(increment.parents):
            if other == number:
                frame = news(parent)
            else:
                frame = parent.frame if other < number else parent.before()
                if (condition := met_by(parent, changed, equal)) is not None:
                    frame = frame.where(condition)
            increment.register(parent.name, frame)
        terms.append(query())
    return reduce(DataFrame.unionAll, terms) if terms else None


def sql_of(increment: Increment, query: str) -> DataFrame:
    """A query made from the view's, with the static tables at their versions."""
    names = increment.statics
    return jvm.query(increment.session, rewritten(query, names) if names else query)


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
