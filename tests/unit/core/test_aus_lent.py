"""Bounds beside reports: what they take of a track, and what follows for the tables."""

from __future__ import annotations

import json
from typing import Any

import pytest

from freshline.core.assembly import PolicySettings, make_warehouse_scheduler
from freshline.core.aus.assessment import assessed
from freshline.core.aus.bounds import tardiness_bounds_s
from freshline.core.aus.guarantee import graph_of, guarantees_of, lent_by
from freshline.core.aus.shares import Share
from freshline.core.aus.supply import ReportDemand, RestrictedSupply, supply_beside
from freshline.core.events import TrackReserved
from freshline.core.model import TableSpec
from freshline.core.policies.aus import Aus
from freshline.runtime.journal.codec import decoded_event, encoded

HOURLY = ReportDemand(cost_s=54.0, batches=3, window_s=3600.0, delay_s=600.0)


def near(value: float) -> Any:
    """A number that may differ in its last digits, wherever one is wanted."""
    return pytest.approx(value)


def judged(tables, *, tracks, recovery="average", reports=()):
    specs = [TableSpec(f"t{n}", period_s=period_s, alpha_s=seconds)
             for n, (period_s, seconds) in enumerate(tables)]  # fmt: skip
    return assessed(graph_of(specs), tracks=tracks, recovery=recovery, reports=reports)


def test_a_report_takes_its_cost_and_an_idle_update_before_each_batch():
    # 54 + 3 * 6 = 72 s an hour: .02; two windows of it at once, and the part of the ten minutes
    # in which a third may still be due.
    assert HOURLY.share == 0.015
    assert supply_beside([HOURLY], 6.0) == RestrictedSupply(near(0.02), near(144.0 + 12.0))


def test_one_that_is_made_once_takes_no_share():
    once = ReportDemand(cost_s=40.0, batches=1, window_s=None, delay_s=60.0)
    assert once.share == 0.0
    assert supply_beside([once], 6.0) == RestrictedSupply(0.0, 46.0)
    assert supply_beside([once, HOURLY], 6.0) == RestrictedSupply(near(0.02), near(46.0 + 156.0))


def test_reports_have_one_track_and_no_second():
    greedy = ReportDemand(cost_s=3000.0, batches=1, window_s=3600.0, delay_s=0.0)
    assert supply_beside([greedy, greedy], 6.0) == RestrictedSupply(1.0, 0.0)


def test_theorem_1_with_a_track_that_is_lent():
    # m = 2, as in test_aus_bounds: (3 + 2 - 1) / (2 - 3/4); the burst comes in front.
    claims = [Share(1.0, 4.0, 2.0), Share(2.0, 8.0, 4.0), Share(3.0, 8.0, 4.0)]
    assert tardiness_bounds_s(claims, 2, RestrictedSupply(0.25, 6.0)) == [
        near(e + (4 + 6) / (2 - 0.25 - 0.75)) for e in (1, 2, 3)
    ]
    assert tardiness_bounds_s(claims, 2, RestrictedSupply(1.0, 0.0)) == [
        near(e + 4 / 0.25) for e in (1, 2, 3)
    ]


def test_reports_make_every_table_later_and_recovery_slower():
    tables = [(100.0, 30.0), (100.0, 6.0), (50.0, 10.0)]
    alone = judged(tables, tracks=2)
    beside = judged(tables, tracks=2, reports=[HOURLY])
    # 54 + 3 * 30 = 144 s an hour.
    assert beside.lent == RestrictedSupply(near(0.04), near(288.0 + 24.0))
    assert (alone.utilisation, beside.utilisation) == (near(0.56), near(0.56))
    for before, after in zip(alone.guarantees, beside.guarantees, strict=True):
        assert before.staleness_s is not None
        assert after.staleness_s is not None
        assert after.staleness_s > before.staleness_s
        assert after.share.recovery_period_s >= before.share.recovery_period_s


def test_the_only_track_with_reports_that_take_it_all_promises_nothing():
    greedy = ReportDemand(cost_s=3600.0, batches=1, window_s=3600.0, delay_s=0.0)
    for recovery in ("average", "worst", "simultaneous"):
        found = judged([(100.0, 10.0)], tracks=1, recovery=recovery, reports=[greedy])
        assert (found.is_schedulable, found.tracks_needed) == (False, 2)
        assert found.guarantees[0].staleness_s is None


def test_fewer_tables_than_tracks_lose_nothing():
    alone = judged([(100.0, 10.0)], tracks=2)
    beside = judged([(100.0, 10.0)], tracks=2, reports=[HOURLY])
    assert beside.guarantees == alone.guarantees
    assert beside.lent == RestrictedSupply()


def test_load_that_reports_leave_no_room_for_needs_another_track():
    busy = [(100.0, 97.0)]
    assert judged(busy, tracks=1).is_schedulable
    found = judged(busy, tracks=1, reports=[HOURLY])
    assert (found.is_schedulable, found.tracks_needed) == (False, 2)


def test_no_stretch_is_bounded_beside_reports():
    specs = [TableSpec(f"t{n}", period_s=10.0, alpha_s=0.1) for n in range(2)]
    graph = graph_of(specs)
    bounds = [
        assessed(graph, tracks=2, recovery="average", policy="group-and-run", reports=reports)
        for reports in ((), (HOURLY,))
    ]
    assert [found.stretch.record() for found in bounds] == [
        {"bound": 3.0, "why_not": None},
        {"bound": None, "why_not": "reports take a track at times"},
    ]


def test_a_running_core_counts_reports_as_the_guarantees_do_and_admits_less_recovery():
    specs = [TableSpec(f"t{n}", period_s=100.0, alpha_s=10.0) for n in range(3)]
    core = make_warehouse_scheduler(
        specs, tracks=2, settings=PolicySettings(policy="aus"), start_s=0.0
    )
    policy = core.policy
    assert isinstance(policy, Aus)
    alone = policy.guarantees
    demand = (HOURLY.cost_s, HOURLY.batches, HOURLY.window_s, HOURLY.delay_s)
    core.handle(1.0, [TrackReserved(1, None, (demand,))])
    graph = graph_of(specs)
    lent = lent_by(graph, [HOURLY], tracks=2, recovery="average")
    assert policy.guarantees == guarantees_of(graph, tracks=2, recovery="average", lent=lent)
    assert policy.guarantees != alone
    kept = policy.guarantees
    core.handle(2.0, [TrackReserved(1, 50.0)])  # which says nothing new of what they take
    assert policy.guarantees is kept
    core.handle(3.0, [TrackReserved(1, None, ())])
    assert policy.guarantees == alone


def test_what_reports_take_is_recorded():
    event = TrackReserved(1, 5.0, ((54.0, 3, 3600.0, 600.0), (40.0, 1, None, 60.0)))
    assert decoded_event(json.loads(json.dumps(encoded(event)))) == event
