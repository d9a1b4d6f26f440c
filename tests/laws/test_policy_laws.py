"""What holds of every policy, partition and scenario."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from freshline.core.assembly import make_scheduler
from freshline.core.errors import UserError
from freshline.core.registry import found_policies
from freshline.sim.driver import Driver, play
from freshline.sim.theory.bounds import bounds_of
from freshline.sim.theory.ideal import ideal_weighted_staleness_s2
from freshline.sim.trace import Finished
from tests.support.naive_updates import Naive
from tests.support.update_scenarios import POLICIES, scenarios

ALL = tuple(found_policies())
EAGER = tuple(name for name, kind in found_policies().items() if kind.eager and name != "aus")


def played(scenario):
    """The driver and what it played, trace included; scenarios that do not fit are set aside."""
    trace: list[Finished] = []
    instants: list = []

    def remember(now_s, events, commands):
        instants.append((now_s, list(events), list(commands)))

    try:
        driver = Driver(scenario, on_finished=trace.append, on_instant=remember)
    except UserError:
        assume(False)  # more tracks needed than there are
        raise
    return driver, driver.run(), trace, instants


@given(scenarios((*POLICIES, "group-and-run")))
def test_decisions_are_those_of_the_contract_read_word_for_word(scenario):
    if scenario.settings.policy == "group-and-run":
        scenario = replace(scenario, settings=replace(scenario.settings, partition="none"))
    # Where nothing takes time the share of a cluster is 0/0; the contract leaves that open.
    assume(any(table.alpha_s or table.beta for table in scenario.tables))
    _, _, trace, _ = played(scenario)
    expected = Naive(scenario).run()
    assert [
        (u.finish_s, u.track, u.table, u.release_s, u.start_s, u.from_s, u.to_s) for u in trace
    ] == expected


@given(scenarios(EAGER, partitions=False))
def test_an_eager_policy_leaves_no_track_idle_while_an_update_waits(scenario):
    driver, _, _, _ = played(replace(scenario, horizon_s=0.125))
    driver = Driver(scenario, on_instant=lambda *_: check())

    def check():
        core = driver.scheduler
        idle = core.track_count - len(core.running())
        assert idle == 0 or not [table for table in core.tables if core.startable(table)]

    driver.run()


@given(scenarios(ALL))
def test_one_update_a_table_and_one_a_track(scenario):
    scenario = fitting(scenario)
    _, _, trace, _ = played(scenario)
    for key in ("table", "track"):
        ends: dict = {}
        for update in sorted(trace, key=lambda u: (u.start_s, u.finish_s)):
            which = getattr(update, key)
            assert ends.get(which, 0.0) <= update.start_s
            ends[which] = update.finish_s
    assert all(0 <= update.track < scenario.tracks for update in trace)


@given(scenarios(ALL))
def test_freshness_of_each_table_moves_on_without_gaps_and_never_past_its_sources(scenario):
    _, _, trace, _ = played(fitting(scenario))
    sources = {table.name: table.sources for table in scenario.tables}
    of = {name: sorted((u for u in trace if u.table == name), key=in_time) for name in sources}
    for name, updates in of.items():
        freshness_s = 0.0
        for update in updates:
            assert update.from_s == freshness_s < update.to_s <= update.start_s
            freshness_s = update.to_s
            for source in sources[name]:
                before = [u.to_s for u in of[source] if u.finish_s <= update.start_s]
                assert update.to_s <= max(before, default=0.0)


def in_time(update):
    return update.finish_s, update.to_s


@given(scenarios(ALL))
def test_staleness_is_what_integrating_the_trace_gives(scenario):
    scenario = fitting(scenario)
    _, result, trace, _ = played(scenario)
    for table in scenario.tables:
        since_s = freshness_s = area_s2 = largest_s = 0.0
        ends = [(u.finish_s, u.to_s) for u in trace if u.table == table.name]
        for finish_s, to_s in [*ends, (scenario.horizon_s, 0.0)]:
            area_s2 += ((finish_s - freshness_s) ** 2 - (since_s - freshness_s) ** 2) / 2
            largest_s = max(largest_s, finish_s - freshness_s)
            since_s, freshness_s = finish_s, to_s
        assert result.staleness[table.name].integral_s2 == pytest.approx(area_s2)
        assert result.staleness[table.name].max_s == largest_s


@given(scenarios(ALL))
def test_the_same_events_give_a_second_scheduler_the_same_commands(scenario):
    scenario = fitting(scenario)
    _, _, _, instants = played(scenario)
    again = make_scheduler(
        scenario.tables,
        tracks=scenario.tracks,
        settings=scenario.settings,
        seed=scenario.seed,
    )
    for now_s, events, commands in instants:
        assert again.handle(now_s, events) == commands


@given(scenarios((*POLICIES, "random"), partitions=False), st.randoms(use_true_random=False))
def test_listing_order_decides_nothing_but_ties(scenario, random):
    # Priorities and times that no two tables share leave no ties.
    tables = [
        replace(
            table,
            priority=table.priority + 1 + number / 7,
            alpha_s=table.alpha_s + (number + 1) / 11,
            phase_s=None if table.phase_s is None else table.phase_s + number / 13,
        )
        for number, table in enumerate(scenario.tables)
    ]
    feeds = {
        table.name: replace(
            scenario.feeds[table.name],
            phase_s=table.phase_s or 0.0,
            arrivals=scenario.feeds[table.name].arrivals
            and tuple(
                (at + number / 13, stamp) for at, stamp in scenario.feeds[table.name].arrivals or ()
            ),
            outages=(),
        )
        for number, table in enumerate(tables)
        if not table.sources
    }
    listed = replace(scenario, tables=tuple(tables), feeds=feeds)
    shuffled = list(tables)
    random.shuffle(shuffled)
    ties = {"fifo", "edf", "edf-p", "myopic"}  # tables derived from one are released together
    assume(listed.settings.policy not in ties or not any(table.sources for table in tables))
    first, second = played(listed)[2], played(replace(listed, tables=tuple(shuffled)))[2]
    assert first == second


@given(scenarios(ALL, partitions=False))
def test_the_ideal_run_is_the_one_that_the_scheduler_makes(scenario):
    expected = play(scenario.ideal()).weighted_staleness_s2
    assert ideal_weighted_staleness_s2(scenario) == pytest.approx(expected)


@given(scenarios(ALL, derived=False))
def test_no_run_breaks_what_is_proven_of_it(scenario):
    scenario = fitting(scenario)
    _, result, _, _ = played(scenario)
    bounds = bounds_of(scenario, result)
    del bounds["utilisation"]  # what a machine needs, not what a run keeps
    assert {name: bound.holds for name, bound in bounds.items() if bound.holds is False} == {}


@given(scenarios((*POLICIES, "random"), partitions=False))
def test_what_is_remembered_of_pending_data_is_one_entry_a_table(scenario):
    scenario = replace(scenario, settings=replace(scenario.settings, chop=None))
    driver = Driver(scenario, on_instant=lambda *_: check())

    def check():
        assert all(len(table.pending) <= 1 for table in driver.scheduler.tables)

    driver.run()


def fitting(scenario):
    """``scenario`` without a partition that does not go with its policy."""
    if found_policies()[scenario.settings.policy].own_partition is None:
        return scenario
    return replace(scenario, settings=replace(scenario.settings, partition="none"))
