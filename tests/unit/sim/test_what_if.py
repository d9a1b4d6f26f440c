"""A recorded run told again, and played otherwise: whole figures, in virtual time."""

from __future__ import annotations

from dataclasses import replace
from itertools import cycle

import pytest

from freshline.core.assembly import PolicySettings
from freshline.core.errors import UserError
from freshline.core.events import (
    FileArrived,
    FilesWithdrawn,
    TrackReserved,
    UpdateFinished,
    UpkeepOffered,
)
from freshline.core.model import TableSpec
from freshline.sim.whatif.history import Durations, history_of
from freshline.sim.whatif.recorded import Difference, conforming
from freshline.sim.whatif.what_if import Variations, compared
from tests.support.recorded_runs import recorded

ORDERS = TableSpec("orders", period_s=10.0, alpha_s=1.0)
PARTS = TableSpec("parts", period_s=10.0, alpha_s=1.0)
SUMS = TableSpec("sums", sources=("orders",), alpha_s=1.0, priority=3.0, target_lag_s=30.0)


def files(*names, until_s=1080.0):
    return [
        (at_s, FileArrived(name, at_s, f"{name}-{at_s:g}"))
        for at_s in (1000.0 + 10.0 * step for step in range(int((until_s - 1000.0) / 10.0)))
        for name in names
    ]


@pytest.fixture
def run():
    return recorded([ORDERS, SUMS], files("orders"), seconds=lambda _, number: 2.0 + number % 3)


def test_what_happened_is_measured_of_the_recorded_instants(run):
    # One track and two tables: orders loads 1000, sums follows, and so on.
    accounts = history_of(run, {"sums": 15.0}).accounts
    orders, sums = accounts.figures["orders"], accounts.figures["sums"]
    assert orders.updates == sums.updates == 8
    assert orders.executor_s == sums.executor_s == 25.0  # 3 + 4 + 2 and so on, eight of them
    assert (orders.within, orders.target_s) == (None, None)
    assert (orders.mean_s, orders.max_s) == (10.5, 30.0)
    assert (sums.mean_s, sums.max_s) == (13.0, 30.0)  # the last file came at 1070
    assert sums.within == pytest.approx(1.0 - beyond_15_s(run) / 100.0)


def beyond_15_s(run):
    """Time beyond a lag of 15 s, from the instants at which sums ended."""
    freshness_s, beyond_s = 990.0, 0.0
    loading_s = since_s = 1000.0
    for instant in run.instants:
        if any(isinstance(e, UpdateFinished) and e.table == "sums" for e in instant.events):
            beyond_s += max(0.0, instant.now_s - max(since_s, freshness_s + 15.0))
            freshness_s, since_s = loading_s, instant.now_s
        loading_s = next((c.to_s for c in instant.commands if c.table == "sums"), loading_s)
    return beyond_s + 1100.0 - max(since_s, freshness_s + 15.0)


def test_a_run_played_as_it_was_is_what_happened(run):
    found = compared(run, Variations())
    (again,) = found.played
    assert again.tables == found.happened.tables
    assert (again.recorded, again.modelled) == (16, 0)
    assert again.weighted_staleness_s2 == found.happened.weighted_staleness_s2
    assert found.notes == ()


def test_every_combination_is_played_and_told_beside_what_happened(run):
    found = compared(run, Variations(policies=("edf", "fifo"), tracks=(1, 2)))
    assert [(each.policy, each.tracks) for each in found.played] == [
        ("edf", 1), ("edf", 2), ("fifo", 1), ("fifo", 2),
    ]  # fmt: skip
    assert all(each.recorded for each in found.played)
    record = found.record()
    assert record["happened"]["policy"] == "fifo"
    assert set(record["played"][0]["tables"]["sums"]) == {
        "mean", "max", "target_lag", "within", "executor_seconds", "updates",
    }  # fmt: skip
    assert (
        found.notes[-1] == "updates take what they took on 1 tracks, however many run beside them"
    )


def test_priorities_asked_for_weigh_what_happened_too(run):
    plain, heavy = compared(run, Variations()), compared(run, Variations(priorities={"sums": 6.0}))
    integral_s2 = plain.happened.tables["sums"].integral_s2
    assert heavy.happened.weighted_staleness_s2 == pytest.approx(
        plain.happened.weighted_staleness_s2 + 3.0 * integral_s2
    )
    with pytest.raises(UserError, match=r"run 1 of the journal has no table 'sum'"):
        compared(run, Variations(priorities={"sum": 6.0}))


def test_the_objective_cost_takes_fewer_updates_and_keeps_the_projects_targets(run):
    targets = {"orders": (None, True), "sums": (60.0, False)}
    found = compared(run, Variations(objectives=("cost",), tracks=(2,), targets=targets))
    (lazy,) = found.played
    assert lazy.updates < found.happened.updates
    assert lazy.executor_s < found.happened.executor_s
    # The run's updates scatter more about what is learned than the margin for it.
    assert 0.99 < (lazy.tables["sums"].within or 0.0) < 1.0
    assert lazy.tables["sums"].target_s == lazy.tables["orders"].target_s == 60.0


def test_updates_that_the_run_did_not_make_take_learned_seconds_with_its_luck(run):
    history = history_of(run, {})
    durations = Durations(history)
    made = history.ended[0]
    at_once = durations.end(made.command, made.amount_s, made.start_s)
    assert at_once == (made.finish_s, made.seconds)
    later = durations.end(made.command, made.amount_s, 2000.0)
    assert later == (2000.0 + made.seconds, made.seconds)
    other = replace(made.command, to_s=made.command.to_s + 25.0)
    ends_s, seconds = durations.end(other, 35.0, 2000.0)
    assert (durations.recorded, durations.modelled) == (2, 1)
    assert (ends_s, seconds) == Durations(history).end(other, 35.0, 2000.0)
    assert ends_s == 2000.0 + seconds
    assert 1.0 < seconds < 10.0
    assert durations.unknown == set()


def test_reports_take_the_last_track_however_many_there_are():
    taken = [(1000.0, TrackReserved(1, 1000.0)), (1050.0, TrackReserved(1, None))]
    happenings = sorted([*taken, *files("orders")], key=lambda each: each[0])
    run = recorded([ORDERS], happenings, seconds=lambda *_: 2.0, tracks=2)
    alone, beside = compared(run, Variations(tracks=(1, 2))).played
    # Ten seconds apart and two long: with a track of its own orders never waits.
    assert (beside.tables["orders"].max_s, alone.tables["orders"].max_s) == (30.0, 62.0)


def test_failures_and_unreadable_files_are_left_out_of_what_is_played():
    happenings = [
        (1000.0, FileArrived("orders", 1000.0, "bad")),
        (1003.0, FilesWithdrawn("orders", ("bad",))),
        (1005.0, FileArrived("orders", 1005.0, "good")),
    ]
    run = recorded([ORDERS], happenings, seconds=lambda _, n: -3.0 if n == 1 else 2.0)
    # A failed update keeps its number: all of them fail.
    with pytest.raises(UserError, match="no update ended in run 1 of the journal"):
        history_of(run, {})
    tries = iter([-3.0, 2.0, 2.0])
    run = recorded([ORDERS], happenings, seconds=lambda *_: next(tries))
    found = compared(run, Variations())
    assert found.happened.updates == 2
    assert found.played[0].updates == 1
    assert found.notes[-1] == "what is played leaves out 1 failed update of the run"


def test_upkeep_that_gave_way_is_no_failed_update():
    happenings = [*files("orders")[:1], (1020.0, UpkeepOffered("orders", "compact", 1))]
    tries = iter([2.0, -3.0])
    run = recorded([ORDERS], happenings, seconds=lambda *_: next(tries))
    assert [each.command.upkeep for each in history_of(run, {}).ended] == ["", "compact"]
    assert not [note for note in compared(run, Variations()).notes if "failed" in note]


def test_a_simulation_of_the_runs_events_and_durations_decides_as_the_run_did(run):
    assert conforming(history_of(run, {})) is None
    tries = cycle([3.0, -2.0, 2.0, 4.0, -1.0])
    for settings in ({}, {"policy": "max-benefit", "chop": 1.0}, {"objective": "cost"}):
        eventful = recorded(
            [ORDERS, PARTS, SUMS],
            files("orders", "parts"),
            seconds=lambda *_: next(tries),
            tracks=2,
            settings=PolicySettings(**({"policy": "fifo"} | settings)),
        )
        assert conforming(history_of(eventful, {})) is None


def test_a_run_that_ended_otherwise_does_not_conform(run):
    history = history_of(run, {})
    first = history.ended[0]
    history.ended[0] = replace(first, finish_s=first.finish_s + 9.0)
    difference = conforming(history)
    assert isinstance(difference, Difference)
    assert difference.now_s == first.finish_s
    assert (difference.recorded[0].table, difference.simulated) == ("sums", ())


def test_a_run_that_this_core_would_not_have_made_is_refused(run):
    first, *rest = run.instants
    other = replace(first.commands[0], track=1)
    changed = replace(run, instants=(replace(first, commands=(other,)), *rest))
    with pytest.raises(
        UserError, match="run 1 of the journal is not what this version of freshline would"
    ):
        history_of(changed, {})


def test_upkeep_is_played_under_other_settings_and_takes_what_it_took():
    happenings = [*files("orders"), (1035.0, UpkeepOffered("orders", "compact", 4, 15.0))]
    happenings.sort(key=lambda each: each[0])
    run = recorded([ORDERS], happenings, seconds=lambda _, number: 20.0 if number == 5 else 2.0)
    same = compared(run, Variations())
    assert same.played[0].tables == same.happened.tables
    found = compared(run, Variations(objectives=("cost",), targets={"orders": (60.0, False)}))
    (lazy,) = found.played
    assert found.happened.executor_s == 20.0 + 2.0 * 7
    # Fewer updates by then: the offer is of the table as it is there.
    assert lazy.tables["orders"].updates < 4
    assert lazy.executor_s > 20.0
    assert (lazy.recorded, lazy.modelled) == (2, 1)  # the compaction, and the first of two updates
