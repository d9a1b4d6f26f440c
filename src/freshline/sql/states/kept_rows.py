"""Rows of streams that are kept in a state, for a join that finds partners in other batches.

Where streams meet in an outer join, or one meets itself, a batch cannot be joined by itself. The
rows of one side are then kept: the columns that the query uses, grouped, with how often each
group came. The final query repeats each group as often and joins it. Such a state is as large as
those columns, so it comes into question only where nothing smaller does; whether it pays is for
the estimates of costs to say (docs/views.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import sqlglot
from sqlglot import exp

from freshline.sql.query.scopes import (
    conjuncts,
    free_aliases,
    is_inner,
    is_limited,
    queries_in,
    windows_in,
)
from freshline.sql.states.states import Typer
from freshline.sql.text.canonical import side_of
from freshline.sql.text.written import for_spark

COUNT, BLOCK, COPY = "freshline_count", "freshline_block", "freshline_copy"
"""Columns of the texts: how often a row came, the number of a thousand copies, that of a copy."""
AT_ONCE = 1000

_SAME_IF_EQUAL = ("bigint", "int", "smallint", "tinyint", "boolean", "date", "timestamp",
                  "timestamp_ntz", "string", "binary")  # fmt: skip
"""Types of which equal values are the same: not of floats (0.0 and -0.0), nor of collations."""


def kept_table(
    item: exp.Table, select: exp.Select, names: Callable[[], str], typer: Typer, *, distinct: bool
) -> exp.Subquery | None:
    """A query over groups that has the rows of ``item``, with the columns used; None: it cannot.

    Args:
        item: A stream in the FROM clause of ``select``.
        select: The query that uses it.
        names: Gives an alias that is not used yet.
        typer: Columns and types of a query over the sources.
        distinct: How often a row comes does not matter.
    """
    alias, inner = item.alias_or_name, names()
    used = dict.fromkeys(c.name for c in select.find_all(exp.Column) if c.table == alias)
    table = item.copy()
    table.set("alias", exp.TableAlias(this=exp.to_identifier(inner)))
    rows = exp.Select(from_=exp.From(this=table))
    conditions = [_renamed(each, alias, inner) for each in _own_conditions(item, select)]
    if conditions:
        rows = rows.where(*conditions)
    rows.set("expressions", [_shown(name, inner) for name in used])
    if not used or not _can_be_grouped(rows, typer):
        return None
    if distinct:
        rows.set("distinct", exp.Distinct())
        query = rows
    else:
        query = _repeated(rows, list(used), names)
    return exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(alias)))


def kept_query(select: exp.Select, names: Callable[[], str], typer: Typer) -> exp.Select | None:
    """A query over groups that has the rows of ``select``; None: it cannot be told so."""
    if windows_in(select) or is_limited(select) or select.args.get("distinct"):
        return None
    outputs = [item.unalias() for item in select.expressions]
    if any(list(queries_in(item)) or item.find(exp.UDTF) for item in select.expressions):
        return None
    if free_aliases(select) or not _can_be_grouped(select, typer):
        return None
    rows = select.copy()
    grouped = [at for at, value in enumerate(outputs) if not isinstance(value, exp.Literal)]
    if not grouped:
        return None
    rows.set("expressions", [exp.alias_(outputs[at].copy(), f"c{at}") for at in grouped])
    query = _repeated(rows, [f"c{at}" for at in grouped], names)
    held = dict(zip(grouped, query.expressions, strict=True))
    query.set(
        "expressions",
        [
            exp.alias_(
                held[at].unalias() if at in held else value.copy(),
                exp.to_identifier(item.alias_or_name, quoted=True),
            )
            for at, (item, value) in enumerate(zip(select.expressions, outputs, strict=True))
        ],
    )
    return query


def _repeated(rows: exp.Select, columns: list[str], names: Callable[[], str]) -> exp.Select:
    """``rows`` grouped by all their columns, and each group as often as it came."""
    by = [item.unalias().copy() for item in rows.expressions]
    counted = exp.alias_(exp.Count(this=exp.Star(), big_int=True), COUNT)
    rows.set("expressions", [*rows.expressions, counted])
    rows.set("group", exp.Group(expressions=by))
    groups, blocks, copies = names(), names(), names()
    # In two steps: one array of all numbers would be as large as the rows that are alike.
    view = (
        f"SELECT 1 FROM t LATERAL VIEW EXPLODE(SEQUENCE(0, ({groups}.{COUNT} - 1) DIV {AT_ONCE}))"
        f" {blocks} AS {BLOCK} LATERAL VIEW EXPLODE(SEQUENCE(1, LEAST({AT_ONCE},"
        f" {groups}.{COUNT} - {AT_ONCE} * {blocks}.{BLOCK}))) {copies} AS {COPY}"
    )
    parsed = sqlglot.parse_one(view, dialect="spark")
    relation = exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier(groups)))
    return exp.Select(
        expressions=[_shown(name, groups) for name in columns],
        from_=exp.From(this=relation),
        laterals=[each.copy() for each in parsed.args["laterals"]],
    )


def _shown(name: str, table: str) -> exp.Expr:
    """A column under its own name, quoted: it may be a word of SQL."""
    column = exp.column(exp.to_identifier(name, quoted=True), table=table)
    return exp.alias_(column, exp.to_identifier(name, quoted=True))


def _own_conditions(item: exp.Table, select: exp.Select) -> Iterable[exp.Expr]:
    """Conditions about ``item`` alone that its rows must meet to be of use."""
    joins: list[exp.Join] = list(select.args.get("joins") or [])
    found: list[exp.Expr] = []
    if all(is_inner(join) for join in joins):
        found += conjuncts(select.args.get("where"))
        found += [each for join in joins for each in conjuncts(join.args.get("on"))]
    elif all(is_inner(join) or side_of(join) == "LEFT" for join in joins):
        mine = [join for join in joins if join.this is item]
        found += [each for join in mine for each in conjuncts(join.args.get("on"))]
    name = item.alias_or_name
    return [each for each in found if free_aliases(each) == {name} and not list(queries_in(each))]


def _renamed(condition: exp.Expr, alias: str, new: str) -> exp.Expr:
    renamed = condition.copy()
    for column in renamed.find_all(exp.Column):
        if column.table == alias:
            column.set("table", exp.to_identifier(new))
    return renamed


def _can_be_grouped(rows: exp.Select, typer: Typer) -> bool:
    """Whether equal rows are the same rows."""
    kinds = [kind.lower() for _, kind in typer(for_spark(rows))]
    return all(kind in _SAME_IF_EQUAL or kind.startswith("decimal") for kind in kinds)
