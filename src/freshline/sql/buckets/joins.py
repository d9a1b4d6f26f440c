"""Joins, and subqueries in expressions, as they carry dependence on times from side to side."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from freshline.sql.buckets.conditions import apply
from freshline.sql.buckets.differences import Differences
from freshline.sql.buckets.relation import Padded, Relation
from freshline.sql.buckets.times import Times
from freshline.sql.query.zone import Zone
from freshline.sql.text.canonical import Side


def side_by_side(left: Relation, right: Relation, differences: Differences) -> Relation:
    """Both relations' times and columns; what rows depend on is left to fill in."""
    return Relation(
        aliases=left.aliases | right.aliases,
        sources=left.sources | right.sources,
        differences=differences,
        kinds={**left.kinds, **right.kinds},
        grains={**left.grains, **right.grains},
        columns={**left.columns, **right.columns},
        padded=[*left.padded, *right.padded],
        bases={**left.bases, **right.bases},
        choices=[*left.choices, *right.choices],
    )


def joined(
    left: Relation, right: Relation, side: Side, condition: exp.Expr | None, zone: Zone
) -> Relation:
    """The join of two relations.

    A pair in the result depends on both its rows. A row that is kept without a match depends
    on there being none: on every row that could meet the condition.

    Args:
        side: "" (inner or cross), LEFT, RIGHT or FULL.
    """
    if side == "RIGHT":
        return joined(right, left, "LEFT", condition, zone)
    matched = _both(left, right)
    pair = side_by_side(left, right, matched)
    apply(Times(pair, zone), condition)
    inner = not side
    result = pair if inner else side_by_side(left, right, _both(left, right))
    for one, other in ((left, right), (right, left)):
        times = [time for time in result.own_times() if time in one.differences]
        reads, null_ok = one.depending_on(other, matched, times)
        result.reads.update(reads)
        if inner or (one is left and side == "LEFT"):
            result.null_ok |= null_ok
    if inner:
        return result
    if side == "LEFT":
        # A row that is kept looks for its match among the rows that have its values.
        kept = left.own_times()
        met = [({*shared, *_met(shared, kept, matched)}, what) for shared, what in right.choices]
        result.choices = [*left.choices, *met]
    # What a later condition says of matches alone holds of times that this condition made.
    result.kinds |= pair.kinds
    result.grains |= pair.grains
    for padded in (right,) if side == "LEFT" else (right, left):
        times_there = frozenset(padded.own_times())
        result.differences.nonnull -= times_there
        null_ok_there = frozenset(time for time in times_there if padded.is_null_ok(time))
        result.padded.append(
            Padded(padded.aliases, times_there, matched, side == "FULL", null_ok_there)
        )
    return result


def watching(outer: Relation, inner: Relation, matched: Differences) -> None:
    """Makes rows of ``outer`` depend on rows of ``inner``, looked at by a subquery.

    Args:
        matched: Holds for the rows of ``inner`` that the subquery looks at.
    """
    reads, null_ok = outer.depending_on(inner, matched, outer.own_times())
    own = outer.own_times()
    for shared, what in inner.choices:
        outer.choices.append((outer.following(_met(shared, own, matched)), what))
    outer.reads = reads
    outer.null_ok = null_ok
    outer.sources |= inner.sources


def _met(shared: Iterable[str], times: Iterable[str], matched: Differences) -> set[str]:
    """Which times rows share that look at the rows of one choice.

    Args:
        shared: Times of the rows among which is chosen.
        times: Of the rows that look at them; none with another time is touched by the choice.
        matched: Holds for the rows that they look at.
    """
    return {time for time in times if any(matched.between(time, each) == (0, 0) for each in shared)}


def _both(left: Relation, right: Relation) -> Differences:
    differences = left.differences.copy()
    differences.include(right.differences)
    return differences
