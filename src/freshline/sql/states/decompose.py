"""A query cut into mergeable states and a final query, or the reason why it cannot be.

Any division of the streams into batches gives the same result: each partial's rows of each
batch, combined, and the final query over them equal the query over everything at once. The
states of a report's batches and of a view's changes are both of this kind (docs/views.md;
Chandrasekaran and Sudarshan 2024, section 2.2, call them partial aggregates).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

import sqlglot
from sqlglot import exp

from freshline.sql.query.equalities import equalities
from freshline.sql.query.nondeterministic import require_deterministic
from freshline.sql.query.normal import normalise
from freshline.sql.query.records import Decomposition, Linearity, Partial, Reason, Source
from freshline.sql.query.scopes import aliases_inside, items_of, own_nodes, windows_in
from freshline.sql.query.unsupported import Unsupported, unsupported
from freshline.sql.states.aggregates import calls_in
from freshline.sql.states.cuts import Cutter
from freshline.sql.states.linear import LinearAnalysis
from freshline.sql.states.own_state import own_state
from freshline.sql.states.starred_calls import refuse_starred_calls
from freshline.sql.states.states import Typer
from freshline.sql.text.written import for_spark

_OTHER_WAY = frozenset({"JOIN_ACROSS_BATCHES"})
"""Reasons against batches of all streams at once that do not hold for one stream at a time."""
ROWS_HELP = frozenset({"JOIN_ACROSS_BATCHES", "KEEPS_ROWS"})
"""Reasons against it that a state with rows of a stream can help."""


def decompose(
    query: str,
    sources: Sequence[Source],
    typer: Typer,
    *,
    functions: AbstractSet[str] = frozenset(),
    keeps_rows: bool = False,
) -> Decomposition | Reason:
    """Cut ``query``, or say why that cannot be done.

    Args:
        query: The user's text.
        sources: Every table it reads.
        typer: Column name and Spark type (simple string) of each output column of a query over
            the same sources, as Spark's analysis gives them.
        functions: Names, lower case, of user-defined functions that were declared to be
            deterministic functions of a row.
        keeps_rows: Whether a state may hold rows of a stream, grouped, where nothing smaller does.

    Returns:
        A decomposition whose final query has the original's column names and types, or the
        reason against it. With ``linearity="each"`` the state of one source's change is to be
        summed over the sources that a partial's query reads.
    """
    try:
        tree = normalise(query, sources)
        refuse_starred_calls(tree)
        require_deterministic(tree, functions=functions)
        names = [name for name, _ in typer(query)]
    except Unsupported as refused:
        return refused.reason
    streams = LinearAnalysis(sources, "joint").streams_in(tree)
    if not streams:
        return Reason("NO_STREAM", "every table of the query is static, so it runs once")
    try:
        return _cut(tree, names, sources, typer, "joint")
    except Unsupported as refused:
        joint = refused.reason
    if joint.code in _OTHER_WAY and len(streams) > 1:
        try:
            return _cut(tree, names, sources, typer, "each")
        except Unsupported:
            pass  # the first reason is the one that helps
    if keeps_rows and joint.code in ROWS_HELP:
        try:
            return _cut(tree, names, sources, typer, "joint", keeps_rows=True)
        except Unsupported as refused:
            if refused.reason.code == "EQUAL_NOT_SAME":
                return refused.reason
    return joint


def _cut(
    tree: exp.Query,
    names: Sequence[str],
    sources: Sequence[Source],
    typer: Typer,
    linearity: Linearity,
    *,
    keeps_rows: bool = False,
) -> Decomposition:
    taken = {source.name for source in sources} | aliases_inside(tree)
    analysis = LinearAnalysis(sources, linearity)
    cutter = Cutter(analysis, typer, taken, keeps_rows=keeps_rows)
    final = cutter.query(tree.copy())
    if len(final.named_selects) != len(names):
        raise unsupported("SYNTAX", "the fields of a struct stand as *; name them")
    groups = _groups_of(final, cutter.groups) if _reads_states_once(final, cutter) else None
    outputs = dict(zip([name.lower() for name in final.named_selects], names, strict=True))
    _name_outputs(final, names)
    if groups is not None:
        groups = {outputs[column.lower()]: key for column, key in groups.items()}
    partials = tuple(cutter.partials)
    if linearity == "each":
        partials = tuple(map(_with_equalities, partials))
    return Decomposition(
        partials,
        for_spark(final),
        linearity,
        groups,
        own_state(final, cutter.partials),
    )


def _with_equalities(partial: Partial) -> Partial:
    tree = sqlglot.parse_one(partial.query, dialect="spark")
    return replace(partial, equal=equalities(tree))


def _reads_states_once(final: exp.Query, cutter: Cutter) -> bool:
    """Whether there is one state and one place that reads it.

    A second place sees all groups there are, so no row is a function of one of them.
    """
    names = {partial.name for partial in cutter.partials}
    return sum(table.name in names for table in final.find_all(exp.Table)) == 1


def _groups_of(query: exp.Expr, known: Mapping[int, Mapping[str, str]]) -> Mapping[str, str] | None:
    """State key by output column, where each output row is a function of one group."""
    if id(query) in known:
        return known[id(query)]
    if isinstance(query, exp.Subquery):
        return _groups_of(query.this, known)
    if not isinstance(query, exp.Select) or not _is_row_function(query):
        return None
    source = items_of(query)[0]
    below = _groups_of(source, known)
    if below is None:
        return None
    by_name = {name.lower(): key for name, key in below.items()}
    shown = {
        item.alias_or_name: by_name[item.unalias().name.lower()]
        for item in query.expressions
        if isinstance(item.unalias(), exp.Column) and item.unalias().name.lower() in by_name
    }
    return shown if set(shown.values()) == set(below.values()) else None


def _is_row_function(select: exp.Select) -> bool:
    """Whether each row comes from one row of the only relation that is read, a subquery."""
    clauses = ("distinct", "limit", "offset", "qualify", "group", "having", "joins", "laterals")
    items = items_of(select)
    return (
        not any(select.args.get(clause) for clause in clauses)
        and len(items) == 1
        and isinstance(items[0], exp.Subquery)
        and not windows_in(select)
        and not any(True for item in select.expressions for _ in calls_in(item))
        and not any(True for item in select.expressions for _ in item.find_all(exp.UDTF, exp.Query))
    )


def _name_outputs(final: exp.Query, names: Sequence[str]) -> None:
    """Gives the output columns Spark's names, by place, and mentions of them with it."""
    first: exp.Expr = final
    while isinstance(first, exp.SetOperation | exp.Subquery):
        first = first.this
    assert isinstance(first, exp.Select)
    new = dict[str, exp.Identifier]()
    items: list[exp.Expr] = []
    for item, name in zip(first.expressions, names, strict=True):
        identifier = exp.to_identifier(name, quoted=True)
        new.setdefault(item.alias_or_name.lower(), identifier)
        items.append(exp.Alias(this=item.unalias(), alias=identifier))
    first.set("expressions", items)
    for query in {id(final): final, id(first): first}.values():
        for clause in ("order", "having", "qualify"):
            part = query.args.get(clause)
            for column in list(own_nodes(part, exp.Column)) if part is not None else []:
                if isinstance(column, exp.Column) and not column.table:
                    identifier = new.get(column.name.lower(), column.this)
                    column.set("this", identifier.copy())
