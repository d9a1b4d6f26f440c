"""Which strategy is chosen, and what is said of it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from freshline.sql.maintenance import (
    Buckets,
    Decomposition,
    Partial,
    Reads,
    Reason,
    ViewPlan,
)
from freshline.sql.strategy import (
    ASKED,
    Costs,
    Strategy,
    chosen,
    full,
    strategy,
    with_state,
)

KEEPS = Reason("HOLISTIC", "percentile needs the rows themselves")
UNBOUNDED = Reason("UNBOUNDED", "no predicate bounds the time")
BUCKETS = Buckets("hour", {"t": Reads("at", 0, 9)})
MERGE = Decomposition((Partial("p", (), "q", "c"),), "f")
GROUPS = Decomposition((Partial("p", ("k0",), "q", "c"),), "f", group_columns={"k": "k0"})


@dataclass(frozen=True)
class Table:
    kind: str = "derived"
    refresh: str = "auto"
    emit: str = "early"


def choose(
    plan: ViewPlan,
    *,
    rewrote: bool = False,
    costs: Costs | None = None,
    table: Table | None = None,
    holds_state: bool = False,
) -> Strategy:
    return chosen(
        table or Table(),
        plan,
        costs or Costs(),
        rewrote=rewrote,
        change_rows=10,
        holds_state=holds_state,
    )


def noted(**seconds: float) -> Costs:
    costs = Costs()
    for name, each in seconds.items():
        for _ in range(3):
            costs.note(name.replace("_", "-"), 10, each)
    return costs


@pytest.mark.parametrize(
    ("plan", "inserts", "rewrites"),
    [
        (ViewPlan(True, BUCKETS, MERGE), "append", "bucket-recompute"),
        (ViewPlan(True, UNBOUNDED, KEEPS), "append", "full"),
        (ViewPlan(KEEPS, BUCKETS, MERGE), "bucket-recompute", "bucket-recompute"),
        (ViewPlan(KEEPS, BUCKETS, KEEPS), "bucket-recompute", "bucket-recompute"),
        (ViewPlan(KEEPS, UNBOUNDED, MERGE), "group-merge", "full"),
        (ViewPlan(KEEPS, UNBOUNDED, GROUPS), "group-merge", "group-recompute"),
        (ViewPlan(KEEPS, BUCKETS, GROUPS), "bucket-recompute", "bucket-recompute"),
        (ViewPlan(KEEPS, UNBOUNDED, KEEPS), "full", "full"),
    ],
)
def test_what_is_right_comes_before_what_is_quick(plan, inserts, rewrites):
    assert choose(plan).name == strategy(Table(), plan).name == inserts
    assert choose(plan, rewrote=True).name == rewrites


def test_final_emission_leaves_the_recomputing_of_buckets():
    final = Table(emit="final")
    assert strategy(final, ViewPlan(True, BUCKETS, MERGE)).name == "bucket-recompute"


def test_a_full_update_says_why():
    never = choose(ViewPlan(KEEPS, UNBOUNDED, KEEPS))
    assert never == Strategy(
        "full",
        "HOLISTIC",
        "computed in full: percentile needs the rows themselves; no predicate bounds the time",
    )
    for code in ("KEEPS_ROWS", "JOIN_ACROSS_BATCHES"):
        rows = Reason(code, "it keeps rows of other batches")
        assert choose(ViewPlan(rows, UNBOUNDED, rows)) == Strategy(
            "full",
            "UNBOUNDED",
            "computed in full: no predicate bounds the time; it keeps rows of other batches",
        )
    rewritten = choose(ViewPlan(KEEPS, UNBOUNDED, MERGE), rewrote=True)
    assert rewritten.code == "parent-rewrote"
    assert rewritten.reason.endswith("there are no buckets: no predicate bounds the time")
    assert full("requested").reason == "computed in full: that was asked for"
    assert {code for code in ASKED if full(code).name == "full"} == set(ASKED)


def test_a_way_that_costs_more_than_all_anew_is_given_up_if_nobody_minds():
    plan = ViewPlan(KEEPS, BUCKETS, KEEPS)
    dear = noted(bucket_recompute=2.0, full=1.0)
    assert choose(plan, costs=dear) == Strategy(
        "full", "cheaper", "computed in full: bucket-recompute should take 2.00 s, full 1.00 s"
    )
    assert choose(plan, costs=dear, table=Table(refresh="incremental")).name == "bucket-recompute"
    groups = noted(group_recompute=2.0, full=1.0)
    assert choose(ViewPlan(KEEPS, KEEPS, GROUPS), rewrote=True, costs=groups).code == "cheaper"
    near = choose(plan, costs=noted(bucket_recompute=1.2, full=1.0))
    assert near.name == "bucket-recompute"
    assert near.reason.endswith("; bucket-recompute should take 1.20 s, full 1.00 s")


def test_a_state_is_built_where_recomputing_is_slow_and_kept_where_it_is_quicker():
    plan = ViewPlan(KEEPS, BUCKETS, MERGE)
    names = [
        choose(plan, costs=costs, holds_state=holds).name
        for costs, holds in (
            (noted(bucket_recompute=0.9, full=1.0), False),  # not worth it
            (noted(bucket_recompute=1.5, full=9.0), False),  # far below a full update
            (noted(bucket_recompute=5.0, full=9.0), False),  # tried
            (noted(bucket_recompute=1.0, bucket_merge=0.9), False),  # not worth a new state
            (noted(bucket_recompute=1.0, bucket_merge=1.2), True),  # not worth giving it up
            (noted(bucket_recompute=1.0, bucket_merge=1.3), True),
            (noted(), True),  # after a restart
            (noted(bucket_recompute=0.1), True),  # just built
            (noted(bucket_merge=9.0), True),
            (noted(bucket_merge=0.1), False),
        )
    ]
    assert names == [
        "bucket-recompute", "bucket-recompute", "bucket-merge", "bucket-recompute",
        "bucket-merge", "bucket-recompute",
        "bucket-merge", "bucket-merge", "bucket-merge", "bucket-recompute",
    ]  # fmt: skip


def test_a_state_is_built_when_reading_again_has_cost_as_much():
    costs = Costs()
    # A history in one file: all of it would be read again at once.
    assert costs.reread(1_000, 10, 1_000)
    # Rows that come in the order of their times: 40 of 1,000 bytes are read beyond the new ones.
    assert [costs.reread(50, 10, 1_000) for _ in range(25)] == [False] * 24 + [True]
    assert not costs.reread(50, 10, 1_000)
    assert not Costs().reread(10, 10, 1_000)
    assert not Costs().reread(10, 10, 10)


def test_a_strategy_is_dearer_only_where_both_were_measured():
    costs = noted(bucket_merge=0.5, bucket_recompute=0.4)
    assert costs.dearer("bucket-merge", "bucket-recompute", 10)
    assert not costs.dearer("bucket-recompute", "bucket-merge", 10)
    assert not noted(bucket_merge=0.5).dearer("bucket-merge", "bucket-recompute", 10)
    assert not Costs().dearer("bucket-merge", "bucket-recompute", 10)


def test_only_where_buckets_can_be_merged_is_there_another_way_with_a_state():
    plan = ViewPlan(KEEPS, BUCKETS, MERGE)
    merging = with_state(Table(), plan, rewrote=False)
    assert merging is not None
    assert merging.name == "bucket-merge"
    assert with_state(Table(), plan, rewrote=True) is None
    assert with_state(Table(emit="final"), plan, rewrote=False) is None
    assert with_state(Table(), ViewPlan(KEEPS, BUCKETS, KEEPS), rewrote=False) is None
    assert with_state(Table(), ViewPlan(KEEPS, KEEPS, MERGE), rewrote=False) is None


def test_a_table_without_a_plan_is_not_judged():
    assert strategy(Table(kind="base")).name == "append"
    assert strategy(Table()).code == "not-analysed"
    assert strategy(Table(refresh="full")).code == "configured"
