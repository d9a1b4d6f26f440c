"""Which rows must be computed in one go, since a function chooses freely among rows that tie.

``row_number() OVER (PARTITION BY day ORDER BY kind)`` may number the rows of a kind in any way,
and another run of the query, over other files, in another way. Where a bucket is an hour, some
hours of a day would keep the numbers of one run beside hours of another: two rows with number 1.
So a bucket must hold all rows among which such a choice is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from freshline.sql.buckets.relation import Relation
from freshline.sql.buckets.times import Times
from freshline.sql.query.grouping import group_keys, has_subtotals
from freshline.sql.query.normal import is_call_of
from freshline.sql.query.records import Reason
from freshline.sql.query.scopes import is_limited, makes_groups, own_nodes
from freshline.sql.query.unsupported import text_of
from freshline.sql.text.canonical import counts_rows, is_aggregate, is_whole

_PLACES = (exp.RowNumber, exp.Ntile)
"""Functions of a row's place, which only rows that tie can exchange with each other."""
_NEIGHBOURS = (exp.Lag, exp.Lead)
_SAME_FOR_TIES = (exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist)
_EXTREMES = (exp.ArgMax, exp.ArgMin)
_CHOOSING = (*_EXTREMES, exp.Mode, exp.GroupConcat, exp.ApproxTopK)
_TUMBLING = 2
"""Arguments of a window that does not slide."""
_WRAPPED = (exp.IgnoreNulls, exp.RespectNulls, exp.Filter)


def split_choice(relation: Relation, time: str) -> Reason | None:
    """Why buckets by a time of a query's result would show parts of two choices, or None."""
    for shared, what in relation.choices:
        if not relation.follows(time, shared):
            return Reason(
                "TIES",
                "the query chooses freely among rows that tie, and these can lie in several"
                " buckets; show what they are partitioned or grouped by as a column, or use rank()"
                " or max of a struct",
                what,
            )
    return None


def chosen_by_windows(
    select: exp.Select, windows: Sequence[exp.Expr], relation: Relation, times: Times
) -> None:
    """Notes what window functions of a block choose, before its projection.

    What was chosen below is seen in all rows of a window then, not only where it was chosen.
    """
    below = list(relation.choices)
    for window in windows:
        near = relation.following(_partition_times(window, select, times))
        relation.choices += [(near & relation.following(shared), what) for shared, what in below]
    for window in windows:
        assert isinstance(window, exp.Window)
        keys = _deciding(window, select, relation)
        if keys is not None:
            named = {time for key in keys for time in times.fields(key).values()}
            relation.choices.append((relation.following(named), text_of(window)))


def _partition_times(window: exp.Expr, select: exp.Select, times: Times) -> set[str]:
    """Times that all rows of a window share."""
    keys = [key for part in parts_of(window, select) for key in part.args.get("partition_by") or []]
    return {time for key in keys for time in times.fields(key).values()}


def chosen_in_groups(select: exp.Select, groups: Relation) -> None:
    """Notes what aggregates of a block choose: one row of each group."""
    for node in own_nodes(select, *_CHOOSING):
        if _over(node) is None and not _is_decided(node):
            groups.choices.append((set(groups.differences), text_of(node)))


def chosen_in_subquery(body: exp.Expr, inner: Relation) -> None:
    """Notes what a subquery chooses: some of the rows that it looks at from one row outside."""
    for node in (body, *own_nodes(body, *_CHOOSING, exp.Window)):
        if not _is_decided(node):
            inner.choices.append((inner.following(inner.own_times()), text_of(node)))


def unique_columns(select: exp.Select, relation: Relation, alias: str) -> set[str] | None:
    """The output columns by which a block's rows are unique, where that is known.

    Returns:
        Names with the block's alias before them, as :attr:`Relation.unique` has them.
    """
    if any(each.find(exp.UDTF, exp.Explode, exp.Inline) for each in select.expressions):
        return None
    shown = {_text(item.unalias()): item.alias_or_name.lower() for item in select.expressions}
    if select.args.get("distinct"):
        names = [item.alias_or_name.lower() for item in select.expressions]
    elif makes_groups(select):
        if has_subtotals(select):
            return None
        keys = [_text(key) for key in group_keys(select)]
        if any(key not in shown for key in keys):
            return None
        names = [shown[key] for key in keys]
    elif relation.unique is not None and relation.unique <= shown.keys() and not _slides(select):
        names = [shown[key] for key in relation.unique]
    else:
        return None
    return {_text(exp.column(name, table=alias or None)) for name in names}


def parts_of(window: exp.Expr, select: exp.Select) -> list[exp.Expr]:
    """The window's own words and those of the window it names."""
    found: list[exp.Expr] = [window]
    name = window.args.get("alias")
    if name is not None:
        for other in select.args.get("windows") or []:
            if other.name.lower() == name.name.lower():
                found.extend(parts_of(other, select) if other.args.get("alias") else [other])
    return found


def called(window: exp.Expr) -> exp.Expr:
    """The function of a window, without FILTER and what it does with NULLs."""
    function: exp.Expr = window.this
    while isinstance(function, _WRAPPED):
        function = function.this
    return function


def _deciding(window: exp.Expr, select: exp.Select, relation: Relation) -> list[exp.Expr] | None:
    """What rows among which a window chooses have in common; None: it chooses nothing."""
    named = parts_of(window, select)
    partition = [key for part in named for key in part.args.get("partition_by") or []]
    order = [
        item.this
        for part in named
        if part.args.get("order")
        for item in part.args["order"].expressions
    ]
    function = called(window)
    if isinstance(function, _SAME_FOR_TIES) or _is_total([*partition, *order], select, relation):
        return None
    if isinstance(function, _CHOOSING) and not _is_decided(function):
        return partition
    if not isinstance(function, _PLACES + _NEIGHBOURS):
        frames = [part.args["spec"] for part in named if part.args.get("spec")]
        if not any(counts_rows(frame) and not is_whole(frame) for frame in frames):
            return None
    # Rows that tie have equal values then, so that those behind them see the same in any order.
    if isinstance(function, _PLACES) or _is_same(function, [*partition, *order]):
        return [*partition, *order]
    return partition


def _is_same(function: exp.Expr, keys: Sequence[exp.Expr]) -> bool:
    """Whether what a function is called with is the same for rows with equal keys."""
    below = (node for child in function.iter_expressions() for node in child.walk())
    return not any(map(is_aggregate, below)) and _columns(function) <= _plain(keys)


def _is_total(keys: Sequence[exp.Expr], select: exp.Select, relation: Relation) -> bool:
    """Whether no two rows have equal keys."""
    texts = {_text(key) for key in keys}
    if makes_groups(select):
        return not has_subtotals(select) and texts >= {_text(key) for key in group_keys(select)}
    return relation.unique is not None and texts >= relation.unique


def _over(node: exp.Expr) -> exp.Window | None:
    """The window whose function ``node`` is."""
    parent = node.parent
    while isinstance(parent, (*_WRAPPED, exp.WithinGroup)):
        parent = parent.parent
    return parent if isinstance(parent, exp.Window) else None


def _is_decided(node: exp.Expr) -> bool:
    """Whether rows that tie have the same value, or none of them is chosen."""
    if isinstance(node, exp.Query):
        return not is_limited(node)
    if isinstance(node, exp.Window):
        return isinstance(called(node), _SAME_FOR_TIES)
    if isinstance(node, _EXTREMES):
        return _columns(node.this) <= _plain([node.expression])
    if isinstance(node, exp.GroupConcat):
        within = node.parent
        ordered = within if isinstance(within, exp.WithinGroup) else node
        orders = [item.this for item in ordered.find_all(exp.Ordered)]
        values = [node.this.this if isinstance(node.this, exp.Order) else node.this]
        return set().union(*map(_columns, values)) <= _plain(orders)
    return False


def _columns(node: exp.Expr) -> set[str]:
    """The columns that ``node`` reads; a star is one more than any list of keys has."""
    return {_text(column) for column in node.find_all(exp.Column, exp.Star)}


def _plain(keys: Iterable[exp.Expr]) -> set[str]:
    """The columns that stand among the keys as they are, also in a struct."""
    found: set[str] = set()
    for key in keys:
        whole = key.unnest()
        parts = whole.expressions if isinstance(whole, exp.Struct) else [whole]
        found |= {
            _text(part) for each in parts if isinstance(part := _named_value(each), exp.Column)
        }
    return found


def _slides(select: exp.Select) -> bool:
    """Whether a row of the block becomes one for each of its sliding windows."""
    calls = (node for node in own_nodes(select, exp.Func) if is_call_of(node, "window"))
    return any(len(call.expressions) > _TUMBLING for call in calls)


def _text(node: exp.Expr) -> str:
    """The node's SQL, with names in small letters."""
    copy = node.copy()
    for name in copy.find_all(exp.Identifier):
        name.set("this", name.name.lower())
    return copy.sql(dialect="spark")


def _named_value(field: exp.Expr) -> exp.Expr:
    return field.expression if isinstance(field, exp.PropertyEQ) else field.unalias()
