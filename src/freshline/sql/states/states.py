"""A partial while it is put together: its group keys, its states, its three queries' text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sqlglot import exp

from freshline.sql.query.records import Partial
from freshline.sql.query.unsupported import unsupported
from freshline.sql.states.aggregates import State
from freshline.sql.text.written import for_spark

Typer = Callable[[str], Sequence[tuple[str, str]]]
"""Column and Spark type of each output column of a query over the sources."""

_NOT_STORED = re.compile(
    r"(\A|[<:,])(interval|void|time\(|geometry|geography|struct<>)|string collate "
)
"""Spark's names of types that no Delta table can have, also within another type."""
_EQUAL_NOT_SAME = re.compile(r"\b(double|float|variant)\b|\bmap<|string collate ")
"""Spark's names of types of which equal values can differ: 0.0 and -0.0, maps by their order."""
_NUMBERS = ("decimal", "double", "float", "bigint", "int", "smallint", "tinyint")


def typed(value: exp.Expr, type_: str) -> exp.Expr:
    """``value`` as the number type it must have; other types are not changed by merging."""
    return exp.cast(value, type_, dialect="spark") if type_.startswith(_NUMBERS) else value


class PartialBuilder:
    """One partial over ``rows``, a SELECT with FROM and WHERE and no columns yet."""

    def __init__(self, name: str, rows: exp.Select) -> None:
        self.name = name
        self.types: list[str] = []
        self.states: list[State] = []
        self._rows = rows
        self._keys: dict[str, exp.Expr] = {}
        self._told_by: dict[str, exp.Expr] = {}
        self._state_at: dict[str, int] = {}

    @property
    def key_names(self) -> list[str]:
        """Columns of the state that identify a group."""
        return [f"k{at}" for at in range(len(self._keys))]

    def key(self, value: exp.Expr, *, told_by: exp.Expr | None = None) -> exp.Column:
        """The state's column that holds ``value``, a key of its groups from now on.

        Args:
            told_by: What the final query computes of it that tells apart values that are equal.
        """
        text = value.sql(dialect="spark")
        if told_by is not None:
            self._told_by.setdefault(text, told_by)
        if text not in self._keys:
            self._keys[text] = value.copy()
        return exp.column(f"k{list(self._keys).index(text)}", table=self.name)

    def state(self, state: State) -> int:
        """The number of the state column that holds ``state``."""
        text = state.value.sql(dialect="spark")
        if text not in self._state_at:
            self._state_at[text] = len(self.states)
            self.states.append(state)
        return self._state_at[text]

    def column(self, at: int) -> exp.Column:
        """State column number ``at``."""
        return exp.column(f"s{at}", table=self.name)

    def merged(self, at: int) -> exp.Expr:
        """All the states in column ``at`` in one, of the column's own type."""
        return typed(self.states[at].merge(self.column(at)), self.types[at])

    def close(self, typer: Typer) -> None:
        """No key or state is added any more: ask for the types of the states.

        Raises:
            Unsupported: Delta cannot store a key or a state, or a group has several values of a
                key that the final query tells apart.
        """
        if not self._keys and not self.states:
            self.key(exp.true())  # a group that is there if there is any row
        types = [kind for _, kind in typer(for_spark(self.query()))]
        for kind in types:
            if _NOT_STORED.search(kind):
                raise unsupported(
                    "STATE_TYPE",
                    f"a state would have a column of type {kind}, which Delta cannot store;"
                    " cast the value in the query",
                )
        for text, kind in zip(self._keys, types, strict=False):
            if text in self._told_by and _EQUAL_NOT_SAME.search(kind):
                raise unsupported(
                    "EQUAL_NOT_SAME",
                    f"a state would hold equal values of type {kind} as one, such as 0.0 and -0.0,"
                    " of which the query makes different ones; compute that in a subquery over the"
                    " table alone",
                    self._told_by[text],
                )
        self.types = types[len(self._keys) :]

    def query(self) -> exp.Select:
        """The partial's query over the sources."""
        query = self._rows.copy()
        keys = [exp.alias_(each.copy(), f"k{at}") for at, each in enumerate(self._keys.values())]
        states = [exp.alias_(each.value.copy(), f"s{at}") for at, each in enumerate(self.states)]
        query.set("expressions", keys + states)
        if keys:
            by = [_no_ordinal(each.copy()) for each in self._keys.values()]
            query.set("group", exp.Group(expressions=by))
        return query

    def partial(self) -> Partial:
        """The finished record."""
        keys = [exp.column(name) for name in self.key_names]
        states = [
            exp.alias_(_unqualified(self.merged(at)), f"s{at}") for at in range(len(self.states))
        ]
        combine = exp.select(*keys, *states).from_(self.name)
        if keys:
            combine = combine.group_by(*(key.copy() for key in keys))
        return Partial(
            self.name,
            tuple(self.key_names),
            for_spark(self.query()),
            for_spark(combine),
        )


def _no_ordinal(value: exp.Expr) -> exp.Expr:
    """A whole number in GROUP BY would mean an output column."""
    return exp.cast(value, "int") if isinstance(value, exp.Literal) and value.is_int else value


def _unqualified(tree: exp.Expr) -> exp.Expr:
    for column in tree.find_all(exp.Column):
        column.set("table", None)
    return tree
