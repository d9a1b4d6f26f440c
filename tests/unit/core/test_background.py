"""Backfills and gaps in the scheduler: what starts when, what it loads, what its end means."""

from __future__ import annotations

from math import inf

import pytest

from freshline.core.events import (
    BackfillRequested,
    FileArrived,
    FilesWithdrawn,
    RefreshRequested,
    TablePaused,
    TableRestored,
    TableResumed,
    UpdateFailed,
    UpdateFinished,
    UpkeepOffered,
)
from freshline.core.extent import Batch
from freshline.core.model import TableSpec
from freshline.core.policies.fifo import Fifo
from freshline.core.scheduler import Scheduler
from freshline.runtime.idle import has_work

A = TableSpec("a", period_s=10.0, alpha_s=1.0)
B = TableSpec("b", period_s=10.0, alpha_s=1.0)
NEWEST = TableSpec("a", period_s=10.0, alpha_s=1.0, newest_first=True)
VIEW = TableSpec("v", ("a",), alpha_s=1.0)


def scheduler(*specs, tracks=1, **keys):
    return Scheduler(specs, tracks=tracks, policy=Fifo(), extent=Batch(1000), **keys)


def started(commands):
    return [(each.table, each.from_s, each.to_s, each.files, each.backfill) for each in commands]


def arrived(*stamps, table="a"):
    return [FileArrived(table, float(stamp), f"f{stamp}") for stamp in stamps]


# ---- backfills ----


def test_a_backfill_runs_on_a_free_track_and_leaves_freshness_and_what_is_pending_alone():
    core = scheduler(A)
    core.handle(10.0, arrived(10))
    core.handle(11.0, [UpdateFinished("a")])
    (command,) = core.handle(12.0, [BackfillRequested("a", 0.0, 5.0)])
    assert started([command]) == [("a", 10.0, 10.0, (), (0.0, 5.0))]
    assert (command.number, command.score) == (2, "backfill, in the background")
    assert core.handle(13.0, arrived(20)) == []
    # What came meanwhile is loaded next.
    assert started(core.handle(14.0, [UpdateFinished("a")])) == [("a", 10.0, 20.0, ("f20",), None)]
    assert core.table("a").freshness_s == 10.0


def test_what_waits_goes_first():
    core = scheduler(A, B)
    core.handle(10.0, arrived(10))
    events = [*arrived(10, table="b"), BackfillRequested("a", 0.0, 5.0)]
    assert core.handle(10.5, events) == []
    assert [each.table for each in core.handle(11.0, [UpdateFinished("a")])] == ["b"]
    assert [each.backfill for each in core.handle(12.0, [UpdateFinished("b")])] == [(0.0, 5.0)]


def test_while_another_table_is_late_a_backfill_waits_for_its_share():
    # One track, a tenth of it: an update of 5 s is paid for after 50 s.
    core = scheduler(A, TableSpec("b", period_s=10.0, alpha_s=1.0), background_share=0.1)
    core.handle(10.0, [*arrived(10), *arrived(10, table="b")])
    core.handle(11.0, [UpdateFinished("a")])
    core.handle(12.0, [BackfillRequested("a", 0.0, 5.0), UpdateFailed("b", 12.0)])
    begun = []
    now = 12.0
    while now < 200.0:
        running = core.running()
        now = min(now + 1.0, core.next_wakeup_s()) if core.next_wakeup_s() > now else now + 1.0
        # b never gets on: it fails after a second, each time.
        events = [
            UpdateFinished("a") if table.running.background else UpdateFailed(table.name, now)
            for table in running
        ]
        begun += [now for command in core.handle(now, events) if command.backfill]
    assert len(begun) == 1
    assert 15.0 <= begun[0] <= 32.0  # 1 s / 0.1, of the time in which b competes


def test_the_core_asks_for_an_instant_when_lateness_begins_since_others_pay_from_then_on():
    core = scheduler(A, B, tracks=2)
    core.handle(10.0, arrived(10, table="a"))
    core.handle(11.0, [UpdateFinished("a"), *arrived(10, table="b")])
    core.handle(12.0, [UpdateFinished("b"), *arrived(12, table="b")])
    # b runs until further notice, and a backfill for nothing: nothing is late yet.
    assert len(core.handle(13.0, [BackfillRequested("a", 0.0, 5.0)])) == 1
    assert core.next_wakeup_s() == pytest.approx(22.0)
    assert core.next_wakeup_s() > 22.0
    assert not core.wants(22.0, [])
    late_s = core.next_wakeup_s()
    assert core.handle(late_s, []) == []
    assert core.background.share.others_late
    assert core.next_wakeup_s() == inf
    # What it takes from then on is owed, however often the core is asked meanwhile.
    core.handle(32.0, [BackfillRequested("a", 5.0, 8.0)])
    assert core.background.share.late.spent_s == pytest.approx(10.0)
    core.handle(33.0, [UpdateFinished("a"), UpdateFinished("b")])
    assert core.next_wakeup_s() == inf


def test_the_same_range_asked_for_twice_is_done_once():
    core = scheduler(A)
    core.handle(10.0, arrived(10))
    core.handle(10.5, [BackfillRequested("a", 0.0, 5.0), BackfillRequested("a", 0.0, 5.0)])
    assert len(core.handle(11.0, [UpdateFinished("a")])) == 1
    assert core.handle(12.0, [UpdateFinished("a")]) == []
    assert not core.background.active


def test_a_failed_backfill_is_tried_again_unless_it_is_given_up():
    core = scheduler(A)
    core.handle(10.0, arrived(10))
    core.handle(11.0, [UpdateFinished("a"), BackfillRequested("a", 0.0, 5.0)])
    assert core.handle(12.0, [UpdateFailed("a", 15.0)]) == []
    assert core.next_wakeup_s() == 15.0
    assert [each.backfill for each in core.handle(15.0, [])] == [(0.0, 5.0)]
    assert core.handle(16.0, [UpdateFailed("a", 17.0, gives_up=True)]) == []
    assert core.handle(17.0, []) == []
    assert not core.background.active


def test_a_paused_table_is_not_backfilled():
    core = scheduler(A)
    core.handle(10.0, arrived(10))
    core.handle(11.0, [UpdateFinished("a"), TablePaused("a"), BackfillRequested("a", 0.0, 5.0)])
    assert core.handle(12.0, []) == []
    assert [each.backfill for each in core.handle(13.0, [TableResumed("a")])] == [(0.0, 5.0)]


def test_a_view_is_computed_again_from_the_versions_it_was_made_of_and_its_children_follow():
    child = TableSpec("w", ("v",), alpha_s=1.0)
    core = scheduler(A, VIEW, child, tracks=2, origin_s=None)
    core.handle(10.0, arrived(10))
    core.handle(11.0, [UpdateFinished("a", 0)])
    core.handle(12.0, [UpdateFinished("v", 0)])
    core.handle(13.0, [UpdateFinished("w", 0)])
    (command,) = core.handle(14.0, [BackfillRequested("v", 0.0, 5.0)])
    assert (command.table, command.parents, command.backfill) == ("v", (("a", 0),), (0.0, 5.0))
    (follows,) = core.handle(15.0, [UpdateFinished("v", 1)])
    assert (follows.table, follows.parents, follows.backfill) == ("w", (("v", 1),), None)


def test_a_backfill_of_a_view_that_now_reads_a_table_without_data_waits_for_its_rebuild():
    view = TableSpec("v", ("a", "b"), alpha_s=1.0)
    core = scheduler(A, B, view, origin_s=None)
    core.handle(
        10.0,
        [
            TableRestored("a", 5.0, 0, 1),
            TableRestored("b", None, None, 0),
            TableRestored("v", 5.0, 0, 1, stale=True),
            BackfillRequested("v", 0.0, 5.0),
        ],
    )
    assert not core.running()
    assert not core.background.active
    assert not has_work(core, lambda _: False)
    core.handle(11.0, arrived(10, table="b"))
    (anew,) = core.handle(12.0, [UpdateFinished("b", 0)])
    assert (anew.full, anew.parents, anew.backfill) == (True, (("a", 0), ("b", 0)), None)
    (filled,) = core.handle(13.0, [UpdateFinished("v", 1)])
    assert (filled.parents, filled.backfill) == ((("a", 0), ("b", 0)), (0.0, 5.0))


# ---- catching up newest first ----


def test_of_a_backlog_the_newest_is_loaded_first_and_the_rest_in_the_background():
    core = scheduler(NEWEST)
    core.handle(10.0, arrived(10))
    core.handle(11.0, [UpdateFinished("a")])
    first = core.handle(60.0, arrived(20, 30, 40, 50, 60))
    # Its commit says that the table is complete to 10 still.
    assert started(first) == [("a", 10.0, 10.0, ("f60",), None)]
    rest = core.handle(61.0, [UpdateFinished("a")])
    table = core.table("a")
    assert (table.freshness_s, table.complete_s) == (60.0, 10.0)
    assert started(rest) == [("a", 10.0, 60.0, ("f20", "f30", "f40", "f50"), None)]
    assert core.handle(63.0, [UpdateFinished("a")]) == []
    assert (table.freshness_s, table.complete_s, table.floor_s) == (60.0, 60.0, None)


def test_a_table_made_anew_has_all_of_its_gap_and_says_so():
    core = scheduler(NEWEST, VIEW, origin_s=None)
    core.handle(10.0, arrived(10))
    core.handle(11.0, [UpdateFinished("a", 0)])
    core.handle(12.0, [UpdateFinished("v", 0)])
    core.handle(60.0, arrived(20, 30, 40, 50, 60))
    table = core.table("a")
    (anew,) = core.handle(61.0, [UpdateFinished("a", 1), RefreshRequested("a", full=True)])
    assert started([anew]) == [("a", 10.0, 60.0, ("f20", "f30", "f40", "f50"), None)]
    assert anew.full
    (view,) = core.handle(62.0, [UpdateFinished("a", 2)])
    assert (table.freshness_s, table.floor_s) == (60.0, None)
    assert (view.table, view.to_s) == ("v", 60.0)


def test_a_file_that_comes_meanwhile_is_loaded_before_the_rest():
    core = scheduler(NEWEST, B)
    core.handle(10.0, arrived(10))
    core.handle(11.0, [UpdateFinished("a")])
    core.handle(60.0, arrived(20, 30, 40, 50, 60))
    core.handle(60.5, arrived(70))
    assert started(core.handle(61.0, [UpdateFinished("a")])) == [("a", 10.0, 10.0, ("f70",), None)]
    (rest,) = core.handle(62.0, [UpdateFinished("a")])
    assert (rest.files, rest.to_s) == (("f20", "f30", "f40", "f50"), 70.0)


def test_a_backlog_of_two_periods_is_loaded_at_once():
    core = scheduler(NEWEST)
    core.handle(10.0, arrived(10))
    core.handle(11.0, [UpdateFinished("a")])
    assert started(core.handle(30.0, arrived(20, 30))) == [("a", 10.0, 30.0, ("f20", "f30"), None)]


def test_a_view_sees_the_newest_and_is_as_fresh_as_what_is_complete():
    core = scheduler(NEWEST, VIEW, tracks=2, origin_s=None)
    core.handle(10.0, arrived(10))
    core.handle(11.0, [UpdateFinished("a", 0)])
    core.handle(12.0, [UpdateFinished("v", 0)])
    core.handle(60.0, arrived(20, 30, 40, 50, 60))
    view = [each for each in core.handle(61.0, [UpdateFinished("a", 1)]) if each.table == "v"]
    assert [(each.to_s, each.parents) for each in view] == [(10.0, (("a", 1),))]
    core.handle(62.0, [UpdateFinished("v", 1)])
    (again,) = core.handle(63.0, [UpdateFinished("a", 2)])
    assert (again.table, again.to_s, again.parents) == ("v", 60.0, (("a", 2),))


def test_a_gap_whose_files_cannot_be_read_closes_with_the_next_commit():
    core = scheduler(NEWEST, VIEW, tracks=2, origin_s=None)
    core.handle(10.0, arrived(10))
    core.handle(11.0, [UpdateFinished("a", 0)])
    core.handle(12.0, [UpdateFinished("v", 0)])
    core.handle(40.0, arrived(20, 30, 40))
    core.handle(41.0, [UpdateFinished("a", 1)])
    core.handle(41.5, [UpdateFinished("v", 1)])
    again = core.handle(42.0, [UpdateFailed("a", 42.0), FilesWithdrawn("a", ("f20",))])
    assert started(again) == [("a", 10.0, 40.0, ("f30",), None)]
    # No commit says more than 10 yet, and a view that reads the newest can say no more.
    assert core.handle(43.0, [UpdateFailed("a", 43.0), FilesWithdrawn("a", ("f30",))]) == []
    assert [core.table(name).complete_s for name in "av"] == [10.0, 10.0]
    assert started(core.handle(50.0, arrived(50))) == [("a", 10.0, 50.0, ("f50",), None)]
    (view,) = core.handle(51.0, [UpdateFinished("a", 2)])
    assert (view.to_s, view.parents) == (50.0, (("a", 2),))


def test_upkeep_closes_no_gap():
    core = scheduler(NEWEST, origin_s=None)
    core.handle(10.0, arrived(10))
    core.handle(11.0, [UpdateFinished("a", 0)])
    core.handle(40.0, arrived(20, 40))
    core.handle(41.0, [UpdateFinished("a", 1)])
    gone = [
        UpdateFailed("a", 42.0),
        FilesWithdrawn("a", ("f20",)),
        UpkeepOffered("a", "compact", 2, 1.0),
    ]
    (compact,) = core.handle(42.0, gone)
    assert (compact.upkeep, compact.to_s) == ("compact", 10.0)
    core.handle(43.0, [UpdateFinished("a", 2)])
    assert core.table("a").complete_s == 10.0


def test_a_death_of_the_newest_update_leaves_the_rest_for_later():
    core = scheduler(NEWEST)
    core.handle(10.0, arrived(10))
    core.handle(11.0, [UpdateFinished("a")])
    core.handle(40.0, arrived(20, 30, 40))
    again = core.handle(41.0, [UpdateFailed("a", 41.0)])
    assert started(again) == [("a", 10.0, 10.0, ("f40",), None)]


@pytest.mark.parametrize("newest_first", [False, True])
def test_every_file_is_loaded_exactly_once(newest_first):
    spec = NEWEST if newest_first else A
    core = scheduler(spec, B)
    loaded: list[str] = []
    now = 0.0
    for round_ in range(30):
        now += 10.0
        events = [UpdateFinished(table.name) for table in core.running()]
        for table in core.running():
            loaded += table.running.command.files
        if round_ % 3 == 0:
            stamps = range(10 * round_ - 19, 10 * round_ + 11, 5)
            events += arrived(*[stamp for stamp in stamps if stamp > 0])
        core.handle(now, events)
    while core.running():
        now += 1.0
        for table in core.running():
            loaded += table.running.command.files
        core.handle(now, [UpdateFinished(table.name) for table in core.running()])
    assert len(loaded) == len(set(loaded)) == 56
    assert core.table("a").complete_s == core.table("a").freshness_s == 276.0


def test_a_newest_file_that_cannot_be_read_leaves_nothing_but_the_rest_to_load():
    core = scheduler(NEWEST)
    core.handle(10.0, arrived(10))
    core.handle(11.0, [UpdateFinished("a")])
    core.handle(40.0, arrived(20, 30, 40))
    rest = core.handle(41.0, [UpdateFailed("a", 41.0), FilesWithdrawn("a", ("f40",))])
    assert started(rest) == [("a", 10.0, 30.0, ("f20", "f30"), None)]
    assert core.handle(42.0, [UpdateFinished("a")]) == []
    table = core.table("a")
    assert (table.freshness_s, table.complete_s, table.has_news) == (30.0, 30.0, False)


def backlog(**keys):
    core = scheduler(NEWEST, origin_s=None, **keys)
    core.handle(10.0, arrived(10))
    core.handle(11.0, [UpdateFinished("a", 0)])
    core.handle(60.0, arrived(20, 30, 40, 50, 60))
    return core


def test_a_newest_file_that_a_repeated_commit_lacks_is_loaded_after_it():
    core = backlog()
    core.handle(61.0, [UpdateFailed("a", 65.0)])
    core.handle(62.0, arrived(70))
    (again,) = core.handle(65.0, [])
    assert again.files == ("f70",)
    (command,) = core.handle(66.0, [UpdateFinished("a", 1, None, 10.0, ("f60",), ())])
    assert core.table("a").freshness_s == 60.0
    (rest,) = core.handle(67.0, [UpdateFinished("a", 2)])
    assert sorted([*command.files, *rest.files]) == ["f20", "f30", "f40", "f50", "f70"]


def test_a_rebuild_that_is_given_up_leaves_the_gap_to_the_background():
    core = backlog()
    core.handle(60.5, [RefreshRequested("a", full=True)])
    (full,) = core.handle(61.0, [UpdateFinished("a", 1)])
    assert full.full
    (rest,) = core.handle(62.0, [UpdateFailed("a", 62.0, gives_up=True)])
    assert (rest.full, rest.files) == (False, ("f20", "f30", "f40", "f50"))


def test_a_backfill_whose_number_another_update_had_is_made_after_it():
    core = scheduler(A, origin_s=None)
    core.handle(10.0, arrived(10))
    core.handle(11.0, [UpdateFinished("a", 0)])
    core.handle(12.0, [BackfillRequested("a", 0.0, 5.0)])
    found = UpdateFinished("a", 1, None, 10.0, (), (), is_other=True)
    (again,) = core.handle(13.0, [found])
    assert (again.number, again.backfill) == (3, (0.0, 5.0))


@pytest.mark.parametrize("start_s", [0.0, 1.7e9])
@pytest.mark.parametrize("tenths", range(1, 40, 3))
def test_waking_up_for_its_share_gets_a_backfill_its_turn(start_s, tenths):
    """A float of seconds since 1970 is exact to a quarter of a microsecond only."""
    slow = TableSpec("b", period_s=0.5, alpha_s=1000.0)
    core = scheduler(
        TableSpec("a", period_s=10.0, alpha_s=tenths / 7), slow, tracks=2, start_s=start_s,
        origin_s=None, background_share=0.1,
    )  # fmt: skip
    now_s = start_s + 1.0
    core.handle(now_s, [FileArrived("a", now_s, "x"), FileArrived("b", now_s, "y")])
    now_s += tenths / 7
    core.handle(now_s, [UpdateFinished("a", 0)])
    now_s += 1.37  # b runs on, and is late
    commands = core.handle(now_s, [BackfillRequested("a", start_s, start_s + 5.0)])
    for _ in range(5):
        if commands:
            break
        now_s = max(now_s, core.next_wakeup_s())
        commands = core.handle(now_s, [])
    assert [command.backfill for command in commands] == [(start_s, start_s + 5.0)]
