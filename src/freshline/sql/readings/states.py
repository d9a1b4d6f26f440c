"""Whether states add up as a decomposition says, by Spark's plans of its texts."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from freshline.sql.query.records import Decomposition, Partial
from freshline.sql.readings.linearity import NotLinear, mentioned, products, subqueries
from freshline.sql.readings.plans import output
from freshline.sql.readings.trees import Tree

_MERGES = {
    (): (),
    ("Count",): ("Sum",),
    ("CountIf",): ("Sum",),
    ("Average", "Count", "Max", "Min", "VariancePop"): ("CollectList", "Count"),
    ("Max", "MaxBy"): ("Max", "MaxBy"),
    ("Min", "MinBy"): ("Min", "MinBy"),
} | {
    (kind,): (kind,)
    for kind in ("Sum", "Min", "Max", "BoolAnd", "BoolOr", "BitAndAgg", "BitOrAgg", "BitXorAgg")
}
"""By kinds of aggregates in a state: those that merge states of its kind."""


def misstated(
    merge: Decomposition, partial: Partial, query: Tree, combine: Tree, streams: Collection[str]
) -> Iterator[str]:
    """What Spark says otherwise of a partial, in words.

    Args:
        merge: The decomposition.
        partial: One of its partials.
        query: Spark's plan of the partial's query, simplified.
        combine: The same of its combination.
        streams: Names of the sources that change, lower case.
    """
    if query.kind != "Aggregate" or combine.kind != "Aggregate":
        yield f"{query.kind} and {combine.kind} where groups are expected"
        return
    yield from _sums(merge, products(query.children[0], streams))
    inner = [plan for each in query.expressions() for plan in subqueries(each)]
    asked = {name for plan in inner for name in mentioned(plan, streams)}
    if asked:
        yield f"looks at {', '.join(sorted(asked))} in a subquery"
    keys = len(query.trees("groupingExpressions"))
    table = combine.children[0]
    if table.kind != "View" or table.text("desc").lower() != partial.name.lower():
        yield f"states are merged from {table.kind} {table.text('desc')}"
        return
    by = [each.number for each in combine.trees("groupingExpressions")]
    if by != [each.number for each in output(table)[: len(partial.keys)]] or keys != len(by):
        yield f"the states' groups are not told by {', '.join(partial.keys)}"
    for state, merged in zip(output(query)[keys:], output(combine)[keys:], strict=True):
        made, wanted = _kinds(state), _MERGES.get(_kinds(state))
        if wanted is None or _kinds(merged) != wanted:
            yield f"{_said(made)} merged by {_said(_kinds(merged))}"
        if any(each.kind == "AggregateExpression" and each.fields.get("isDistinct")
               for each in _own(state)):  # fmt: skip
            yield f"{_said(made)} of distinct values does not add up"


def _sums(merge: Decomposition, found: list[frozenset[str]] | NotLinear) -> Iterator[str]:
    """What keeps the states of changes from adding up."""
    if isinstance(found, NotLinear):
        yield f"below its groups, {found.kind} {found.what}"
        return
    sets = {", ".join(sorted(each)) or "static tables alone": each for each in found}
    if merge.linearity == "joint":
        right = all(len(each) == 1 for each in found)
    else:
        right = len(sets) == 1 and all(found)
    if not right:
        yield f"rows come from {'; '.join(sorted(sets))}, which do not add up ({merge.linearity})"


def _kinds(column: Tree) -> tuple[str, ...]:
    """The kinds of the aggregates in a column, each once."""
    found = {e.children[0].kind for e in _own(column) if e.kind == "AggregateExpression"}
    return tuple(sorted(found))


def _own(expression: Tree) -> Iterator[Tree]:
    """What an expression consists of, without the queries in it."""
    yield expression
    if expression.tree("plan") is None:
        for each in (*expression.children, *expression.expressions()):
            yield from _own(each)


def _said(kinds: tuple[str, ...]) -> str:
    return " with ".join(kinds) or "no aggregate"
