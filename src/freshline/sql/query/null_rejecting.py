"""Conditions that are false or NULL for a NULL value, and outer joins that they make inner.

``FROM a LEFT JOIN b ON ... WHERE b.x > 3`` keeps no row of ``a`` without a partner: it is an
inner join, and is analysed as one (Galindo-Legaria and Rosenthal 1997).
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from freshline.sql.query.scopes import conjuncts, is_inner
from freshline.sql.text.canonical import kind_of, side_of

_COMPARISONS = (exp.EQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NEQ)
_STRICT = (
    exp.Paren, exp.Cast, exp.TryCast, exp.Neg, exp.TimestampTrunc, exp.DateTrunc, exp.TsOrDsToDate,
)  # fmt: skip
_STRICT_PAIRS = (exp.Add, exp.Sub, exp.Mul, exp.Mod)


def inner_where_null_is_rejected(tree: exp.Expr) -> None:
    """Makes LEFT joins inner, in place, whose rows without a partner a condition drops.

    Conditions of WHERE count, and those of inner joins that come later. A query with a RIGHT or
    FULL join stays as it is: which side can be missing depends on its other joins there.
    """
    for select in list(tree.find_all(exp.Select)):
        joins: list[exp.Join] = list(select.args.get("joins") or [])
        if any(side_of(join) not in {"", "LEFT"} for join in joins):
            continue
        present = _present(conjuncts(select.args.get("where")))
        for join in reversed(joins):
            if is_inner(join):
                present |= _present(conjuncts(join.args.get("on")))
            elif _is_left_outer(join) and join.this.alias_or_name in present:
                join.set("side", None)
                join.set("kind", None)
                present |= _present(conjuncts(join.args.get("on")))


def _is_left_outer(join: exp.Join) -> bool:
    plain = join.args.get("on") is not None and not join.args.get("method")
    return plain and side_of(join) == "LEFT" and kind_of(join) in {"", "OUTER"}


def _present(conditions: list[exp.Expr]) -> set[str]:
    """Aliases whose rows are there wherever all the conditions hold."""
    return {
        alias
        for condition in conditions
        for operand in rejecting(condition)
        for alias in needed_aliases(operand)
        if alias
    }


def rejecting(part: exp.Expr) -> Iterator[exp.Expr]:
    """Operands of ``part`` that are not NULL where it is true."""
    if isinstance(part, exp.Not):
        inner = part.this.unnest()
        if isinstance(inner, exp.In) and inner.args.get("query"):
            return  # NULL is not in an empty list
        is_null = isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null)
        if is_null or isinstance(inner, exp.Between | exp.Like | exp.In | exp.EQ):
            yield inner.this
        return
    if isinstance(part, exp.NullSafeEQ):
        return
    if isinstance(part, exp.Between):
        yield from (part.this, part.args["low"], part.args["high"])
    elif isinstance(part, _COMPARISONS):
        yield from (part.this, part.expression)
    elif isinstance(part, exp.Like | exp.In):
        yield part.this


def needed_aliases(operand: exp.Expr) -> Iterator[str]:
    """Aliases of columns without which ``operand`` is NULL."""
    if isinstance(operand, exp.Column):
        yield operand.table
    elif isinstance(operand, _STRICT):
        yield from needed_aliases(operand.this)
    elif isinstance(operand, _STRICT_PAIRS):
        yield from needed_aliases(operand.this)
        yield from needed_aliases(operand.expression)
