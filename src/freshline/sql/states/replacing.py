"""Columns of the streams replaced by columns of a partial, inside the user's expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

from sqlglot import exp

from freshline.sql.query.unsupported import unsupported
from freshline.sql.states.aggregates import is_call
from freshline.sql.states.states import PartialBuilder

_NOT_ALONE = (
    exp.Alias, exp.Distinct, exp.If, exp.PropertyEQ, exp.Tuple, exp.Lambda, exp.Connector,
    exp.Not, exp.Exists, exp.Interval, exp.Subquery, exp.Window,
)  # fmt: skip
"""Nodes that are no value of their own, or none that is worth a key instead of its parts."""


class _Owner(Protocol):
    @property
    def own(self) -> AbstractSet[str]: ...


def keyed(
    tree: exp.Expr, own: AbstractSet[str], builder: PartialBuilder, *, whole: bool
) -> exp.Expr:
    """``tree`` with what it takes from the aliases ``own`` replaced by keys of the partial.

    Args:
        whole: The largest expressions that need nothing else become keys, as the partial can
            compute them; else the columns by themselves.
    """
    if isinstance(tree, exp.Column):
        return builder.key(tree) if tree.table in own else tree
    if whole and _stands_alone(tree, own):
        return builder.key(tree)
    for child in list(tree.iter_expressions()):
        new = keyed(child, own, builder, whole=whole)
        if new is not child:
            child.replace(new)
    return tree


def _stands_alone(tree: exp.Expr, own: AbstractSet[str]) -> bool:
    if not isinstance(tree, exp.Condition) or isinstance(tree, _NOT_ALONE):
        return False
    columns = list(tree.find_all(exp.Column))
    if not columns or any(column.table not in own for column in columns):
        return False
    return not any(
        isinstance(node, exp.Query | exp.Window | exp.UDTF | exp.Explode) or is_call(node)
        for node in tree.walk()
    )


class Replacement:
    """What takes the place of the user's keys and aggregates over one partial.

    Attributes:
        aggregates: The merged aggregate by the text of the call.
    """

    def __init__(
        self,
        block: _Owner,
        builder: PartialBuilder | None,
        groups: Sequence[tuple[exp.Expr, exp.Expr]],
    ) -> None:
        self.own = block.own
        self.builder = builder
        self.groups = groups
        self.aggregates: Mapping[str, exp.Expr] = {}

    def distinct(self, clause: exp.Expr) -> None:
        """Replaces in place in a clause of a query without aggregates."""
        assert self.builder is not None
        for child in list(clause.iter_expressions()) or [clause]:
            self._swap(child, keyed(child, self.own, self.builder, whole=True))
        if isinstance(clause, exp.Column):  # an output column without alias
            clause.replace(
                exp.alias_(keyed(clause, self.own, self.builder, whole=True), clause.name)
            )

    def aggregate(self, clause: exp.Expr) -> None:
        """Replaces in place in a clause of an aggregate."""
        if isinstance(clause, exp.Window):  # a named one
            self._window(clause)
        elif isinstance(clause, exp.Alias | exp.Having | exp.Qualify | exp.Order | exp.Aliases):
            for child in list(clause.iter_expressions()):
                self._swap(child, self._value(child))
        else:
            name = clause.alias_or_name
            new = self._value(clause)
            clause.replace(exp.alias_(new.copy(), name) if name else new)

    def _value(self, tree: exp.Expr) -> exp.Expr:
        for old, new in self.groups:
            if tree == old:
                return new.copy()
        text = tree.sql(dialect="spark") if is_call(tree) else ""
        if text in self.aggregates:
            return self.aggregates[text].copy()
        if isinstance(tree, exp.Column) and tree.table in self.own:
            raise unsupported("UNGROUPED", "the column is neither grouped by nor aggregated", tree)
        if isinstance(tree, exp.Window):
            self._window(tree)
            return tree
        for child in list(tree.iter_expressions()):
            self._swap(child, self._value(child))
        return tree

    def _window(self, window: exp.Window) -> None:
        """Over the merged aggregates; its own function is none of them."""
        function = window.this
        while isinstance(function, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
            function = function.this
        for child in list(function.iter_expressions()):
            self._swap(child, self._value(child))
        for child in list(window.iter_expressions()):
            if child is not window.this:
                self._swap(child, self._value(child))

    @staticmethod
    def _swap(old: exp.Expr, new: exp.Expr) -> None:
        if new is not old:
            old.replace(new)
