"""Columns of the streams replaced by columns of a partial, inside the user's expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

from sqlglot import exp

from freshline.sql.query.scopes import free_aliases
from freshline.sql.query.unsupported import unsupported
from freshline.sql.states.aggregates import is_call
from freshline.sql.states.states import PartialBuilder

_NOT_ALONE = (
    exp.Alias, exp.Distinct, exp.If, exp.PropertyEQ, exp.Tuple, exp.Lambda, exp.Connector,
    exp.Not, exp.Exists, exp.Interval, exp.Subquery, exp.Window,
)  # fmt: skip
"""Nodes that are no value of their own, or none that is worth a key instead of its parts."""

_NO_ROWS = (exp.In, exp.Group, exp.Rollup, exp.Cube, exp.GroupingSets, exp.Values)
"""What has several values in brackets that are no value of their own."""

_SAME_OF_EQUALS = (
    exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is,
    exp.Between, exp.And, exp.Or, exp.Not, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod,
    exp.Neg, exp.Abs, exp.Round, exp.Floor, exp.Ceil, exp.IsNan, exp.Nullif, exp.Dot, exp.Bracket,
    exp.Struct, exp.PropertyEQ, exp.Paren, exp.Alias, exp.Subquery, exp.Select, exp.Where,
    exp.Having, exp.Qualify, exp.Order, exp.Ordered,
    exp.Exists,
)  # fmt: skip
"""Nodes that make equal values of equal values, whichever these are."""
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg)
_OF_ONE_TYPE = (exp.Case, exp.Coalesce, exp.Greatest, exp.Least, exp.Array, exp.In)
"""Nodes that make their values one type: without ANSI mode a number beside a text is a text."""


class _Owner(Protocol):
    @property
    def own(self) -> AbstractSet[str]: ...


def keyed(
    tree: exp.Expr,
    own: AbstractSet[str],
    builder: PartialBuilder,
    *,
    whole: bool,
    told_by: exp.Expr | None = None,
) -> exp.Expr:
    """``tree`` with what it takes from the aliases ``own`` replaced by keys of the partial.

    Args:
        whole: The largest expressions that need nothing else become keys, as the partial can
            compute them; else the columns by themselves.
        told_by: What is computed of ``tree`` and tells apart values that are equal, of which a
            key holds one for all; None: nothing does.
    """
    if isinstance(tree, exp.Column):
        return builder.key(tree, told_by=told_by) if tree.table in own else tree
    if whole and _stands_alone(tree, own):
        return builder.key(tree, told_by=told_by)
    if told_by is None and tells_equals_apart(tree):
        told_by = tree.copy()
    for child in list(tree.iter_expressions()):
        new = keyed(child, own, builder, whole=whole, told_by=told_by)
        if new is not child:
            _require_named(child, new)
            child.replace(new)
    return tree


def _require_named(old: exp.Expr, new: exp.Expr) -> None:
    """Refuse to put a column in a place whose name becomes that of a field.

    Spark calls the fields of ``arrays_zip(a, b)`` and of ``(a, b)`` as the columns are called that
    stand there, and ``to_json`` shows it.
    """
    parent = old.parent
    while isinstance(parent, exp.Paren):
        parent = parent.parent
    is_row = isinstance(parent, exp.Tuple) and not isinstance(parent.parent, _NO_ROWS)
    if (is_row or isinstance(parent, exp.ArraysZip | exp.Struct)) and (
        isinstance(old.unnest(), exp.Column) or isinstance(new.unnest(), exp.Column)
    ):
        raise unsupported("SYNTAX", "name the fields: write struct(column AS name, ..)", parent)


def tells_equals_apart(tree: exp.Expr) -> bool:
    """Whether a node can make other values of 0.0 and -0.0, as their texts are."""
    if isinstance(tree, exp.Cast):  # TRY_CAST is one
        return not _is_number(tree)
    if isinstance(tree, exp.If):  # of CASE, too, which is asked about all its values
        tree = tree.parent if isinstance(tree.parent, exp.Case) else exp.Case(ifs=[tree.copy()])
    if not isinstance(tree, _OF_ONE_TYPE):
        return not isinstance(tree, _SAME_OF_EQUALS)
    values = _values(tree)
    others = [value for value in values if not _is_number(value)]
    beside = (value for value in values if value not in others)
    return len(others) > 1 or (len(others) == 1 and any(map(_has_columns, beside)))


def _values(tree: exp.Expr) -> list[exp.Expr]:
    """What a node makes one type."""
    if not isinstance(tree, exp.Case):
        found = [tree.this, tree.args.get("query"), *tree.expressions]
        return [each for each in found if isinstance(each, exp.Expr)]
    ifs = tree.args["ifs"]
    found = [each for one in ifs for each in (one.args["true"], one.args.get("false"))]
    return [each for each in (*found, tree.args.get("default")) if each is not None]


def _is_number(value: exp.Expr) -> bool:
    """Whether a value is known to be a number, or NULL."""
    value = value.unnest()
    if isinstance(value, exp.Cast):
        return bool(value.to.is_type(*exp.DataType.NUMERIC_TYPES, exp.DType.BOOLEAN))
    return isinstance(value, (*_ARITHMETIC, exp.Null)) or value.is_number


def _has_columns(value: exp.Expr) -> bool:
    return value.find(exp.Column) is not None


def _stands_alone(tree: exp.Expr, own: AbstractSet[str]) -> bool:
    if not isinstance(tree, exp.Condition) or isinstance(tree, _NOT_ALONE):
        return False
    if tree.find_ancestor(exp.Lambda) is not None:
        return False  # its variables look like columns, and can have the name of one
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

    def _value(self, tree: exp.Expr, outside: AbstractSet[str] | None = None) -> exp.Expr:
        """``tree`` with what the partial holds.

        Args:
            outside: None outside of subqueries; within one, the aliases of outer tables that it
                reads. There count(*), which has no column, counts the rows of the subquery. The
                aliases of a call's columns say to which query the call belongs.
        """
        for old, new in self.groups:
            if tree == old:
                return new.copy()
        if outside is None and isinstance(tree, exp.Query):
            outside = free_aliases(tree)
        if is_call(tree):
            used = {column.table for column in tree.find_all(exp.Column)}
            text = tree.sql(dialect="spark")
            if text in self.aggregates and (used or outside is None):
                return self.aggregates[text].copy()
            if outside is not None and used & outside:
                raise unsupported("KEEPS_ROWS", "an aggregate reaches out of a subquery", tree)
        if isinstance(tree, exp.Column) and tree.table in self.own:
            raise unsupported("UNGROUPED", "the column is neither grouped by nor aggregated", tree)
        if isinstance(tree, exp.Window):
            self._window(tree, outside)
            return tree
        for child in list(tree.iter_expressions()):
            self._swap(child, self._value(child, outside))
        return tree

    def _window(self, window: exp.Window, outside: AbstractSet[str] | None = None) -> None:
        """Over the merged aggregates; its own function is none of them."""
        function = window.this
        while isinstance(function, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
            function = function.this
        for child in list(function.iter_expressions()):
            self._swap(child, self._value(child, outside))
        for child in list(window.iter_expressions()):
            if child is not window.this:
                self._swap(child, self._value(child, outside))

    @staticmethod
    def _swap(old: exp.Expr, new: exp.Expr) -> None:
        if new is not old:
            _require_named(old, new)
            old.replace(new)
