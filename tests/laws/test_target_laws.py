"""What holds of the objective cost: targets are kept, nothing starts early, nothing costs more."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from freshline.core.assembly import PolicySettings, make_scheduler
from freshline.core.instant import TIME_EPSILON_S
from freshline.core.model import TableSpec
from freshline.core.objective.just_in_time import JustInTime
from freshline.core.objective.targets import needs
from freshline.core.registry import found_policies
from freshline.sim.driver import Driver, play
from freshline.sim.scenario.model import FeedSpec, Scenario
from tests.support.update_scenarios import eighths

POLICIES = tuple(name for name in found_policies() if name not in ("aus", "group-and-run"))
HORIZON_S = 400.0


@st.composite
def targeted(draw, *, tracks=None):
    """Periodic feeds, and targets on some tables; a track for each table unless ``tracks``."""
    specs: list[TableSpec] = []
    feeds = {}
    for number in range(draw(st.integers(1, 6))):
        name = f"t{number}"
        sources: tuple[str, ...] = ()
        if number and draw(st.integers(0, 2)):
            earlier = st.sampled_from([spec.name for spec in specs])
            sources = tuple(draw(st.lists(earlier, min_size=1, max_size=3, unique=True)))
        period_s = float(draw(st.sampled_from([1, 2, 3, 4, 8])))
        if not sources:
            feeds[name] = FeedSpec(draw(eighths(0, period_s)), period_s)
        target_s = draw(st.sampled_from([None, None, 16.0, 30.0, 45.0, 80.0, 150.0]))
        specs.append(
            TableSpec(
                name,
                sources,
                period_s=None if sources else period_s,
                priority=draw(st.sampled_from([0.5, 1.0, 4.0])),
                alpha_s=draw(st.sampled_from([0.0, 0.25, 1.0, 2.0, 3.0])),
                beta=draw(st.sampled_from([0.0, 0.0, 0.0625, 0.25])),
                phase_s=feeds[name].phase_s if name in feeds else None,
                target_lag_s=target_s,
                target_downstream=target_s is None and draw(st.booleans()),
            )
        )
    chosen = PolicySettings(
        policy=draw(st.sampled_from(POLICIES)),
        inherit=draw(st.sampled_from(["none", "sum", "max"])),
        chop=draw(st.sampled_from([None, None, None, 2.0])),
        objective="cost",
    )
    count = len(specs) if tracks is None else draw(tracks)
    high = draw(st.sampled_from([1.0, 1.0, 1.5]))
    return Scenario(HORIZON_S, 1, count, chosen, 1.0, high, None, tuple(specs), feeds)


def needed(scenario):
    """Each table's need as the scheduler of ``scenario`` sees it, where it never waits."""
    core = make_scheduler(scenario.tables, tracks=scenario.tracks, settings=PolicySettings())
    found = needs(core.tables, worst_factor=scenario.high)
    return core.tables, {table.name: need for table, need in zip(core.tables, found, strict=True)}


def can_be_kept(scenario):
    """Whether every feed brings a file between two latest starts, and updates fit between."""
    tables, need = needed(scenario)
    for table in tables:
        start_s = need[table.name].start_lag_s
        expected_s = scenario.high * (table.spec.alpha_s + table.spec.beta * start_s)
        least_s = expected_s + (table.period_s if table.is_base else 0.0)
        if need[table.name].lag_s < HORIZON_S and start_s < least_s:
            return False
    return True


@given(targeted())
def test_with_a_track_for_each_table_every_target_is_kept_all_the_time(scenario):
    scenario = replace(scenario, settings=replace(scenario.settings, chop=None))
    assume(any(spec.target_lag_s for spec in scenario.tables))
    assume(can_be_kept(scenario))
    kept = play(scenario).kept or {}
    for spec in scenario.tables:
        if spec.target_lag_s is not None:
            assert kept[spec.name].beyond_s == pytest.approx(0.0, abs=1e-6)


@given(targeted())
def test_it_takes_no_more_executor_seconds_than_being_as_fresh_as_can_be(scenario):
    lazy = play(scenario).kept or {}
    eager_settings = replace(scenario.settings, objective="staleness")
    eager = play(replace(scenario, settings=eager_settings), measures=True).kept or {}
    spent_s = {name: each.executor_s for name, each in lazy.items()}
    assert sum(spent_s.values()) <= sum(each.executor_s for each in eager.values()) + 1e-6


@given(targeted(tracks=st.integers(1, 4)))
def test_no_track_is_idle_while_a_due_update_waits_and_none_starts_before_it_is_due(scenario):
    driver = Driver(scenario, on_instant=lambda now_s, _, commands: check(now_s, commands))
    core = driver.scheduler
    policy = core.policy
    assert isinstance(policy, JustInTime)

    def check(now_s, commands):
        for command in commands:
            table = core.table(command.table)
            date_s = command.from_s + policy.needs[table.order].start_lag_s
            assert command.number == 1 or now_s >= date_s - TIME_EPSILON_S
        idle = core.track_count - len(core.running())
        due = [table.name for table in core.tables
               if core.startable(table) and policy.latest_start_s(table) <= now_s]  # fmt: skip
        assert idle == 0 or not due

    driver.run()


@given(targeted())
def test_with_news_before_an_update_starts_exactly_at_its_latest_start(scenario):
    _, need = needed(scenario)
    ready_since: dict[str, float] = {}

    def check(now_s, _, commands):
        for command in commands:
            start_lag_s = need[command.table].start_lag_s
            if command.number > 1 and abs(start_lag_s) < HORIZON_S:
                date_s = command.from_s + start_lag_s
                expected_s = max(date_s, ready_since.get(command.table, now_s))
                assert now_s == pytest.approx(expected_s, abs=1e-6)
        for table in driver.scheduler.tables:
            if driver.scheduler.startable(table):
                ready_since.setdefault(table.name, now_s)
            else:
                ready_since.pop(table.name, None)

    driver = Driver(scenario, on_instant=check)
    driver.run()


@given(targeted(tracks=st.integers(1, 3)))
def test_the_same_events_give_a_second_scheduler_the_same_commands(scenario):
    instants = []
    play(
        scenario,
        on_instant=lambda now_s, events, commands: instants.append(
            (now_s, list(events), list(commands))
        ),
    )
    again = make_scheduler(
        scenario.tables,
        tracks=scenario.tracks,
        settings=scenario.settings,
        seed=scenario.seed,
        worst_factor=scenario.high,
    )
    for now_s, events, commands in instants:
        assert again.handle(now_s, events) == commands
