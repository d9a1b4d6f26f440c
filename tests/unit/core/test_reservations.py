"""Tracks that reports need: what still starts there before, and nothing from then on."""

import pytest

from freshline.core.assembly import PolicySettings, make_warehouse_scheduler
from freshline.core.commands import StartUpdate
from freshline.core.events import (
    BackfillRequested,
    FileArrived,
    RefreshRequested,
    TableRestored,
    TrackReserved,
    UpdateFailed,
    UpdateFinished,
    UpkeepOffered,
)
from freshline.core.model import TableSpec
from freshline.core.scheduler import Scheduler


def _scheduler(tracks: int) -> Scheduler:
    specs = [
        TableSpec(name=name, sources=(), period_s=60.0, priority=priority, alpha_s=alpha_s)
        for name, priority, alpha_s in (("slow", 2.0, 10.0), ("quick", 1.0, 2.0))
    ]
    return make_warehouse_scheduler(
        specs, tracks=tracks, settings=PolicySettings(policy="max-benefit"), start_s=0.0
    )


def _news(at_s: float) -> list[FileArrived]:
    return [FileArrived(name, at_s, f"{name}-{at_s}") for name in ("slow", "quick")]


def _told(commands: list[StartUpdate]) -> list[tuple[str, int]]:
    return [(command.table, command.track) for command in commands]


def test_before_its_moment_only_what_ends_in_time_starts_on_a_reserved_track() -> None:
    scheduler = _scheduler(1)
    commands = scheduler.handle(100.0, [TrackReserved(0, 105.0), *_news(100.0)])
    assert _told(commands) == [("quick", 0)]
    assert _told(scheduler.handle(102.0, [UpdateFinished("quick", 1, 2.0)])) == []
    assert _told(scheduler.handle(103.0, [TrackReserved(0, None)])) == [("slow", 0)]


def test_from_its_moment_on_nothing_starts_there() -> None:
    scheduler = _scheduler(2)
    assert _told(scheduler.handle(100.0, [TrackReserved(1, 100.0), *_news(100.0)])) == [
        ("quick", 0)
    ]
    later = scheduler.handle(102.0, [UpdateFinished("quick", 1, 2.0)])
    assert _told(later) == [("slow", 0)]
    assert _told(scheduler.handle(103.0, _news(103.0))) == []
    assert _told(scheduler.handle(104.0, [TrackReserved(1, None)])) == [("quick", 1)]


def test_other_tracks_are_not_affected() -> None:
    scheduler = _scheduler(2)
    told = _told(scheduler.handle(100.0, [TrackReserved(1, 101.0), *_news(100.0)]))
    assert told == [("quick", 0)]


def _updated(tracks: int = 1) -> Scheduler:
    """Both tables have a version, and the tracks are reserved from 1000 on."""
    scheduler = _scheduler(tracks)
    scheduler.handle(100.0, _news(100.0))
    for _ in range(2):
        for table in scheduler.running():
            scheduler.handle(scheduler.now_s + 10.0, [UpdateFinished(table.name, 1)])
    reserved = [TrackReserved(track, 1000.0) for track in range(tracks)]
    assert scheduler.handle(200.0, reserved) == []
    return scheduler


def test_what_people_ask_for_starts_on_the_only_track_before_its_moment() -> None:
    scheduler = _updated()
    asked = scheduler.handle(300.0, [*_news(300.0), RefreshRequested("quick")])
    assert _told(asked) == [("quick", 0)]
    assert asked[0].score == "asked for"
    scheduler.handle(310.0, [UpdateFinished("quick", 2)])
    scheduler.handle(320.0, [UpdateFinished("slow", 2)])
    assert scheduler.handle(330.0, [RefreshRequested("slow")]) == []
    assert not scheduler.table("slow").asked, "there is nothing new"
    assert _told(scheduler.handle(999.0, [*_news(999.0), RefreshRequested("slow")])) == []
    assert _told(scheduler.handle(1002.0, [TrackReserved(0, None)])) == [("slow", 0)]


def test_a_reload_waits_for_the_report_since_nobody_knows_how_long_it_takes() -> None:
    scheduler = _updated()
    assert scheduler.handle(300.0, [RefreshRequested("quick", full=True)]) == []
    assert _told(scheduler.handle(1002.0, [TrackReserved(0, None)])) == [("quick", 0)]


def test_background_work_starts_on_the_only_track_where_it_ends_in_time() -> None:
    scheduler = _updated()
    begun = scheduler.handle(300.0, [BackfillRequested("quick", 0.0, 60.0)])
    assert [command.backfill for command in begun] == [(0.0, 60.0)]
    scheduler.handle(310.0, [UpdateFinished("quick", 2)])
    late = [UpkeepOffered("slow", "compact", 1, expected_s=900.0)]
    assert scheduler.handle(320.0, late) == []
    begun = scheduler.handle(330.0, [UpkeepOffered("slow", "compact", 1, expected_s=5.0)])
    assert [command.upkeep for command in begun] == ["compact"]
    scheduler.handle(340.0, [UpdateFinished("slow", 2)])
    assert scheduler.handle(999.0, [BackfillRequested("quick", 0.0, 60.0)]) == []


@pytest.mark.parametrize("full", [False, True])
def test_what_was_asked_for_starts_between_the_batches_of_reports(full: bool) -> None:
    """The window after is always open already, so the only track is always reserved."""
    scheduler = _updated()
    started = _told(scheduler.handle(300.0, [RefreshRequested("quick", full)]))
    for window in range(1, 4):
        from_s = 1000.0 * window
        scheduler.handle(from_s, [TrackReserved(0, from_s)])  # its batch takes ten seconds
        next_s = TrackReserved(0, from_s + 1000.0)
        commands = scheduler.handle(from_s + 10.0, [next_s, *_news(from_s + 10.0)])
        while commands:
            started += _told(commands)
            ends = [UpdateFinished(command.table, window) for command in commands]
            commands = scheduler.handle(scheduler.now_s + 10.0, ends)
    assert {name for name, _ in started} == {"slow", "quick"}
    assert [name for name, _ in started].count("quick") >= 3


def test_a_reload_that_failed_waits_for_the_report_as_it_did_at_first() -> None:
    scheduler = _updated()
    scheduler.handle(250.0, [TrackReserved(0, None)])
    (command,) = scheduler.handle(300.0, [RefreshRequested("quick", full=True)])
    assert command.full
    assert scheduler.handle(310.0, [UpdateFailed("quick", 320.0), TrackReserved(0, 340.0)]) == []
    assert scheduler.handle(320.0, []) == []
    (command,) = scheduler.handle(350.0, [TrackReserved(0, None)])
    assert (command.table, command.full) == ("quick", True)


def test_a_view_whose_query_changed_lets_one_report_pass_and_no_more() -> None:
    specs = [TableSpec("a", (), 60.0, alpha_s=1.0), TableSpec("v", ("a",), alpha_s=1.0)]
    scheduler = make_warehouse_scheduler(
        specs, tracks=1, settings=PolicySettings(policy="max-benefit"), start_s=1000.0
    )
    restored = [
        TableRestored("a", 940.0, 7, 8),
        TableRestored("v", 940.0, 3, 4, alpha_s=0.5, beta=0.0, stale=True),
    ]
    assert scheduler.handle(1000.0, [*restored, TrackReserved(0, 1005.0)]) == []
    assert scheduler.handle(1005.0, [TrackReserved(0, 1005.0)]) == []
    (command,) = scheduler.handle(1015.0, [TrackReserved(0, 2000.0)])
    assert (command.table, command.full) == ("v", True)


def test_what_is_computed_anew_waits_for_no_report_that_is_hours_away() -> None:
    scheduler = _updated()
    scheduler.handle(250.0, [TrackReserved(0, 80_000.0)])
    asked = scheduler.handle(300.0, [RefreshRequested("quick", full=True)])
    assert _told(asked) == [("quick", 0)]


@pytest.mark.parametrize("aggressive", [True, False])
@pytest.mark.parametrize("partition", ["edf-partitioned", "proportional", "none"])
def test_a_long_update_starts_beside_the_reports_although_its_home_is_their_track(
    partition: str, aggressive: bool
) -> None:
    specs = [
        TableSpec("short", period_s=10.0, alpha_s=1.0),
        TableSpec("long", period_s=3600.0, alpha_s=600.0),
    ]
    settings = PolicySettings("fifo", partition=partition, aggressive=aggressive)
    core = make_warehouse_scheduler(specs, tracks=2, settings=settings, start_s=0.0)
    # The track that reports leave to others is taken at first.
    begun = core.handle(100.0, [TrackReserved(1, 400.0), FileArrived("short", 100.0, "s0")])
    assert [command.table for command in begun] == ["short"]
    begun = core.handle(100.5, [FileArrived("long", 100.5, "l0")])
    begun += core.handle(101.0, [UpdateFinished("short", 0)])
    assert _told(begun) == [("long", 0)]


def test_what_ends_before_the_next_batch_stays_on_the_track_that_its_partition_gives_it() -> None:
    specs = [
        TableSpec("short", period_s=10.0, alpha_s=1.0),
        TableSpec("long", period_s=3600.0, alpha_s=600.0),
    ]
    settings = PolicySettings("fifo", partition="edf-partitioned")
    core = make_warehouse_scheduler(specs, tracks=2, settings=settings, start_s=0.0)
    begun = core.handle(100.0, [TrackReserved(1, 800.0), FileArrived("long", 100.0, "l0")])
    assert _told(begun) == [("long", 1)]


def test_a_reload_that_lets_a_batch_pass_asks_for_its_moment_where_that_is_put_off() -> None:
    scheduler = _updated()
    assert scheduler.handle(300.0, [RefreshRequested("quick", full=True)]) == []
    assert scheduler.next_wakeup_s() == float("inf")
    assert scheduler.handle(990.0, [TrackReserved(0, 1500.0)]) == []  # no batch at 1000
    moment_s = scheduler.next_wakeup_s()
    assert moment_s == pytest.approx(1000.0)
    assert not scheduler.wants(1000.0, [])
    assert _told(scheduler.handle(moment_s, [])) == [("quick", 0)]
    assert scheduler.next_wakeup_s() == float("inf")


def test_what_starts_on_a_reserved_track_waits_no_more_and_background_work_owes_nothing() -> None:
    specs = [TableSpec(name, (), 100_000.0, alpha_s=10.0) for name in ("a", "b")]
    core = make_warehouse_scheduler(specs, tracks=2, settings=PolicySettings("fifo"), start_s=0.0)
    core.handle(1.0, [FileArrived("a", 1.0, "a1"), FileArrived("b", 1.0, "b1")])
    core.handle(2.0, [UpdateFinished("a", 0, 1.0), UpdateFinished("b", 0, 1.0)])
    begun = core.handle(10.0, [TrackReserved(1, 9000.0), BackfillRequested("a", 0.0, 1.0)])
    assert [(command.track, command.backfill) for command in begun] == [(0, (0.0, 1.0))]
    assert _told(core.handle(20.0, [FileArrived("b", 20.0, "b2")])) == [("b", 1)]
    core.handle(1020.0, [UpdateFinished("a", 1, 1000.0)])
    assert core.background is not None
    assert core.background.share.competing.balance_s == 0.0


@pytest.mark.parametrize("work", ["compact", "try"])
def test_background_work_takes_the_track_beside_what_starts_on_the_reserved_one(work: str) -> None:
    specs = [
        TableSpec("short", period_s=10.0, alpha_s=1.0),
        TableSpec("long", period_s=3600.0, alpha_s=600.0),
    ]
    settings = PolicySettings("fifo", partition="edf-partitioned")
    core = make_warehouse_scheduler(specs, tracks=2, settings=settings, start_s=0.0)
    begun = core.handle(100.0, [FileArrived("short", 100.0, "s0")])
    core.handle(101.0, [UpdateFinished("short", 0)])
    offer = UpkeepOffered("short", work, 1, 5.0)
    news = FileArrived("long", 200.0, "l0")
    begun = core.handle(200.0, [news, TrackReserved(1, 5000.0), offer])
    assert _told(begun) == [("long", 1), ("short", 0)]
    assert begun[1].upkeep == work
    assert core.handle(200.0, []) == []
