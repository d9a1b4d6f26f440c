"""One aggregate over linear rows: its partials, and the query over them that takes its place.

The partial groups by what the user groups by and by whatever a late condition asks for; the
query that takes the block's place merges what the late conditions leave. Every merged
aggregate is cast to the type it had, since a sum of sums of decimals would be wider and
divisions would round elsewhere (docs/views.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from freshline.sql.query.grouping import has_subtotals
from freshline.sql.query.scopes import free_aliases, items_of, queries_in, windows_in
from freshline.sql.query.unsupported import unsupported
from freshline.sql.states.aggregates import Call, Rule, call_of, calls_in, double_sums, rule_of
from freshline.sql.states.block import (
    Block,
    add,
    clauses,
    count_rows,
    finish,
    group_keys,
    grouping_expressions,
    keep_partial,
    key_texts,
    told_results,
)
from freshline.sql.states.cutter import Cutter
from freshline.sql.states.joined_partials import joined
from freshline.sql.states.linear import is_plain
from freshline.sql.states.replacing import Replacement, keyed
from freshline.sql.states.states import PartialBuilder, typed
from freshline.sql.text.written import for_spark

_STRICT = (
    exp.Column, exp.Identifier, exp.Literal, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg,
    exp.Paren, exp.Cast, exp.TsOrDsToDate, exp.DataType, exp.DataTypeParam, exp.Distinct,
)  # fmt: skip
"""Operations that give NULL for NULL."""


def merged_block(cutter: Cutter, block: Block) -> exp.Select:
    """The query over partials that takes the place of ``block.select``."""
    select = block.select
    _check(cutter, block)
    calls = _calls(select)
    types = _types(cutter, block.whole or select, calls)
    outer = bool(free_aliases(select))
    for clause in clauses(select):
        cutter.subqueries(clause)
    for late in block.late:
        _cut_subqueries(cutter, late)
    foreign = {text for text, call in calls.items() if not _local(block, call)}
    own = {text: call for text, call in calls.items() if text not in foreign}
    sums = double_sums(own.values(), (types[text] for text in own))
    rules = {text: rule_of(call, types[text], sums) for text, call in own.items()}
    sets = list(dict.fromkeys(key_texts(rule) for rule in rules.values() if rule.keys))
    group = select.args.get("group")
    if len(sets) > 1 and not (outer or block.joins_later) and (group is None or is_plain(group)):
        return joined(cutter, block, rules, types, sets)
    return _single(cutter, block, calls, rules, types)


def _single(
    cutter: Cutter,
    block: Block,
    calls: Mapping[str, Call],
    rules: Mapping[str, Rule],
    types: Mapping[str, str],
) -> exp.Select:
    """With one partial: the block itself over it, merging where it aggregated."""
    select = block.select
    builder = PartialBuilder(cutter.next_name(), block.rows)
    whole = not block.can_be_missing
    groups = group_keys(block, builder)
    told = told_results(select)
    held: list[exp.Expr] = [keyed(late, block.own, builder, whole=whole) for late in block.late]
    weight = None
    if len(rules) < len(calls):
        weight = exp.Coalesce(this=builder.column(count_rows(builder)), expressions=[_one()])
    weighted = {
        text: _weighted(call, types[text], block, builder, weight, told.get(text))
        for text, call in calls.items()
        if text not in rules and weight is not None
    }
    used = {text: add(rule, builder) for text, rule in rules.items()}
    replacement = Replacement(block, builder, groups)
    if block.distinct:
        for clause in clauses(select):
            replacement.distinct(clause)
    _key_joins(block, builder, whole=whole)
    if not builder.key_names and (block.joins_later or has_subtotals(select)):
        builder.key(exp.true())  # without rows there must be no row to join, or to make sets of
    builder.close(cutter.typer)
    finished = {
        text: typed(finish(rules[text], places, builder), types[text])
        for text, places in used.items()
    }
    finished |= {text: typed(value, types[text]) for text, value in weighted.items()}
    replacement.aggregates = finished
    name = keep_partial(cutter.partials, builder)
    if not block.distinct:
        for clause in clauses(select):
            replacement.aggregate(clause)
    if (group := select.args.get("group")) is not None:
        # The largest first: upper(g) is to become its own key, not upper() of that of g.
        for old, new in sorted(groups, key=lambda pair: -sum(1 for _ in pair[0].walk())):
            _replace_equal(group, old, new)
    _set_from(block, name, builder.name, held)
    if block.distinct:
        select.set("distinct", exp.Distinct())
    elif not held:
        _note_groups(cutter, block, builder)
    return select


def _calls(select: exp.Select) -> dict[str, Call]:
    found: dict[str, Call] = {}
    for clause in clauses(select):
        for node in calls_in(clause):
            found.setdefault(node.sql(dialect="spark"), call_of(node.copy()))
    return found


def _key_joins(block: Block, builder: PartialBuilder, *, whole: bool) -> None:
    """Puts keys of the partial into the conditions of joins that stay."""
    for join in block.select.args.get("joins") or []:
        if block.place is not None and join.args.get("on") is not None:
            join.set("on", keyed(join.args["on"], block.own, builder, whole=whole))


def _check(cutter: Cutter, block: Block) -> None:
    """That nothing below the aggregate needs what is not there."""
    core = cutter.analysis.core(exp.Select(**{k: v for k, v in block.rows.args.items() if v}))
    for value in grouping_expressions(block.select.args.get("group")):
        for node in value.find_all(exp.Anonymous):
            if node.name.lower() == "session_window":
                raise unsupported(
                    "SESSION", "a session can reach over batches; use window(...)", node
                )
    inner: list[exp.Expr] = grouping_expressions(block.select.args.get("group"))
    inner += [node for clause in clauses(block.select) for node in calls_in(clause)]
    for value in inner:
        if not cutter.analysis.decided_in_batch(value, core):
            raise unsupported(
                "KEEPS_ROWS", "a subquery inside an aggregate needs all batches", value
            )
    if block.distinct and windows_in(block.select):
        raise unsupported("WINDOW", "a window function needs the rows themselves", block.select)


def _types(cutter: Cutter, select: exp.Select, calls: Mapping[str, Call]) -> dict[str, str]:
    """The type that each aggregate has in the user's own query."""
    if not calls:
        return {}
    probe = exp.Select()
    for key in ("from_", "joins", "laterals"):
        if value := select.args.get(key):
            copies = [each.copy() for each in value] if isinstance(value, list) else value.copy()
            probe.set(key, copies)
    for join in probe.args.get("joins") or []:
        if join.args.get("on") is not None:
            join.set("on", exp.true())
    columns = [exp.alias_(call.node.copy(), f"a{at}") for at, call in enumerate(calls.values())]
    probe.set("expressions", columns)
    types = [kind for _, kind in cutter.typer(for_spark(probe))]
    return dict(zip(calls, types, strict=True))


def _cut_subqueries(cutter: Cutter, tree: exp.Expr) -> None:
    cutter.subqueries(exp.Where(this=tree) if tree.parent is None else tree)


def _local(block: Block, call: Call) -> bool:
    """Whether an aggregate can be computed from the linear part's rows alone."""
    used = free_aliases(call.node)
    rest = {item.alias_or_name for item in items_of(block.select)} - block.own
    if used - block.own - rest:
        raise unsupported("KEEPS_ROWS", "an aggregate reaches out to the outer query", call.node)
    if used - block.own:
        return False
    if not block.joins_later:
        return True
    if not used:
        return False
    strict = all(isinstance(node, _STRICT) for arg in call.args for node in arg.walk())
    return strict or not block.can_be_missing


def _weighted(
    call: Call,
    type_: str,
    block: Block,
    builder: PartialBuilder,
    weight: exp.Expr,
    told_by: exp.Expr | None,
) -> exp.Expr:
    """An aggregate over joined rows that each stand for several."""
    args = tuple(
        keyed(arg.copy(), block.own, builder, whole=False, told_by=told_by) for arg in call.args
    )
    rule = rule_of(Call(call.node, call.name, args, call.distinct), type_)
    merged = []
    for state in rule.states:
        if state.weighted is None:
            message = f"{call.name} has no form for rows that are counted together"
            raise unsupported("AGGREGATE", message, call.node)
        merged.append(state.weighted(weight))
    return rule.finish([weight.copy() for _ in merged], merged, rule.keys)


def _one() -> exp.Expr:
    return exp.Literal.number(1)


def _replace_equal(group: exp.Group, old: exp.Expr, new: exp.Expr) -> None:
    for node in list(group.walk()):
        if node == old and node is not group:
            node.replace(new.copy())


def _set_from(block: Block, name: str, alias: str, held: Sequence[exp.Expr]) -> None:
    """FROM and WHERE of the final query."""
    select = block.select
    partial = exp.to_table(name)
    if alias != name or block.place is not None:
        partial.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
    if block.place is not None:
        block.place.replace(partial)
    else:
        select.set("from_", exp.From(this=partial))
        joins = [exp.Join(this=item.copy(), kind="CROSS") for item in block.rest]
        select.set("joins", joins)
        select.set("laterals", None)
    select.set("where", exp.Where(this=exp.and_(*held)) if held else None)


def _note_groups(cutter: Cutter, block: Block, builder: PartialBuilder) -> None:
    """Which output column shows which key, if each output row is a function of one group."""
    select = block.select
    group = select.args.get("group")
    if block.joins_later or group is None or not is_plain(group) or windows_in(select):
        return
    if any(select.args.get(key) for key in ("distinct", "limit", "offset", "qualify")):
        return
    if any(True for _ in queries_in_clauses(select)):
        return
    shown: dict[str, str] = {}
    for item in select.expressions:
        value = item.unalias()
        if isinstance(value, exp.Column) and value.table == builder.name:
            shown[item.alias_or_name] = value.name
    if set(shown.values()) == set(builder.key_names):
        cutter.groups[id(select)] = shown


def queries_in_clauses(select: exp.Select) -> list[exp.Query]:
    """The subqueries in what the final query computes from the partial's rows."""
    return [query for clause in clauses(select) for query in queries_in(clause)]
