"""What has one value for all rows that share some terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from freshline.sql.readings.relations import named, renamed
from freshline.sql.readings.terms import SAME, Attribute, Call, Links, Outer, Term
from freshline.sql.readings.trees import Tree
from freshline.sql.readings.values import Values


def following(links: Links, shared: Iterable[Term], more: Iterable[Term] = ()) -> set[Term]:
    """The terms that follow from those which rows share: equal ones, and functions of them.

    Args:
        links: What holds of these rows.
        shared: What they share.
        more: Terms that the links do not know, and may follow as well.
    """
    calls = {
        part
        for term in (*links.spans, *shared, *more)
        for part in _parts(term)
        if isinstance(part, Call) and part.of
    }
    found: set[Term] = set()
    waiting = list(shared)
    while waiting:
        while waiting:
            term = waiting.pop()
            if term not in found:
                found.add(term)
                waiting += [other for other, span in links.around(term).items() if span == SAME]
        waiting = [each for each in calls - found if all(part in found for part in each.of)]
    return found


def _parts(term: Term) -> Iterator[Term]:
    yield term
    if isinstance(term, Call):
        for each in term.of:
            yield from _parts(each)


def outer_only(terms: Iterable[Term]) -> frozenset[Term]:
    """Those made of columns of the query around alone."""
    return frozenset(term for term in terms if _is_outer(term))


def _is_outer(term: Term) -> bool:
    if isinstance(term, Call):
        return bool(term.of) and all(_is_outer(each) for each in term.of)
    return isinstance(term, Outer)


def shown(links: Links, shared: Iterable[Term], columns: Iterable[Attribute]) -> frozenset[Term]:
    """What rows share, in terms of these columns alone."""
    names = named(links, columns)
    terms = (renamed(term, names) for term in following(links, shared))
    return frozenset(term for term in terms if term is not None)


def outer_values(plan: Tree) -> frozenset[Term]:
    """What of the query around the rows of a plan depend on: its values, as they are compared."""
    values = Values(Links())
    found = {
        term
        for node in _operators(plan)
        for expression in node.expressions()
        for each in _outermost(expression)
        if (term := values.term(each)) is not None
    }
    return frozenset(found)


def _operators(plan: Tree) -> Iterator[Tree]:
    yield plan
    for child in plan.children:
        yield from _operators(child)


def _outermost(tree: Tree) -> Iterator[Tree]:
    """The largest expressions of outer columns alone."""
    kinds = {each.kind for each in _within(tree)}
    if "OuterReference" not in kinds:
        return
    if "AttributeReference" not in kinds:
        yield tree
        return
    for child in tree.children:
        yield from _outermost(child)


def _within(tree: Tree) -> Iterator[Tree]:
    """An expression and its children; of outer columns not what they refer to."""
    yield tree
    for child in tree.children:
        yield from _within(child)
