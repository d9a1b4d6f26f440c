"""Views that are their own state: every column of the only partial is shown by an output column.

Counts, sums, least and greatest values by groups that are shown need no table beside the view:
the view's rows are the state's (self-maintainable views: Quass, Gupta, Mumick and Widom 1996).
"""

from __future__ import annotations

from collections.abc import Sequence

import sqlglot
from sqlglot import exp

from freshline.sql.query.records import Partial


def own_state(final: exp.Query, partials: Sequence[Partial]) -> dict[str, str] | None:
    """Output column by column of the only partial, where each of them is shown as it is.

    By the columns' texts alone: that the final query's rows are the state's, no more and no
    fewer, and of the same types, is for Spark to confirm
    (:func:`freshline.spark.views.verify.shows_state`).

    Args:
        final: The final query, its output columns named.
        partials: What it reads.
    """
    if len(partials) != 1 or not isinstance(final, exp.Select):
        return None
    combine = sqlglot.parse_one(partials[0].combine, dialect="spark")
    assert isinstance(combine, exp.Select)
    shown: dict[str, str] = {}
    for item in final.expressions:
        shown.setdefault(_bare(item), item.alias_or_name)
    texts = {item.alias_or_name: _bare(item) for item in combine.expressions}
    if any(text not in shown for text in texts.values()):
        return None
    return {column: shown[text] for column, text in texts.items()}


def _bare(item: exp.Expr) -> str:
    """An output column's text without its name, its outer casts and the names of tables."""
    value = item.unalias().copy()
    while isinstance(value, exp.Cast | exp.Paren):
        value = value.this
    for column in value.find_all(exp.Column):
        column.set("table", None)
    return str(value.sql(dialect="spark"))
