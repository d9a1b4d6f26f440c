"""Small questions about parts of a normalised query, in which every alias is unique."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlglot import exp

from freshline.sql.text.canonical import is_aggregate, kind_of, side_of


def items_of(select: exp.Select) -> list[exp.Expr]:
    """The relations of the FROM clause, in the order of the text, lateral views last."""
    source = select.args.get("from_")
    items = [source.this] if source is not None else []
    items += [join.this for join in select.args.get("joins") or []]
    return items + list(select.args.get("laterals") or [])


def own_nodes(query: exp.Expr, *kinds: type[exp.Expr]) -> Iterator[exp.Expr]:
    """Nodes of these kinds that belong to ``query`` itself, not to a query inside it."""
    for child in query.iter_expressions():
        if isinstance(child, exp.Query):
            continue
        if isinstance(child, kinds):
            yield child
        yield from own_nodes(child, *kinds)


def makes_groups(select: exp.Select) -> bool:
    """Whether the block makes groups: by GROUP BY, or as one group of an aggregate."""
    if select.args.get("group") or select.args.get("having"):
        return True
    return any(
        not isinstance(_called_by(node), exp.Window)
        for node in own_nodes(select, exp.AggFunc, exp.Anonymous)
        if is_aggregate(node)
    )


def _called_by(node: exp.Expr) -> exp.Expr | None:
    parent = node.parent
    while isinstance(parent, exp.Filter | exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup):
        parent = parent.parent
    return parent


def is_limited(query: exp.Expr) -> bool:
    """Whether the query counts its rows: LIMIT or OFFSET."""
    return bool(query.args.get("limit") or query.args.get("offset"))


def conjuncts(condition: exp.Expr | None) -> list[exp.Expr]:
    """The conditions that all hold where ``condition`` holds."""
    if condition is None:
        return []
    if isinstance(condition, exp.Where | exp.Having | exp.Paren):
        return conjuncts(condition.this)
    if isinstance(condition, exp.And):
        return conjuncts(condition.left) + conjuncts(condition.right)
    return [condition]


def is_inner(join: exp.Join) -> bool:
    """Whether a join keeps no row without a partner."""
    return not side_of(join) and kind_of(join) in {"", "INNER", "CROSS"}


def queries_in(tree: exp.Expr) -> Iterator[exp.Query]:
    """The outermost queries inside ``tree``, itself included, without their parentheses."""
    if isinstance(tree, exp.Query) and not isinstance(tree, exp.Subquery):
        yield tree
        return
    for child in tree.iter_expressions():
        yield from queries_in(child)


def tables_used(tree: exp.Expr) -> set[str]:
    """Aliases that the columns in ``tree`` name, those of its subqueries' own included."""
    return {column.table for column in tree.find_all(exp.Column) if column.table}


def aliases_inside(tree: exp.Expr) -> set[str]:
    """Aliases that the queries inside ``tree`` define themselves."""
    return {item.alias_or_name for select in tree.find_all(exp.Select) for item in items_of(select)}


def free_aliases(tree: exp.Expr) -> set[str]:
    """Aliases that ``tree`` uses and does not define."""
    return tables_used(tree) - aliases_inside(tree)


def equal_columns(conditions: Iterable[exp.Expr]) -> Iterator[tuple[exp.Column, exp.Column]]:
    """The pairs of columns that one of the conditions sets equal."""
    for condition in conditions:
        if isinstance(condition, exp.EQ):
            left, right = condition.left, condition.right
            if isinstance(left, exp.Column) and isinstance(right, exp.Column):
                yield left, right


def windows_in(select: exp.Select) -> list[exp.Window]:
    """The window functions of a query itself, not those of its subqueries."""
    found: list[exp.Window] = []

    def visit(tree: exp.Expr) -> None:
        for child in tree.iter_expressions():
            if isinstance(child, exp.Query):
                continue
            if isinstance(child, exp.Window):
                found.append(child)
            visit(child)

    visit(select)
    return found
