"""The loop: whole traces of what comes in and what is commanded."""

from __future__ import annotations

import pytest

from freshline.core.assembly import PolicySettings, make_scheduler
from freshline.core.errors import InternalError, UserError
from freshline.core.events import (
    FileArrived,
    FilesWithdrawn,
    RefreshRequested,
    TablePaused,
    TablePrioritised,
    TableRestored,
    TableResumed,
    UpdateFailed,
    UpdateFinished,
)
from freshline.core.model import TableSpec

BASE = TableSpec("orders", period_s=10.0, alpha_s=1.0)
VIEW = TableSpec("revenue", sources=("orders",), alpha_s=1.0)


def scheduler(*specs, tracks=1, name="fifo", warehouse=False, **settings):
    return make_scheduler(
        specs,
        tracks=tracks,
        settings=PolicySettings(policy=name, **settings),
        origin_s=None if warehouse else 0.0,
        start_s=1000.0 if warehouse else 0.0,
        explains=warehouse,
        most_files=3 if warehouse and settings.get("chop") is None else None,
    )


def starts(commands):
    return [(item.table, item.track, item.from_s, item.to_s) for item in commands]


def test_a_file_starts_its_table_and_the_end_starts_the_view():
    core = scheduler(BASE, VIEW)
    assert starts(core.handle(10.0, [FileArrived("orders", 10.0)])) == [("orders", 0, 0.0, 10.0)]
    assert starts(core.handle(11.0, [UpdateFinished("orders")])) == [("revenue", 0, 0.0, 10.0)]
    assert core.handle(12.0, [UpdateFinished("revenue")]) == []
    assert core.table("revenue").freshness_s == 10.0


def test_files_that_arrive_during_an_update_merge_into_the_next():
    core = scheduler(BASE)
    core.handle(10.0, [FileArrived("orders", 10.0)])
    assert core.handle(20.0, [FileArrived("orders", 20.0)]) == []
    assert core.handle(30.0, [FileArrived("orders", 30.0)]) == []
    (command,) = core.handle(31.0, [UpdateFinished("orders")])
    assert (command.from_s, command.to_s, command.release_s) == (10.0, 30.0, 20.0)


def test_at_most_one_update_a_table_and_as_many_as_there_are_tracks():
    others = [TableSpec(f"t{i}", period_s=10.0, alpha_s=1.0) for i in range(3)]
    core = scheduler(*others, tracks=2)
    commands = core.handle(10.0, [FileArrived(f"t{i}", 10.0) for i in range(3)])
    assert starts(commands) == [("t0", 0, 0.0, 10.0), ("t1", 1, 0.0, 10.0)]
    assert core.handle(11.0, [FileArrived("t0", 11.0)]) == []
    assert starts(core.handle(12.0, [UpdateFinished("t1")])) == [("t2", 1, 0.0, 10.0)]
    assert [table.name for table in core.running()] == ["t0", "t2"]


def test_the_clock_may_stand_but_not_go_back():
    core = scheduler(BASE)
    core.handle(10.0, [])
    core.handle(10.0, [])
    with pytest.raises(InternalError, match=r"came after one at 10\.0"):
        core.handle(9.0, [])


def test_an_end_without_a_start_is_our_fault():
    with pytest.raises(InternalError, match="table 'orders' has no running update"):
        scheduler(BASE).handle(1.0, [UpdateFinished("orders")])


def test_cycles_unknown_sources_and_twins_are_refused():
    def spec(name, *sources):
        return TableSpec(name, sources=sources, period_s=1.0)

    with pytest.raises(UserError, match="depend on themselves: a -> b -> a"):
        scheduler(spec("a", "b"), spec("b", "a"))
    with pytest.raises(UserError, match="'a' has the source 'x', which is not a table"):
        scheduler(spec("a", "x"))
    with pytest.raises(UserError, match="two tables are named 'a'"):
        scheduler(spec("a"), spec("a"))


# ---- a warehouse: names, versions, people ----


def test_the_first_file_of_a_warehouse_tells_where_freshness_begins():
    core = scheduler(BASE, VIEW, warehouse=True)
    assert core.handle(1000.0, []) == []
    (command,) = core.handle(1001.0, [FileArrived("orders", 990.0, "a")])
    assert (command.from_s, command.to_s, command.files) == (980.0, 990.0, ("a",))
    assert core.table("revenue").freshness_s == 980.0
    (command,) = core.handle(1002.0, [UpdateFinished("orders", version=0)])
    assert (command.table, command.from_s, command.to_s) == ("revenue", 980.0, 990.0)
    assert command.parents == (("orders", 0),)


def test_many_old_files_are_loaded_in_batches_that_keep_equal_timestamps_together():
    core = scheduler(BASE, warehouse=True)
    stamps = [1.0, 2.0, 3.0, 3.0, 4.0, 5.0]
    arrivals = [FileArrived("orders", ts, f"f{i}") for i, ts in enumerate(stamps)]
    (command,) = core.handle(1000.0, arrivals)
    assert (command.files, command.to_s) == (("f0", "f1", "f2", "f3"), 3.0)
    (command,) = core.handle(1001.0, [UpdateFinished("orders", version=0)])
    assert (command.files, command.from_s, command.to_s) == (("f4", "f5"), 3.0, 5.0)


def test_a_late_file_is_loaded_and_its_views_corrected_though_freshness_stays():
    core = scheduler(BASE, VIEW, warehouse=True)
    core.handle(1000.0, [FileArrived("orders", 990.0, "a")])
    core.handle(1001.0, [UpdateFinished("orders", version=0)])
    core.handle(1002.0, [UpdateFinished("revenue", version=0)])
    (command,) = core.handle(1003.0, [FileArrived("orders", 985.0, "late")])
    assert (command.files, command.from_s, command.to_s) == (("late",), 990.0, 990.0)
    (command,) = core.handle(1004.0, [UpdateFinished("orders", version=1)])
    assert (command.table, command.parents, command.to_s) == ("revenue", (("orders", 1),), 990.0)
    assert core.handle(1005.0, [UpdateFinished("revenue", version=1)]) == []


def test_a_file_out_of_order_joins_those_pending():
    core = scheduler(BASE, warehouse=True)
    core.handle(1000.0, [FileArrived("orders", 990.0, "a")])
    core.handle(1001.0, [FileArrived("orders", 998.0, "c"), FileArrived("orders", 995.0, "b")])
    (command,) = core.handle(1002.0, [UpdateFinished("orders", version=0)])
    assert (command.files, command.to_s) == (("b", "c"), 998.0)
    assert core.table("orders").late_s == 0.0


def test_a_failed_update_comes_back_when_its_delay_is_over_with_all_that_came_since():
    core = scheduler(BASE, warehouse=True)
    core.handle(1000.0, [FileArrived("orders", 990.0, "a")])
    assert core.handle(1001.0, [UpdateFailed("orders", 1005.0)]) == []
    assert core.next_wakeup_s() == 1005.0
    assert core.handle(1002.0, [FileArrived("orders", 991.0, "b")]) == []
    assert core.handle(1004.9, []) == []
    (command,) = core.handle(1005.0, [])
    assert (command.number, command.files, command.release_s) == (1, ("a", "b"), 1000.0)


def test_a_failing_table_leaves_its_track_to_the_others():
    core = scheduler(BASE, TableSpec("clicks", period_s=10.0, alpha_s=1.0), warehouse=True)
    core.handle(1000.0, [FileArrived("orders", 990.0, "a"), FileArrived("clicks", 990.0, "x")])
    (command,) = core.handle(1001.0, [UpdateFailed("orders", 1100.0)])
    assert command.table == "clicks"


def test_files_withdrawn_are_not_loaded_and_freshness_passes_them():
    core = scheduler(BASE, warehouse=True)
    core.handle(1000.0, [FileArrived("orders", 990.0, "a"), FileArrived("orders", 991.0, "bad")])
    (command,) = core.handle(
        1001.0, [UpdateFailed("orders", 1001.0), FilesWithdrawn("orders", ("bad",))]
    )
    assert (command.files, command.to_s) == (("a",), 990.0)
    core.handle(1002.0, [UpdateFinished("orders", version=0)])
    (command,) = core.handle(1003.0, [FileArrived("orders", 992.0, "c")])
    assert command.to_s == 992.0
    core.handle(1004.0, [UpdateFinished("orders", version=1)])
    (command,) = core.handle(1005.0, [FileArrived("orders", 991.0, "bad")])
    assert (command.files, command.from_s, command.to_s) == (("bad",), 992.0, 992.0)


def test_a_repeated_commit_gives_back_what_it_did_not_load():
    core = scheduler(BASE, warehouse=True)
    core.handle(1000.0, [FileArrived("orders", 990.0, "a"), FileArrived("orders", 991.0, "b")])
    event = UpdateFinished("orders", version=4, to_s=990.0, files=("a",))
    (command,) = core.handle(1001.0, [event])
    assert (command.number, command.files, command.from_s) == (2, ("b",), 990.0)


def test_a_paused_table_waits_and_goes_on():
    core = scheduler(BASE, warehouse=True)
    core.handle(1000.0, [TablePaused("orders")])
    assert core.handle(1001.0, [FileArrived("orders", 990.0, "a")]) == []
    (command,) = core.handle(1002.0, [TableResumed("orders")])
    assert command.files == ("a",)


def test_a_priority_changed_while_it_runs_changes_the_next_choice():
    a, b, c = (TableSpec(name, period_s=10.0, alpha_s=1.0) for name in "abc")
    core = scheduler(a, b, c, name="max-benefit")
    arrivals = [FileArrived(name, 10.0) for name in "abc"]
    assert starts(core.handle(10.0, arrivals)) == [("a", 0, 0.0, 10.0)]
    core.handle(10.5, [TablePrioritised("c", 5.0)])
    assert starts(core.handle(11.0, [UpdateFinished("a")])) == [("c", 0, 0.0, 10.0)]


def test_what_is_asked_for_comes_first_its_sources_before_it_paused_or_not():
    other = TableSpec("clicks", period_s=10.0, alpha_s=1.0)
    core = scheduler(other, BASE, VIEW, warehouse=True)
    core.handle(1000.0, [FileArrived("clicks", 990.0, "x"), TablePaused("revenue")])
    core.handle(1000.5, [FileArrived("orders", 990.0, "a"), FileArrived("clicks", 991.0, "y")])
    core.handle(1000.6, [RefreshRequested("revenue")])
    order = []
    for step, table in enumerate(("clicks", "orders", "revenue", "clicks")):
        commands = core.handle(1001.0 + step, [UpdateFinished(table, version=step)])
        order += [command.table for command in commands]
    assert order == ["orders", "revenue", "clicks"]


def test_a_refresh_of_what_is_fresh_starts_nothing_and_a_full_one_makes_it_anew():
    core = scheduler(BASE, VIEW, warehouse=True)
    core.handle(1000.0, [FileArrived("orders", 990.0, "a")])
    core.handle(1001.0, [UpdateFinished("orders", version=0)])
    core.handle(1002.0, [UpdateFinished("revenue", version=0)])
    assert core.handle(1003.0, [RefreshRequested("revenue")]) == []
    (command,) = core.handle(1004.0, [RefreshRequested("revenue", full=True)])
    assert (command.table, command.full, command.from_s, command.to_s) == (
        "revenue",
        True,
        990.0,
        990.0,
    )
    assert command.score == "asked for"


def test_a_full_update_that_is_given_up_is_not_tried_again_and_a_failed_one_is():
    core = scheduler(BASE, warehouse=True)
    core.handle(1000.0, [FileArrived("orders", 990.0, "a")])
    core.handle(1001.0, [UpdateFinished("orders", version=0)])
    core.handle(1002.0, [RefreshRequested("orders", full=True)])
    (again,) = core.handle(1003.0, [UpdateFailed("orders", 1003.0)])
    assert again.full
    assert core.handle(1004.0, [UpdateFailed("orders", 1004.0, gives_up=True)]) == []
    (command,) = core.handle(1005.0, [FileArrived("orders", 1000.0, "b")])
    assert (command.full, command.files) == (False, ("b",))


def test_a_restored_table_goes_on_where_it_stood():
    core = scheduler(BASE, VIEW, warehouse=True)
    (command,) = core.handle(
        1000.0,
        [TableRestored("orders", 990.0, 7, 5), TableRestored("revenue", 980.0, 3, 2)],
    )
    assert (command.table, command.number, command.from_s, command.to_s) == (
        "revenue",
        3,
        980.0,
        990.0,
    )
    assert command.parents == (("orders", 7),)


def test_a_restored_view_whose_query_changed_is_made_anew():
    core = scheduler(BASE, VIEW, warehouse=True)
    (command,) = core.handle(
        1000.0,
        [TableRestored("orders", 990.0, 7, 5), TableRestored("revenue", 990.0, 3, 2, stale=True)],
    )
    assert (command.table, command.full) == ("revenue", True)


def test_a_view_that_was_never_built_is_built_from_what_is_there():
    core = scheduler(BASE, VIEW, warehouse=True)
    (command,) = core.handle(
        1000.0, [TableRestored("orders", 990.0, 7, 5), TableRestored("revenue", None, None, 0)]
    )
    assert (command.table, command.to_s, command.parents) == ("revenue", 990.0, (("orders", 7),))


def test_a_new_view_claims_no_more_than_what_it_reads_has():
    later = TableSpec("later", ("revenue",))
    newest = TableSpec("newest", ("orders", "later"))
    core = scheduler(BASE, VIEW, later, newest, warehouse=True)
    core.handle(1000.0, [TablePaused("revenue"), TablePaused("later")])
    (command,) = core.handle(
        1000.0,
        [
            TableRestored("orders", 990.0, 7, 5),
            TableRestored("revenue", 900.0, 3, 2),
            TableRestored("later", 900.0, 3, 2),
            TableRestored("newest", None, None, 0),
        ],
    )
    assert (command.table, command.to_s) == ("newest", 900.0)
    assert command.parents == (("orders", 7), ("later", 3))


def test_a_chopped_view_of_a_parent_without_versions_between_claims_none():
    core = scheduler(BASE, VIEW, warehouse=True, chop=1.0)
    core.handle(
        1000.0, [TableRestored("orders", 900.0, 0, 1), TableRestored("revenue", 900.0, 0, 1)]
    )
    core.handle(1000.0, [FileArrived("orders", 960.0, "f1")])
    (command,) = core.handle(1001.0, [UpdateFinished("orders", version=1)])
    assert (command.to_s, command.parents) == (960.0, (("orders", 1),))


def test_a_chopped_view_reads_the_newest_versions_within_its_limit():
    core = scheduler(BASE, VIEW, warehouse=True, chop=1.0)
    core.handle(
        1000.0, [TableRestored("orders", 900.0, 0, 1), TableRestored("revenue", 900.0, 0, 1)]
    )
    core.handle(1000.0, [TablePaused("revenue")])
    for version, timestamp_s in enumerate((905.0, 910.0, 915.0, 920.0), start=1):
        core.handle(1000.0 + version, [FileArrived("orders", timestamp_s, f"f{version}")])
        core.handle(1000.5 + version, [UpdateFinished("orders", version=version)])
    (command,) = core.handle(1010.0, [TableResumed("revenue")])
    assert (command.to_s, command.parents) == (910.0, (("orders", 2),))
    (command,) = core.handle(1011.0, [UpdateFinished("revenue", version=1)])
    assert (command.to_s, command.parents) == (920.0, (("orders", 4),))


def test_a_choice_is_explained_with_those_passed_over():
    tables = [
        TableSpec(name, period_s=10.0, alpha_s=2.0, priority=p)
        for name, p in (("a", 1.0), ("b", 3.0), ("c", 2.0))
    ]
    core = scheduler(*tables, warehouse=True, name="max-benefit")
    (command,) = core.handle(1000.0, [FileArrived(t.name, 990.0, t.name) for t in tables])
    assert command.score == "benefit 15 = priority 3 * gain 10.000 s / 2.000 s"
    assert [(item.table, item.score) for item in command.over] == [
        ("c", "benefit 10 = priority 2 * gain 10.000 s / 2.000 s"),
        ("a", "benefit 5 = priority 1 * gain 10.000 s / 2.000 s"),
    ]


# ---- a parent that stands still ----

FACTS = TableSpec("facts", period_s=10.0, alpha_s=1.0)
PARTS = TableSpec("parts", period_s=10.0, alpha_s=1.0)
JOINED = TableSpec("joined", sources=("facts", "parts"), alpha_s=1.0)


def both_loaded():
    core = scheduler(FACTS, PARTS, JOINED, warehouse=True)
    core.handle(1000.0, [FileArrived("facts", 990.0, "f1"), FileArrived("parts", 990.0, "p1")])
    core.handle(1001.0, [UpdateFinished("facts", version=0)])
    (command,) = core.handle(1002.0, [UpdateFinished("parts", version=0)])
    assert command.table == "joined"
    core.handle(1003.0, [UpdateFinished("joined", version=0)])
    return core


def test_a_view_takes_up_one_parents_news_while_the_other_stands_still():
    core = both_loaded()
    core.handle(1010.0, [FileArrived("facts", 1000.0, "f2")])
    (command,) = core.handle(1011.0, [UpdateFinished("facts", version=1)])
    assert (command.table, command.from_s, command.to_s) == ("joined", 990.0, 990.0)
    assert command.parents == (("facts", 1), ("parts", 0))
    assert core.handle(1012.0, [UpdateFinished("joined", version=1)]) == []


def test_a_view_waits_for_the_parent_that_holds_it_back_while_that_has_work():
    core = both_loaded()
    core.handle(1010.0, [FileArrived("facts", 1000.0, "f2"), FileArrived("parts", 1000.0, "p2")])
    (command,) = core.handle(1011.0, [UpdateFinished("facts", version=1)])
    assert command.table == "parts"
    (command,) = core.handle(1012.0, [UpdateFinished("parts", version=1)])
    assert (command.table, command.from_s, command.to_s) == ("joined", 990.0, 1000.0)


def test_a_view_goes_on_when_the_parent_that_holds_it_back_fails():
    core = both_loaded()
    core.handle(1010.0, [FileArrived("facts", 1000.0, "f2"), FileArrived("parts", 1000.0, "p2")])
    core.handle(1011.0, [UpdateFinished("facts", version=1)])
    (command,) = core.handle(1012.0, [UpdateFailed("parts", 1060.0)])
    assert (command.table, command.parents) == ("joined", (("facts", 1), ("parts", 0)))


def test_news_of_one_parent_that_came_during_the_views_update_is_taken_up_after_it():
    core = scheduler(FACTS, PARTS, JOINED, tracks=2, warehouse=True)
    core.handle(1000.0, [FileArrived("facts", 990.0, "f1"), FileArrived("parts", 990.0, "p1")])
    ends = [UpdateFinished("facts", version=0), UpdateFinished("parts", version=0)]
    (command,) = core.handle(1001.0, ends)
    core.handle(1001.5, [FileArrived("facts", 1000.0, "f2")])
    assert core.handle(1002.0, [UpdateFinished("facts", version=1)]) == []
    (command,) = core.handle(1003.0, [UpdateFinished("joined", version=0)])
    assert (command.table, command.parents) == ("joined", (("facts", 1), ("parts", 0)))


def test_a_view_is_not_started_before_each_of_its_parents_has_a_version():
    hourly = TableSpec("hourly", sources=("facts",), alpha_s=1.0)
    busy = TableSpec("busy", sources=("parts", "hourly"), alpha_s=1.0)
    core = scheduler(FACTS, PARTS, hourly, busy, tracks=2, warehouse=True)
    core.handle(1000.0, [FileArrived("parts", 900.0, "p1"), TablePaused("hourly")])
    core.handle(1001.0, [FileArrived("facts", 990.0, "f1"), FileArrived("parts", 991.0, "p2")])
    core.handle(1002.0, [UpdateFinished("facts", version=0)])
    core.handle(1003.0, [UpdateFinished("parts", version=0)])
    core.handle(1004.0, [UpdateFinished("parts", version=1)])
    assert core.table("busy").has_news
    assert core.running() == []
    (command,) = core.handle(1005.0, [TableResumed("hourly")])
    assert command.table == "hourly"
    (command,) = core.handle(1006.0, [UpdateFinished("hourly", version=0)])
    assert (command.table, command.parents) == ("busy", (("parts", 1), ("hourly", 0)))


# ---- news that a parent far above holds back ----

DAILY = TableSpec("daily", sources=("facts",), alpha_s=1.0)
ABOVE = TableSpec("above", sources=("daily", "parts"), alpha_s=1.0)


def held_back():
    """The view ``above`` waits with news of parts for daily, because facts runs."""
    core = scheduler(FACTS, PARTS, DAILY, ABOVE, warehouse=True)
    core.handle(1000.0, [FileArrived("facts", 990.0, "f1"), FileArrived("parts", 990.0, "p1")])
    for step, name in enumerate(("facts", "parts", "daily", "above")):
        core.handle(1001.0 + step, [UpdateFinished(name, version=0)])
    core.handle(1010.0, [FileArrived("parts", 1000.0, "p2")])
    core.handle(1010.5, [FileArrived("facts", 1000.0, "f2")])
    (command,) = core.handle(1011.0, [UpdateFinished("parts", version=1)])
    assert command.table == "facts"
    return core


@pytest.mark.parametrize(
    ("before", "then"),
    [
        ([], [UpdateFailed("facts", 5000.0)]),
        ([], [UpdateFailed("facts", 1012.0), FilesWithdrawn("facts", ("f2",))]),
        ([TablePaused("facts")], [UpdateFailed("facts", 1012.0)]),
        ([TablePaused("daily")], [UpdateFinished("facts", version=1)]),
    ],
)
def test_a_view_goes_on_when_a_table_further_above_stands_still(before, then):
    core = held_back()
    started = core.handle(1011.5, before) + core.handle(1012.0, then)
    assert [(command.table, command.parents) for command in started] == [
        ("above", (("daily", 0), ("parts", 1)))
    ]


# ---- what people asked for, and commits that nobody heard of ----


def test_what_is_asked_for_does_not_wait_for_later_updates_of_its_sources():
    core = scheduler(FACTS, PARTS, JOINED, tracks=2, warehouse=True)
    core.handle(1000.0, [FileArrived("facts", 990.0, "f0"), FileArrived("parts", 990.0, "p0")])
    core.handle(1000.2, [RefreshRequested("joined")])
    versions, begun = dict.fromkeys(("facts", "parts", "joined"), 0), []
    for step in range(8):  # one of the sources runs at any time
        name = ("facts", "parts")[step % 2]
        now_s = 1001.0 + step
        ended = UpdateFinished(name, version=versions[name])
        versions[name] += 1
        events = [ended, FileArrived(name, now_s - 5.0, f"{name}{step}")]
        begun += [command.table for command in core.handle(now_s, events)]
        if "joined" in begun:
            return
    pytest.fail(f"joined never started: {begun}")


def test_a_late_file_that_came_before_a_repeated_commit_is_loaded_after_it():
    core = scheduler(BASE, warehouse=True)
    core.handle(1000.0, [FileArrived("orders", 990.0, "a")])
    core.handle(1001.0, [UpdateFailed("orders", 1005.0)])
    core.handle(1002.0, [FileArrived("orders", 985.0, "late")])
    (again,) = core.handle(1005.0, [])
    assert set(again.files) == {"a", "late"}
    (command,) = core.handle(1006.0, [UpdateFinished("orders", 0, None, 990.0, ("a",), ())])
    assert (command.number, command.files, command.to_s) == (2, ("late",), 990.0)


def test_a_repeated_commit_may_have_files_that_the_repeat_had_not():
    core = scheduler(BASE, warehouse=True)  # three files an update
    files = [FileArrived("orders", 990.0 + n, f"f{n}") for n in range(1, 6)]
    core.handle(1000.0, files)
    core.handle(1001.0, [UpdateFailed("orders", 1005.0)])
    core.handle(1002.0, [FileArrived("orders", 990.5, "f0")])
    (again,) = core.handle(1005.0, [])
    assert again.files == ("f0", "f1", "f2")
    loaded = ("f1", "f2", "f3")
    (command,) = core.handle(1006.0, [UpdateFinished("orders", 0, None, 993.0, loaded, ())])
    assert command.files == ("f0", "f4", "f5")


def test_a_rebuild_whose_number_another_update_had_is_still_to_be_made():
    core = scheduler(BASE, warehouse=True)
    core.handle(1000.0, [FileArrived("orders", 990.0, "a")])
    core.handle(1001.0, [UpdateFailed("orders", 1100.0)])
    (full,) = core.handle(1002.0, [RefreshRequested("orders", full=True)])
    assert (full.number, full.full) == (1, True)
    found = UpdateFinished("orders", 0, None, 990.0, ("a",), (), is_other=True)
    (again,) = core.handle(1003.0, [found])
    assert (again.number, again.full) == (2, True)


def test_a_rebuild_takes_all_files_however_updates_are_cut():
    core = scheduler(BASE, warehouse=True, chop=1.0)
    core.handle(1000.0, [FileArrived("orders", 900.0, "f0")])
    later = [FileArrived("orders", 900.0 + 10.0 * n, f"f{n}") for n in range(1, 5)]
    core.handle(1000.5, [*later, RefreshRequested("orders", full=True)])
    (full,) = core.handle(1001.0, [UpdateFinished("orders", version=0)])
    assert (full.full, full.files, full.to_s) == (True, ("f1", "f2", "f3", "f4"), 940.0)


def test_a_file_withdrawn_after_a_repeated_commit_is_no_news():
    core = scheduler(BASE, warehouse=True)
    core.handle(1000.0, [FileArrived("orders", 990.0, "a"), FileArrived("orders", 991.0, "b")])
    repeated = UpdateFinished("orders", 0, None, 990.0, ("a",), ())
    assert core.handle(1001.0, [repeated, FilesWithdrawn("orders", ("b",))]) == []
    assert core.table("orders").freshness_s == 990.0


@pytest.mark.parametrize("name", ["fifo", "edf", "whittle"])
def test_late_rows_that_came_while_a_commit_was_repeated_have_a_release(name):
    """They shared the mark of what is loaded now: without one they would come after all others."""
    core = scheduler(BASE, VIEW, tracks=2, warehouse=True, name=name)
    core.handle(1000.0, [FileArrived("orders", 1000.0, "f1")])
    core.handle(1001.0, [UpdateFinished("orders", 0)])
    core.handle(1001.0, [FileArrived("orders", 990.0, "late")])
    core.handle(1002.0, [UpdateFinished("orders", 1)])
    repeated = UpdateFinished("revenue", 0, to_s=1000.0, files=(), parents=(("orders", 0),))
    (command,) = core.handle(1003.0, [repeated])
    assert (command.table, command.parents) == ("revenue", (("orders", 1),))
    assert command.release_s == 1003.0


def test_a_reload_whose_only_pending_file_vanished_has_a_release():
    busy = TableSpec("busy", period_s=10.0, alpha_s=1.0)
    core = scheduler(BASE, busy, warehouse=True)
    core.handle(1000.0, [FileArrived("orders", 1000.0, "f1")])
    core.handle(1001.0, [UpdateFinished("orders", 0), FileArrived("busy", 1001.0, "g")])
    core.handle(1002.0, [FileArrived("orders", 1002.0, "f2"), RefreshRequested("orders", True)])
    core.handle(1003.0, [FilesWithdrawn("orders", ("f2",))])
    (command,) = core.handle(1004.0, [UpdateFinished("busy", 0)])
    assert (command.table, command.full, command.files) == ("orders", True, ())
    assert command.release_s == 1003.0


def test_a_chain_of_views_may_be_longer_than_pythons_stack():
    """First news reach all of them, and so does a parent of the first whose data begin before."""
    chain = [TableSpec("v0", sources=("orders",), alpha_s=1.0)]
    chain += [TableSpec(f"v{n}", sources=(f"v{n - 1}",), alpha_s=1.0) for n in range(1, 3000)]
    core = scheduler(BASE, *chain, warehouse=True)
    core.handle(1000.0, [FileArrived("orders", 995.0, "a")])
    assert core.table("v2999").freshness_s == 985.0
    other = TableSpec("other", period_s=10.0, alpha_s=1.0)
    first = TableSpec("v0", sources=("orders", "other"), alpha_s=1.0)
    core = scheduler(BASE, other, first, *chain[1:], warehouse=True)
    events = [TableRestored(f"v{n}", 995.0, 1, 1, 1.0, 0.0) for n in range(3000)]
    core.handle(1000.0, [TableRestored("orders", 995.0, 1, 1, 1.0, 0.0), *events])
    assert core.table("v2999").freshness_s == 995.0
    core.handle(1001.0, [FileArrived("other", 500.0, "a")])
    assert core.table("v2999").freshness_s == 490.0
