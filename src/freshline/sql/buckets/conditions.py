"""What a condition of ON or WHERE says about times, where it holds.

Comparisons, BETWEEN and equality between times bound their difference. A comparison is true
only where both sides are there, so it also tells that a time is not NULL, and that a row of an
outer join has its match.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from freshline.sql.buckets.differences import INFINITE
from freshline.sql.buckets.relation import Relation
from freshline.sql.buckets.times import Times
from freshline.sql.query.null_rejecting import needed_aliases, rejecting

_COMPARISONS: dict[type[exp.Expr], tuple[int, int]] = {
    # Bounds of the left side less the right one.
    exp.EQ: (0, 0),
    exp.NullSafeEQ: (0, 0),
    exp.LT: (-INFINITE, -1),
    exp.LTE: (-INFINITE, 0),
    exp.GT: (1, INFINITE),
    exp.GTE: (0, INFINITE),
    exp.NEQ: (-INFINITE, INFINITE),
}


def conjuncts(condition: exp.Expr | None) -> Iterator[exp.Expr]:
    """The parts of ``condition`` that must all be true."""
    if condition is None:
        return
    condition = condition.unnest()
    if isinstance(condition, exp.And):
        yield from conjuncts(condition.this)
        yield from conjuncts(condition.expression)
    else:
        yield condition


def apply(times: Times, condition: exp.Expr | None) -> None:
    """Adds to the relation of ``times`` what ``condition`` says of the rows it keeps.

    Raises:
        Contradiction: Nothing can meet it.
    """
    parts = list(conjuncts(condition))
    for part in parts:
        for operand in rejecting(part):
            for alias in needed_aliases(operand):
                _match(times.relation, alias)
    for part in parts:
        if isinstance(part, exp.Between):
            _compare(times, part.this, part.args["low"], exp.GTE)
            _compare(times, part.this, part.args["high"], exp.LTE)
        elif type(part) in _COMPARISONS:
            _compare(times, part.this, part.expression, type(part))
        else:
            for operand in rejecting(part):
                _not_null(times, operand)


def _compare(times: Times, left: exp.Expr, right: exp.Expr, kind: type[exp.Expr]) -> None:
    one, other = times.time(left), times.time(right)
    if one is not None and other is not None:
        lo, hi = times.conversion(times.kind(one), times.kind(other))
        least, most = _COMPARISONS[kind]
        # one, as the kind of the other, is one + [lo, hi]
        times.relation.bound(one, other, (least - hi, most - lo))
    if kind is not exp.NullSafeEQ:
        for operand in (left, right):
            _not_null(times, operand)


def _not_null(times: Times, operand: exp.Expr) -> None:
    time = times.time(operand)
    if time is not None:
        times.relation.differences.nonnull.add(time)


def _match(relation: Relation, alias: str) -> None:
    """Rows without the side of ``alias`` are gone: what holds in matches, holds.

    Of a FULL JOIN rows are left that have this side alone: it has become an outer join that
    may still miss the other side.
    """
    for side in [padded for padded in relation.padded if alias in padded.aliases]:
        relation.padded.remove(side)
        if side.full:
            relation.padded = [
                replace(padded, full=False) if padded.matched is side.matched else padded
                for padded in relation.padded
            ]
        else:
            relation.differences.include(side.matched)
