"""Reports of a running warehouse in virtual time, where several are to be made or a run restarts.

As in ``test_reports.py``: ten rows a minute; a batch takes 2 s and 0.1 s a row, the final 5 s.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from freshline.runtime.journal.store import Journal
from freshline.runtime.reports.requests import argument_of, submit
from freshline.runtime.reports.store import (
    WantedReport,
    arrivals,
    brought,
    measured,
    newest_arrival,
    note,
)
from freshline.runtime.reports.together import look_ahead
from freshline.runtime.reports.windows import ReportWindows
from tests.support.report_play import (
    HOUR_S,
    KNOWN,
    MINUTES,
    START_S,
    WINDOW,
    new_play,
    report_project,
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path


def test_windows_of_a_view_are_made_in_their_order_also_where_a_later_one_is_shorter(
    root: Path,
) -> None:
    """Its table shows the newest: an older one that comes after it can no longer be made."""
    play = new_play(root)
    play.run(MINUTES[:50], 3000.0)  # and dies
    play.begin(4 * HOUR_S)
    for hour, rows in ((1.5, 300), (2.5, 100), (3.5, 50), (4.0, 0)):
        play.arrive(hour * HOUR_S, rows)
    play.run([], 4 * HOUR_S + 300)
    assert [line for line in play.trace if "final" in line][1:] == [
        "14400: final of 500 rows", "14457: final of 300 rows", "14494: final of 100 rows",
        "14511: final of 50 rows",
    ], "the track does not stand idle for one that may not run yet"  # fmt: skip
    hours = [(window.start_s - START_S) / HOUR_S for window in play.batches.finals]
    assert hours == [-1.0, 0.0, 1.0, 2.0, 3.0]
    assert play.status(WINDOW).state == "done"
    play.check_replay()


def test_a_later_window_waits_while_an_earlier_one_fails(root: Path) -> None:
    play = new_play(root, "40 minutes")
    play.run(MINUTES[:59], HOUR_S - 20)
    play.batches.failures = ["no"]
    play.begin(2 * HOUR_S)
    play.arrive(2 * HOUR_S, 10)
    play.run([], 2 * HOUR_S + 400)
    hours = [(window.start_s - START_S) / HOUR_S for window in play.batches.finals]
    assert hours == [-1.0, 0.0, 1.0]
    play.check_replay()


def test_reports_that_wait_for_one_stream_leave_each_other_their_time(root: Path) -> None:
    play = new_play(root, "20 minutes")
    play.batches.code = "ORDER_DEPENDENT"
    play.arrive(-60.0, 1000)  # and nothing more: the last minute is missing
    for name in ("one", "two"):
        play.known(*KNOWN, view=name)
        wanted = WantedReport(
            name, name, "SELECT n FROM orders", "a.sql", START_S - HOUR_S, START_S, START_S + 300.0
        )
        submit(play.journal, argument_of(wanted), START_S)
        play.journal.flush()
        note(play.journal, name, code=play.batches.code)  # known from an earlier one
    play.journal.flush()
    play.reports.submitted()
    play.run([], 320.0)
    found = [play.status(name) for name in ("one", "two")]
    # Each takes 107 s, with the margin 134: one starts 32 s after the window, not 166 s as both.
    assert [(each.state, each.late, each.complete) for each in found] == [("done", None, False)] * 2
    play.check_replay()


def test_a_pause_that_is_over_wakes_nobody(root: Path) -> None:
    """A loop that is woken for what is past turns all day beside Spark."""
    play = new_play(root, "1 second", known=False)
    play.begin(10.0)  # only the window of now
    play.arrive(-2 * HOUR_S, 0)
    play.batches.failures = ["no"]
    play.batches.code = "ORDER_DEPENDENT"
    play.run(MINUTES, HOUR_S + 100)
    assert play.trace == [
        "60: batch of 10 rows", "65: batch of 10 rows", "3600: final of 600 rows",
        f"3662: report {WINDOW} is 61 s behind its deadline: a batch failed and was tried again",
    ]  # fmt: skip


def test_until_idle_a_deadline_that_is_past_wakes_nobody(root: Path) -> None:
    play = new_play(root, until_idle=True)
    play.arrive(-1800.0, 100)
    play.run([], 1000.0)  # the tables are loaded meanwhile
    assert play.trace == ["0: batch of 100 rows"]
    assert not play.reports.idle()
    play.run([], 1100.0)
    assert play.trace[1] == "1001: final of 0 rows, incomplete"


def test_a_window_that_the_clock_jumped_over_is_made(root: Path) -> None:
    project = report_project(root, deadline="2 minutes")
    journal = Journal(root / "journal.db", create=True)
    windows = ReportWindows(project, journal, ended_only=False)
    first, _ = windows.due(START_S + 600.0, set())
    known = {wanted.name for wanted, _ in first}
    later, faults = windows.due(START_S + 3 * HOUR_S + 600.0, known)  # a machine slept
    journal.close()
    hours = [(wanted.start_s - START_S) / HOUR_S for wanted, _ in later]
    assert (hours, faults) == ([1.0, 2.0, 3.0], [])


def test_what_another_query_worked_off_is_worked_off_again(root: Path) -> None:
    play = new_play(root)
    play.run(MINUTES[:50], 3000.0)
    note(play.journal, WINDOW, taken_rows=490, batches=1)
    play.journal.flush()
    view = play.project.reports[0]
    same = play.project
    play.begin(3000.0)
    assert play.status(WINDOW).taken_rows == 490
    view = replace(view, query="SELECT sum(n) FROM orders")
    play.project = replace(same, reports=(view,))
    status = play.status(WINDOW)
    ahead = look_ahead(play.project, play.journal, status.wanted, view, play.now_s, status=status)
    assert ahead.outlook.taken_rows == 0, "also where it is only asked about"
    play.begin(3000.0)
    play.arrive(3000.0, 0)
    play.run(MINUTES[50:], HOUR_S + 110)
    assert play.trace[-1] == "3600: final of 600 rows"


@pytest.mark.parametrize("left", ["all of it", "a batch"])
def test_what_a_dead_process_worked_off_teaches_nothing_of_costs(root: Path, left: str) -> None:
    play = new_play(root, "30 seconds")
    play.run(MINUTES, 3580.0)
    assert play.trace[-1] == "3540: batch of 590 rows"  # and dies during it
    play.begin(3580.0)
    play.arrive(3580.0, 0)
    play.batch_s = lambda _: 0.5
    if left == "all of it":
        play.batches.read = False
    else:
        play.batches.done[("sales", START_S)] = 1
    play.run([], 3590.0)
    assert play.trace[-1] == "3580: batch of 590 rows"
    assert measured(play.journal, "sales").batches == KNOWN


@pytest.mark.parametrize(
    ("strategy", "full", "rows"),
    [("compact", 0, 0), ("backfill", 0, 50_000), ("append", 1, 50_000)],
)
def test_upkeep_and_what_is_loaded_again_are_no_arrivals(
    root: Path, strategy: str, full: int, rows: int
) -> None:
    """Else the stream lags by as much as they came later, or brings so many times the rows."""
    play = new_play(root, "30 seconds")
    play.run(MINUTES[:30], 1850.0)
    play.journal.write(
        "INSERT INTO updates (table_name, number, state, finish_s, to_s, rows, strategy, full)"
        " VALUES ('orders', 1000, 'done', ?, ?, ?, ?, ?)",
        (START_S + 1850.0, START_S + 1800.0, rows, strategy, full),
    )
    play.journal.flush()
    streams = (play.journal, ["orders"], START_S, START_S + HOUR_S)
    assert sum(each.rows for each in arrivals(*streams)) == 300
    assert brought(*streams) == (300, 0.0)
    newest = newest_arrival(play.journal, "orders")
    assert newest is not None
    assert newest.at_s == START_S + 1800.0
    play.reports.committed()
    play.run(MINUTES[30:], HOUR_S + 110)
    assert play.trace[1:] == ["3540: batch of 590 rows", "3601: final of 10 rows"]
    play.check_replay()
