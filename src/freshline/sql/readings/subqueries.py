"""The subqueries of an expression, and what of the query around them they depend on."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from freshline.sql.readings.plans import output
from freshline.sql.readings.terms import SAME, Attribute, Call, Links, Outer, Term
from freshline.sql.readings.trees import Tree
from freshline.sql.readings.values import Values


@dataclass(frozen=True, slots=True)
class Subquery:
    """A subquery of an expression.

    Attributes:
        plan: Its plan.
        values: Expressions of the query around with which its columns are compared for equality,
            where nothing else counts: of IN as a condition.
        exists: Only whether it has rows counts.
    """

    plan: Tree
    values: Sequence[Tree]
    exists: bool

    def compared(self, around: Links, links: Links) -> dict[Term, Term]:
        """Note in ``links`` that its columns have the values that they are compared with.

        Args:
            around: What holds of the query around.
            links: What holds of the subquery; added to.

        Returns:
            The terms by which ``links`` knows these values, and the terms around that they are.
        """
        held: dict[Term, Term] = {}
        for value, column in zip(self.values, output(self.plan), strict=False):
            term = Values(around).term(value)
            if term is not None:
                base = Call("compared", (Outer(-column.number),))
                links.add(base, Attribute(column.number), SAME)
                held[base] = term
        return held


def subqueries(tree: Tree, asked: Collection[int]) -> Iterator[Subquery]:
    """The subqueries of an expression, those in the values that an IN compares among them.

    Args:
        tree: The expression.
        asked: Which trees are conditions by themselves, by ``id``.
    """
    plan = tree.tree("plan")
    if plan is not None:
        yield Subquery(plan, (), tree.kind == "Exists")
    if tree.kind == "InSubquery":
        query = next(each for each in tree.children if each.kind == "ListQuery")
        values = [each for each in tree.children if each is not query]
        inner = query.tree("plan")
        if inner is not None:
            yield Subquery(inner, values if id(tree) in asked else (), exists=False)
        for each in values:
            yield from subqueries(each, asked)
        return
    for child in (*tree.children, *(each for each in tree.expressions() if each is not plan)):
        if child.kind != "OuterReference":
            yield from subqueries(child, asked)


def outer_only(terms: Iterable[Term]) -> frozenset[Term]:
    """Those made of columns of the query around alone."""
    return frozenset(term for term in terms if _is_outer(term))


def _is_outer(term: Term) -> bool:
    if isinstance(term, Call):
        return bool(term.of) and all(_is_outer(each) for each in term.of)
    return isinstance(term, Outer)


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
