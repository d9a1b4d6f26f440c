"""Objective cost: whole traces of when tables start, at and around their latest start."""

from __future__ import annotations

from math import inf, nextafter

import pytest

from freshline.core.assembly import PolicySettings, make_scheduler
from freshline.core.errors import UserError
from freshline.core.events import (
    FileArrived,
    RefreshRequested,
    TableRestored,
    UpdateFailed,
    UpdateFinished,
)
from freshline.core.model import TableSpec
from freshline.core.objective.just_in_time import JustInTime
from freshline.core.objective.targets import AT_ONCE, NEVER, blocking_s, needs
from freshline.core.registry import found_policies

# (100 - 10) / (1 + 0.5) = 60: an update that starts at lag 60 loads at most 60 seconds of data
# in 10 + 30 seconds.
ORDERS = TableSpec("orders", period_s=10.0, alpha_s=10.0, beta=0.5, target_lag_s=100.0)


def scheduler(*specs, tracks=4, name="fifo", **beside):
    settings = PolicySettings(policy=name, objective="cost")
    return make_scheduler(specs, tracks=tracks, settings=settings, **beside)


def loaded_once(core, name="orders"):
    """The first file of ``name`` arrives at 10 and is loaded; (freshness, end) are (10, 25)."""
    (command,) = core.handle(10.0, [FileArrived(name, 10.0)])
    assert (command.table, command.from_s, command.to_s) == (name, 0.0, 10.0)
    assert core.handle(25.0, [UpdateFinished(name)]) == []


def started(commands):
    return [(command.table, command.from_s, command.to_s) for command in commands]


def need_of(*specs, **beside):
    tables = make_scheduler(specs, tracks=1, settings=PolicySettings()).tables
    found = needs(tables, **beside)
    return {table.name: (need.lag_s, need.start_lag_s) for table, need in zip(tables, found)}  # noqa: B905


def test_the_first_update_is_made_at_once_and_the_next_exactly_at_its_latest_start():
    core = scheduler(ORDERS)
    assert core.next_wakeup_s() == inf
    loaded_once(core)
    assert core.handle(30.0, [FileArrived("orders", 30.0)]) == []
    assert core.next_wakeup_s() == 70.0
    assert core.handle(69.0, [FileArrived("orders", 69.0)]) == []
    assert core.next_wakeup_s() == 70.0
    assert started(core.handle(70.0, [])) == [("orders", 10.0, 69.0)]
    assert core.next_wakeup_s() == inf


def test_just_before_its_latest_start_nothing_starts_and_a_nanosecond_counts_as_nothing():
    early = scheduler(ORDERS)
    loaded_once(early)
    early.handle(30.0, [FileArrived("orders", 30.0)])
    assert early.handle(70.0 - 2e-9, []) == []
    assert started(early.handle(nextafter(70.0, 0.0), [])) == [("orders", 10.0, 30.0)]


def test_news_that_come_after_the_latest_start_start_at_once():
    core = scheduler(ORDERS)
    loaded_once(core)
    assert core.next_wakeup_s() == inf
    assert core.handle(80.0, []) == []
    assert started(core.handle(90.0, [FileArrived("orders", 90.0)])) == [("orders", 10.0, 90.0)]


def test_an_update_at_its_latest_start_that_loads_all_up_to_then_ends_at_the_target():
    core = scheduler(ORDERS)
    loaded_once(core)
    (command,) = core.handle(70.0, [FileArrived("orders", 70.0)])
    assert 70.0 + command.expected_s == 10.0 + 100.0


def test_a_source_is_updated_as_late_as_its_dependents_targets_allow():
    view = TableSpec("view", sources=("orders",), alpha_s=4.0, target_lag_s=112.0)
    base = TableSpec("orders", period_s=10.0, alpha_s=2.0, beta=0.25, target_downstream=True)
    # view starts at lag 108 at the latest, and a source may be 104 old: (104 - 2) / 1.25.
    assert need_of(base, view) == {"orders": (104.0, 81.6), "view": (112.0, 108.0)}
    core = scheduler(base, view)
    core.handle(10.0, [FileArrived("orders", 10.0)])
    assert started(core.handle(14.5, [UpdateFinished("orders")])) == [("view", 0.0, 10.0)]
    core.handle(18.5, [UpdateFinished("view")])
    assert core.handle(20.0, [FileArrived("orders", 20.0)]) == []
    assert core.next_wakeup_s() == 91.6
    assert started(core.handle(91.6, [])) == [("orders", 10.0, 20.0)]
    assert core.handle(100.0, [UpdateFinished("orders")]) == []
    assert core.next_wakeup_s() == 118.0
    assert started(core.handle(118.0, [])) == [("view", 10.0, 20.0)]


def test_who_has_no_target_is_updated_for_those_who_have_or_at_once():
    base = TableSpec("base", period_s=10.0)
    asks = TableSpec("asks", sources=("base",), target_lag_s=50.0)
    silent = TableSpec("silent", sources=("base",))
    assert need_of(base, asks, silent) == {
        "base": (50.0, 50.0),
        "asks": (50.0, 50.0),
        "silent": (NEVER, AT_ONCE),
    }
    assert need_of(base, silent) == {"base": (NEVER, AT_ONCE), "silent": (NEVER, AT_ONCE)}


def test_downstream_without_anyone_downstream_is_updated_only_when_asked():
    downstream = TableSpec("base", period_s=10.0, alpha_s=1.0, target_downstream=True)
    silent = TableSpec("silent", sources=("base",))
    also = TableSpec("also", sources=("base",), target_downstream=True)
    assert need_of(downstream, also)["base"] == (NEVER, NEVER)
    assert need_of(downstream, silent)["base"] == (NEVER, AT_ONCE)
    core = scheduler(downstream)
    loaded_once(core, "base")
    assert core.handle(30.0, [FileArrived("base", 30.0)]) == []
    assert core.next_wakeup_s() == inf
    assert started(core.handle(40.0, [RefreshRequested("base")])) == [("base", 10.0, 30.0)]


def test_the_nearest_of_several_targets_counts_and_never_less_than_nothing():
    base = TableSpec("base", period_s=10.0, alpha_s=1.0, target_lag_s=40.0)
    far = TableSpec("far", sources=("base",), target_lag_s=500.0)
    near = TableSpec("near", sources=("base",), alpha_s=2.0, target_lag_s=20.0)
    tight = TableSpec("tight", sources=("base",), alpha_s=30.0, target_lag_s=20.0)
    assert need_of(base, far)["base"] == (40.0, 39.0)
    assert need_of(base, far, near)["base"] == (16.0, 15.0)
    assert need_of(base, far, tight) == {
        "base": (0.0, 0.0),
        "far": (500.0, 500.0),
        "tight": (20.0, 0.0),
    }


def test_noise_known_beforehand_and_waiting_for_tracks_are_kept_back():
    spec = TableSpec("t", period_s=10.0, alpha_s=10.0, target_lag_s=100.0)
    assert need_of(spec, worst_factor=2.0)["t"] == (100.0, 80.0)
    assert need_of(spec, queueing_s=7.0)["t"] == (100.0, 83.0)
    assert need_of(spec, queueing_s=1000.0)["t"] == (100.0, 65.0)  # a quarter at most
    tables = make_scheduler(
        [TableSpec(f"t{n}", period_s=10.0, alpha_s=float(n)) for n in range(5)],
        tracks=1,
        settings=PolicySettings(),
    ).tables
    assert [blocking_s(tables, tracks) for tracks in (1, 2, 5)] == [4.0, 3.0, 0.0]


def test_a_queue_seen_on_the_tracks_makes_the_next_starts_earlier():
    many = [TableSpec(f"t{n}", period_s=10.0, alpha_s=4.0, target_lag_s=100.0) for n in range(4)]
    core = scheduler(*many, tracks=1)
    core.handle(10.0, [FileArrived(table.name, 10.0) for table in many])
    for number, table in enumerate(many):
        core.handle(14.0 + 4.0 * number, [UpdateFinished(table.name)])
    for table in many:
        core.handle(30.0, [FileArrived(table.name, 30.0)])
    # The last of them waited 12 s at the start: more than the 4 s of one running update.
    assert core.next_wakeup_s() == 10.0 + 100.0 - 4.0 - 12.0


def test_learned_errors_are_kept_back_once_costs_have_moved():
    core = scheduler(ORDERS, learns=True)
    core.handle(10.0, [FileArrived("orders", 10.0)])
    core.handle(25.0, [UpdateFinished("orders")])
    cost = core.table("orders").cost
    core.handle(30.0, [FileArrived("orders", 30.0)])
    assert core.next_wakeup_s() == 70.0
    core.handle(70.0, [])
    core.handle(130.0, [UpdateFinished("orders")])
    core.handle(131.0, [FileArrived("orders", 131.0)])
    assert cost.error_ratio > 0.3
    factor = 1.0 + 2.0 * cost.error_ratio
    start_lag_s = (100.0 - factor * cost.alpha_s) / (1.0 + factor * cost.beta)
    expected_s = max(131.0, 30.0 + start_lag_s)
    running = core.table("orders").running
    assert (expected_s if running is None else running.start_s) == expected_s


def test_a_failed_update_is_due_when_its_retry_is():
    core = scheduler(ORDERS)
    loaded_once(core)
    core.handle(30.0, [FileArrived("orders", 30.0)])
    core.handle(70.0, [])
    assert core.handle(75.0, [UpdateFailed("orders", 80.0)]) == []
    assert core.next_wakeup_s() == 80.0
    assert started(core.handle(80.0, [])) == [("orders", 10.0, 30.0)]


def test_what_a_former_run_learned_counts_from_the_first_instant():
    core = scheduler(ORDERS, start_s=1000.0, origin_s=None, learns=True, explains=True)
    restored = TableRestored("orders", 950.0, 7, 3, alpha_s=40.0, beta=0.0)
    assert core.handle(1000.0, [restored, FileArrived("orders", 990.0, "f")]) == []
    assert core.next_wakeup_s() == 950.0 + 100.0 - 40.0
    (command,) = core.handle(1011.0, [])
    assert command.score == "due since 1.000 s for 100 s of lag; waiting since 1000.000"


def test_a_table_whose_query_changed_is_made_anew_at_once():
    core = scheduler(ORDERS, start_s=1000.0, origin_s=None)
    changed = TableRestored("orders", 990.0, 7, 3, alpha_s=1.0, beta=0.0, stale=True)
    (command,) = core.handle(1000.0, [changed, FileArrived("orders", 999.0, "f")])
    assert command.full


def test_every_policy_but_aus_orders_what_is_due():
    for name in found_policies():
        if name == "aus":
            with pytest.raises(UserError, match="'aus' does not go with the objective 'cost'"):
                scheduler(ORDERS, name=name)
            continue
        core = scheduler(ORDERS, name=name)
        loaded_once(core)
        core.handle(30.0, [FileArrived("orders", 30.0)])
        assert started(core.handle(70.0, [])) == [("orders", 10.0, 30.0)]
    with pytest.raises(UserError, match="there is no objective 'speed'"):
        make_scheduler([ORDERS], tracks=1, settings=PolicySettings(objective="speed"))


def test_what_a_table_learned_counts_for_it_at_once_and_for_its_sources_within_a_round():
    chain = [TableSpec("orders", period_s=10.0, alpha_s=1.0)]
    chain.append(TableSpec("view", sources=("orders",), alpha_s=1.0, target_lag_s=100.0))
    idle = [TableSpec(f"t{n}", period_s=10.0, target_lag_s=9.0) for n in range(40)]
    core = scheduler(*chain, *idle, tracks=50, learns=True)
    policy = core.policy
    assert isinstance(policy, JustInTime)
    core.handle(10.0, [FileArrived("orders", 10.0)])
    core.handle(11.0, [UpdateFinished("orders")])
    before = policy.needs[0]
    core.handle(31.0, [UpdateFinished("view")])
    cost = core.table("view").cost
    assert cost.alpha_s + cost.beta * 10.0 > 5.0
    assert policy.needs[1].start_lag_s == (100.0 - cost.alpha_s) / (1.0 + cost.beta)
    assert policy.needs[0] == before
    core.handle(40.0, [FileArrived(table.name, 40.0) for table in idle])
    core.handle(40.0, [UpdateFinished(table.name) for table in idle[:1]])
    view = policy.needs[1]
    expected_s = cost.alpha_s + cost.beta * view.start_lag_s
    assert policy.needs[0].lag_s == pytest.approx(view.start_lag_s - expected_s)
