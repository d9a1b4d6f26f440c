"""Values that only Snowflake writes as a text and compares as it does.

A BINARY becomes hexadecimal digits there and UTF-8 in Spark; an ARRAY or OBJECT becomes JSON there
and something of Spark's own here; a VARIANT is compared by what it holds. So a query may hand such
values on, and compare a BINARY with another one, byte by byte in both.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from freshline.importing.snowflake.faults import UntranslatableError, shown
from freshline.importing.snowflake.kinds import Kind, Kinds, Other, branches
from freshline.importing.snowflake.texts import meetings

_OPAQUE = (Other.BINARY, Other.OPAQUE)
_SOURCES = (exp.From, exp.Join, exp.CTE, exp.SetOperation, exp.Exists, exp.Star)
_HANDED_ON = (exp.Alias, exp.Paren, exp.Subquery, exp.Count)
_COMPARED = (
    exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In, exp.Nullif,
)  # fmt: skip
_ORDERED = (exp.Ordered, exp.Group, exp.Window, exp.Min, exp.Max, exp.Distinct, exp.Tuple)


def refuse_opaque(query: exp.Expr, kinds: Kinds) -> None:
    """Makes sure that values of such types are handed on, and nothing else.

    Raises:
        UntranslatableError: One becomes a text or a number, or is compared.
    """
    for node in query.walk():
        if isinstance(node, (*_SOURCES, *_COMPARED)):
            used = any(map(_differ, _met(node, kinds)))
        else:
            used = any(
                kinds.of(part) in _OPAQUE and not _is_handed_on(node, part, kinds)
                for part in node.iter_expressions()
            )
        if used:
            raise UntranslatableError(
                f"{shown(node)} uses a BINARY, VARIANT, ARRAY, OBJECT, TIME or the like, which"
                " Spark writes as a text or compares in another way"
            )


def _met(node: exp.Expr, kinds: Kinds) -> Iterator[set[Kind]]:
    """The kinds of values that are compared, or become one column."""
    if isinstance(node, (exp.Join, exp.SetOperation, *_COMPARED)):
        is_bag = isinstance(node, exp.Union) and not node.args.get("distinct")
        for met in meetings(node, kinds):
            of = {kinds.of(each) if isinstance(each, exp.Expr) else each for each in met}
            if not is_bag or len(of - {Other.NULL}) > 1:  # UNION ALL compares nothing
                yield of


def _differ(of: set[Kind]) -> bool:
    return Other.OPAQUE in of or (Other.BINARY in of and not of <= {Other.BINARY, Other.NULL})


def _is_handed_on(node: exp.Expr, part: exp.Expr, kinds: Kinds) -> bool:
    kind = kinds.of(part)
    if isinstance(node, exp.Select):
        compares = node.args.get("distinct") or node.args.get("group")
        return kind is Other.BINARY or not compares
    if isinstance(node, exp.Case | exp.If | exp.Coalesce):
        decides = part is node.this and not isinstance(node, exp.Coalesce)
        return not decides and {kinds.of(each) for each in branches(node)} == {kind}
    if isinstance(node, exp.Is):
        return isinstance(node.expression, exp.Null)
    if isinstance(node, exp.Lag | exp.Lead):
        default = node.args.get("default")
        return default is None or kinds.of(default) in (kind, Other.NULL)
    if isinstance(node, _HANDED_ON) or (isinstance(node, exp.Window) and part is node.this):
        return True
    return isinstance(node, _ORDERED) and kind is Other.BINARY
