"""The groups that changes touch: which rows of a state and of a view belong to them.

A few groups are named one by one in a condition, by which Spark skips files and rows. Of several
columns only very few can be, since each row is compared with each of them: of more, each column's
values are named by themselves, and a join with the keys tells the rows. Of still more groups, or
where a key's type has no exact literal, the condition names the span of the keys instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention
from pyspark.sql.types import StructType

from freshline.spark.commits.selection import Selection
from freshline.spark.engine.columns import kind_of
from freshline.spark.engine.in_driver import Held
from freshline.spark.views.timesets import literal
from freshline.sql.query.records import Buckets, Decomposition, ViewPlan
from freshline.sql.query.zone import DAY_US
from freshline.sql.text.reads import quoted_column

MOST_NAMED = 200
"""Groups in one condition; of more, Spark takes longer to read it than to join."""

MOST_COMPARED = 16
"""Of several columns: with 200 groups of a text and a number a filter took 14 times as long as the
join, since Java does not compile so long a condition."""

Span = tuple[Any, Any, int]
"""First value, last value, number of NULLs."""

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
        state: Their rows in the state.
        view: Their rows in the view.
        earlier: SQL over the view's columns: whether a row is of a bucket before all of these;
            None where they are no buckets.
    """

    state: Selection
    view: Selection
    earlier: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no group was touched."""
        return self.view.sql == NOWHERE


def scope(
    plan: ViewPlan, changed: Held, view: StructType, *, may_join: bool = True
) -> Scope | None:
    """The groups of ``rows``, or all groups of their buckets; None: they cannot be told apart.

    A part of the keys selects more groups than were touched, which is as right.

    Args:
        plan: Of the view, with a decomposition.
        changed: State rows of the changes.
        view: The view's columns.
        may_join: Whether groups can be told by a join with their keys too.
    """
    assert isinstance(plan.merge, Decomposition)
    rows, shown = changed.frame, plan.merge.group_columns
    if not shown:
        return None
    columns = {output.lower(): key for output, key in shown.items()}
    if isinstance(plan.buckets, Buckets) and plan.buckets.column.lower() in columns:
        columns = {plan.buckets.column.lower(): columns[plan.buckets.column.lower()]}
    kinds = {key: kind_of(rows.schema, key) for key in columns.values()}
    if any(kind_of(view, output) != kinds[key] for output, key in columns.items()):
        return None
    if any("map<" in kind for kind in kinds.values()):
        return None  # maps are neither compared nor joined
    order = tuple(kinds)
    outputs = tuple(next(each for each, key in columns.items() if key == name) for name in order)
    keys = rows.select(
        *(
            F.col(quoted_column(key)).alias(f"freshline_key_{number}")
            for number, key in enumerate(order)
        )
    )
    types = [kinds[key] for key in order]
    once = _once(Held(keys, changed.is_in_driver))
    found = _found(once, types)
    selected = _selections(once, types, found, (order, outputs), may_join=may_join)
    if selected is None:
        return None
    earlier = None
    if isinstance(plan.buckets, Buckets) and outputs[0].lower() == plan.buckets.column.lower():
        known = [value for (value,) in found or () if value is not None]
        if known:
            earlier = f"{quoted_column(outputs[0])} < {_written(min(known), types[0])}"
    state, in_view = selected
    return Scope(state, in_view, earlier)


def of_keys(
    changed: Held, types: Sequence[str], named: Sequence[Sequence[str]], *, may_join: bool
) -> list[Selection] | None:
    """The rows of some keys in several tables; None: they cannot be told.

    Args:
        changed: The keys and nothing else, each once or several times.
        types: Of its columns.
        named: What each table calls them, in their order.
        may_join: Whether rows can be told by a join with the keys too.
    """
    keys = _once(changed)
    return _selections(keys, types, _found(keys, types), named, may_join=may_join)


def _once(keys: Held) -> Held:
    """Each key once; of those in the driver some may be there several times, which does no harm."""
    return keys if keys.is_in_driver else Held(keys.frame.distinct(), is_in_driver=False)


def _selections(
    keys: Held,
    types: Sequence[str],
    found: list[tuple[Any, ...]] | None,
    named: Sequence[Sequence[str]],
    *,
    may_join: bool,
) -> list[Selection] | None:
    """The rows of the keys, by a condition where they were found, else by a join."""
    if found is None:
        return _joined(keys, named, types) if may_join else None
    if not may_join or len(types) == 1 or len(found) <= MOST_COMPARED:
        return [Selection(_among(names, types, found)) for names in named]
    return [
        Selection(_each_among(names, types, found), keys.frame, tuple(names)) for names in named
    ]


def _each_among(names: Sequence[str], kinds: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> str:
    """SQL: whether each column holds a value that one of the rows has there; never NULL."""
    columns = (
        list(dict.fromkeys((value,) for value in column)) for column in zip(*rows, strict=True)
    )
    terms = (
        _among([name], [kind], values)
        for name, kind, values in zip(names, kinds, columns, strict=True)
    )
    return " AND ".join(f"({term})" for term in terms)


def _found(keys: Held, types: Sequence[str]) -> list[tuple[Any, ...]] | None:
    """The keys as Python holds them, each once; None: more than are named, or not the same."""
    if not all(_has_literals(kind) for kind in types):
        return None
    values = keys.frame.selectExpr(*_values(keys.frame, types))
    if not keys.is_in_driver:
        values = values.limit(MOST_NAMED + 1)
    found = list(dict.fromkeys(tuple(row) for row in values.collect()))
    if any(_is_another(value) for row in found for value in row):
        return None
    return found if len(found) <= MOST_NAMED else None


def _is_another(value: Any) -> bool:
    """Whether Python may hold another text than Spark: bytes that are no UTF-8 come as U+FFFD."""
    return isinstance(value, str) and "\ufffd" in value


def _values(keys: DataFrame, types: Sequence[str]) -> list[str]:
    return [f"{_read(key, kind)} AS {key}" for key, kind in zip(keys.columns, types, strict=True)]


def _joined(keys: Held, named: Sequence[Sequence[str]], types: Sequence[str]) -> list[Selection]:
    """The rows of groups that are too many to be named."""
    told = (_spans_in_driver if keys.is_in_driver else _spans)(keys.frame, types)
    if told is None:
        return [Selection(NOWHERE) for _ in named]
    return [Selection(_spanned(names, types, told), keys.frame, tuple(names)) for names in named]


def _spans(keys: DataFrame, types: Sequence[str]) -> dict[int, Span] | None:
    """First and last value and number of NULLs by place of a key; None: there are no keys."""
    spans = {
        number: (
            F.min(F.expr(_read(key, kind))),
            F.max(F.expr(_read(key, kind))),
            F.count_if(F.col(key).isNull()),
        )
        for number, (key, kind) in enumerate(zip(keys.columns, types, strict=True))
        if _has_literals(kind)
    }
    found = keys.agg(F.count("*"), *(each for span in spans.values() for each in span)).collect()[0]
    if not found[0]:
        return None
    told = {number: tuple(found[1 + 3 * at : 4 + 3 * at]) for at, number in enumerate(spans)}
    return {number: span for number, span in told.items() if not any(map(_is_another, span))}


def _spans_in_driver(keys: DataFrame, types: Sequence[str]) -> dict[int, Span] | None:
    """The same without a job, of rows in the driver."""
    places = [number for number, kind in enumerate(types) if _has_literals(kind)]
    values = _values(keys, types)
    rows = keys.selectExpr("1 AS present", *(values[number] for number in places)).collect()
    if not rows:
        return None
    spans: dict[int, Span] = {}
    for at, number in enumerate(places, start=1):
        known = [row[at] for row in rows if row[at] is not None]
        if any(map(_is_another, known)):
            continue
        # Texts are ordered by their code points, here and by Spark's UTF-8.
        first, last = (min(known), max(known)) if known else (None, None)
        spans[number] = (first, last, len(rows) - len(known))
    return spans


def _spanned(names: Sequence[str], kinds: Sequence[str], spans: Mapping[int, Span]) -> str:
    """SQL: whether each column lies between the first and the last of its keys; never NULL."""
    terms = []
    for number, (first, last, nulls) in spans.items():
        name, kind = quoted_column(names[number]), kinds[number]
        either = [f"{name} IS NULL"] if nulls else []
        if first is not None:
            between = f"BETWEEN {_written(first, kind)} AND {_written(last, kind)}"
            either.append(f"({name} IS NOT NULL AND {name} {between})")
        terms.append(f"({' OR '.join(either)})")
    return " AND ".join(terms) if terms else "true"


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
                f"{quoted_column(name)} <=> {_written(value, kind)}"
                for name, kind, value in zip(names, kinds, row, strict=True)
            )
            for row in rows
        )
        return " OR ".join(f"({group})" for group in groups)
    name, kind = quoted_column(names[0]), kinds[0]
    values = ", ".join(_written(value, kind) for (value,) in rows if value is not None)
    terms = [f"({name} IS NOT NULL AND {name} IN ({values}))"] if values else []
    if any(value is None for (value,) in rows):
        terms.append(f"{name} IS NULL")
    return " OR ".join(terms)


def _read(name: str, kind: str) -> str:
    """SQL: a key as Python can hold it without loss, in the same order; times as numbers."""
    if kind == "timestamp":
        return f"unix_micros({name})"
    if kind == "timestamp_ntz":
        return f"unix_micros(CAST(CAST({name} AS STRING) || 'Z' AS TIMESTAMP_LTZ))"
    return f"unix_date({name})" if kind == "date" else name


def _written(value: Any, kind: str) -> str:
    """A value as a literal of its type."""
    if value is None:
        return f"CAST(NULL AS {kind})"
    if kind in ("timestamp", "timestamp_ntz"):
        return literal(int(value), kind)
    if kind == "date":
        return literal(int(value) * DAY_US, kind)
    if kind == "string":
        text = str(value)
        if "'" in text or "\\" in text or "$" in text:  # ${name} would be a variable
            return f"CAST(X'{text.encode().hex()}' AS STRING)"
        return f"'{text}'"
    if kind == "boolean":
        return str(value).lower()
    return f"CAST('{value}' AS {kind})"
