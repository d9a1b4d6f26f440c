"""Upkeep in the scheduler: it takes a track that nobody needs, and brings nobody news."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshline.core.background.upkeep import COMPACT, TRY
from freshline.core.events import (
    BackfillRequested,
    FileArrived,
    RefreshRequested,
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
VIEW = TableSpec("v", ("a",), alpha_s=1.0)
DEEP = TableSpec("w", ("v", "b"), alpha_s=1.0)


def scheduler(*specs, tracks=1):
    return Scheduler(specs, tracks=tracks, policy=Fifo(), extent=Batch(1000), origin_s=None)


def arrived(stamp, table="a"):
    return FileArrived(table, float(stamp), f"f{stamp}")


def started(commands):
    return [(each.table, each.number, each.track, each.upkeep) for each in commands]


def loaded(*specs, tracks=1):
    """Every table holds one file's data; the versions are all 0."""
    core = scheduler(*specs, tracks=tracks)
    commands = core.handle(10.0, [arrived(10, s.name) for s in specs if not s.sources])
    while commands:
        ends = [UpdateFinished(each.table, 0, 1.0) for each in commands]
        commands = core.handle(10.0, ends)
    return core


def test_it_starts_when_nothing_waits_with_a_number_of_its_own_and_no_data():
    core = loaded(A)
    (command,) = core.handle(12.0, [UpkeepOffered("a", "compact", 1, 2.5)])
    assert started([command]) == [("a", 2, 0, "compact")]
    assert (command.from_s, command.to_s, command.files, command.parents, command.expected_s) == (
        10.0, 10.0, (), (), 2.5,
    )  # fmt: skip
    assert core.handle(13.0, [UpdateFinished("a", 1, 1.0)]) == []
    table = core.table("a")
    assert (table.number, table.version, table.freshness_s) == (2, 1, 10.0)


def test_whatever_waits_goes_first_and_the_offer_stands_until_then():
    core = loaded(A, B)
    events = [arrived(20), arrived(20, "b"), UpkeepOffered("b", "vacuum", 1)]
    (first,) = core.handle(12.0, events)
    assert first.table == "a"
    # b's own update overtakes what was found out about it.
    assert started(core.handle(13.0, [UpdateFinished("a", 1, 1.0)])) == [("b", 2, 0, "")]
    assert core.handle(14.0, [UpdateFinished("b", 1, 1.0), UpkeepOffered("a", "vacuum", 1)]) == []
    assert started(core.handle(15.0, [UpkeepOffered("a", "vacuum", 2)])) == [("a", 3, 0, "vacuum")]


def test_one_at_a_time_so_that_tracks_stay_free_for_whatever_comes():
    core = loaded(A, B, tracks=2)
    offers = [UpkeepOffered("a", "compact", 1), UpkeepOffered("b", "compact", 1)]
    assert started(core.handle(12.0, offers)) == [("a", 2, 0, "compact")]
    assert started(core.handle(12.5, [arrived(20, "b")])) == [("b", 2, 1, "")]
    assert core.handle(13.0, [UpdateFinished("a", 1, 1.0)]) == []  # b has changed since


def test_backfills_and_requests_of_people_go_first():
    core = loaded(A, B)
    events = [BackfillRequested("b", 0.0, 5.0), UpkeepOffered("a", "compact", 1)]
    (command,) = core.handle(12.0, events)
    assert command.backfill == (0.0, 5.0)
    assert core.handle(12.5, [TablePaused("a")]) == []
    assert (
        core.handle(13.0, [UpdateFinished("b", 1, 1.0)]) == []
    )  # of a paused table nothing starts
    assert started(core.handle(14.0, [TableResumed("a")])) == [("a", 2, 0, "compact")]


def test_an_update_of_the_same_table_waits_for_its_end():
    core = loaded(A, tracks=2)
    core.handle(12.0, [UpkeepOffered("a", "compact", 1)])
    assert core.handle(12.5, [arrived(20), RefreshRequested("a")]) == []
    (command,) = core.handle(13.0, [UpdateFinished("a", 1, 1.0)])
    assert (command.table, command.number, command.from_s, command.to_s) == ("a", 3, 10.0, 20.0)


def test_a_compacted_parent_is_no_news_to_its_children_whatever_they_are_doing():
    core = loaded(A, B, VIEW, DEEP, tracks=2)
    core.handle(12.0, [UpkeepOffered("a", "compact", 1)])
    assert core.handle(13.0, [UpdateFinished("a", 1, 1.0)]) == []
    core.handle(14.0, [UpkeepOffered("a", "compact", 2)])
    assert core.handle(15.0, [UpdateFinished("a", 2, 1.0)]) == []
    assert core.table("a").is_newest(0)
    # The next real version is news, from what the view has read on.
    assert started(core.handle(21.0, [arrived(20)])) == [("a", 4, 0, "")]
    (view,) = core.handle(22.0, [UpdateFinished("a", 3, 1.0)])
    assert (view.table, view.parents) == ("v", (("a", 3),))
    assert not core.table("a").is_newest(2)


def test_a_view_that_was_running_while_its_parent_was_compacted_is_not_run_again():
    core = loaded(A, VIEW, tracks=2)
    core.handle(20.0, [arrived(20)])
    (view,) = core.handle(21.0, [UpdateFinished("a", 1, 1.0)])
    assert view.table == "v"
    (upkeep,) = core.handle(21.5, [UpkeepOffered("a", "compact", 2)])
    assert (upkeep.table, upkeep.upkeep) == ("a", "compact")
    assert core.handle(22.0, [UpdateFinished("a", 2, 1.0)]) == []
    assert core.handle(23.0, [UpdateFinished("v", 1, 1.0)]) == []


def test_a_vacuum_makes_no_version_and_takes_no_number():
    core = loaded(A)
    core.handle(12.0, [UpkeepOffered("a", "vacuum", 1)])
    assert core.handle(13.0, [UpdateFinished("a", None, 1.0)]) == []
    assert (core.table("a").number, core.table("a").version) == (1, 0)
    assert [each.number for each in core.handle(14.0, [arrived(20)])] == [2]


def test_a_failure_leaves_everything_as_it_was():
    core = loaded(A)
    core.handle(12.0, [UpkeepOffered("a", "compact", 1)])
    (command,) = core.handle(13.0, [UpdateFailed("a", 13.0), arrived(20)])
    assert (command.number, command.upkeep, command.files) == (2, "", ("f20",))


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b"]), st.sampled_from(["file", "compact", "vacuum", "end"])
        ),
        max_size=40,
    ),
    st.integers(1, 3),
)
def test_upkeep_never_starts_while_something_could_and_never_two_at_once(steps, tracks):
    core = scheduler(A, B, VIEW, DEEP, tracks=tracks)
    versions = dict.fromkeys(("a", "b", "v", "w"), -1)
    running: list = []
    for now, (name, what) in enumerate(steps, 1):
        table = core.table(name)
        events = []
        if what == "file":
            events = [arrived(now, name)]
        elif what != "end":
            events = [UpkeepOffered(name, what, table.number)]
        elif running:
            command = running.pop(0)
            version = None
            if command.upkeep != "vacuum":
                version = versions[command.table] = versions[command.table] + 1
            events = [UpdateFinished(command.table, version, 1.0)]
        commands = core.handle(float(now), events)
        running += commands
        assert sum(bool(each.upkeep) for each in running) <= 1
        if any(each.upkeep for each in commands):
            assert core.first() is None
        assert len({each.track for each in running}) == len(running) <= tracks


@pytest.mark.parametrize(
    "work", [UpkeepOffered("v", TRY, 1, 10.0), BackfillRequested("v", 0.0, 5.0)]
)
def test_what_waits_for_a_paused_table_keeps_nothing_else_from_being_done(work):
    """A view is paused for a week: the files of all others are compacted all the same."""
    core = scheduler(A, B, TableSpec("v", ("b",), alpha_s=1.0), tracks=2)
    events = [arrived(10), arrived(10, "b")]
    while commands := core.handle(10.0, events):
        events = [UpdateFinished(command.table, 0) for command in commands]
    assert core.handle(20.0, [TablePaused("v")]) == []
    assert core.handle(21.0, [work]) == []
    assert not core.background.active
    commands = core.handle(22.0, [UpkeepOffered("a", COMPACT, 1)])
    assert [(each.table, each.upkeep) for each in commands] == [("a", COMPACT)]
    assert core.handle(23.0, [UpdateFinished("a", 2)]) == []
    (command,) = core.handle(24.0, [TableResumed("v")])
    assert (command.table, command.upkeep, command.backfill) == (
        ("v", TRY, None) if isinstance(work, UpkeepOffered) else ("v", "", (0.0, 5.0))
    )
