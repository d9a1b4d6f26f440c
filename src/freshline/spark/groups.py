"""The groups that new rows touch, as SQL that selects them in a state and in a view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from freshline.spark.columns import kind_of
from freshline.spark.timesets import instant
from freshline.sql.maintenance import Buckets, Decomposition, ViewPlan
from freshline.sql.reads import quoted

MOST_GROUPS = 200
"""In one predicate; with more of them the whole view is written."""

NOWHERE = "false"
"""The condition of a scope without groups."""

_EXACT = (
    *("timestamp", "timestamp_ntz", "date", "string", "boolean"),
    *("tinyint", "smallint", "int", "bigint"),
)


@dataclass(frozen=True, slots=True)
class Scope:
    """Which groups an update writes.

    Attributes:
        state: SQL over the state's columns.
        view: SQL over the view's columns.
        earlier: SQL over the view's columns: whether a row is of a bucket before all of these;
            None where they are no buckets.
    """

    state: str
    view: str
    earlier: str | None = None


def scope(plan: ViewPlan, rows: DataFrame, view: StructType) -> Scope | None:
    """The groups of ``rows``, or all groups of their buckets; None: write the whole view.

    A part of the keys selects more groups than were touched, which is as right.

    Args:
        plan: Of the view, with a decomposition.
        rows: State rows of the changes.
        view: The view's columns.
    """
    assert isinstance(plan.merge, Decomposition)
    shown = plan.merge.group_columns
    if not shown:
        return None
    columns = {output.lower(): key for output, key in shown.items()}
    if isinstance(plan.buckets, Buckets) and plan.buckets.column.lower() in columns:
        columns = {plan.buckets.column.lower(): columns[plan.buckets.column.lower()]}
    kinds = {key: kind_of(rows.schema, key) for key in columns.values()}
    if any(
        kind_of(view, output) != kinds[key] or not _has_literals(kinds[key])
        for output, key in columns.items()
    ):
        return None
    values = [
        f"{_read(quoted(key), kind)} AS key_{number}"
        for number, (key, kind) in enumerate(kinds.items())
    ]
    found = [
        tuple(row) for row in rows.selectExpr(*values).distinct().limit(MOST_GROUPS + 1).collect()
    ]
    if len(found) > MOST_GROUPS:
        return None
    order = list(kinds)
    outputs = [next(each for each, key in columns.items() if key == name) for name in order]
    types = [kinds[key] for key in order]
    earlier = None
    if isinstance(plan.buckets, Buckets) and outputs[0].lower() == plan.buckets.column.lower():
        known = [value for (value,) in found if value is not None]
        if known:
            earlier = f"{quoted(outputs[0])} < {_written(min(known), types[0])}"
    return Scope(_among(order, types, found), _among(outputs, types, found), earlier)


def _has_literals(kind: str) -> bool:
    """Whether a value of the type can be written down so that it equals itself."""
    return kind in _EXACT or kind.startswith("decimal(")


def _among(names: Sequence[str], kinds: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> str:
    """SQL: whether the columns hold one of the rows; never NULL."""
    if not rows:
        return NOWHERE
    if len(names) > 1:
        groups = (
            " AND ".join(
                f"{quoted(name)} <=> {_written(value, kind)}"
                for name, kind, value in zip(names, kinds, row, strict=True)
            )
            for row in rows
        )
        return " OR ".join(f"({group})" for group in groups)
    name, kind = quoted(names[0]), kinds[0]
    values = ", ".join(_written(value, kind) for (value,) in rows if value is not None)
    terms = [f"({name} IS NOT NULL AND {name} IN ({values}))"] if values else []
    if any(value is None for (value,) in rows):
        terms.append(f"{name} IS NULL")
    return " OR ".join(terms)


def _read(name: str, kind: str) -> str:
    """SQL: a key as Python can hold it without loss."""
    if kind == "timestamp":
        return f"unix_micros({name})"
    return f"CAST({name} AS STRING)" if kind in ("date", "timestamp_ntz") else name


def _written(value: Any, kind: str) -> str:
    """A value as a literal of its type."""
    if value is None:
        return f"CAST(NULL AS {kind})"
    if kind == "timestamp":
        return instant(int(value))
    if kind in ("date", "timestamp_ntz"):
        return f"{kind.upper()}'{value}'"
    if kind == "string":
        text = str(value)
        if "'" in text or "\\" in text:
            return f"CAST(X'{text.encode().hex()}' AS STRING)"
        return f"'{text}'"
    if kind == "boolean":
        return str(value).lower()
    return f"CAST('{value}' AS {kind})"
