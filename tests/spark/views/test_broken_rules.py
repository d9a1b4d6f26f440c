"""Rules broken on purpose: whatever is wrong in a plan or in an update, the judges notice.

Each view gets one lie; the rows that come are those that tell it apart from the truth.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from freshline.spark.views import bucket as bucket_updates
from freshline.spark.views import derived, groups, key, whole
from freshline.spark.views.changes import Changes
from freshline.spark.views.incremental import Parent
from freshline.spark.views.timesets import TimeSet, changed_by
from freshline.sql.query.records import Buckets, Decomposition, Reads, Reason, ViewPlan
from tests.spark.conftest import Shop
from tests.spark.views.arrivals import fixed, table
from tests.spark.views.proving import Proving, found_out, over_statics, session_in
from tests.support.share import share
from tests.support.view_cases import SOURCES, H

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]

NOON = datetime(2024, 3, 1, 12, tzinfo=UTC)
HOUR, US = timedelta(hours=1), timedelta(microseconds=1)
NO = Reason("NONE", "the test leaves it out")
BY_NAME = {source.name: source for source in SOURCES}

HOURLY = "SELECT date_trunc('HOUR', ts) AS h, count(*) AS n FROM orders GROUP BY 1"
VIEWS = {
    "early_click": "SELECT o.ts, o.id, c.id AS c FROM orders o JOIN clicks c ON c.ts BETWEEN "
    "o.ts - INTERVAL 1 HOUR AND o.ts",
    "late_click": "SELECT o.ts, o.id, c.id AS c FROM orders o LEFT JOIN clicks c ON c.ts BETWEEN "
    "o.ts AND o.ts + INTERVAL 1 HOUR",
    "end_of_the_hour": HOURLY,
    "hour_before": f"SELECT a.h, a.n, b.n AS p FROM ({HOURLY}) a LEFT JOIN ({HOURLY}) b "
    "ON b.h = a.h - INTERVAL 1 HOUR",
    "no_hour": HOURLY,
    "appended": HOURLY,
    "state": "SELECT usr, count(*) AS n FROM orders GROUP BY usr",
    "distinct_state": "SELECT count(DISTINCT usr) AS n FROM orders",
    "groups": "SELECT usr, count(*) / sum(count(*)) OVER () AS share FROM orders GROUP BY usr",
    "linearity": "SELECT o.usr, count(*) AS n FROM orders o JOIN clicks c ON o.usr = c.usr "
    "GROUP BY o.usr",
    "rewritten": "SELECT usr, sum(amount) AS s FROM orders GROUP BY usr",
    "lost": "SELECT usr, max(amount) AS m, count(*) AS n FROM orders GROUP BY usr",
    "late": HOURLY,
    "moved": HOURLY,
    "null_group": "SELECT usr, sum(amount) AS s FROM orders GROUP BY usr",
    "partnerless": "SELECT o.usr, o.id FROM orders o LEFT ANTI JOIN clicks c ON c.usr = o.usr",
    "named": "SELECT c.id, u.name FROM clicks c JOIN users u ON c.usr = u.usr",
}


def reads(plan: ViewPlan, **ends: tuple[int, int]) -> ViewPlan:
    """The plan with other bounds for some sources."""
    assert isinstance(plan.buckets, Buckets)
    bounds = dict(plan.buckets.reads)
    for name, (lo_us, hi_us) in ends.items():
        assert (bounds[name].lo_us, bounds[name].hi_us) != (lo_us, hi_us)
        bounds[name] = Reads(bounds[name].column, lo_us, hi_us)
    return replace(plan, buckets=Buckets(plan.buckets.column, bounds), merge=NO)


def states(plan: ViewPlan, **fields: object) -> ViewPlan:
    """The plan with another decomposition."""
    assert isinstance(plan.merge, Decomposition)
    fields = {"own_state": None, **fields}
    return replace(plan, buckets=NO, merge=replace(plan.merge, **fields))  # type: ignore[arg-type]


def combined(plan: ViewPlan, wrong: str) -> ViewPlan:
    """The plan with MAX or another aggregate where states are added up."""
    assert isinstance(plan.merge, Decomposition)
    partials = [
        replace(each, combine=each.combine.replace("SUM(", f"{wrong}("))
        for each in plan.merge.partials
    ]
    assert tuple(partials) != plan.merge.partials
    return states(plan, partials=tuple(partials))


NARROWER = 2_000
"""Microseconds. Statistics of files know times to the millisecond, rounded to the safe side."""

LIES = {
    "early_click": lambda plan: reads(plan, clicks=(NARROWER - H, 0)),
    "late_click": lambda plan: reads(plan, clicks=(0, H - NARROWER)),
    "end_of_the_hour": lambda plan: reads(plan, orders=(0, H - NARROWER)),
    "hour_before": lambda plan: reads(plan, orders=(0, H - 1)),
    "appended": lambda plan: replace(plan, appends="joint"),
    "state": lambda plan: combined(plan, "MAX"),
    "groups": lambda plan: states(plan, group_columns={"usr": plan.merge.partials[0].keys[0]}),
    "linearity": lambda plan: states(plan, linearity="joint"),
}


def order(at: datetime | None, ident: int, usr: int | None, amount: int = 1) -> dict[str, object]:
    return {"ts": at, "shipped": at, "id": ident, "usr": usr, "amount": amount}


def click(at: datetime, ident: int, usr: int) -> dict[str, object]:
    return {"ts": at, "id": ident, "usr": usr, "n": 1}


NEWS = {
    "early_click": ([], [click(NOON - HOUR, 2, 1)]),
    "late_click": ([], [click(NOON + HOUR, 3, 1)]),
    "end_of_the_hour": ([order(NOON + HOUR - US, 3, 1)], []),
    "hour_before": ([order(NOON + HOUR / 60, 4, 1)], []),
    "appended": ([order(NOON, 5, 1)], []),
}
"""What comes on the edge of a bound, and nothing beside it that would touch the same rows."""
TRIED = share(list(NEWS), part=16)


@pytest.fixture(scope="module")
def warehouse(spark, tmp_path_factory):
    """Views whose plans are still true, built over a few rows."""
    proving = Proving(Shop(tmp_path_factory.mktemp("broken"), session_in(spark, "UTC")))
    proving.feed(BY_NAME["orders"])
    proving.feed(BY_NAME["clicks"])
    proving.shop.delta("static/users", fixed(BY_NAME["users"], NOON))
    built = [name for name in VIEWS if name in TRIED or name not in NEWS]
    for name in built:
        proving.view(name, over_statics(VIEWS[name], ["users"]))
    proving.plan()
    come(proving, [order(NOON, 1, 1), order(NOON + HOUR, 2, 2)], [click(NOON, 1, 1)])
    for name in built:
        assert proving.update(name).strategy == "full"
    return proving


def come(proving, orders=(), clicks=()):
    proving.arrive("orders", table(BY_NAME["orders"], orders))
    proving.arrive("clicks", table(BY_NAME["clicks"], clicks))


def with_lies(proving: Proving) -> Proving:
    """The same warehouse as one whose analysis is wrong."""
    shop = proving.shop
    plans = {name: LIES[name](plan) if name in LIES else plan for name, plan in shop.plans.items()}
    liar = Shop(shop.root, shop.session, shop.feeds, shop.tables, shop.numbers, plans)
    return Proving(liar)


@pytest.mark.parametrize("name", TRIED)
def test_a_plan_that_is_wrong_is_found_out(warehouse, name):
    lying = with_lies(warehouse)
    warehouse.update(name, full=True)  # else another plan has made it from changes
    come(lying, *NEWS[name])
    with found_out():
        lying.update(name)
    assert lying.told[name][-1][0] == ("append" if name == "appended" else "bucket-recompute")


def test_a_state_that_does_not_merge_is_found_out(warehouse, monkeypatch):
    lying, merging = with_lies(warehouse), ("state", "linearity", "groups")
    come(lying, [order(NOON, 10, 1), order(NOON, 11, 3)], [click(NOON, 10, 3)])
    for name in merging:
        assert lying.update(name).code == "state-built", name
    come(lying, [order(NOON, 20, 1)], [click(NOON, 20, 2)])
    for name in merging:
        if name == "groups":  # written as a whole the view is right whatever its groups are
            monkeypatch.setattr(whole, "WHOLE_BYTES", 0)
        with found_out():
            lying.update(name)
        assert lying.told[name][-1] == ("group-merge", "merges"), name


def test_rows_without_a_time_that_touch_no_bucket_are_found_out(warehouse, monkeypatch):
    def forgets(touched: TimeSet, bounds: Reads) -> TimeSet:
        return TimeSet(changed_by(touched, bounds).intervals)

    monkeypatch.setattr(bucket_updates, "changed_by", forgets)
    come(warehouse, [order(None, 30, 1), order(NOON, 31, 1)])
    with found_out():
        warehouse.update("no_hour")
    assert warehouse.told["no_hour"][-1][0] == "bucket-recompute"


def test_late_rows_that_are_passed_over_are_found_out(warehouse, monkeypatch):
    """As if nothing came that is older than what came before."""
    noon_us = int(NOON.timestamp()) * 1_000_000

    def forward(touched: TimeSet, bounds: Reads) -> TimeSet:
        found = changed_by(touched, bounds)
        return TimeSet(tuple(each for each in found.intervals if each[1] >= noon_us), found.null)

    warehouse.update("late")
    monkeypatch.setattr(bucket_updates, "changed_by", forward)
    come(warehouse, [order(NOON, 32, 1)])
    warehouse.update("late")
    come(warehouse, [order(NOON, 33, 1), order(NOON - 5 * HOUR, 34, 1)])
    with found_out():
        warehouse.update("late")
    assert warehouse.told["late"][-1][0] == "bucket-recompute"


def test_a_group_without_a_key_that_is_not_written_is_found_out(warehouse, monkeypatch):
    among = groups._among

    def equal(names: list[str], kinds: list[str], rows: list[tuple[object, ...]]) -> str:
        return among(names, kinds, [row for row in rows if None not in row])

    come(warehouse, [order(NOON, 35, None)])
    monkeypatch.setattr(whole, "WHOLE_BYTES", 0)
    assert warehouse.update("null_group").code == "merges"
    monkeypatch.setattr(groups, "_among", equal)
    come(warehouse, [order(NOON, 36, None), order(NOON, 37, 1)])
    with found_out():
        warehouse.update("null_group")
    assert warehouse.told["null_group"][-1] == ("group-merge", "merges")


def test_values_that_are_only_counted_are_found_out(warehouse):
    """Distinct values of two batches are not to be added up."""
    plan = warehouse.shop.plans["distinct_state"]
    assert isinstance(plan.merge, Decomposition)
    (partial,) = plan.merge.partials
    wrong = replace(
        partial,
        keys=(),
        query="SELECT count(DISTINCT usr) AS n FROM orders",
        combine=f"SELECT CAST(sum(n) AS BIGINT) AS n FROM {partial.name}",
    )
    plans = {
        "distinct_state": states(
            plan, partials=(wrong,), final=f"SELECT n FROM {partial.name}", group_columns=None
        )
    }
    shop = warehouse.shop
    liar = Proving(Shop(shop.root, shop.session, shop.feeds, shop.tables, shop.numbers, plans))
    come(liar, [order(NOON, 39, 1)])
    assert liar.update("distinct_state").code == "state-built"
    come(liar, [order(NOON, 40, 1), order(NOON, 41, 7)])
    with found_out():
        liar.update("distinct_state")


def test_a_deletion_taken_for_an_insertion_is_found_out(warehouse, monkeypatch):
    come(warehouse, [order(NOON, 50, 1)])
    assert warehouse.update("rewritten").code == "merges"
    warehouse.gone("orders", "id = 2")
    monkeypatch.setattr(Changes, "rewrote", property(lambda _: False))
    with found_out():
        warehouse.update("rewritten")
    assert warehouse.told["rewritten"][-1] == ("group-merge", "merges")


def test_an_updated_row_that_left_no_bucket_is_found_out(warehouse, monkeypatch):
    fed = Changes._feed
    after = "_change_type <> 'update_preimage'"
    come(warehouse, [order(NOON, 51, 1)])
    warehouse.update("moved")
    warehouse.by_hand("UPDATE {orders} SET ts = ts + INTERVAL 7 HOURS WHERE id = 51")
    monkeypatch.setattr(Changes, "_feed", lambda changes: fed(changes).filter(after))
    with found_out():
        warehouse.update("moved")
    assert warehouse.told["moved"][-1][0] == "bucket-recompute"


def test_deleted_rows_that_touch_no_group_are_found_out(warehouse, monkeypatch):
    warehouse.update("lost")
    warehouse.gone("orders", "id = 1")
    monkeypatch.setattr(Parent, "changed", lambda parent: parent.frame.limit(0))
    with found_out():
        warehouse.update("lost")
    assert warehouse.told["lost"][-1] == ("group-recompute", "groups")


def test_a_key_of_one_parent_that_is_forgotten_is_found_out(warehouse, monkeypatch):
    come(warehouse, [order(NOON, 70, 9)])
    assert warehouse.update("partnerless").code == "keys"
    come(warehouse, [order(NOON, 71, 1)], [click(NOON, 72, 9)])
    keys = key._keys

    def of_orders(parent, columns):
        return keys(parent, columns).filter("true" if parent.name == "orders" else "false")

    monkeypatch.setattr(key, "_keys", of_orders)
    with found_out():
        warehouse.update("partnerless")
    assert warehouse.told["partnerless"][-1] == ("key-recompute", "keys")


def test_a_static_table_that_changes_unnoticed_is_found_out(warehouse, monkeypatch):
    warehouse.update("named")
    come(warehouse, [], [click(NOON, 60, 2)])
    more = fixed(BY_NAME["users"], NOON).slice(0, 1)
    warehouse.shop.delta("static/users", more)
    monkeypatch.setattr(derived, "full_refresh_reason", lambda *_: None)
    with found_out():
        warehouse.update("named")
    assert warehouse.told["named"][-1][0] == "append"
