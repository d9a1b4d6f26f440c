"""Several DISTINCT arguments in one aggregate: a partial for each, joined by their groups.

In one partial two DISTINCT arguments would form all their combinations (72 % of the input's
rows). The aggregates without DISTINCT go with the first. As all partials
have the same rows, each has the same groups, and a NULL group meets a NULL group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from freshline.sql.states.aggregates import Rule
from freshline.sql.states.block import (
    Block,
    add,
    clauses,
    finish,
    group_keys,
    keep_partial,
    key_texts,
)
from freshline.sql.states.cutter import Cutter
from freshline.sql.states.replacing import Replacement, keyed
from freshline.sql.states.states import PartialBuilder, typed


def joined(
    cutter: Cutter,
    block: Block,
    rules: Mapping[str, Rule],
    types: Mapping[str, str],
    sets: Sequence[tuple[str, ...]],
) -> exp.Select:
    """The block over the join of one merged relation for each list of DISTINCT arguments."""
    select = block.select
    aggregates: dict[str, exp.Expr] = {}
    groups: list[tuple[exp.Expr, exp.Expr]] = []
    relations: list[exp.Subquery] = []
    for at, wanted in enumerate(sets):
        mine = {
            text: rule
            for text, rule in rules.items()
            if key_texts(rule) == wanted or (at == 0 and not rule.keys)
        }
        relation, keys, columns = _relation(cutter, block, mine, types)
        relations.append(relation)
        aggregates |= columns
        if at == 0:
            groups = [(value, exp.column(name, table=relation.alias)) for value, name in keys]
    replacement = Replacement(block, None, groups)
    replacement.aggregates = aggregates
    for clause in clauses(select):
        replacement.aggregate(clause)
    first, *others = relations
    select.set("from_", exp.From(this=first))
    select.set("joins", [_join(first, other, len(groups)) for other in others])
    select.set("laterals", None)
    having = select.args.get("having")
    select.set("where", exp.Where(this=having.this.copy()) if having is not None else None)
    select.set("having", None)
    select.set("group", None)
    return select


def _relation(
    cutter: Cutter, block: Block, rules: Mapping[str, Rule], types: Mapping[str, str]
) -> tuple[exp.Subquery, list[tuple[exp.Expr, str]], dict[str, exp.Expr]]:
    """Groups and finished aggregates of one partial, its group columns and aggregates."""
    builder = PartialBuilder(cutter.next_name(), block.rows)
    groups = group_keys(block, builder)
    held = [keyed(late.copy(), block.own, builder, whole=True) for late in block.late]
    used = {text: add(rule, builder) for text, rule in rules.items()}
    builder.close(cutter.typer)
    alias = f"merged_{builder.name}"
    values: list[exp.Expr] = []
    columns: dict[str, exp.Expr] = {}
    for at, (_, key) in enumerate(groups):
        values.append(exp.alias_(key.copy(), f"g{at}"))
    for at, (text, places) in enumerate(used.items()):
        value = typed(finish(rules[text], places, builder), types[text])
        values.append(exp.alias_(value, f"a{at}"))
        columns[text] = exp.column(f"a{at}", table=alias)
    name = keep_partial(cutter.partials, builder)
    table = exp.to_table(name)
    table.set("alias", exp.TableAlias(this=exp.to_identifier(builder.name)))
    query = exp.Select(expressions=values, from_=exp.From(this=table))
    if held:
        query.set("where", exp.Where(this=exp.and_(*held)))
    if groups:
        query.set("group", exp.Group(expressions=[key.copy() for _, key in groups]))
    names = [(value, f"g{at}") for at, (value, _) in enumerate(groups)]
    relation = exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(alias)))
    return relation, names, columns


def _join(first: exp.Subquery, other: exp.Subquery, groups: int) -> exp.Join:
    if not groups:
        return exp.Join(this=other, kind="CROSS")
    same = [
        exp.NullSafeEQ(
            this=exp.column(f"g{at}", table=first.alias),
            expression=exp.column(f"g{at}", table=other.alias),
        )
        for at in range(groups)
    ]
    return exp.Join(this=other, on=exp.and_(*same))
