"""Tables that are to be computed anew, since their query changed: they do not wait for ever."""

from __future__ import annotations

import pytest

from freshline.core.assembly import PolicySettings, make_warehouse_scheduler
from freshline.core.events import (
    FileArrived,
    RefreshRequested,
    TablePaused,
    TableRestored,
    UpdateFailed,
    UpdateFinished,
)
from freshline.core.model import TableSpec
from freshline.core.registry import policy_names

START_S = 1.7e9
SPECS = [
    TableSpec("b", (), 10.0, alpha_s=2.0),
    TableSpec("c", (), 10.0, alpha_s=2.0),
    TableSpec("a", (), 60.0, alpha_s=1.0),
    TableSpec("v", ("a",), alpha_s=1.0, priority=100.0),
]
RESTORED = [TableRestored(name, START_S - 60.0, 1, 1) for name in ("b", "c", "a")]


def _overloaded(policy, *events, objective="staleness", rounds=300):
    """What starts on one track, to which two feeds bring twice what it can do."""
    core = make_warehouse_scheduler(
        SPECS,
        tracks=1,
        settings=PolicySettings(policy=policy, objective=objective),
        start_s=START_S,
    )
    files = [FileArrived(name, START_S - 1.0, f"{name}0") for name in ("b", "c")]
    commands, started, now_s = core.handle(START_S, [*RESTORED, *events, *files]), [], START_S
    for turn in range(1, rounds):
        started += [(each.table, each.full, each.score) for each in commands]
        now_s += 2.0
        ends = [UpdateFinished(each.table, 10 + turn, 2.0) for each in commands]
        news = [FileArrived(name, now_s - 0.5, f"{name}{turn}") for name in ("b", "c")]
        commands = core.handle(now_s, [*ends, *news])
    return started


@pytest.mark.parametrize("policy", sorted(set(policy_names()) - {"group-and-run", "aus"}))
def test_a_view_whose_query_changed_is_computed_anew_although_others_always_wait(policy):
    """Its source brings nothing, so by its gain it would come last for ever."""
    stale = TableRestored("v", START_S - 60.0, 3, 4, stale=True)
    started = _overloaded(policy, stale)
    assert ("v", True) in [(table, full) for table, full, _ in started]


@pytest.mark.parametrize("policy", ["max-benefit", "whittle", "lookahead"])
@pytest.mark.parametrize("objective", ["staleness", "cost"])
def test_it_is_the_first_thing_that_is_done(policy, objective):
    stale = TableRestored("v", START_S - 60.0, 3, 4, stale=True)
    started = _overloaded(policy, stale, objective=objective, rounds=3)
    assert started[0] == ("v", True, "to be computed anew")
    assert not any(full for _, full, _ in started[1:])


def test_one_that_is_paused_waits():
    stale = TableRestored("v", START_S - 60.0, 3, 4, stale=True)
    started = _overloaded("max-benefit", stale, TablePaused("v"))
    assert "v" not in {table for table, _, _ in started}


@pytest.mark.parametrize("policy", ["max-benefit", "whittle", "lookahead"])
def test_a_rebuild_that_failed_is_tried_again_although_others_always_wait(policy):
    core = make_warehouse_scheduler(
        SPECS, tracks=1, settings=PolicySettings(policy=policy), start_s=START_S
    )
    core.handle(START_S, [*RESTORED, TableRestored("v", START_S - 60.0, 3, 4)])
    (command,) = core.handle(START_S + 1.0, [RefreshRequested("v", full=True)])
    assert (command.table, command.full) == ("v", True)
    now_s = START_S + 2.0
    news = [FileArrived(name, now_s, f"{name}0") for name in ("b", "c")]
    commands = core.handle(now_s, [UpdateFailed("v", now_s + 5.0), *news])
    started = []
    for turn in range(1, 20):
        started += [(each.table, each.full) for each in commands]
        now_s += 2.0
        ends = [UpdateFinished(each.table, 10 + turn, 2.0) for each in commands]
        news = [FileArrived(name, now_s - 0.5, f"{name}{turn}") for name in ("b", "c")]
        commands = core.handle(now_s, [*ends, *news])
    assert started.count(("v", True)) == 1


@pytest.mark.parametrize("policy", ["max-benefit", "whittle", "lookahead"])
def test_many_rebuilds_leave_the_others_half_of_the_time(policy):
    """After a change of a setting of Spark's every view is to be computed anew."""
    views = [TableSpec(f"v{number}", ("a",), alpha_s=1.0) for number in range(20)]
    core = make_warehouse_scheduler(
        [*SPECS[:3], *views], tracks=1, settings=PolicySettings(policy=policy), start_s=START_S
    )
    stale = [TableRestored(each.name, START_S - 60.0, 3, 4, stale=True) for each in views]
    files = [FileArrived(name, START_S - 1.0, f"{name}0") for name in ("b", "c")]
    commands, now_s = core.handle(START_S, [*RESTORED, *stale, *files]), START_S
    took_s = {True: 0.0, False: 0.0}
    turn = 0
    while took_s[True] < 20 * 30.0:  # each of them takes half a minute
        turn += 1
        (command,) = commands
        seconds = 30.0 if command.full else 2.0
        took_s[command.full] += seconds
        assert took_s[True] - 30.0 <= took_s[False], (turn, took_s)
        now_s += seconds
        news = [FileArrived(name, now_s - 0.5, f"{name}{turn}") for name in ("b", "c")]
        commands = core.handle(now_s, [UpdateFinished(command.table, 10 + turn, seconds), *news])
    assert not any(core.table(each.name).full for each in views)


def test_where_nothing_else_waits_all_tracks_compute_anew():
    views = [TableSpec(f"v{number}", ("a",), alpha_s=1.0) for number in range(3)]
    core = make_warehouse_scheduler(
        [*SPECS[:3], *views],
        tracks=3,
        settings=PolicySettings(policy="max-benefit"),
        start_s=START_S,
    )
    stale = [TableRestored(each.name, START_S - 60.0, 3, 4, stale=True) for each in views]
    commands = core.handle(START_S, [*RESTORED, *stale])
    assert [each.table for each in commands] == ["v0", "v1", "v2"]
