"""The plan simplified before it is read: names without meaning removed, WITH queries in place.

Outer joins become what they are where a filter above drops the rows that they add.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from freshline.sql.readings.conditions import needed, not_null
from freshline.sql.readings.trees import Tree

_NO_ROW_CHANGED = (
    "SubqueryAlias", "ResolvedHint", "Repartition", "RepartitionByExpression",
    "RebalancePartitions", "PipeOperator",
)  # fmt: skip
_MOST_NODES = 200_000


class TooLargeError(ValueError):
    """WITH queries that are read many times over make a plan too large to be read."""


def simplified(plan: Tree) -> Tree:
    """The plan as it is read.

    Raises:
        TooLargeError: It would have more than 200,000 nodes.
    """
    return joined(_Inlining(plan).plan)


def output(plan: Tree) -> tuple[Tree, ...]:
    """The columns of a plan's result: attributes and aliases."""
    kind = plan.kind
    if kind == "Project":
        return plan.trees("projectList")
    if kind == "Aggregate":
        return plan.trees("aggregateExpressions")
    if kind in ("Expand", "LogicalRDD", "LocalRelation", "LogicalRelation", "CTERelationRef",
                "Range"):  # fmt: skip
        return plan.trees("output")
    if kind == "Generate":
        unwanted = set(plan.fields.get("unrequiredChildIndex") or ())
        kept = (each for at, each in enumerate(output(plan.children[0])) if at not in unwanted)
        return (*kept, *plan.trees("generatorOutput"))
    if kind == "Window":
        return (*output(plan.children[0]), *plan.trees("windowExpressions"))
    if kind == "Join":
        left, right = plan.children
        if plan.text("joinType") in ("LeftSemi", "LeftAnti"):
            return output(left)
        return (*output(left), *output(right))
    lateral = plan.tree("right")
    beside = lateral.tree("plan") if lateral is not None else None
    columns = output(plan.children[0]) if plan.children else ()
    return columns if beside is None else (*columns, *output(beside))


class _Inlining:
    """Puts the plan of each WITH query where it is read, with numbers of its own."""

    def __init__(self, plan: Tree) -> None:
        self._definitions: dict[int, Tree] = {}
        self._fresh = itertools.count(1 + max((_number(each) for each in plan.walk()), default=0))
        self._left = _MOST_NODES
        for each in plan.walk():
            if each.kind == "CTERelationDef":
                self._definitions[int(each.fields["id"])] = each.children[0]
        self.plan = self._inlined(plan)

    def _inlined(self, tree: Tree) -> Tree:
        self._left -= 1
        if self._left < 0:
            raise TooLargeError("WITH queries that are read many times over")
        if tree.kind == "WithCTE":
            at = tree.fields.get("plan")
            main = [child for child in tree.children if child.kind != "CTERelationDef"]
            return self._inlined(tree.children[at] if isinstance(at, int) else main[0])
        if tree.kind == "CTERelationRef":
            return self._read(tree)
        if tree.kind in _NO_ROW_CHANGED:
            return self._inlined(tree.children[0])
        fields = {name: self._value(value) for name, value in tree.fields.items()}
        return Tree(tree.kind, tuple(self._inlined(child) for child in tree.children), fields)

    def _value(self, value: object) -> object:
        if isinstance(value, Tree):
            return self._inlined(value)
        return tuple(self._value(each) for each in value) if isinstance(value, tuple) else value

    def _read(self, reference: Tree) -> Tree:
        definition = self._definitions[int(reference.fields["cteId"])]
        own = self._renumbered(self._inlined(definition), {})
        named = tuple(
            Tree("Alias", (_attribute(held),), {"exprId": wanted.number, "name": "column"})
            for held, wanted in zip(output(own), reference.trees("output"), strict=True)
        )
        return Tree("Project", (own,), {"projectList": named})

    def _renumbered(self, tree: Tree, numbers: dict[int, int]) -> Tree:
        fields: dict[str, Any] = {}
        for name, value in tree.fields.items():
            if name == "exprId":
                fields[name] = numbers.setdefault(int(value), next(self._fresh))
            else:
                fields[name] = self._renumbered_value(value, numbers)
        children = tuple(self._renumbered(child, numbers) for child in tree.children)
        return Tree(tree.kind, children, fields)

    def _renumbered_value(self, value: object, numbers: dict[int, int]) -> object:
        if isinstance(value, Tree):
            return self._renumbered(value, numbers)
        if isinstance(value, tuple):
            return tuple(self._renumbered_value(each, numbers) for each in value)
        return value


def _number(tree: Tree) -> int:
    value = tree.fields.get("exprId")
    return value if isinstance(value, int) else 0


def _attribute(column: Tree) -> Tree:
    """A reference to a column that an operator gives."""
    if column.kind == "AttributeReference":
        return column
    from_cast = column.text("dataType")
    return Tree(
        "AttributeReference",
        (),
        {"exprId": column.number, "name": column.text("name"), "dataType": from_cast},
    )


def joined(plan: Tree, wanted: frozenset[int] = frozenset()) -> Tree:
    """The plan with outer joins reduced to what is left of them.

    Args:
        plan: A plan or a part of one.
        wanted: Attributes of its output whose NULLs are dropped above.
    """
    fields = {name: _in_field(value) for name, value in plan.fields.items()}
    plan = replace(plan, fields=fields)
    if plan.kind == "Join":
        return _join(plan, wanted)
    if plan.kind == "Filter":
        below = wanted | not_null(plan.tree("condition"))
    elif plan.kind in ("Project", "Aggregate"):
        below = frozenset(_needed_below(plan, wanted))
    elif plan.kind in ("Sort", "Generate", "Distinct"):
        below = wanted
    else:
        below = frozenset()
    children = tuple(joined(child, frozenset(below)) for child in plan.children)
    return replace(plan, children=children)


def _in_field(value: object) -> object:
    """Subqueries' plans are simplified, too."""
    if isinstance(value, Tree):
        return joined(value)
    return tuple(_in_field(each) for each in value) if isinstance(value, tuple) else value


def _needed_below(plan: Tree, wanted: frozenset[int]) -> Iterator[int]:
    """What must not be NULL below, so that a row of the output has no NULL there."""
    for column in output(plan):
        if column.number not in wanted:
            continue
        if column.kind == "AttributeReference":
            yield column.number
        elif plan.kind == "Project" or not any(
            each.kind == "AggregateExpression" for each in column.walk()
        ):
            yield from needed(column.children[0])


_KEPT: Mapping[tuple[str, bool, bool], str] = {
    ("LeftOuter", False, True): "Inner",
    ("LeftOuter", True, True): "Inner",
    ("RightOuter", True, False): "Inner",
    ("RightOuter", True, True): "Inner",
    ("FullOuter", True, False): "LeftOuter",
    ("FullOuter", False, True): "RightOuter",
    ("FullOuter", True, True): "Inner",
}
"""By kind of join and whether NULLs of the left and of the right side are dropped above."""


def _join(plan: Tree, wanted: frozenset[int]) -> Tree:
    left, right = plan.children
    mine = {each.number for each in output(left)}, {each.number for each in output(right)}
    kind = plan.text("joinType")
    key = (kind, bool(wanted & mine[0]), bool(wanted & mine[1]))
    kind = _KEPT.get(key, kind)
    below = set(wanted)
    if kind in ("Inner", "Cross", "LeftSemi"):
        below |= not_null(plan.tree("condition"))
    sides = (
        below if kind not in ("FullOuter", "RightOuter") else set(),
        below if kind in ("Inner", "Cross", "LeftSemi", "RightOuter") else set(),
    )
    children = tuple(
        joined(child, frozenset(side & own))
        for child, side, own in zip(plan.children, sides, mine, strict=True)
    )
    return Tree(plan.kind, children, {**plan.fields, "joinType": kind})
