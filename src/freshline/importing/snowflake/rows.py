"""Comparisons of rows, `(a, b) IN ((1, 2), (3, 4))`, as comparisons of values.

Spark compares structs, in which NULL equals NULL and is different from 1; in Snowflake the answer
is NULL.
"""

from __future__ import annotations

from sqlglot import exp

from freshline.importing.snowflake.faults import UntranslatableError, shown


def by_values(query: exp.Expr) -> None:
    """Replaces each list of rows; one against a query is the same in both.

    Raises:
        UntranslatableError: Rows are compared in another way.
    """
    for node in list(query.find_all(exp.Tuple)):
        within = node.parent
        if isinstance(within, exp.In) and node.arg_key == "this":
            if within.args.get("query") is None:
                within.replace(_listed(within, node))
        elif isinstance(within, exp.Predicate) and not isinstance(within, exp.In):
            raise UntranslatableError(f"{shown(within)} compares rows")


def _listed(node: exp.In, one: exp.Tuple) -> exp.Expr:
    every = []
    for other in node.expressions:
        if not isinstance(other, exp.Tuple) or len(other.expressions) != len(one.expressions):
            raise UntranslatableError(f"{shown(node)} compares rows of different lengths")
        pairs = zip(one.expressions, other.expressions, strict=True)
        every.append(exp.and_(*(exp.EQ(this=_whole(a), expression=_whole(b)) for a, b in pairs)))
    return exp.paren(exp.or_(*every), copy=False)


def _whole(value: exp.Expr) -> exp.Expr:
    """A value that stays one beside an operator: `a OR b` would be taken apart."""
    loose = exp.Predicate | exp.Connector | exp.Not
    return exp.paren(value) if isinstance(value, loose) else value.copy()
