"""What reports do about streams that have no data yet, and about data older than the report."""

from __future__ import annotations

from collections import deque
from pathlib import Path

from freshline.core.model import PendingFile
from freshline.runtime.reports.requests import argument_of, submit
from freshline.runtime.reports.store import WantedReport
from tests.support.report_play import HOUR_S, START_S, Play, report_project


def test_a_report_of_a_stream_without_data_waits_for_it_and_is_not_given_up(tmp_path: Path) -> None:
    play = Play(report_project(tmp_path, deadline="2 minutes"))
    play.known((100, 12.0), (1000, 102.0))
    play.run([], 500.0)
    assert (play.trace, play.status().state) == ([], "live")
    play.run([(500.0, 10)], 700.0)
    made, told = play.trace
    assert made == "500: final of 0 rows"
    assert told.startswith("507: report sales@1970-02-11T15:00:00Z is 387 s behind its deadline")
    assert play.status().state == "done"
    play.check_replay()


def test_a_run_until_idle_does_not_wait_for_a_stream_that_has_no_data(tmp_path: Path) -> None:
    play = Play(report_project(tmp_path), until_idle=True)
    play.run([], 100.0)
    assert play.reports.idle()
    assert play.status().state == "live"
    play.arrive(-60.0, 10)
    assert not play.reports.idle()
    play.run([], 200.0)
    assert play.reports.idle()
    assert play.trace[0] == "101: final of 10 rows, incomplete"


def test_what_came_before_a_report_was_asked_for_is_measured_at_once(tmp_path: Path) -> None:
    play = Play(report_project(tmp_path))
    play.arrive(-1800.0, 100)
    play.run([], 300.0)
    wanted = WantedReport(
        "both", "both", "SELECT n FROM orders", "a.sql", START_S - HOUR_S, START_S + HOUR_S,
        START_S + 2 * HOUR_S,
    )  # fmt: skip
    submit(play.journal, argument_of(wanted), play.now_s)
    play.journal.flush()
    play.reports.submitted()
    before = len(play.trace)
    play.run([], 400.0)
    assert play.trace[before:] == ["300: batch of 100 rows"]
    play.check_replay()


def test_a_stream_that_loads_its_newest_files_first_is_not_complete_before_its_older_ones(
    tmp_path: Path,
) -> None:
    play = Play(report_project(tmp_path, deadline="2 minutes"))
    play.known((100, 12.0), (1000, 102.0))
    play.arrive(1800.0, 0)
    orders = play.core.table("orders")
    orders.floor_s = orders.freshness_s
    orders.gap = deque([PendingFile(START_S + 2000.0, START_S, "older")])
    play.run([(HOUR_S + 10.0, 100)], HOUR_S + 60.0)
    assert orders.freshness_s > START_S + HOUR_S
    before = len(play.trace)
    assert not play.status("sales@1970-02-11T16").finish_s
    play.run([], HOUR_S + 200.0)
    assert [each.split(": ")[1] for each in play.trace[before:]] == ["final of 0 rows, incomplete"]
    assert play.status("sales@1970-02-11T16").complete is False
    play.check_replay()
