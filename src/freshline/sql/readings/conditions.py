"""What a condition says of the rows that pass it: bounds, and columns that are not NULL there."""

from __future__ import annotations

import math
from collections.abc import Iterator

from freshline.sql.readings.terms import DAY_US, Links, Span
from freshline.sql.readings.trees import Tree
from freshline.sql.readings.values import Values, type_of

_OPPOSITE = {
    "LessThan": "GreaterThanOrEqual",
    "LessThanOrEqual": "GreaterThan",
    "GreaterThan": "LessThanOrEqual",
    "GreaterThanOrEqual": "LessThan",
}
_COMPARISONS = ("EqualTo", "EqualNullSafe", *_OPPOSITE)
_STRICT = ("EqualTo", *_OPPOSITE, "Like", "RLike", "StartsWith", "EndsWith", "Contains")
_TOLERANT = (
    "Coalesce", "IsNull", "IsNotNull", "If", "CaseWhen", "EqualNullSafe", "And", "Or", "Exists",
    "InSubquery", "ScalarSubquery", "NullIf", "Nvl", "Nvl2", "NaNvl", "ConcatWs", "Greatest",
    "Least", "CreateNamedStruct", "CreateArray", "CreateMap", "Size", "AtLeastNNonNulls", "With",
    "TypeOf", "Hash", "XxHash64", "Murmur3Hash", "Not", "In", "Between", "IsNaN", "FormatString",
    "Elt", "ArrayRepeat", "ArrayAppend", "ArrayPrepend", "ArrayInsert", "Decode", "Mask",
    "UpdateFields",
)  # fmt: skip
"""Expressions that can be true, or not NULL, though a part of them is NULL."""


def conjuncts(tree: Tree | None) -> Iterator[Tree]:
    """The conditions that are joined by AND. TRUE (``JOIN .. ON TRUE``) is left out."""
    if tree is None or (tree.kind == "Literal" and tree.text("value") == "true"):
        return
    if tree.kind == "And":
        for child in tree.children:
            yield from conjuncts(child)
    else:
        yield tree


def bound(values: Values, condition: Tree | None) -> None:
    """Add to the links of ``values`` what holds where the condition does."""
    for each in conjuncts(condition):
        _bound_one(values, each)


def _bound_one(values: Values, tree: Tree) -> None:
    if tree.kind == "Not" and tree.children[0].kind in _OPPOSITE:
        (inner,) = tree.children
        _compared(values, _OPPOSITE[inner.kind], inner.children[0], inner.children[1])
    elif tree.kind in _COMPARISONS:
        _compared(values, tree.kind, tree.children[0], tree.children[1])
    elif tree.kind == "Between":
        value, low, high = (tree.tree(name) for name in ("input", "lower", "upper"))
        if value is not None and low is not None and high is not None:
            _compared(values, "GreaterThanOrEqual", value, low)
            _compared(values, "LessThanOrEqual", value, high)
    elif tree.kind == "Or":
        _either(values, tree)


def _either(values: Values, tree: Tree) -> None:
    """What both sides of an OR say."""
    sides = []
    for child in tree.children:
        side = Values(Links())
        bound(side, child)
        sides.append(side.links)
    left, right = sides
    for x, near in left.spans.items():
        for y, span in near.items():
            other = right.spans.get(x, {}).get(y)
            if other is not None:
                values.links.add(x, y, span.either(other))


def _compared(values: Values, kind: str, left: Tree, right: Tree) -> None:
    x, y = values.of(left), values.of(right)
    if x is None or y is None:
        return
    # left = x + a and right = y + b: left - right in d means x - y in d + b - a.
    by = y[1] - x[1]
    dates = type_of(left) == type_of(right) == "date"
    least = DAY_US if dates else 1
    spans = {
        "EqualTo": Span(0, 0),
        "EqualNullSafe": Span(0, 0),
        "LessThan": Span(-math.inf, -least),
        "LessThanOrEqual": Span(-math.inf, 0),
        "GreaterThan": Span(least, math.inf),
        "GreaterThanOrEqual": Span(0, math.inf),
    }
    span = spans[kind]
    values.links.add(x[0], y[0], Span(span.lo + by, span.hi + by))
    if kind in ("EqualTo", "EqualNullSafe"):
        exact_left, exact_right = values.term(left), values.term(right)
        if exact_left is not None and exact_right is not None:
            values.links.add(exact_left, exact_right, Span(0, 0))


def not_null(tree: Tree | None) -> set[int]:
    """Attributes that are not NULL where the condition holds."""
    found: set[int] = set()
    for each in conjuncts(tree):
        if each.kind == "Or":
            left, right = each.children
            found |= not_null(left) & not_null(right)
        elif each.kind == "IsNotNull" or (each.kind == "Not" and each.children[0].kind == "IsNull"):
            inner = each.children[0]
            found |= needed(inner.children[0] if each.kind == "Not" else inner)
        elif each.kind == "Between":
            for name in ("input", "lower", "upper"):
                part = each.tree(name)
                found |= needed(part) if part is not None else set()
        elif each.kind == "In" or (each.kind == "Not" and each.children[0].kind in _STRICT):
            found |= needed(each.children[0])
        elif each.kind == "Not" and each.children[0].kind == "In":  # of values, at least one
            found |= needed(each.children[0].children[0])
        elif each.kind == "Not" and each.children[0].kind == "Between":
            value = each.children[0].tree("input")  # a bound may be NULL where the other decides
            found |= needed(value) if value is not None else set()
        elif each.kind not in ("Not", *_TOLERANT):
            found |= needed(each)
    return found


def needed(tree: Tree) -> set[int]:
    """Attributes without which, NULL being one of them, an expression is NULL."""
    if tree.kind == "AttributeReference":
        return {tree.number}
    if tree.kind in _TOLERANT or tree.kind == "OuterReference":
        return set()
    if any(child.kind == "LambdaFunction" for child in tree.children):
        return needed(tree.children[0])  # of an empty array the lambda is not asked
    return set().union(*(needed(child) for child in tree.children))
