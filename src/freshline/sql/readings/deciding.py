"""Whether functions choose freely among rows that tie, and among which rows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from freshline.sql.readings.relations import following
from freshline.sql.readings.terms import Links, Term
from freshline.sql.readings.trees import Tree
from freshline.sql.readings.values import Values, fields_of

_SAME_FOR_TIES = frozenset({"Rank", "DenseRank", "PercentRank", "CumeDist"})
_PLACES = frozenset({"RowNumber", "NTile"})
"""Functions of a row's place, which only rows that tie can exchange with each other."""
_NEIGHBOURS = frozenset({"Lag", "Lead"})
_EXTREMES = frozenset({"MaxBy", "MinBy", "MaxMinByK"})
_IN_ANY_ORDER = frozenset(
    """
    ApproxCountDistinctForIntervals ApproximatePercentile Average BitAndAgg BitOrAgg BitXorAgg
    BitmapAndAgg BitmapConstructAgg BitmapOrAgg BloomFilterAggregate BoolAnd BoolOr CollectList
    CollectSet Corr Count CountIf CountMinSketchAgg CovPopulation CovSample HistogramNumeric
    HyperLogLogPlusPlus HllSketchAgg HllUnionAgg Kurtosis Max Median Min Percentile PercentileCont
    PercentileDisc PivotFirst Product RegrAvgX RegrAvgY RegrCount RegrIntercept RegrR2
    RegrReplacement RegrSXX RegrSXY RegrSYY RegrSlope Skewness StddevPop StddevSamp Sum TryAverage
    TrySum VariancePop VarianceSamp
    """.split()  # noqa: SIM905
)
"""Aggregates whose value does not depend on the order of rows. :mod:`.certainty` checks that lists
are sorted."""


def chosen_in_groups(column: Tree, links: Links) -> list[str]:
    """The aggregates in a column that choose one of a group's rows.

    Args:
        column: An output column of groups.
        links: What holds of the rows in them.
    """
    functions = (each.children[0] for each in _aggregates(column))
    return [each.kind for each in functions if not _is_decided(each, links)]


def chosen_in_window(
    plan: Tree, column: Tree, links: Links, unique: frozenset[Term] | None
) -> tuple[str, frozenset[Term]] | None:
    """What a column of a Window operator chooses, and what the rows share among which it does.

    Args:
        plan: The operator.
        column: One of its window expressions.
        links: What holds of the rows below; added to.
        unique: Terms that no two rows below share; None: not known.
    """
    window = next(each for each in column.walk() if each.kind == "WindowExpression")
    function = window.children[0]
    whole = function.kind == "AggregateExpression"
    function = function.children[0] if whole else function
    values = Values(links)
    order = (each.children[0] for each in plan.trees("orderSpec"))
    by, both = (
        frozenset(term for each in trees if (term := values.term(each)) is not None)
        for trees in (plan.trees("partitionSpec"), chain(plan.trees("partitionSpec"), order))
    )
    if function.kind in _SAME_FOR_TIES:
        return None
    if unique is not None and unique <= following(links, both, unique):
        return None
    if function.kind in _PLACES:
        return function.kind, both
    if whole and not _counts_rows(window.children[1]):
        return None if _is_decided(function, links) else (function.kind, by)
    known = whole or function.kind in _NEIGHBOURS
    decided = not whole or _is_decided(function, links)
    asked = {term for each in function.children if (term := values.term(each)) is not None}
    # Rows that tie have equal values then, so that those behind them see the same in any order.
    alike = known and decided and asked <= following(links, both, asked)
    return function.kind, both if alike else by


def _counts_rows(specification: Tree) -> bool:
    """Whether a frame ends at some row of those that tie."""
    frame = specification.children[-1]
    ends = [each.kind for each in frame.children]
    return frame.text("frameType") != "RangeFrame" and ends != [
        "UnboundedPreceding", "UnboundedFollowing",
    ]  # fmt: skip


def _is_decided(function: Tree, links: Links) -> bool:
    """Whether rows in any order give an aggregate one value."""
    if function.kind == "ListAgg":
        order = [each.children[0] for each in function.children if each.kind == "SortOrder"]
    elif function.kind in _EXTREMES:
        order = [function.children[1], *fields_of(function.children[1])]
    else:
        return function.kind in _IN_ANY_ORDER
    values = Values(links)
    wanted = values.term(function.children[0])
    keys = [term for each in order if (term := values.term(each)) is not None]
    return wanted is None or wanted in following(links, keys, [wanted])


def _aggregates(tree: Tree) -> Iterator[Tree]:
    """The aggregates of an expression, not those of its subqueries."""
    if tree.kind == "AggregateExpression":
        yield tree
    for child in tree.children:
        yield from _aggregates(child)
