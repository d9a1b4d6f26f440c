"""When a table that fell behind will be fresh again: what is computed, and how it is revised."""

from __future__ import annotations

import pytest

from freshline.core.events import Event, FileArrived, UpdateFinished
from freshline.core.model import TableSpec
from freshline.core.oversight.catching_up import Pace, Recoveries
from freshline.core.policies.aus import Aus
from freshline.core.policies.fifo import Fifo
from freshline.core.scheduler import Scheduler

A = TableSpec("a", period_s=10.0, alpha_s=1.0, beta=0.1)
VIEW = TableSpec("v", ("a",), alpha_s=2.0)


def item_of(found, name):
    """How a table catches up; it must."""
    item = found.of(name)
    assert item is not None
    return item


def under(policy, *specs, tracks=1):
    return Scheduler(specs, tracks=tracks, policy=policy)


def test_where_updates_merge_one_of_all_the_backlog_is_enough():
    core = under(Fifo(), A, VIEW)
    found = Recoveries(core.tables)
    core.handle(100.0, [FileArrived("a", 100.0)])
    found.began("a", 100.0)
    found.revise(100.0, free_tracks=0)
    # 1 + 0.1 * 100 = 11 s for a; v's own 2 s are behind it.
    assert item_of(found, "a").fresh_s == pytest.approx(111.0)
    assert item_of(found, "v").fresh_s == pytest.approx(113.0)
    core.handle(115.0, [UpdateFinished("a")])  # later than thought
    assert found.revise(115.0, free_tracks=0) == ["a"]
    assert item_of(found, "v").first_s == pytest.approx(113.0)
    assert item_of(found, "v").fresh_s == pytest.approx(119.0)
    core.handle(117.0, [UpdateFinished("v")])
    assert found.revise(117.0, free_tracks=1) == ["v"]
    assert found.of("v") is None


def test_a_table_without_a_free_track_waits_for_capacity():
    core = under(Fifo(), A, TableSpec("b", period_s=10.0, alpha_s=50.0))
    found = Recoveries(core.tables)
    core.handle(90.0, [FileArrived("b", 90.0)])
    core.handle(100.0, [FileArrived("a", 100.0)])
    found.began("a", 100.0)
    found.revise(100.0, free_tracks=0)
    assert item_of(found, "a").waits


def test_with_chop_the_backlog_shrinks_by_what_an_update_gains():
    core = under(Fifo(), A)
    found = Recoveries(core.tables, chop=2.0)
    table = core.table("a")
    table.trailing_edge_s = 102.0
    found.began("a", 100.0)
    found.revise(100.0, free_tracks=1)
    # 20 s of data in 3 s: 17 s of 102 s gained each time.
    assert item_of(found, "a").fresh_s == pytest.approx(100.0 + 3.0 * 102.0 / 17.0)


def test_where_updates_take_longer_than_their_data_there_is_no_end():
    core = under(Fifo(), TableSpec("a", period_s=10.0, alpha_s=1.0, beta=1.1))
    found = Recoveries(core.tables, chop=2.0)
    core.table("a").trailing_edge_s = 100.0
    found.began("a", 100.0)
    found.revise(100.0, free_tracks=1)
    assert item_of(found, "a").fresh_s is None


def test_under_aus_a_file_each_recovery_period_and_the_waiting_begin_when_the_first_are_done():
    core = under(Aus(), A, TableSpec("b", period_s=10.0, alpha_s=1.0, beta=0.1))
    for name in ("a", "b"):
        core.table(name).trailing_edge_s = 60.0
    paces = {"a": Pace("recovery", 10.0, 2.5, 80.0), "b": Pace("waiting", 10.0, 2.5, None)}
    found = Recoveries(core.tables)
    found.revise(100.0, free_tracks=1, pace=lambda table: paces[table.name])
    # 60 * 2.5 / 7.5 = 20 s each.
    assert (item_of(found, "a").fresh_s, item_of(found, "a").bound_s) == (120.0, 180.0)
    assert (item_of(found, "b").fresh_s, item_of(found, "b").waits) == (140.0, True)


def test_the_estimate_under_aus_is_near_what_comes_and_below_theorem_4():
    spec = TableSpec("a", period_s=10.0, alpha_s=1.0, recovery_threshold_s=25.0)
    core = under(Aus(), spec)
    found = Recoveries(core.tables)

    def pace(table):
        share = core.policy.guarantees[table.order].share
        bound_s = core.policy.guarantees[0].recovery_s(table, 90.0)
        return Pace(core.policy.standing(table), share.period_s, share.recovery_period_s, bound_s)

    ends: list[float] = []
    fresh: list[float] = []
    now, files = 10.0, [(100.0 + max(0.0, stamp - 100.0), stamp) for stamp in range(20, 300, 10)]
    core.handle(10.0, [FileArrived("a", 10.0)])
    ends.append(11.0)
    first, bound = 0.0, 0.0
    while now < 250.0 and not fresh:
        now = min([core.next_wakeup_s(), *ends, *([files[0][0]] if files else [])])
        events: list[Event] = [UpdateFinished("a") for end in ends if end <= now]
        ends = [end for end in ends if end > now]
        while files and files[0][0] <= now:
            events.append(FileArrived("a", float(files.pop(0)[1])))
        ends += [now + 1.0 for _ in core.handle(now, events)]
        if "a" in found.revise(now, free_tracks=1 - len(ends), pace=pace):
            fresh.append(now)
        elif (item := found.of("a")) is not None:
            first, bound = item.first_s or 0.0, item.bound_s or 0.0
    assert fresh
    assert abs(first - fresh[0]) <= 15.0
    assert fresh[0] <= bound
