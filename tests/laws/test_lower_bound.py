"""No schedule goes below the lower bound: neither the best one there is, nor any policy's."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from freshline.core.assembly import PolicySettings
from freshline.core.model import TableSpec
from freshline.core.registry import found_policies
from freshline.sim.driver import play
from freshline.sim.scenario.model import FeedSpec, Scenario, Slowdown
from freshline.sim.theory.ideal import ideal_weighted_staleness_s2
from freshline.sim.theory.lower_bound import lower_bound_s2
from tests.laws.best_schedule import best_schedule_s2
from tests.support.examples import examples

ALONE = ("group-and-run",)
"""Policies that need more tracks than a small scenario has."""

SIZES = st.sampled_from([0.0, 0.1, 0.3, 0.5, 1.0, 2.0, 3.0])


@st.composite
def scenarios(draw, most_tables=8, horizon_s=40.0):
    """Small scenarios with everything that may stand in one."""
    tables: list[TableSpec] = []
    feeds: dict[str, FeedSpec] = {}
    for number in range(draw(st.integers(1, most_tables))):
        name = f"t{number}"
        names = [table.name for table in tables]
        sources = tuple(
            draw(st.lists(st.sampled_from(names), max_size=2, unique=True)) if names else ()
        )
        tables.append(
            TableSpec(
                name,
                sources,
                period_s=None if sources else draw(st.sampled_from([1.0, 1.5, 2.0, 5.0, 7.0])),
                priority=draw(st.sampled_from([0.0, 0.5, 1.0, 1.0, 3.0, 9.0])),
                alpha_s=draw(SIZES),
                beta=draw(SIZES) * 0.5,
            )
        )
        if sources:
            continue
        period_s = tables[-1].period_s or 0.0
        arrivals = draw(
            st.one_of(st.none(), st.none(), st.lists(st.floats(0.0, horizon_s), max_size=8))
        )
        if arrivals is not None:
            arrivals = tuple((at_s, draw(st.floats(0.0, at_s))) for at_s in sorted(arrivals))
        outages = draw(st.sampled_from([(), (), ((5.0, 12.0),), ((0.0, 9.0), (9.0, 20.0))]))
        phase_s = draw(st.sampled_from([0.0, 0.3, 1.0, 2.0, 9.0]))
        feeds[name] = FeedSpec(phase_s, period_s, arrivals, outages)
    slowdown = draw(st.sampled_from([None, None, Slowdown(3.0, 5.0, 4.0), Slowdown(0.5, 6.0, 3.0)]))
    low = draw(st.sampled_from([1.0, 1.0, 0.5]))
    high = low if slowdown else draw(st.sampled_from([low, 1.5]))
    return Scenario(
        horizon_s,
        draw(st.integers(1, 3)),
        draw(st.integers(1, 3)),
        PolicySettings(),
        low,
        high,
        slowdown,
        tuple(tables),
        feeds,
    )


@examples(40, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(scenarios(), st.sampled_from([None, 1.0, 2.0]), st.sampled_from(["none", "max", "sum"]))
def test_no_policy_goes_below_the_bound(scenario, chop, inherit):
    for name in found_policies():
        if name in ALONE:
            continue
        policy = PolicySettings(policy=name, chop=chop, inherit=inherit)
        played = replace(scenario, settings=policy)
        bound_s2 = lower_bound_s2(played)
        assert bound_s2 <= play(played).weighted_staleness_s2


@examples(40, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(scenarios(most_tables=3, horizon_s=8.0))
def test_no_schedule_goes_below_the_bound(scenario):
    """The best schedule by exhaustive search, deliberate idling included."""
    scenario = replace(scenario, slowdown=None, low=1.0, high=1.0)
    best_s2 = best_schedule_s2(scenario, most_instants=14)
    if best_s2 is not None:
        assert lower_bound_s2(scenario) <= best_s2 * (1.0 + 1e-12)


def test_the_bound_is_the_optimum_where_one_table_waits_for_itself():
    """One table, a file a second, updates of two seconds: every second file, for ever.

    Each cycle of 2 s loads 2 s of data that is 2 s old when it is in: mean staleness 3.
    """
    table = TableSpec("t", period_s=1.0, alpha_s=2.0)
    scenario = Scenario(
        2000.0, 1, 1, PolicySettings(), 1.0, 1.0, None, (table,), {"t": FeedSpec(1.0, 1.0)}
    )
    assert lower_bound_s2(scenario) == pytest.approx(3.0 * 2000.0, rel=2e-3)
    assert play(scenario).weighted_staleness_s2 == pytest.approx(3.0 * 2000.0, rel=2e-3)


def test_the_bound_names_who_starves_when_the_machine_cannot_keep_up():
    """Two tables that need a track each, one track: the dearer one is served, the other never."""
    tables = (
        TableSpec("cheap", period_s=1.0, priority=1.0, beta=1.0),
        TableSpec("dear", period_s=1.0, priority=9.0, beta=1.0),
    )
    feeds = {table.name: FeedSpec(1.0, 1.0) for table in tables}
    scenario = Scenario(1000.0, 1, 1, PolicySettings(), 1.0, 1.0, None, tables, feeds)
    assert lower_bound_s2(scenario) == pytest.approx(0.5 * 1000.0**2, rel=0.05)
    assert lower_bound_s2(scenario) >= 0.5 * 1000.0**2


def test_the_bound_exceeds_the_ideal_where_tracks_are_short():
    tables = tuple(TableSpec(f"t{i}", period_s=2.0, alpha_s=1.0) for i in range(10))
    feeds = {table.name: FeedSpec(0.2 * i, 2.0) for i, table in enumerate(tables)}
    scenario = Scenario(500.0, 1, 1, PolicySettings(), 1.0, 1.0, None, tables, feeds)
    ideal_s2 = play(scenario.ideal()).weighted_staleness_s2
    bound_s2 = lower_bound_s2(scenario)
    assert bound_s2 > 2.5 * ideal_s2
    assert play(scenario).weighted_staleness_s2 < 1.2 * bound_s2


def test_rounding_over_very_many_files_does_not_lift_the_bound():
    """What is left of horizon^2 / 2 after 700,000 subtractions is a millionth of it."""
    table = TableSpec("t", period_s=0.1)
    feeds = {"t": FeedSpec(0.1, 0.1, outages=((1.5, 1.9),))}
    scenario = Scenario(70_000.0, 1, 1, PolicySettings(), 1.0, 1.0, None, (table,), feeds)
    assert lower_bound_s2(scenario) <= ideal_weighted_staleness_s2(scenario)


@pytest.mark.parametrize(("least", "most"), [(1e-310, 1e12), (1e-160, 1e-160), (0.0, 1e-310)])
def test_priorities_too_small_to_be_squared_have_a_bound(least, most):
    tables = (
        TableSpec("least", period_s=1.0, priority=least, alpha_s=1.0),
        TableSpec("most", period_s=1.0, priority=most, alpha_s=1.0),
    )
    feeds = {table.name: FeedSpec(1.0, 1.0) for table in tables}
    scenario = Scenario(100.0, 1, 1, PolicySettings(), 1.0, 1.0, None, tables, feeds)
    assert 0.0 < lower_bound_s2(scenario) <= play(scenario).weighted_staleness_s2
