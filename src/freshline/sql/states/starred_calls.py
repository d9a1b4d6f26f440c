"""Calls with a star: which columns they read, and by what names, is not seen in the query."""

from __future__ import annotations

from sqlglot import exp

from freshline.sql.query.unsupported import unsupported
from freshline.sql.text.canonical import is_aggregate


def refuse_starred_calls(tree: exp.Query) -> None:
    """``hash(*)`` does not say which columns it reads, nor ``struct(*)`` what names it gives them.

    Where a query is cut, either could come to stand over other columns. A struct that an aggregate
    takes from the only table of a query stays where it is: ``max_by(struct(*), at)``.

    Args:
        tree: Normalised.

    Raises:
        Unsupported: A call other than ``count(*)`` has a star (SYNTAX).
    """
    for star in tree.find_all(exp.Star):
        held = star.parent if isinstance(star.parent, exp.Column) else star
        call = held.parent
        if not isinstance(call, exp.Func | exp.Distinct) or isinstance(call, exp.Count):
            continue
        if not (isinstance(call, exp.Struct) and _is_taken_from_one_table(call, tree)):
            raise unsupported(
                "SYNTAX", "* in a call is not analysed but in count(*); name the columns", call
            )


def _is_taken_from_one_table(struct: exp.Struct, tree: exp.Query) -> bool:
    """Whether an aggregate of the whole query takes the struct, and FROM has one table alone."""
    select = struct.find_ancestor(exp.Select)
    if not isinstance(tree, exp.Select) or select is not tree:
        return False
    node: exp.Expr | None = struct.parent
    while node is not None and node is not tree and not is_aggregate(node):
        node = node.parent
    if node is None or node is tree:
        return False
    source = tree.args.get("from_")
    is_table = source is not None and isinstance(source.this, exp.Table)
    return is_table and not tree.args.get("joins") and not tree.args.get("laterals")
