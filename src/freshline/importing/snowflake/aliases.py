"""QUALIFY as a WHERE around the query, in which every window function has a name.

A name in QUALIFY can be a column's and an alias of the SELECT: in Snowflake it is the column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp
from sqlglot.helper import find_new_name

from freshline.importing.snowflake.faults import UntranslatableError, shown
from freshline.importing.snowflake.kinds import Kinds


def columns_first(query: exp.Expr, kinds: Kinds) -> None:
    """Puts the table in front of each name in QUALIFY that is not an alias.

    Raises:
        UntranslatableError: The name can be either, or the table has no name; or one in HAVING is
            both that of a column in GROUP BY and an alias.
    """
    for select in query.find_all(exp.Select):
        aliases = _aliases(select)
        _tell_grouped(select, aliases, kinds)
        for column in _columns(select.args.get("qualify"), select):
            alias = aliases.get(column.name.lower())
            if column.table or alias is None or _is_itself(alias, column):
                continue
            table = _table_of(column, select, kinds)
            if table is not None:
                column.set("table", exp.to_identifier(table))


def _tell_grouped(select: exp.Select, aliases: Mapping[str, exp.Expr], kinds: Kinds) -> None:
    """Refuses a name in HAVING that Spark takes for the column in GROUP BY."""
    group = select.args.get("group")
    keys = group.expressions if group is not None else ()
    grouped = {each.name.lower() for each in keys if isinstance(each, exp.Column)}
    for column in _columns(select.args.get("having"), select):
        name = column.name.lower()
        alias = aliases.get(name) if name in grouped and not column.table else None
        if alias is None or _is_itself(alias, column) or column.find_ancestor(exp.AggFunc):
            continue
        if any(columns and name in dict(columns) for columns in kinds.sources(select).values()):
            raise UntranslatableError(
                f"{shown(column)} in HAVING is a column and the alias of another value: give it"
                " another alias"
            )


def _table_of(column: exp.Column, select: exp.Select, kinds: Kinds) -> str | None:
    """The source of a SELECT that has a column of that name; None: it is the alias."""
    name = column.name.lower()
    sources = kinds.sources(select)
    having = [table for table, columns in sources.items() if columns and name in dict(columns)]
    unknown = [table for table, columns in sources.items() if columns is None]
    if not having and unknown:
        used = {
            each.table.lower()
            for each in _columns(select, select)
            if each.name.lower() == name and each.find_ancestor(exp.Qualify) is None
        }
        having = unknown if used and len(sources) == 1 else sorted(used & set(unknown))
        if used and not having:
            having = ["", ""]
    if not having:
        return None
    if len(having) > 1 or not having[0]:
        raise UntranslatableError(
            f"{shown(column)} can be a column and the alias of one: give it another alias, or put"
            " its table in front"
        )
    return having[0]


def without_qualify(query: exp.Query) -> exp.Query:
    """The query with a WHERE around each SELECT that has a QUALIFY."""
    for select in list(query.find_all(exp.Select)):
        if select.args.get("qualify") is None:
            continue
        is_root = select is query
        outer = _around(select)
        if is_root:
            query = outer
    return query


def _around(select: exp.Select) -> exp.Select:
    place = exp.Placeholder()
    parent = select.parent
    if parent is not None:
        select.replace(place)
    condition = select.args["qualify"].pop().this
    aliases = _aliases(select)
    names = [each.args.get("alias") or each.this for each in select.expressions]
    outer = exp.select(*(exp.column(each.copy()) for each in names))
    if distinct := select.args.get("distinct"):
        outer.set("distinct", distinct.pop())
    taken = {each.name.lower() for each in names}

    def put(value: exp.Expr, wanted: str) -> exp.Column:
        name = find_new_name(taken, wanted)
        taken.add(name)
        select.select(exp.alias_(value.copy(), name), copy=False)
        return exp.column(name)

    holder = exp.Paren(this=condition)
    for value in list(_computed(holder)):
        for column in list(_columns(value, select)):
            alias = None if column.table else aliases.get(column.name.lower())
            if alias is not None and not _is_itself(alias, column):
                column.replace(exp.paren(alias.copy(), copy=False))
        value.replace(put(value, "_w"))
    for column in list(_columns(holder, select)):
        if column.name.lower() in taken and not column.table:
            continue
        column.replace(put(column, "_c"))
    whole = outer.from_(select.subquery("_t", copy=False), copy=False)
    whole.where(holder.this, copy=False)
    if parent is not None:
        place.replace(whole)
    return whole


def _computed(node: exp.Expr) -> Iterator[exp.Expr]:
    """The outermost window functions and aggregates."""
    for each in node.iter_expressions():
        if isinstance(each, exp.Window | exp.AggFunc):
            yield each
        elif not isinstance(each, exp.Query):
            yield from _computed(each)


def _aliases(select: exp.Select) -> dict[str, exp.Expr]:
    """What the aliases of a SELECT stand for."""
    return {
        each.alias.lower(): each.this for each in select.expressions if isinstance(each, exp.Alias)
    }


def _columns(node: exp.Expr | None, select: exp.Select) -> Iterator[exp.Column]:
    """The columns in a part of a SELECT that are not those of a query within it."""
    for each in () if node is None else node.find_all(exp.Column):
        inside = each.find_ancestor(exp.Query)
        if inside is None or inside is select:
            yield each


def _is_itself(alias: exp.Expr, column: exp.Column) -> bool:
    return isinstance(alias, exp.Column) and alias.name.lower() == column.name.lower()
