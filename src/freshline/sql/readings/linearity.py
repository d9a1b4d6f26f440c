"""Whether new rows of the sources give new rows of a plan and change no existing ones.

A plan is a sum of products of sources: every row comes from one row of each source of a product.
Static tables count as factors that never change.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from freshline.sql.readings.trees import Tree

Product = frozenset[str]
"""Sources a row of each of which makes a row together; none: static tables alone."""

_ROW_BY_ROW = (
    "Project", "Filter", "Generate", "Expand", "Sort", "LateralJoin", "EventTimeWatermark",
    "TypedFilter", "MapElements", "SerializeFromObject", "DeserializeToObject",
)  # fmt: skip
_INNER = ("Inner", "Cross")
_KEEPS_LEFT = ("LeftOuter", "LeftSemi", "LeftAnti")


@dataclass(frozen=True, slots=True)
class NotLinear:
    """Why a plan is no sum of products.

    Attributes:
        kind: Spark's name of the operator.
        what: What it does, in words.
    """

    kind: str
    what: str


def products(plan: Tree, changing: Collection[str]) -> list[Product] | NotLinear:
    """The products whose sum a plan's rows are.

    Args:
        plan: A simplified plan.
        changing: Names of the sources that change, lower case.
    """
    if own := _named(plan, changing):
        return [frozenset(own)]
    for expression in plan.expressions():
        for inner in subqueries(expression):
            if mentioned(inner, changing):
                return NotLinear("SubqueryExpression", "has a subquery that reads rows that change")
    if not mentioned(plan, changing):
        return [frozenset()]
    if plan.kind in _ROW_BY_ROW or plan.kind == "View":
        return products(plan.children[0], changing)
    if plan.kind == "Join":
        return _join(plan, changing)
    if plan.kind == "Union":
        found: list[Product] = []
        for child in plan.children:
            branch = products(child, changing)
            if isinstance(branch, NotLinear):
                return branch
            found += branch
        return found
    return NotLinear(plan.kind, "looks at several rows at once")


def row_wise_fault(plan: Tree, feed: str) -> str | None:
    """What keeps each record of a feed from making its rows of a plan by itself; None: nothing.

    Args:
        plan: A simplified plan.
        feed: The feed's name as the query reads it.
    """
    name = feed.lower()
    found = products(plan, {name})
    if isinstance(found, NotLinear):
        return f"{found.kind} {found.what}"
    if not any(found):
        return f"nothing of {feed} is read"
    if not all(found):
        return f"there are rows beside those of {feed}"
    return None


def _join(plan: Tree, changing: Collection[str]) -> list[Product] | NotLinear:
    left, right = plan.children
    kind = plan.text("joinType")
    if kind == "RightOuter":
        left, right, kind = right, left, "LeftOuter"
    if kind in _KEEPS_LEFT and not mentioned(right, changing):
        return products(left, changing)
    if kind not in _INNER:
        return NotLinear("Join", f"is a join of kind {kind} whose other side changes")
    mine, other = products(left, changing), products(right, changing)
    if isinstance(mine, NotLinear):
        return mine
    if isinstance(other, NotLinear):
        return other
    if any(a & b for a in mine for b in other):
        return NotLinear("Join", "joins rows of one table with others of the same table")
    return [a | b for a in mine for b in other]


def mentioned(plan: Tree, names: Collection[str]) -> set[str]:
    """Those of the sources that a plan reads anywhere."""
    if own := _named(plan, names):
        return own
    found: set[str] = set()
    for child in plan.children:
        found |= mentioned(child, names)
    for expression in plan.expressions():
        for inner in subqueries(expression):
            found |= mentioned(inner, names)
    return found


def _named(plan: Tree, names: Collection[str]) -> set[str]:
    """Which of the sources a plan's root is, if any."""
    name = plan.text("desc").lower() if plan.kind == "View" else ""
    return {name} if name in names else set()


def subqueries(expression: Tree) -> list[Tree]:
    """Plans of the subqueries in an expression."""
    found = []
    plan = expression.tree("plan")
    if plan is not None:
        found.append(plan)
    for each in (*expression.children, *(e for e in expression.expressions() if e is not plan)):
        found += subqueries(each)
    return found
