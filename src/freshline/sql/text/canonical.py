"""A syntax tree in one spelling, whatever the user's.

The parser keeps some things as they were typed: ``preceding`` and ``PRECEDING`` are different
strings in its tree, ``any(x)`` is no call of an aggregate, the LIMIT of a query in parentheses
hangs on the parentheses, ``interval 1 hour 30 minutes`` is a sum without its parentheses, and
``(x)`` in a list of columns or keys is another tree than ``x``.
Every tree goes through :func:`canonical` once, right behind the parser; after that one form is
all that analyses meet, and no text is compared with a keyword anywhere else (a guard sees to it).
"""

from __future__ import annotations

import re
from typing import Literal, cast

from sqlglot import exp

from freshline.sql.text.functions import AGGREGATES

Side = Literal["", "LEFT", "RIGHT", "FULL"]
JoinKind = Literal["", "INNER", "CROSS", "OUTER", "SEMI", "ANTI"]
_KEYWORDS: dict[type[exp.Expr], tuple[str, ...]] = {
    exp.Join: ("method", "side", "kind"),
    exp.WindowSpec: ("kind", "start", "start_side", "end", "end_side", "exclude"),
}
"""Arguments in which the parser keeps keywords as they were typed."""

_MODIFIERS = ("order", "sort", "cluster", "distribute", "limit", "offset", "with_")
"""Clauses that can stand behind a query in parentheses."""

_WHOLE: dict[type[object], tuple[str, ...]] = {
    exp.Alias: ("this",),
    exp.Cast: ("this",),
    exp.Group: ("expressions",),
    exp.Having: ("this",),
    exp.Ordered: ("this",),
    exp.Select: ("expressions",),
    exp.TryCast: ("this",),
    exp.Where: ("this",),
    exp.Window: ("partition_by",),
}
"""Arguments that are whole expressions: parentheses around one say nothing."""

_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def canonical(tree: exp.Expr) -> exp.Expr:
    """``tree``, changed in place, in the one spelling."""
    for node in list(tree.walk()):
        _capitals(node)
        if isinstance(node, exp.Any):
            _any_as_aggregate(node)
        elif isinstance(node, exp.Add):
            _keep_together(node)
        elif isinstance(node, exp.Paren) and node.arg_key in _WHOLE.get(type(node.parent), ()):
            node.replace(node.unnest())
    return _modified_queries(tree)


def unquote(tree: exp.Expr) -> None:
    """Puts the names of one thing in one spelling: `a` becomes a.

    For comparing texts, and not for Spark: a name may be a word of SQL. Those that need their
    quotes, such as one with a point in it, keep them.
    """
    for name in tree.find_all(exp.Identifier):
        if _PLAIN_NAME.fullmatch(name.name):
            name.set("quoted", False)
            if isinstance(name.parent, exp.Dot):
                name.set("this", name.name.lower())


def side_of(join: exp.Expr) -> Side:
    """LEFT, RIGHT or FULL; "": the join names no side."""
    return cast("Side", join.args.get("side") or "")


def kind_of(join: exp.Expr) -> JoinKind:
    """INNER, CROSS, OUTER, SEMI, ANTI; "": the join names no kind."""
    return cast("JoinKind", join.args.get("kind") or "")


def is_natural(join: exp.Expr) -> bool:
    """Whether the join is on all columns that both sides have."""
    return join.args.get("method") == "NATURAL"


def is_range(spec: exp.Expr) -> bool:
    """Whether a window's frame is by the values of its order (RANGE)."""
    return spec.args.get("kind") == "RANGE"


def counts_rows(spec: exp.Expr) -> bool:
    """Whether a window's frame is by the number of rows (ROWS)."""
    return spec.args.get("kind") == "ROWS"


def is_whole(spec: exp.Expr) -> bool:
    """Whether a window's frame has all rows of the partition, so that no order matters to it."""
    return spec.args.get("start") == spec.args.get("end") == "UNBOUNDED"


def is_current_row(edge: object) -> bool:
    """Whether an edge of a frame (``start`` or ``end``) is the row itself."""
    return edge == "CURRENT ROW"


def is_preceding(side: object) -> bool:
    """Whether a side of an edge (``start_side`` or ``end_side``) is PRECEDING."""
    return side == "PRECEDING"


def is_aggregate(node: exp.Expr) -> bool:
    """Whether ``node`` calls a function that makes one value of many rows."""
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in AGGREGATES
    return isinstance(node, exp.AggFunc)


def _capitals(node: exp.Expr) -> None:
    for key in _KEYWORDS.get(type(node), ()):
        value = node.args.get(key)
        if isinstance(value, str):
            node.set(key, " ".join(value.upper().split()))


def _any_as_aggregate(node: exp.Any) -> None:
    """``any(x)`` is ``bool_or(x)``; ``x LIKE ANY (...)`` is none."""
    parent = node.parent
    if not isinstance(parent, exp.Like | exp.ILike) and isinstance(node.this, exp.Paren):
        node.replace(exp.LogicalOr(this=node.this.this))


def _keep_together(node: exp.Add) -> None:
    """``interval 1 hour 30 minutes`` in parentheses, as it is one operand."""
    parts = (node.this, node.expression)
    in_one = isinstance(node.parent, exp.Binary | exp.Neg)
    if in_one and all(isinstance(part, exp.Interval | exp.Add) for part in parts):
        together = exp.Paren()
        node.replace(together)
        together.set("this", node)


def _modified_queries(tree: exp.Expr) -> exp.Expr:
    """``(query) ORDER BY .. LIMIT ..`` as ``SELECT * FROM (query) ORDER BY .. LIMIT ..``."""
    found = [
        node
        for node in tree.find_all(exp.Subquery)
        if any(node.args.get(key) for key in _MODIFIERS)
    ]
    for number, node in enumerate(reversed(found)):
        alias = exp.TableAlias(this=exp.to_identifier(f"in_parentheses_{number}"))
        inner = exp.Subquery(this=node.this, alias=alias)
        select = exp.Select(expressions=[exp.Star()], from_=exp.From(this=inner))
        for key in _MODIFIERS:
            if value := node.args.get(key):
                node.set(key, None)
                select.set(key, value)
        if node is tree:
            return select
        node.set("this", select)
    return tree
