"""What in a plan can differ over the same rows: the clock, chance, and order."""

from __future__ import annotations

import re
from collections.abc import Sequence

from freshline.sql.readings.trees import Tree

_WORDS = {
    "asks the clock": (
        "CurrentTimestamp", "CurrentDate", "CurrentTime", "Now", "LocalTimestamp",
        "CurrentBatchTimestamp", "CurDateExpressionBuilder",
    ),
    "asks the session or the files": (
        "CurrentUser", "CurrentDatabase", "CurrentCatalog", "InputFileName", "InputFileBlockStart",
        "InputFileBlockLength", "SparkPartitionID", "MonotonicallyIncreasingID",
    ),
    "is chance": (
        "Rand", "Randn", "RandStr", "Uniform", "Uuid", "Shuffle", "CallMethodViaReflection",
        "TryReflect",
    ),
    "is a function that Spark does not know": (
        "PythonUDF", "ScalaUDF", "ScalaUDAF", "ScalaAggregator", "HiveSimpleUDF", "HiveGenericUDF",
        "HiveUDAFFunction", "PythonUDAF",
    ),
    "depends on the order of rows": ("First", "Last", "AnyValue", "CollectList", "ListAgg",
                                     "NthValue"),
}  # fmt: skip
_UNCERTAIN = {name: f"{name} {what}" for what, names in _WORDS.items() for name in names}
_CASTS = frozenset({"Cast", "ParseToTimestamp"})
_TIME_OF_DAY = re.compile(r"\s*T?\d{1,2}:\d")
_MOMENTS = ("timestamp", "timestamp_ntz")
_BY_CHANCE = frozenset({"Sample", "Deduplicate"})
_NEVER_MORE = ("Inner", "Cross", "LeftOuter", "RightOuter")
"""Joins that give one row at most where both sides have one at most."""
_SETS = frozenset({"CollectSet"})
_LIMITS = frozenset({"GlobalLimit", "LocalLimit", "Offset", "Tail"})
_SORTING = frozenset({"SortArray", "Size", "ArraySize"})
_UNORDERED = _SORTING | {"ArrayContains", "ArrayMax", "ArrayMin"}
"""Functions of an array for which the order of its elements does not matter."""
_BY_THEIR_ORDER = (
    "If(And(IsNull(0th), IsNull(1th)), 0, If(IsNull(0th), 1, If(IsNull(1th), -1,"
    " If(LessThan(0th, 1th), -1, If(GreaterThan(0th, 1th), 1, 0)))))"
)
"""The comparison of an array_sort that the user gives none."""


def uncertain(plan: Tree) -> str | None:
    """What keeps the plan's result from being a function of its rows, in words; None: nothing."""
    return _in_plan(plan, ordered=False)


def _in_plan(plan: Tree, *, ordered: bool) -> str | None:
    if plan.kind in _LIMITS and not ordered:
        below = plan.children[0]
        while below.kind in (*_LIMITS, "Project"):
            below = below.children[0]
        if below.kind != "Sort" and not _has_one_row(below):
            return "LIMIT or OFFSET takes rows in no order"
    if plan.kind in _BY_CHANCE:
        return f"{plan.kind} takes rows by chance"
    for expression in plan.expressions():
        what = _in_expression(expression, top=True)
        if what is not None:
            return what
    for child in plan.children if plan.kind != "View" else ():
        what = _in_plan(child, ordered=plan.kind in _LIMITS)
        if what is not None:
            return what
    return None


def _has_one_row(plan: Tree) -> bool:
    """Whether a plan has one row at most: of an aggregate over everything."""
    if plan.kind == "Aggregate":
        return not plan.trees("groupingExpressions")
    if plan.kind in ("Project", "Filter", *_LIMITS) or (
        plan.kind == "Join" and plan.text("joinType") in _NEVER_MORE
    ):
        return all(_has_one_row(child) for child in plan.children)
    return False


def _in_expression(tree: Tree, *, top: bool, sorts: bool = False) -> str | None:
    """``top``: the value is shown as it is, so that its order does not matter.

    ``sorts``: what uses a list sorts or counts it.
    """
    name = tree.kind
    if name in _CASTS and _is_of_today(tree):
        return "a time without a date asks the clock"
    if name in _UNCERTAIN and not (sorts and name == "CollectList") and not _is_ordered(tree):
        return _UNCERTAIN[name]
    if name in _SETS and not top:
        return f"{name} gives its elements in any order, and is not shown as it is"
    plan = below = tree.tree("plan")
    while name == "Exists" and below is not None and below.kind in _LIMITS:
        below = below.children[0]  # whichever rows are taken, it is as many of them
    inner = None if below is None else _in_plan(below, ordered=False)
    if inner is not None:
        return inner
    sorting = name in _SORTING or (name == "ArraySort" and _has_no_comparison(tree))
    shown = (top and name in ("Alias", "AggregateExpression")) or sorting or name in _UNORDERED
    passes = sorting or (sorts and name == "AggregateExpression")
    for child in (*tree.children, *(each for each in tree.expressions() if each is not plan)):
        what = _in_expression(child, top=shown, sorts=passes)
        if what is not None:
            return what
    return None


def _is_of_today(cast: Tree) -> bool:
    """Whether a cast makes a moment of a text that Spark completes by the date of today."""
    held = [each for each in cast.children if each.kind == "Literal"]
    is_moment = cast.kind != "Cast" or cast.text("dataType") in _MOMENTS
    return is_moment and any(_TIME_OF_DAY.match(each.text("value")) for each in held)


def _has_no_comparison(tree: Tree) -> bool:
    """Whether an ``array_sort`` puts elements in their own order: Spark then gives it a lambda."""
    *_, comparison = tree.children
    if comparison.kind != "LambdaFunction":
        return False
    made, *parameters = comparison.children
    return _compared(made, [each.number for each in parameters]) == _BY_THEIR_ORDER


def _compared(tree: Tree, parameters: Sequence[int]) -> str:
    """A comparison as text, its parameters by their places."""
    if tree.kind == "Literal":
        return tree.text("value")
    if tree.kind == "NamedLambdaVariable" and tree.number in parameters:
        return f"{parameters.index(tree.number)}th"
    return f"{tree.kind}({', '.join(_compared(each, parameters) for each in tree.children)})"


def _is_ordered(tree: Tree) -> bool:
    """Whether a list has an order of its own; :mod:`.choices` says what may tie in it."""
    return tree.kind == "ListAgg" and any(each.kind == "SortOrder" for each in tree.children)
