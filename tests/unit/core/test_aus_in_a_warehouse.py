"""What a warehouse does to the adaptive scheduler: failures, wishes, withdrawals, learned costs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from freshline.core.aus.modes import Mode
from freshline.core.events import (
    Event,
    FileArrived,
    FilesWithdrawn,
    RefreshRequested,
    TablePaused,
    TableResumed,
    UpdateFailed,
    UpdateFinished,
)
from freshline.core.model import TableSpec
from freshline.core.policies.aus import Aus
from freshline.core.scheduler import Scheduler


def scheduler(*specs, tracks=1, **keys):
    policy = Aus(recovery=keys.pop("recovery", "average"))
    return Scheduler(specs, tracks=tracks, policy=policy, **keys)


def started(commands):
    return [(each.table, each.release_s, each.to_s, each.mode) for each in commands]


A = TableSpec("a", period_s=10.0, alpha_s=1.0, recovery_threshold_s=25.0)


def test_a_failed_update_is_released_as_it_was_and_started_again_at_its_retry():
    core = scheduler(A)
    assert started(core.handle(10.0, [FileArrived("a", 10.0)])) == [("a", 10.0, 10.0, "normal")]
    assert core.handle(11.0, [UpdateFailed("a", 15.0)]) == []
    assert core.next_wakeup_s() == 15.0
    assert started(core.handle(15.0, [])) == [("a", 10.0, 10.0, "normal")]
    assert core.handle(16.0, [UpdateFinished("a")]) == []
    # d = 20, as if it had not failed.
    assert core.handle(18.0, [FileArrived("a", 18.0)]) == []
    assert core.next_wakeup_s() == 20.0


def test_a_table_asked_for_starts_ahead_of_its_release_and_is_released_then():
    core = scheduler(A)
    core.handle(10.0, [FileArrived("a", 10.0)])
    core.handle(11.0, [UpdateFinished("a")])
    assert core.handle(14.0, [FileArrived("a", 14.0)]) == []
    assert started(core.handle(15.0, [RefreshRequested("a")])) == [("a", 14.0, 14.0, "normal")]
    core.handle(16.0, [UpdateFinished("a")])
    assert core.handle(17.0, [FileArrived("a", 17.0)]) == []
    assert core.next_wakeup_s() == 25.0


def test_a_paused_table_keeps_its_release_and_starts_when_it_is_resumed():
    core = scheduler(A)
    core.handle(5.0, [TablePaused("a")])
    assert core.handle(10.0, [FileArrived("a", 10.0)]) == []
    assert started(core.handle(30.0, [TableResumed("a")])) == [("a", 30.0, 10.0, "normal")]


def test_a_table_whose_backlog_was_withdrawn_returns_to_normal():
    core = scheduler(A)
    core.handle(10.0, [FileArrived("a", 10.0, "f1")])
    core.handle(11.0, [UpdateFinished("a")])
    files = [FileArrived("a", float(stamp), f"f{stamp}") for stamp in (20, 30, 40, 50)]
    core.handle(50.0, files)
    policy = core.policy
    assert policy.switches == [(50.0, "a", "recovery")]
    core.handle(51.0, [UpdateFinished("a"), FilesWithdrawn("a", ("f30", "f40", "f50"))])
    while core.next_wakeup_s() < 100.0:
        core.handle(core.next_wakeup_s(), [])
    assert policy.switches[1:] == [(pytest.approx(51.0), "a", "normal")]


def test_of_a_years_switches_the_newest_are_kept(monkeypatch):
    monkeypatch.setattr("freshline.core.policies.aus._MOST_SWITCHES", 6)
    core = scheduler(A)
    policy, seen = core.policy, set()
    for time_s in range(100, 4000, 200):
        core.handle(float(time_s), [FileArrived("a", time_s - 9.0 * n) for n in range(5)])
        while core.table("a").running is not None:
            core.handle(core.now_s + 1.0, [UpdateFinished("a")])
        while core.next_wakeup_s() < time_s + 150.0:
            core.handle(core.next_wakeup_s(), [])
            if core.table("a").running is not None:
                core.handle(core.now_s + 1.0, [UpdateFinished("a")])
        seen |= set(policy.switches)
        assert len(policy.switches) <= 6
    assert len(seen) > 6
    newest = sorted(seen)[-len(policy.switches) :]
    assert policy.switches == newest


def test_bounds_follow_learned_costs_once_they_have_moved_by_a_quarter():
    core = scheduler(A, TableSpec("b", period_s=10.0, alpha_s=1.0), learns=True)
    policy = core.policy
    before = policy.guarantees[1].staleness_s
    for number in range(1, 8):
        core.handle(10.0 * number, [FileArrived("b", 10.0 * number)])
        core.handle(10.0 * number + 5.0, [UpdateFinished("b")])
    assert policy.guarantees[1].share.execution_s == pytest.approx(5.0, rel=0.25)
    assert policy.guarantees[1].staleness_s > before + 2.0


def test_tables_in_recovery_stay_there_when_costs_are_learned():
    core = scheduler(A, learns=True)
    core.handle(10.0, [FileArrived("a", 10.0)])
    core.handle(11.0, [UpdateFinished("a")])
    core.handle(60.0, [FileArrived("a", float(stamp)) for stamp in (20, 30, 40, 50, 60)])
    core.handle(64.0, [UpdateFinished("a")])
    policy = core.policy
    assert policy.guarantees[0].share.execution_s > 1.25
    assert policy._releases[0].mode is Mode.RECOVERY
    assert policy._capacity.in_use == pytest.approx(1.0)


def test_a_table_that_waits_for_capacity_is_seen_to_wait():
    specs = [
        TableSpec(name, period_s=10.0, alpha_s=4.0, recovery_threshold_s=15.0) for name in "ab"
    ]
    core = scheduler(*specs)
    core.handle(30.0, [FileArrived(name, float(t)) for name in "ab" for t in (10, 20, 30)])
    modes = [record.mode for record in core.policy._releases]
    assert modes == [Mode.RECOVERY, Mode.WAITING]


def played(core, files, until_s, *, failing=()):
    """Updates take a second; those of ``failing`` fail from 15 s on."""
    ends: list[tuple[float, str]] = []
    files = sorted(files, key=lambda each: each[0])
    while True:
        times = [each[0] for each in (*files[:1], *ends)]
        now_s = max(core.now_s, min([*times, core.next_wakeup_s()]))
        if now_s > until_s:
            return
        events = []
        for end in sorted(end for end in ends if end[0] <= now_s):
            ends.remove(end)
            fails = end[1] in failing and now_s > 15.0
            events.append(UpdateFailed(end[1], now_s + 30.0) if fails else UpdateFinished(end[1]))
        while files and files[0][0] <= now_s:
            events.append(files.pop(0)[1])
        ends += [(now_s + 1.0, command.table) for command in core.handle(now_s, events)]


@pytest.mark.parametrize("trouble", ["none", "paused", "paused in recovery", "failing"])
def test_a_table_recovers_although_another_one_cannot_run(trouble):
    core = scheduler(A, replace(A, name="b"))
    stamps = [float(stamp) for stamp in range(10, 601, 10)]
    out_to_s = 100.0 if trouble == "paused in recovery" else 0.0
    files: list[tuple[float, Event]] = [
        (out_to_s if 40.0 < t < out_to_s else t, FileArrived("a", t)) for t in stamps
    ]
    # The feed of b is out from 40 to 150; then its backlog comes at once.
    files += [(150.0 if 40.0 < t < 150.0 else t, FileArrived("b", t)) for t in stamps]
    if trouble.startswith("paused"):
        files.append((13.0 if trouble == "paused" else 102.5, TablePaused("a")))
    played(core, files, 599.0, failing="a" if trouble == "failing" else ())
    # A backlog of 110 s takes some 15 s in recovery; in normal mode it never shrinks.
    table = core.table("b")
    assert table.trailing_edge_s - table.freshness_s <= 20.0
    if trouble.startswith("paused"):
        assert core.policy._releases[0].mode is Mode.WAITING
        modes = [switch.to for switch in core.policy.switches if switch.table == "a"]
        assert modes == ([] if trouble == "paused" else ["recovery", "normal"])


def test_a_paused_table_that_is_behind_recovers_once_it_is_resumed():
    core = scheduler(A)
    files = [(float(stamp), FileArrived("a", float(stamp))) for stamp in range(10, 601, 10)]
    played(core, [*files, (13.0, TablePaused("a")), (305.0, TableResumed("a"))], 599.0)
    table = core.table("a")
    assert table.trailing_edge_s - table.freshness_s <= 20.0


def test_a_table_in_recovery_all_of_whose_files_are_withdrawn_gives_its_capacity_back():
    core = scheduler(A, TableSpec("b", period_s=50.0, alpha_s=1.0))
    core.handle(49.0, [FileArrived("b", 49.0)])  # its update keeps a's from the track
    core.handle(50.0, [FileArrived("a", float(t), f"f{t}") for t in (10, 20, 30, 40, 50)])
    assert core.policy.standing(core.table("a")) == "recovery"
    core.handle(52.0, [FilesWithdrawn("a", tuple(f"f{t}" for t in (10, 20, 30, 40, 50)))])
    while core.next_wakeup_s() < 200.0:
        core.handle(core.next_wakeup_s(), [])
    assert core.policy.standing(core.table("a")) == "normal"
    assert core.policy._capacity.in_use == pytest.approx(0.12)
