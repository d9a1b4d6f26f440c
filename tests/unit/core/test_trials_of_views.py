"""Trials in the scheduler: when one starts, what its end means, and that none starves."""

from __future__ import annotations

from freshline.core.background.upkeep import COMPACT, TRY
from freshline.core.events import (
    Event,
    FileArrived,
    TablePaused,
    TableResumed,
    UpdateFailed,
    UpdateFinished,
    UpkeepOffered,
)
from freshline.core.extent import Batch
from freshline.core.model import TableSpec
from freshline.core.policies.fifo import Fifo
from freshline.core.scheduler import Scheduler

A = TableSpec("a", period_s=10.0, alpha_s=1.0)
B = TableSpec("b", period_s=10.0, alpha_s=1.0)
V = TableSpec("v", ("a",), alpha_s=1.0)
W = TableSpec("w", ("a",), alpha_s=1.0)


def scheduler(*specs, tracks=1, **keys):
    """A warehouse in which each table was updated once, at 10 s after its start."""
    core = Scheduler(specs, tracks=tracks, policy=Fifo(), extent=Batch(1000), origin_s=None, **keys)
    now_s = 10.0
    events: list[Event] = [FileArrived(spec.name, 10.0, "f") for spec in specs if not spec.sources]
    while commands := core.handle(now_s, events):
        events = [UpdateFinished(command.table, 0) for command in commands]
    return core


def trial(name, expected_s=10.0):
    return UpkeepOffered(name, TRY, 1, expected_s)


def told(commands):
    return [(each.table, each.upkeep, each.track) for each in commands]


def test_a_trial_takes_an_idle_track_and_leaves_its_view_as_it_is():
    core = scheduler(A, V)
    (command,) = core.handle(20.0, [trial("v")])
    assert (command.table, command.upkeep, command.number) == ("v", TRY, 2)
    assert (command.parents, command.expected_s) == ((("a", 0),), 10.0)
    assert command.score == "its trial is due"
    assert core.background.pending == [core.table("v")]
    assert core.handle(30.0, [UpdateFinished("v")]) == []
    view = core.table("v")
    assert (view.number, view.version, view.freshness_s, view.pins) == (1, 0, 10.0, {"a": 0})
    assert not core.background.active


def test_one_trial_runs_at_a_time_and_a_view_is_tried_once():
    core = scheduler(A, V, W, tracks=3)
    assert told(core.handle(20.0, [trial("v"), trial("w"), trial("w")])) == [("v", TRY, 0)]
    assert told(core.handle(30.0, [UpdateFinished("v")])) == [("w", TRY, 0)]
    assert core.handle(40.0, [UpdateFinished("w")]) == []
    assert not core.background.active


def test_updates_go_on_beside_a_trial_and_those_of_its_view_after_it():
    core = scheduler(A, V, tracks=2)
    assert told(core.handle(20.0, [trial("v")])) == [("v", TRY, 0)]
    assert told(core.handle(21.0, [FileArrived("a", 20.0, "g")])) == [("a", "", 1)]
    assert core.handle(22.0, [UpdateFinished("a", 1)]) == []
    assert told(core.handle(30.0, [UpdateFinished("v")])) == [("v", "", 0)]


def test_a_trial_whose_jobs_were_ended_is_repeated_unless_it_is_given_up():
    core = scheduler(A, V)
    core.handle(20.0, [trial("v")])
    assert told(core.handle(21.0, [UpdateFailed("v", 21.0)])) == [("v", TRY, 0)]
    assert core.handle(22.0, [UpdateFailed("v", 22.0, gives_up=True)]) == []
    assert not core.background.active


def test_a_trial_of_a_paused_view_waits_and_nobody_waits_for_one_that_cannot_start():
    core = scheduler(A, V)
    core.handle(20.0, [TablePaused("v")])
    assert core.handle(21.0, [trial("v")]) == []
    assert core.background.pending == []
    assert told(core.handle(22.0, [TableResumed("v")])) == [("v", TRY, 0)]


def test_a_view_without_a_version_is_not_tried():
    core = Scheduler([A, V], tracks=1, policy=Fifo(), extent=Batch(1000), origin_s=None)
    assert core.handle(5.0, [trial("v")]) == []
    assert told(core.handle(10.0, [FileArrived("a", 10.0, "f")])) == [("a", "", 0)]
    assert told(core.handle(11.0, [UpdateFinished("a", 0)])) == [("v", "", 0)]
    assert told(core.handle(12.0, [UpdateFinished("v", 0)])) == [("v", TRY, 0)]


def test_compaction_comes_after_trials():
    core = scheduler(A, V, tracks=2)
    offers = [UpkeepOffered("a", COMPACT, 1), trial("v")]
    assert told(core.handle(20.0, offers)) == [("v", TRY, 0)]
    assert told(core.handle(30.0, [UpdateFinished("v")])) == [("a", COMPACT, 0)]


def test_under_overload_a_trial_starts_when_its_share_has_come():
    # Something is always late; a tenth of one track pays 10 s after 100 s of that.
    core = scheduler(A, B, V, background_share=0.1)
    core.handle(20.0, [FileArrived("a", 11.0, "a0"), FileArrived("b", 11.0, "b0"), trial("v")])
    now_s, version, begun_s = 20.0, 1, None
    while begun_s is None:
        now_s += 1.0
        (running,) = core.running()
        events = [
            UpdateFinished(running.name, version),
            FileArrived("a", now_s - 9.0, f"a{version}"),
            FileArrived("b", now_s - 9.0, f"b{version}"),
        ]
        version += 1
        if any(command.upkeep == TRY for command in core.handle(now_s, events)):
            begun_s = now_s
        assert now_s < 200.0
    assert 100.0 <= begun_s - 20.0 <= 125.0
