"""The names of a query's output columns, where its text alone tells them.

It does when every item of the outermost SELECT is a column or has an alias. A star needs its
table's columns, and an expression without an alias gets a name that Spark makes up; then the
answer is None and Spark decides.
"""

from __future__ import annotations

from sqlglot import exp

from freshline.sql.text.tree import tree_of


def output_columns(query: str) -> tuple[str, ...] | None:
    """The output columns of ``query`` in order, or None where only Spark can tell."""
    if "|>" in query:
        return None
    tree: exp.Expr | None = tree_of(query)
    while isinstance(tree, exp.SetOperation | exp.Subquery):
        tree = tree.this
    if not isinstance(tree, exp.Select) or not tree.expressions:
        return None
    names: list[str] = []
    for item in tree.expressions:
        if isinstance(item, exp.Aliases):
            names.extend(alias.name for alias in item.aliases)
        elif isinstance(item, exp.Alias | exp.Column | exp.Dot) and not item.is_star:
            names.append(item.alias_or_name)
        else:
            return None
    return tuple(names) if all(names) else None
