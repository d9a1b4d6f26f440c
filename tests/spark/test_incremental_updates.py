"""Views maintained from changes: after every commit a view equals its query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pyarrow as pa
import pytest

from freshline.core.errors import UserError
from freshline.delta.log import last_commit
from freshline.runtime.lease.succession import fence_tables
from freshline.spark.views import groups, whole
from freshline.sql.costs import Costs, Sizes
from freshline.sql.query.records import (
    Buckets,
    Decomposition,
    Partial,
    Reads,
    Reason,
    ViewPlan,
)
from tests.spark.arrivals import START, Arrivals, arrivals_in
from tests.support.share import WHOLE

pytestmark = pytest.mark.spark

HOUR_US = 3_600_000_000
HOURS = 5 if WHOLE else 3
"""How long rows come; in the third hour no visits, in the fourth no events."""
NO = Reason("NONE", "the test leaves it out")
IN_THE_HOUR = Reads("at", 0, HOUR_US - 1)

HOURLY = """SELECT date_trunc('HOUR', at) AS hour, count(*) AS n, sum(cents) AS cents
    FROM events GROUP BY 1"""
HOURLY_STATES = Decomposition(
    (
        Partial(
            "p",
            ("k",),
            "SELECT date_trunc('HOUR', at) AS k, count(*) AS n, sum(cents) AS c FROM events"
            " GROUP BY 1",
            "SELECT k, CAST(sum(n) AS BIGINT) AS n, CAST(sum(c) AS BIGINT) AS c FROM p GROUP BY k",
        ),
    ),
    "SELECT k AS hour, n, c AS cents FROM p",
    group_columns={"hour": "k"},
)
BY_HOUR = Buckets("hour", {"events": IN_THE_HOUR})
# In Berlin a day has up to 25 hours.
DAILY = (
    "SELECT date_trunc('DAY', hour) AS day, sum(n) AS n, max(cents) AS best FROM hourly GROUP BY 1"
)
BY_DAY = Buckets("day", {"hourly": Reads("hour", 0, 25 * HOUR_US - 1)})
NEAR = """SELECT e.id, v.id AS visit, e.at FROM events e JOIN visits v
    ON v.at > e.at - INTERVAL 10 MINUTES AND v.at <= e.at"""
BY_TIME = Buckets("at", {"events": Reads("at", 0, 0), "visits": Reads("at", 1 - HOUR_US // 6, 0)})
PEOPLE = """SELECT person, count(cents) AS n, avg(cents) AS mean, stddev_pop(cents) AS deviation
    FROM events GROUP BY person"""
PEOPLES_STATES = Decomposition(
    (
        Partial(
            "p",
            ("person",),
            "SELECT person, count(cents) AS n, sum(cents) AS s, sum(cents * cents) AS q"
            " FROM events GROUP BY person",
            "SELECT person, CAST(sum(n) AS BIGINT) AS n, CAST(sum(s) AS BIGINT) AS s,"
            " CAST(sum(q) AS BIGINT) AS q FROM p GROUP BY person",
        ),
    ),
    "SELECT person, n, try_divide(s, n) AS m, sqrt(greatest(0, try_divide(q, n)"
    " - try_divide(s, n) * try_divide(s, n))) AS d FROM p",
    group_columns={"person": "person"},
)
PAIRS = """SELECT e.person, count(*) AS pairs FROM events e JOIN visits v ON e.person = v.person
    GROUP BY e.person"""
PAIRS_STATES = Decomposition(
    (
        Partial(
            "p",
            ("person",),
            "SELECT e.person, count(*) AS n FROM events e JOIN visits v ON e.person = v.person"
            " GROUP BY e.person",
            "SELECT person, CAST(sum(n) AS BIGINT) AS n FROM p GROUP BY person",
        ),
    ),
    "SELECT person, n AS pairs FROM p",
    linearity="each",
)
SIZES = "SELECT n % 3 AS size, count(*) AS hours, sum(cents) AS cents FROM hourly GROUP BY 1"
SIZES_STATES = Decomposition(
    (
        Partial(
            "p",
            ("size",),
            "SELECT n % 3 AS size, count(*) AS n, sum(cents) AS c FROM hourly GROUP BY 1",
            "SELECT size, CAST(sum(n) AS BIGINT) AS n, CAST(sum(c) AS BIGINT) AS c FROM p"
            " GROUP BY size",
        ),
    ),
    "SELECT size, n AS hours, c AS cents FROM p",
    group_columns={"size": "size"},
)


@pytest.fixture
def arrivals(shop) -> Arrivals:
    return arrivals_in(shop)


@pytest.fixture
def view(shop) -> Callable[..., None]:
    """Adds a view with a plan of its own."""

    def add(name: str, query: str, plan: ViewPlan, **more: object) -> None:
        shop.plans[name] = plan
        shop.table(name, query, **{"refresh": "incremental", **more})

    return add


def steps(arrivals: Arrivals, views: tuple[str, ...], hours: int = HOURS) -> list[list[str]]:
    """Hour after hour rows come, in one of them none; returns the strategies of each."""
    told = []
    for hour in range(hours):
        if hour != 3:
            arrivals.come("events", arrivals.rows(hour, 30))
        if hour != 2:
            arrivals.come("visits", arrivals.rows(hour, 20))
        told.append([arrivals.update(view).strategy for view in views])
    return told


def test_buckets_and_a_rollup_of_them_are_recomputed(arrivals, view):
    view("hourly", HOURLY, ViewPlan(NO, BY_HOUR, NO), partitioned_by=("hour",))
    view("daily", DAILY, ViewPlan(NO, BY_DAY, NO))
    told = steps(arrivals, ("hourly", "daily"))
    assert told == [["full", "full"], *[["bucket-recompute", "bucket-recompute"]] * (HOURS - 1)]
    arrivals.go("events", "id % 3 = 0")
    assert arrivals.update("hourly").strategy == "bucket-recompute"
    assert arrivals.update("daily").strategy == "bucket-recompute"
    facts = arrivals.facts("hourly")
    assert (facts["strategy"], facts["reason"]) == ("bucket-recompute", "buckets")
    assert facts["read"] > 0


def test_only_the_buckets_touched_are_written(arrivals, view):
    view("hourly", HOURLY, ViewPlan(NO, BY_HOUR, NO), partitioned_by=("hour",))
    for hour in range(6):
        arrivals.come("events", [{"id": hour, "at": None, "person": None, "cents": 1}])
        arrivals.come("events", [row | {"at": row["at"]} for row in arrivals.rows(40 * hour, 5)])
    whole = arrivals.update("hourly").rows
    (row, *_) = (row for row in arrivals.rows(0, 20) if row["at"] is not None)
    arrivals.come("events", [row])
    result = arrivals.update("hourly")
    assert (result.rows, result.read_rows, result.strategy) == (1, 1, "bucket-recompute")
    assert whole > 6
    arrivals.come("events", [row | {"at": None}])
    assert arrivals.update("hourly").rows == 1  # the bucket without a time


def test_a_band_join_is_recomputed_around_its_changes(arrivals, view):
    view("near", NEAR, ViewPlan(NO, BY_TIME, NO))
    told = steps(arrivals, ("near",))
    assert told == [["full"], *[["bucket-recompute"]] * (HOURS - 1)]
    arrivals.go("visits", "id % 5 = 0")
    assert arrivals.update("near").strategy == "bucket-recompute"


def test_a_strict_view_that_can_only_be_computed_in_full_is_refused(shop, arrivals, view):
    arrivals.come("events", arrivals.rows(0, 10))
    view("never", HOURLY, ViewPlan(NO, NO, NO), refresh="incremental_strict")
    for asked in (False, True):
        with pytest.raises(UserError) as refused:
            arrivals.update("never", full=asked)
        assert (refused.value.code, refused.value.rule) == ("not-incremental", "NONE")
        assert last_commit(shop.path("never")) is None
    view("hourly", HOURLY, ViewPlan(NO, BY_HOUR, NO), refresh="incremental_strict")
    assert arrivals.update("hourly").code == "first-build"
    assert arrivals.update("hourly", full=True).code == "requested"


@pytest.mark.proof
def test_a_strict_view_over_one_that_replaces_its_rows_is_refused_at_its_second_update(
    shop, arrivals, view
):
    """Analysis refuses it before; whoever runs without, here with a plan given, is told here."""
    piled = replace(SIZES_STATES, group_columns=None)
    view("hourly", HOURLY, ViewPlan(NO, BY_HOUR, NO))
    view("sizes", SIZES, ViewPlan(NO, NO, piled), refresh="incremental_strict")
    told = []
    for hour in range(2):
        arrivals.come("events", arrivals.rows(hour, 10))
        told.append(arrivals.update("hourly").strategy)
        if hour == 0:
            arrivals.update("sizes")
    assert told == ["full", "bucket-recompute"]
    with pytest.raises(UserError) as refused:
        arrivals.update("sizes")
    assert (refused.value.code, refused.value.rule) == ("not-incremental", "parent-rewrote")
    assert arrivals.update("sizes", full=True).code == "requested"
    # A base table that loses rows once is no fault of the query.
    view("people", PEOPLE, ViewPlan(NO, NO, replace(PEOPLES_STATES, group_columns=None)),
         refresh="incremental_strict")  # fmt: skip
    arrivals.update("people")
    arrivals.go("events", "id % 3 = 0")
    assert arrivals.update("people").code == "parent-rewrote"


def test_what_changes_no_row_of_its_parent_lets_no_strict_view_pass(shop, arrivals, view):
    """As a fence or a compaction, which are newer than the parent's last update."""
    piled = replace(SIZES_STATES, group_columns=None)
    view("hourly", HOURLY, ViewPlan(NO, BY_HOUR, NO))
    view("sizes", SIZES, ViewPlan(NO, NO, piled), refresh="incremental_strict")
    for hour in range(2):
        arrivals.come("events", arrivals.rows(hour, 10))
        arrivals.update("hourly")
        if hour == 0:
            arrivals.update("sizes")
    fence_tables(shop.project, 2)
    assert arrivals.facts("hourly")["strategy"] == "compact"
    with pytest.raises(UserError) as refused:
        arrivals.update("sizes")
    assert (refused.value.code, refused.value.rule) == ("not-incremental", "parent-rewrote")


def test_row_wise_output_is_appended(arrivals, view):
    query = "SELECT id, at, cents * 2 AS twice FROM events WHERE cents > 300 OR person IS NULL"
    view("filtered", query, ViewPlan("joint", NO, NO))
    view("both", f"{query} UNION ALL SELECT id, at, 0 FROM visits", ViewPlan("joint", NO, NO))
    told = steps(arrivals, ("filtered", "both"))
    assert told == [["full", "full"], *[["append", "append"]] * (HOURS - 1)]
    arrivals.go("events", "id % 3 = 0")
    result = arrivals.update("both")
    assert (result.strategy, result.code) == ("full", "parent-rewrote")


def test_groups_are_merged_with_a_state(shop, arrivals, view):
    view("people", PEOPLE, ViewPlan(NO, NO, PEOPLES_STATES))
    view("pairs", PAIRS, ViewPlan(NO, NO, PAIRS_STATES))
    told = steps(arrivals, ("people", "pairs"))
    assert told == [["full", "full"], *[["group-merge", "group-merge"]] * (HOURS - 1)]
    assert arrivals.facts("people")["state"]["versions"] == {"p": 2 if WHOLE else 1}
    # One person's row: only this group is written.
    arrivals.come("events", [{"id": 10**6, "at": None, "person": "o'hara", "cents": 5}])
    version = arrivals.update("people").version
    changes = shop.session.read.option("readChangeFeed", "true").option("startingVersion", version)
    assert {
        row["person"] for row in changes.format("delta").load(shop.path("people")).collect()
    } == {"o'hara"}
    # Deleted rows: a view that does not tell its groups apart begins again.
    arrivals.go("events", "id % 3 = 0")
    result = arrivals.update("pairs")
    assert (result.strategy, result.code) == ("full", "parent-rewrote")
    assert "state" not in arrivals.facts("pairs")
    arrivals.come("events", arrivals.rows(9, 10))
    result = arrivals.update("pairs")
    assert (result.strategy, result.code) == ("group-merge", "state-built")


VISITORS = (
    "SELECT person, count(*) AS n FROM events WHERE person IN (SELECT person FROM visits)"
    " GROUP BY person"
)
VISITORS_STATES = Decomposition(
    (
        Partial(
            "q",
            ("k",),
            "SELECT person AS k FROM visits GROUP BY person",
            "SELECT k FROM q GROUP BY k",
        ),
        Partial(
            "p",
            ("k",),
            "SELECT person AS k, count(*) AS n FROM events GROUP BY person",
            "SELECT k, CAST(sum(n) AS BIGINT) AS n FROM p GROUP BY k",
        ),
    ),
    "SELECT k AS person, n FROM p WHERE k IN (SELECT k FROM q)",
    linearity="each",
)


def test_a_state_of_parents_that_all_stood_still_stays_as_it_is(arrivals, view):
    """Of two states, the one that is made first; visits bring no rows in the third hour."""
    view("visitors", VISITORS, ViewPlan(NO, NO, VISITORS_STATES))
    assert steps(arrivals, ("visitors",), 3) == [["full"], ["group-merge"], ["group-merge"]]


def test_groups_that_lost_rows_are_computed_again_and_their_state_goes_on(shop, arrivals, view):
    view("people", PEOPLE, ViewPlan(NO, NO, PEOPLES_STATES))
    view("met", PAIRS, ViewPlan(NO, NO, replace(PAIRS_STATES, group_columns={"person": "person"})))
    assert steps(arrivals, ("people", "met"), hours=2)[-1] == ["group-merge", "group-merge"]
    # All of one person's rows, and some of another's.
    arrivals.go("events", "person = 'ann' OR (person = 'o''hara' AND id % 2 = 0)")
    for name, rows in (("people", 1), ("met", 1)):
        result = arrivals.update(name)
        assert (result.strategy, result.code, result.rows) == ("group-recompute", "groups", rows)
        assert arrivals.facts(name)["changes"] == 3  # one row gone, one before and after
    # Both parents at once, rows without a person among them.
    arrivals.go("events", "id % 3 = 0")
    arrivals.go("visits", "person IS NULL OR person = 'bob'")
    arrivals.come("visits", arrivals.rows(2, 10))
    assert [arrivals.update(name).strategy for name in ("people", "met")] == ["group-recompute"] * 2
    arrivals.come("events", arrivals.rows(3, 10))
    told = [arrivals.update(name) for name in ("people", "met")]
    assert [(each.strategy, each.code) for each in told] == [("group-merge", "merges")] * 2


@pytest.mark.proof
def test_groups_of_a_rollup_are_computed_again_without_a_state(arrivals, view):
    """A view over one that rewrites its buckets, which it does at every update."""
    view("hourly", HOURLY, ViewPlan(NO, BY_HOUR, NO))
    view("sizes", SIZES, ViewPlan(NO, NO, SIZES_STATES))
    told = steps(arrivals, ("hourly", "sizes"), hours=4)
    again = ["bucket-recompute", "group-recompute"]
    nothing_came = ["bucket-recompute", "group-merge"]
    assert told == [["full", "full"], again, again, nothing_came]
    assert "state" not in arrivals.facts("sizes")


@pytest.mark.proof
def test_more_groups_than_can_be_named_are_joined_with_their_keys(arrivals, view, monkeypatch):
    monkeypatch.setattr(groups, "MOST_NAMED", 1)
    monkeypatch.setattr(whole, "WHOLE_BYTES", 0)
    view("people", PEOPLE, ViewPlan(NO, NO, PEOPLES_STATES))
    view("hourly", HOURLY, ViewPlan(NO, NO, HOURLY_STATES))
    names = ("people", "hourly")
    assert steps(arrivals, names, hours=4)[1:] == [["group-merge", "group-merge"]] * 3
    # Two groups, one of them without a key: no other row is in the change feed.
    some = [
        {"id": 10**6 + n, "at": None, "person": who, "cents": 5}
        for n, who in enumerate(("o'hara", None))
    ]
    arrivals.come("events", some)
    results = [arrivals.update(name) for name in names]
    assert [(each.code, each.rows) for each in results] == [("merges", 2), ("merges", 1)]
    assert [arrivals.facts(name)["changes"] for name in names] == [4, 2]
    arrivals.go("events", "id % 2 = 0")
    told = [arrivals.update(name) for name in names]
    assert [each.strategy for each in told] == ["group-recompute"] * 2
    arrivals.come("events", arrivals.rows(5, 20))
    told = [arrivals.update(name) for name in names]
    assert [each.strategy for each in told] == ["group-merge"] * 2


MEANS = "SELECT cents / 10.0D AS tens, count(*) AS n FROM events GROUP BY 1"
MEANS_STATES = Decomposition(
    (
        Partial(
            "p",
            ("k",),
            "SELECT cents / 10.0D AS k, count(*) AS n FROM events GROUP BY 1",
            "SELECT k, CAST(sum(n) AS BIGINT) AS n FROM p GROUP BY k",
        ),
    ),
    "SELECT k AS tens, n FROM p",
    group_columns={"tens": "k"},
)


@pytest.mark.proof
def test_keys_that_have_no_literal_are_joined_too(arrivals, view, monkeypatch):
    monkeypatch.setattr(whole, "WHOLE_BYTES", 0)
    view("means", MEANS, ViewPlan(NO, NO, MEANS_STATES))
    assert steps(arrivals, ("means",), hours=3)[-1] == ["group-merge"]
    one = {"id": 10**6, "at": None, "person": "ann", "cents": None}
    arrivals.come("events", [one])
    assert arrivals.update("means").rows == 1
    arrivals.go("events", "id % 2 = 0")
    assert arrivals.update("means").strategy == "group-recompute"


@pytest.mark.proof
def test_a_view_that_does_not_show_its_groups_says_that_it_is_written_whole(arrivals, view):
    view("pairs", PAIRS, ViewPlan(NO, NO, PAIRS_STATES))
    view("sorts", "SELECT pairs, count(*) AS n FROM pairs GROUP BY 1", ViewPlan(NO, NO, NO))
    steps(arrivals, ("pairs", "sorts"), hours=2)
    arrivals.come("events", [{"id": 10**6, "at": None, "person": "ann", "cents": 5}])
    result = arrivals.update("pairs")
    assert (result.strategy, result.code) == ("group-merge", "whole")
    assert result.reason.endswith("since a row does not show which group it is of")
    # All are written, and of these the view over it hears of one.
    assert result.rows > 1
    assert arrivals.facts("pairs")["changes"] == 2


@pytest.mark.proof
def test_nothing_changed_is_a_commit_without_files(arrivals, view):
    view("hourly", HOURLY, ViewPlan(NO, BY_HOUR, NO))
    view("people", PEOPLE, ViewPlan(NO, NO, PEOPLES_STATES))
    for _ in range(3):
        arrivals.come("events", arrivals.rows(0, 10))
        arrivals.update("people")
    arrivals.update("hourly")
    before = arrivals.facts("people")["state"]
    arrivals.come("events", [])
    for name in ("hourly", "people"):
        result = arrivals.update(name)
        assert (result.rows, result.read_rows) == (0, 0)
        assert result.parents == {"events": arrivals.version("events")}
    assert arrivals.facts("people")["state"] == before


@pytest.mark.proof
def test_a_static_table_at_a_new_version_means_all_anew(shop, arrivals, view):
    shop.delta("region", pa.table({"person": ["ann", "bob"], "region": ["n", "s"]}))
    query = "SELECT e.id, r.region FROM events e JOIN delta.`region` r ON e.person = r.person"
    view("regions", query, ViewPlan("joint", NO, NO))
    told = steps(arrivals, ("regions",), hours=3)
    assert told == [["full"], ["append"], ["append"]]
    shop.delta("region", pa.table({"person": ["o'hara"], "region": ["w"]}))
    result = arrivals.update("regions")
    assert (result.strategy, result.code) == ("full", "static-changed")
    assert result.reason == "computed in full: a static table that it reads has a new version"


def test_children_are_told_only_of_rows_that_differ(shop, arrivals, view):
    view("hourly", HOURLY, ViewPlan(NO, BY_HOUR, NO))
    view("daily", DAILY, ViewPlan(NO, BY_DAY, NO))
    arrivals.come("events", [row | {"at": START} for row in arrivals.rows(0, 5)])
    arrivals.come(
        "events", [row | {"at": START + timedelta(hours=3)} for row in arrivals.rows(0, 2)]
    )
    for name in ("hourly", "daily"):
        arrivals.update(name)
    arrivals.come("events", [row | {"at": START} for row in arrivals.rows(0, 1)])
    assert arrivals.update("hourly").rows == 1
    assert arrivals.facts("hourly")["changes"] == 2  # an hour before and after
    daily = arrivals.update("daily")
    assert (daily.strategy, daily.rows, daily.read_rows) == ("bucket-recompute", 1, 2)


def test_bucket_merge_replaces_the_buckets_of_the_new_rows(shop, arrivals, view):
    view("hourly", HOURLY, ViewPlan(NO, BY_HOUR, HOURLY_STATES))
    costs = Costs()
    for _ in range(3):
        costs.note("bucket-recompute", Sizes(1, 1), 30.0)
    shop.executor._updates["hourly"]._costs = costs
    told = steps(arrivals, ("hourly",))
    assert told == [["full"], *[["bucket-merge"]] * (HOURS - 1)]
    arrivals.go("events", "id % 3 = 0")
    assert arrivals.update("hourly").strategy == "bucket-recompute"
