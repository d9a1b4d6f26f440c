"""Playing the near future: as the simulator does, and what whittle makes of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from freshline.core.assembly import MOST_FILES, PolicySettings, make_scheduler
from freshline.core.commands import StartUpdate
from freshline.core.events import Event, FileArrived, TablePaused, UpdateFinished
from freshline.core.extent import ALL_PENDING
from freshline.core.lookahead.rollout import Index, Rollout
from freshline.core.model import Table, TableSpec
from freshline.core.objective.just_in_time import JustInTime
from freshline.core.policies.whittle import Whittle
from freshline.core.policy import Policy
from freshline.core.scheduler import Scheduler
from freshline.sim.driver import Driver
from freshline.sim.scenario.model import FeedSpec, Scenario
from freshline.sim.trace import Finished

WHITTLE = PolicySettings("whittle")
SPAN_S = 60.0


@dataclass(slots=True)
class Watched(Policy):
    """p * d^2 / E, which plays the future at the first choice among two or more."""

    name: ClassVar[str] = "watched"
    chooses: ClassVar[bool] = True

    first: bool = False
    at_s: float = -1.0
    expected: float = 0.0
    priorities: list[float] = field(default_factory=list)
    behind_s: list[float] = field(default_factory=list)

    def key(self, table):
        return -(table.priority * table.amount_s**2 / table.expected_s)

    def choose(self, view):
        tables = view.tables
        begun = all(table.last_arrival_s is not None for table in tables if table.is_base)
        if self.at_s < 0.0 and begun and len(view.waiting()) > 1:
            index = Index(
                [table.priority for table in tables],
                [table.cost.alpha_s for table in tables],
                [table.cost.beta for table in tables],
                float("inf"),
                1.0,
            )
            self.at_s = view.now_s
            self.priorities = [table.priority for table in tables]
            self.behind_s = [view.now_s - table.freshness_s for table in tables]
            future = Rollout(
                tables, tracks=view.track_count, now_s=self.at_s, span_s=SPAN_S, index=index
            )
            chosen = view.waiting()[1] if self.first else None
            self.expected = future.staleness(chosen)
            return chosen or view.first()
        return view.first()


@st.composite
def scenarios(draw):
    """Two to five tables, some derived; periods and costs of their own."""
    count = draw(st.integers(2, 5))
    specs, feeds = [], {}
    for order in range(count):
        name = f"t{order}"
        among = [f"t{other}" for other in range(order)]
        sources = draw(st.lists(st.sampled_from(among), max_size=2, unique=True)) if among else []
        period_s = None if sources else draw(st.sampled_from([3.0, 5.0, 8.0]))
        alpha_s, beta = draw(st.floats(0.3, 4.0)), draw(st.floats(0.0, 0.4))
        priority = draw(st.sampled_from([1.0, 3.0, 9.0]))
        specs.append(TableSpec(name, tuple(sources), period_s, priority, alpha_s, beta))
        if period_s is not None:
            feeds[name] = FeedSpec(draw(st.floats(0.5, period_s)), period_s)
    tracks = draw(st.integers(1, 2))
    return Scenario(200.0, 1, tracks, WHITTLE, 1.0, 1.0, None, tuple(specs), feeds)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(scenarios(), st.booleans())
def test_what_is_played_is_what_the_simulator_plays(played, first):
    """Weighted staleness of the window, found from the trace."""
    finished: list[Finished] = []
    driver = Driver(played, on_finished=finished.append)
    policy = Watched(first)
    driver.scheduler = Scheduler(played.tables, tracks=played.tracks, policy=policy)
    driver.run()
    if policy.at_s < 0.0:
        return
    begun_s, end_s = policy.at_s, policy.at_s + SPAN_S
    expected = 0.0
    for priority, behind_s, spec in zip(
        policy.priorities, policy.behind_s, played.tables, strict=True
    ):
        at_s, levels = begun_s, []
        fresh_s = begun_s - behind_s
        for update in finished:
            if update.table == spec.name and begun_s < update.finish_s < end_s:
                levels.append((at_s, fresh_s))
                at_s, fresh_s = update.finish_s, update.to_s
        levels.append((at_s, fresh_s))
        for (from_s, level_s), (to_s, _) in pairwise([*levels, (end_s, 0.0)]):
            expected += priority * _weighted(from_s, to_s, level_s, end_s)
    assert policy.expected == pytest.approx(expected / SPAN_S, rel=1e-6)


def _weighted(from_s, to_s, fresh_s, end_s):
    """Integral of (t - F) * (end - t) / span between two instants (Simpson: exact)."""
    middle_s = 0.5 * (from_s + to_s)
    values = [(at - fresh_s) * (end_s - at) / SPAN_S for at in (from_s, middle_s, to_s)]
    return (to_s - from_s) / 6.0 * (values[0] + 4.0 * values[1] + values[2])


# Two tables, a file every 4 s each; an update of one takes 18 s and 0.5 s a file, of the other 6 s
# and 0.2 s: by the key it is often just one file too soon.
PAIR = (
    TableSpec("slow", (), 4.0, 1.0, 18.0, 0.13),
    TableSpec("quick", (), 4.0, 3.0, 6.0, 0.05),
)


def commands_of(specs=PAIR, *, took=1.0, horizon_s=900.0, more=(), most_files=None, **settings):
    """Every start of a run, with its score; updates take ``took`` times what is expected."""
    scheduler = make_scheduler(
        [*specs, *more],
        tracks=1,
        settings=PolicySettings("whittle", **settings),
        explains=True,
        most_files=most_files,
    )
    started: list[StartUpdate] = []
    running: tuple[float, StartUpdate] | None = None
    now_s, date_s = 0.0, 4.0
    while now_s < horizon_s:
        now_s = date_s if running is None else min(date_s, running[0])
        events: list[Event] = []
        if running is not None and running[0] <= now_s:
            events.append(UpdateFinished(running[1].table, running[1].number, None))
            running = None
        if date_s <= now_s:
            events += [FileArrived(spec.name, date_s) for spec in (*specs, *more)]
            date_s += 4.0
        for command in scheduler.handle(now_s, events):
            factor = took if len(started) % 2 else 2.0 - took
            running = (now_s + factor * command.expected_s, command)
            started.append(command)
    return started


def ahead(started):
    return [command for command in started if "less staleness expected" in command.score]


def test_another_than_the_best_by_the_key_starts_where_that_pays_and_says_so():
    chosen = ahead(commands_of())
    assert chosen
    assert " s than with slow first" in chosen[0].score
    assert [over.table for over in chosen[0].over] == ["slow"]
    assert "expected over" not in chosen[0].over[0].score


def test_updates_that_take_half_or_one_and_a_half_times_what_is_expected_end_it():
    assert ahead(commands_of(took=0.95))
    assert not ahead(commands_of(took=0.5))


def test_a_warehouse_plays_the_future_as_the_simulator_does():
    """It bounds how many files one update loads, and starts the same updates."""
    warehouse = [(each.table, each.to_s) for each in commands_of(most_files=MOST_FILES)]
    assert warehouse == [(each.table, each.to_s) for each in commands_of()]
    assert ahead(commands_of(most_files=MOST_FILES))
    assert not ahead(commands_of(most_files=1))  # what waits is not loaded at once


def test_with_many_tables_or_chopped_updates_the_key_decides():
    many = [TableSpec(f"t{number}", (), 4.0, 1.0, 0.1, 0.0) for number in range(7)]
    assert not ahead(commands_of(more=many))
    assert not ahead(commands_of(chop=2.0))


def test_where_tables_are_held_back_the_key_decides():
    policy = Whittle()
    policy.extent(ALL_PENDING)
    tables = make_scheduler(PAIR, tracks=1, settings=WHITTLE).tables
    assert policy.picks(tables)
    assert not JustInTime(policy).picks(tables)


def future(scheduler, now_s, span_s=100.0):
    ones = [1.0] * len(scheduler.tables)
    index = Index(ones, ones, ones, float("inf"), 1.0)
    return Rollout(scheduler.tables, tracks=1, now_s=now_s, span_s=span_s, index=index)


def served(scheduler, now_s):
    """How much less stale the tables are expected to be than if nothing ran."""
    idle = sum(
        table.priority * (0.5 * (now_s - table.freshness_s) + 100.0 / 6.0)
        for table in scheduler.tables
    )
    return idle - future(scheduler, now_s).staleness()


def test_a_paused_table_and_a_silent_feed_are_not_expected():
    base = TableSpec("base", (), 10.0, 1.0, 1.0, 0.0)
    scheduler = make_scheduler([base], tracks=1, settings=PolicySettings())
    command = scheduler.handle(10.0, [FileArrived("base", 10.0)])[0]
    scheduler.handle(11.0, [UpdateFinished("base", command.number, None)])
    assert served(scheduler, 11.0) > 0.0  # a file every 10 s, and each is loaded
    assert served(scheduler, 29.0) > 0.0
    assert served(scheduler, 31.0) == 0.0
    scheduler.handle(12.0, [TablePaused("base")])
    assert served(scheduler, 12.0) == 0.0


def test_files_that_come_often_are_taken_together():
    """A million files are expected while the first of two updates runs."""
    specs = [TableSpec(name, (), 1e-4, 1.0, 60.0, 0.0) for name in ("one", "two")]
    scheduler = make_scheduler(specs, tracks=1, settings=PolicySettings())
    scheduler.handle(1.0, [FileArrived("one", 1.0), FileArrived("two", 1.0)])
    assert future(scheduler, 1.0, span_s=130.0).staleness() > 0.0


def test_what_waits_is_a_table():
    """The first choice may have no data of its own to load (a full refresh): it runs, no more."""
    scheduler = make_scheduler(PAIR, tracks=1, settings=PolicySettings())
    table: Table = scheduler.tables[0]
    assert future(scheduler, 0.0).staleness(table) >= future(scheduler, 0.0).staleness()
