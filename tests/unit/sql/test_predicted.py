"""What is said beforehand of views over views."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from freshline.sql.predicted import predicted
from freshline.sql.query.records import Buckets, Decomposition, Partial, Reads, Reason, ViewPlan

NO = Reason("UNBOUNDED", "no predicate bounds the time")
BUCKETS = Buckets("hour", {"t": Reads("at", 0, 9)})
PARTIAL = Partial("p", ("k",), "q", "c")
GROUPS = Decomposition((PARTIAL,), "f", group_columns={"k": "k"})
HIDDEN = Decomposition((PARTIAL,), "f")

APPENDS = ViewPlan("joint", NO, NO)
BUCKETED = ViewPlan(NO, BUCKETS, GROUPS)
GROUPED = ViewPlan(NO, NO, GROUPS)
PILED = ViewPlan(NO, NO, HIDDEN)
NEVER = ViewPlan(NO, NO, NO)


@dataclass(frozen=True)
class Table:
    name: str
    parents: tuple[str, ...] = ()
    kind: str = "derived"
    refresh: str = "incremental"
    emit: str = "early"


BASE = Table("base", kind="base")


def told(upper: ViewPlan, lower: ViewPlan, **lower_is: str) -> tuple[str, str]:
    """Strategy and code of a view over a view over a base table."""
    tables = [BASE, Table("lower", ("base",), **lower_is), Table("upper", ("lower", "base"))]
    found = predicted(tables, {"lower": lower, "upper": upper})
    return found["upper"].name, found["upper"].code


@pytest.mark.parametrize(
    ("upper", "over_appended", "over_replaced"),
    [
        (APPENDS, ("append", "row-wise"), ("full", "parent-rewrote")),
        (BUCKETED, ("bucket-recompute", "buckets"), ("bucket-recompute", "buckets")),
        (GROUPED, ("group-merge", "merges"), ("group-recompute", "groups")),
        (PILED, ("group-merge", "merges"), ("full", "parent-rewrote")),
        (NEVER, ("full", "UNBOUNDED"), ("full", "UNBOUNDED")),
    ],
)
def test_over_a_view_that_replaces_its_rows_nothing_is_appended_or_merged(
    upper, over_appended, over_replaced
):
    assert told(upper, APPENDS) == over_appended
    assert told(upper, BUCKETED, emit="final") == over_appended
    for lower in (BUCKETED, GROUPED, NEVER):
        assert told(upper, lower) == over_replaced
    assert told(upper, APPENDS, refresh="full") == over_replaced


def test_the_reason_says_what_cannot_be_undone():
    tables = [BASE, Table("lower", ("base",)), Table("upper", ("lower",))]
    found = predicted(tables, {"lower": BUCKETED, "upper": APPENDS})
    assert found["upper"].reason == (
        "computed in full: a parent's rows were deleted or rewritten, which appending cannot undo,"
        " and there are no buckets: no predicate bounds the time"
    )


def test_what_was_not_analysed_is_held_against_nobody():
    tables = [BASE, Table("lower", ("base",)), Table("upper", ("lower",))]
    found = predicted(tables, {"upper": APPENDS})
    assert (found["lower"].name, found["upper"].name) == ("auto", "append")
