"""Which rows of a parent can meet another parent's changed rows in a join, as the log says.

A join of two tables that grow reads all rows of the one for the new rows of the other. Where a key
is equal in both, and both grow in the order of the key, as orders and their items do, the new
rows' keys lie where few older rows have theirs. The log knows the span of the keys of each file
that was added, so a condition with these spans lets Delta skip files, and Parquet rows, without
a job that reads the keys.
"""

from __future__ import annotations

from collections.abc import Iterable

from freshline.spark.views.incremental import Parent
from freshline.spark.views.timesets import literal, time_set
from freshline.sql.query.records import Equality
from freshline.sql.query.zone import DAY_US
from freshline.sql.text.reads import quoted_column

_WHOLE_NUMBERS = ("tinyint", "smallint", "int", "bigint")


def met_by(parent: Parent, changed: Parent, equal: Iterable[Equality]) -> str | None:
    """SQL over a parent's columns: only rows for which it is true can meet changed rows.

    None: nothing is known.

    Args:
        parent: Of which rows are read.
        changed: Another parent, which only gained rows.
        equal: What the query's analysis found.
    """
    terms = []
    for each in equal:
        if (each.source, each.other) != (parent.name.lower(), changed.name.lower()):
            continue
        kind, other_kind = parent.kind(each.column), changed.kind(each.other_column)
        both = {kind, other_kind}
        if both != {"date"} and not both <= set(_WHOLE_NUMBERS):
            continue
        spans = changed.changes.numbers(each.other_column)
        if spans is None:
            continue
        if kind == "date":
            # Of CAST(at AS DATE) = day Spark holds the cast against the span, too, as a condition
            # on the instant: the last hour of a date can come after the next one has begun.
            spans = [(first - 1, last + 1) for first, last in spans]
        name = quoted_column(each.column)
        within = " OR ".join(
            f"{name} BETWEEN {_written(first, kind)} AND {_written(last, kind)}"
            for first, last in time_set(spans).intervals
        )
        terms.append(f"({within or 'false'})")
    return " AND ".join(terms) if terms else None


def _written(value: int, kind: str) -> str:
    return literal(value * DAY_US, kind) if kind == "date" else str(value)
