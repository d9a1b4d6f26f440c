"""Which strategy is chosen, and what is said of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from freshline.sql.costs import Costs, Sizes
from freshline.sql.query.records import (
    Buckets,
    Decomposition,
    Keys,
    Partial,
    Reads,
    Reason,
    ViewPlan,
)
from freshline.sql.strategy import (
    ASKED,
    BY_COST,
    READINGS_DIFFER,
    Strategy,
    chosen,
    full,
    strategy,
)

KEEPS = Reason("HOLISTIC", "percentile needs the rows themselves")
UNBOUNDED = Reason("UNBOUNDED", "no predicate bounds the time")
BUCKETS = Buckets("hour", {"t": Reads("at", 0, 9)})
MERGE = Decomposition((Partial("p", (), "q", "c"),), "f")
KEYS = Keys(("k",), {"t": ("k",)})
GROUPS = Decomposition((Partial("p", ("k0",), "q", "c"),), "f", group_columns={"k": "k0"})


@dataclass(frozen=True)
class Table:
    kind: str = "derived"
    refresh: str = "auto"
    emit: str = "early"


INCREMENTAL = Table(refresh="incremental")
AUTO = Table()
SIZES = Sizes(changed_bytes=10_000, whole_bytes=1_000_000)
GIGABYTES = Sizes(changed_bytes=10_000, whole_bytes=2_000_000_000)


def choose(
    plan: ViewPlan,
    *,
    rewrote: bool = False,
    costs: Costs | None = None,
    table: Table | None = None,
    holds_state: bool = False,
    sizes: Sizes = SIZES,
) -> Strategy:
    return chosen(
        table or INCREMENTAL,
        plan,
        costs or Costs(),
        rewrote=rewrote,
        sizes=sizes,
        holds_state=holds_state,
    )


def noted(**seconds: float) -> Costs:
    costs = Costs()
    for name, each in seconds.items():
        for _ in range(3):
            costs.note(name.replace("_", "-"), SIZES, each)
    return costs


@pytest.mark.parametrize(
    ("plan", "inserts", "rewrites"),
    [
        (ViewPlan("joint", BUCKETS, MERGE), "append", "bucket-recompute"),
        (ViewPlan("joint", UNBOUNDED, KEEPS), "append", "full"),
        (ViewPlan("each", UNBOUNDED, KEEPS), "append", "full"),
        (ViewPlan(KEEPS, BUCKETS, MERGE), "bucket-recompute", "bucket-recompute"),
        (ViewPlan(KEEPS, BUCKETS, KEEPS), "bucket-recompute", "bucket-recompute"),
        (ViewPlan(KEEPS, UNBOUNDED, MERGE), "group-merge", "full"),
        (ViewPlan(KEEPS, UNBOUNDED, GROUPS), "group-merge", "group-recompute"),
        (ViewPlan(KEEPS, BUCKETS, GROUPS), "bucket-recompute", "bucket-recompute"),
        (ViewPlan(KEEPS, UNBOUNDED, KEEPS), "full", "full"),
        (ViewPlan(KEEPS, UNBOUNDED, KEEPS, keys=KEYS), "key-recompute", "key-recompute"),
        (ViewPlan("joint", UNBOUNDED, KEEPS, keys=KEYS), "append", "key-recompute"),
        (ViewPlan(KEEPS, UNBOUNDED, MERGE, keys=KEYS), "group-merge", "key-recompute"),
        (ViewPlan(KEEPS, UNBOUNDED, GROUPS, keys=KEYS), "group-merge", "group-recompute"),
    ],
)
def test_what_is_right_comes_before_what_is_quick(plan, inserts, rewrites):
    assert choose(plan).name == strategy(INCREMENTAL, plan).name == inserts
    assert strategy(AUTO, plan).name == inserts
    assert choose(plan, rewrote=True).name == rewrites


def test_new_rows_alone_are_appended_always_and_a_join_of_them_where_that_is_quicker():
    dear = noted(append=2.0, full=1.0)
    alone, joined = (ViewPlan(each, UNBOUNDED, KEEPS) for each in ("joint", "each"))
    assert choose(alone, costs=dear, table=AUTO).code == "row-wise"
    assert choose(joined, costs=dear, table=AUTO).code == "cheaper"
    assert choose(joined, costs=dear).code == "joined"
    assert choose(joined, costs=noted(append=1.0, full=2.0), table=AUTO).code == "joined"
    assert strategy(AUTO, joined).reason.endswith("is added; in full where that is quicker")


def test_final_emission_leaves_the_recomputing_of_buckets():
    final = Table(emit="final")
    assert strategy(final, ViewPlan("joint", BUCKETS, MERGE)).name == "bucket-recompute"


def test_final_emission_has_no_use_for_keys():
    final = Table(emit="final")
    plan = ViewPlan(KEEPS, BUCKETS, KEEPS, keys=KEYS)
    assert choose(plan, table=final, rewrote=True).name == "bucket-recompute"


def test_under_auto_keys_are_computed_where_that_is_quicker():
    plan = ViewPlan(KEEPS, UNBOUNDED, KEEPS, keys=KEYS)
    assert choose(plan, costs=noted(key_recompute=2.0, full=1.0), table=AUTO).code == "cheaper"
    assert choose(plan, costs=noted(key_recompute=1.0, full=2.0), table=AUTO).code == "keys"


def test_a_key_that_is_not_shown_is_named_first():
    hidden = Reason("KEY_NOT_SHOWN", "show usr as a column")
    never = choose(ViewPlan(KEEPS, UNBOUNDED, KEEPS, keys=hidden))
    assert never.code == "HOLISTIC"
    assert never.reason.startswith("computed in full: show usr as a column; percentile needs")
    rewritten = choose(ViewPlan("joint", UNBOUNDED, KEEPS, keys=hidden), rewrote=True)
    assert rewritten.reason.endswith("no predicate bounds the time; show usr as a column")
    differ = Reason(READINGS_DIFFER, "our reading and Spark's are not the same")
    assert choose(ViewPlan(KEEPS, UNBOUNDED, KEEPS, keys=differ)).code == READINGS_DIFFER


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
    assert "its output does not show which group a row is of" in rewritten.reason
    assert rewritten.reason.endswith("there are no buckets: no predicate bounds the time")
    several = replace(MERGE, partials=MERGE.partials * 2)
    rewritten = choose(ViewPlan(KEEPS, UNBOUNDED, several), rewrote=True)
    assert "groups that are kept in several states" in rewritten.reason
    assert full("requested").reason == "computed in full: that was asked for"
    assert all(full(code).name == "full" for code in ASKED if code not in BY_COST)


def test_under_auto_the_quicker_of_the_right_ways_is_taken():
    plan = ViewPlan(KEEPS, BUCKETS, KEEPS)
    dear = noted(bucket_recompute=2.0, full=1.0)
    assert choose(plan, costs=dear, table=AUTO) == Strategy(
        "full",
        "cheaper",
        "computed in full, which is quicker: bucket-recompute should take 2.00 s, full 1.00 s",
    )
    cheap = choose(plan, costs=noted(bucket_recompute=0.9, full=1.0), table=AUTO)
    assert (cheap.name, cheap.code) == ("bucket-recompute", "buckets")
    assert cheap.reason.endswith("; bucket-recompute should take 0.90 s, full 1.00 s")
    groups = noted(group_recompute=2.0, full=1.0)
    grouped = ViewPlan(KEEPS, KEEPS, GROUPS)
    assert choose(grouped, rewrote=True, costs=groups, table=AUTO).code == "cheaper"
    for refresh in ("incremental", "incremental_strict"):
        asked = Table(refresh=refresh)
        assert choose(plan, costs=dear, table=asked).name == "bucket-recompute"
        assert choose(grouped, rewrote=True, costs=groups, table=asked).name == "group-recompute"


def test_before_anything_is_measured_small_parents_are_read_as_a_whole():
    bucketed, grouped = ViewPlan(KEEPS, BUCKETS, KEEPS), ViewPlan(KEEPS, UNBOUNDED, GROUPS)
    for plan, incremental in ((bucketed, "bucket-recompute"), (grouped, "group-merge")):
        assert choose(plan, table=AUTO).code == "cheaper"
        assert choose(plan, table=AUTO, sizes=GIGABYTES).name == incremental
        unknown = Sizes(changed_bytes=10_000, whole_bytes=None)
        assert choose(plan, table=AUTO, sizes=unknown).name == incremental
    appends = ViewPlan("joint", BUCKETS, MERGE)
    assert choose(appends, table=AUTO, costs=noted(append=9.0, full=1.0)).name == "append"


def test_final_emission_is_never_in_full_by_cost():
    plan, final = ViewPlan(KEEPS, BUCKETS, KEEPS), Table(emit="final")
    costs = noted(bucket_recompute=2.0, full=1.0)
    assert choose(plan, costs=costs, table=final).name == "bucket-recompute"


def test_a_state_that_is_there_is_given_up_only_for_a_clear_gain():
    plan = ViewPlan(KEEPS, UNBOUNDED, GROUPS)
    near, clear = noted(group_merge=1.2, full=1.0), noted(group_merge=1.3, full=1.0)
    assert choose(plan, costs=near, table=AUTO, holds_state=True).name == "group-merge"
    assert choose(plan, costs=clear, table=AUTO, holds_state=True).code == "cheaper"
    # Where there is none, to build one is worth it only when merging has been missed for long.
    costs = noted(group_merge=1.0, full=1.4, build=2.0)
    codes = [choose(plan, costs=costs, table=AUTO).code for _ in range(5)]
    assert codes == ["cheaper", "merges", "cheaper", "merges", "cheaper"]


def test_a_view_that_is_its_own_state_is_merged_into_whatever_made_it():
    plan = ViewPlan(KEEPS, UNBOUNDED, replace(GROUPS, own_state={"k0": "k"}))
    quicker, slower = noted(group_merge=1.0, full=1.1), noted(group_merge=1.1, full=1.0)
    assert [choose(plan, costs=quicker, table=AUTO).code for _ in range(5)] == ["merges"] * 5
    # Nothing is lost by a full update, so the quicker way is taken however near they are.
    for holds_state in (False, True):  # True: an older version kept one beside the view
        found = choose(plan, costs=slower, table=AUTO, holds_state=holds_state)
        assert found.code == "cheaper"


def test_a_view_that_is_its_own_state_takes_the_quicker_of_merging_and_buckets():
    # There is nothing to build first and nothing to lose, so the seconds alone decide.
    plan = ViewPlan(KEEPS, BUCKETS, replace(GROUPS, own_state={"k0": "k"}))
    merging = noted(bucket_merge=0.5, bucket_recompute=0.6)
    reading = noted(bucket_merge=0.6, bucket_recompute=0.5)
    assert choose(plan, costs=merging).name == "bucket-merge"
    assert choose(plan, costs=reading).name == "bucket-recompute"
    assert choose(plan, costs=merging, rewrote=True).name == "bucket-recompute"
    assert choose(plan).name == "bucket-recompute"
    assert choose(plan, sizes=GIGABYTES).name == "bucket-merge"
    # The dearer one is tried again at times, should it be quicker by now.
    ways = [choose(plan, costs=merging)]
    while ways[-1].code != "tried" and len(ways) < 99:
        merging.note(ways[-1].name, SIZES, 0.5)
        ways.append(choose(plan, costs=merging))
    assert ways[-1] == Strategy(
        "bucket-recompute",
        "tried",
        "only the buckets that the parents' changes touch are computed; tried, since it may be"
        " quicker: bucket-merge should take 0.50 s, bucket-recompute 0.60 s",
    )


def test_with_a_state_a_full_update_is_tried_when_losing_the_state_can_be_afforded():
    plan = ViewPlan(KEEPS, UNBOUNDED, GROUPS)
    # The full update of a cold JVM, from which merging was chosen; it would take 1 s by now.
    costs = noted(full=2.4, build=3.0, group_merge=2.3)

    codes: list[str] = []
    while "tried" not in codes and len(codes) < 9:
        way = choose(plan, costs=costs, table=AUTO, holds_state=True)
        codes.append(way.code)
        costs.note(way.name, SIZES, 1.0 if way.name == "full" else 2.3)
    assert codes == ["merges", "merges", "tried"]
    assert choose(plan, costs=costs, table=AUTO, holds_state=False).code == "cheaper"
    dear = noted(group_merge=2.3, full=2.4, build=60.0)
    assert all(
        choose(plan, costs=dear, table=AUTO, holds_state=True).code == "merges" for _ in range(99)
    )


def test_what_is_said_beforehand_names_the_choice():
    plan = ViewPlan(KEEPS, BUCKETS, MERGE)
    assert strategy(AUTO, plan).reason.endswith("are computed; in full where that is quicker")
    assert strategy(INCREMENTAL, plan).reason.endswith("are computed")
    assert strategy(Table(emit="final"), plan).reason.endswith("are computed")


def test_a_state_is_kept_unless_recomputing_is_clearly_quicker():
    plan = ViewPlan(KEEPS, BUCKETS, MERGE)
    names = [
        choose(plan, costs=costs, holds_state=True).name
        for costs in (
            noted(bucket_recompute=1.0, bucket_merge=1.2),
            noted(bucket_recompute=1.0, bucket_merge=1.3),
            noted(),  # after a restart
            noted(bucket_recompute=0.1),  # just built
            noted(bucket_merge=9.0),
        )
    ]
    assert names == ["bucket-merge", "bucket-recompute", *["bucket-merge"] * 3]


def test_a_state_is_built_when_recomputing_has_cost_as_much_more_than_merging_would():
    plan = ViewPlan(KEEPS, BUCKETS, MERGE)

    def until_built(table: Table = INCREMENTAL, **seconds: float) -> int | None:
        costs = noted(**seconds)
        ways = (choose(plan, costs=costs, table=table).name for _ in range(100))
        return next((count for count, way in enumerate(ways) if way == "bucket-merge"), None)

    # Never by what was not measured, nor for what is short.
    assert until_built() is None
    assert until_built(bucket_recompute=0.9, build=1.0) is None
    # 5 s beyond merging's are given away each time: 44 s of building are so after nine of them.
    assert until_built(bucket_recompute=6.0, bucket_merge=1.0, build=50.0) in range(6, 11)
    assert until_built(bucket_recompute=6.0, bucket_merge=6.5, build=7.0) is None
    # What is given away counts from the quicker of both ways without a state.
    costs = {"bucket_recompute": 6.0, "bucket_merge": 1.0, "build": 50.0}
    assert until_built(AUTO, **costs, full=9.0) in range(6, 11)
    assert until_built(AUTO, **costs, full=2.0) in range(35, 60)


def test_a_table_without_a_plan_is_not_judged():
    assert strategy(Table(kind="base")).name == "append"
    assert strategy(Table()).code == "not-analysed"
    assert strategy(Table(refresh="full")).code == "configured"
