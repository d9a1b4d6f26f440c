"""What holds of groups of rows, of frames, and of rows that come from one of several plans."""

from __future__ import annotations

import json
import math

from freshline.sql.readings.relations import columns_of
from freshline.sql.readings.terms import DAY_US, Attribute, Call, Links, Outer, Span, Term
from freshline.sql.readings.trees import Tree
from freshline.sql.readings.values import Values, constant, days_in, type_of


def of_groups(links: Links, keys: list[Term]) -> Links:
    """What is known of the keys of groups."""
    found = Links()
    known = {*keys}
    terms = [t for t in links.spans if t in known or made_of(t, known)]
    for y in terms:
        near = links.around(y)
        for x in terms:
            if x in near:
                found.add(x, y, near[x])
    for term in {*terms, *keys}:
        if term in links.steps:
            found.step(term, links.steps[term])
    return found


def made_of(term: Term, keys: set[Term]) -> bool:
    """Whether a term is one of the keys, or a function of keys and outer columns."""
    if term in keys or isinstance(term, Outer):
        return True
    return isinstance(term, Call) and bool(term.of) and all(made_of(t, keys) for t in term.of)


def extreme(column: Tree) -> Tree | None:
    """What a column is the greatest or the least of, in each group."""
    held = column.children[0] if column.kind == "Alias" else column
    if held.kind != "AggregateExpression" or held.tree("filter") is not None:
        return None
    function = held.children[0]
    return function.children[0] if function.kind in ("Max", "Min") else None


def sets_of(plan: Tree) -> list[tuple[Tree, ...]]:
    """The rows that an Expand operator makes of each row, a list of values for each."""
    return [each for each in plan.fields.get("projections") or () if isinstance(each, tuple)]


def in_all_sets(plan: Tree, links: Links) -> None:
    """Note in ``links`` what holds of the columns of an Expand operator in all its rows."""
    before = links.copy()
    for at, column in enumerate(plan.trees("output")):
        choices = []
        for values in sets_of(plan):
            choice = before.copy()
            Values(choice).is_now(Attribute(column.number), values[at])
            choices.append(choice)
        if choices:
            note_in_all(links, choices, column.number)


def note_in_all(links: Links, choices: list[Links], number: int) -> None:
    """Note what holds of an attribute and its fields whichever of the choices it has."""
    terms = [t for t in choices[0].spans if Attribute(number) in columns_of(t)]
    for term in terms:
        shared: dict[Term, Span] = dict(choices[0].around(term))
        for choice in choices[1:]:
            near = choice.around(term) if term in choice.spans else {}
            shared = {t: span.either(near[t]) for t, span in shared.items() if t in near}
        for other, span in shared.items():
            if span.bounded:
                links.add(other, term, span)
    for term in terms:
        steps = {choice.steps.get(term, 1) for choice in choices}
        if len(steps) == 1:
            links.step(term, steps.pop())


def in_every_branch(choices: list[tuple[Links, list[Call]]]) -> Links:
    """Links among the columns of a union that hold in all its branches."""
    found = Links()
    firsts = choices[0][1]
    for y in firsts:
        shared: dict[Term, Span] | None = None
        for moved, _ in choices:
            near = moved.around(y)
            mine: dict[Term, Span] = {x: near[x] for x in firsts if x in near}
            if shared is None:
                shared = dict(mine)
            else:
                shared = {x: span.either(mine[x]) for x, span in shared.items() if x in mine}
        for x, span in (shared or {}).items():
            found.add(unmoved(x), unmoved(y), span)
        steps = {moved.steps.get(y, 1) for moved, _ in choices}
        if len(steps) == 1:
            found.step(unmoved(y), steps.pop())
    return found


def unmoved(term: Term) -> Term:
    """The column of a union that a branch's links know by another name."""
    return term.of[0] if isinstance(term, Call) and term.kind == "union" else term


def coalesce_detail(count: int) -> str:
    """The detail that :mod:`freshline.sql.readings.values` gives to COALESCE of that many."""
    return json.dumps(["{}", *([""] * count)])


def frame_of(specification: Tree) -> Span | None:
    """By how much rows of a frame lie from the current one's time, ascending; None: by rows."""
    *_, order, frame = specification.children
    if frame.kind != "SpecifiedWindowFrame" or frame.text("frameType") != "RangeFrame":
        return None
    by_day = order.kind == "SortOrder" and type_of(order.children[0]) == "date"
    lower, upper = (_end(child, by_day=by_day) for child in frame.children)
    # Spark never goes back: a row may have the edge of one before it that months moved further.
    bend = 0.0 if by_day else max(map(_bend, frame.children))
    return Span(min(lower, -bend), max(upper, 0.0)) if bend else Span(lower, upper)


def _bend(tree: Tree) -> float:
    """By how much an edge can lie earlier for a later row."""
    found = constant(tree) if _in_months(tree) else None
    if found is None:
        return 0.0
    fewest, most = days_in(found)
    return abs(most - fewest) * DAY_US


def _in_months(tree: Tree) -> bool:
    units = [each.text("dataType") for each in tree.walk() if each.kind == "Literal"]
    return any("month" in unit or "year" in unit for unit in units)


def _end(tree: Tree, *, by_day: bool) -> float:
    if tree.kind == "CurrentRow":
        return 0
    found = constant(tree)
    if found is None:
        return math.inf if tree.kind == "UnboundedFollowing" else -math.inf
    units = [each.text("dataType") for each in tree.walk() if each.kind == "Literal"]
    if _in_months(tree):
        fewest, most = days_in(found)
        return (fewest if found < 0 else most) * DAY_US
    whole = by_day and not any("interval" in unit for unit in units)
    return found * DAY_US if whole else found


def order_of(plan: Tree, values: Values) -> tuple[Term, bool] | None:
    """The only term by which the rows are ordered, and whether upwards."""
    order = plan.trees("orderSpec")
    if len(order) != 1:
        return None
    term = values.term(order[0].children[0])
    return None if term is None else (term, order[0].text("direction") == "Ascending")
