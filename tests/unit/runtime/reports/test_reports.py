"""Reports of a running warehouse, in virtual time: whole traces, and how each report ended.

Orders bring ten rows a minute, stamped with the minute; a batch takes 2 s and 0.1 s a row, the
final 5 s. The first window is over when a play begins, and empty.
"""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from freshline.core.assembly import SchedulerSettings
from freshline.core.errors import PlatformError, UserError
from freshline.core.events import TrackReserved
from freshline.executor.report_records import BatchRequest, BatchResult, Window
from freshline.project.deadlines import read_deadline
from freshline.project.model import ReportSettings
from freshline.runtime.journal.store import Journal
from freshline.runtime.reports.requests import argument_of, submit, withdraw_offline
from freshline.runtime.reports.store import WantedReport, measured, note, note_wanted, read_report
from freshline.runtime.reports.windows import ReportWindows, window_of
from freshline.times import rfc3339
from tests.support.report_play import (
    HOUR_S,
    MINUTES,
    START_S,
    WINDOW,
    Play,
    new_play,
    report_project,
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path


def test_one_batch_where_the_deadline_allows_it(root: Path) -> None:
    play = new_play(root)
    play.run(MINUTES, HOUR_S + 110)
    assert play.trace == ["60: final of 0 rows", "3600: final of 600 rows"]
    found = play.status(WINDOW)
    assert (found.state, found.batches, found.cost_s, found.late) == ("done", 1, 67.0, None)
    play.check_replay()


def test_more_batches_where_it_does_not(root: Path) -> None:
    play = new_play(root, "30 seconds")
    play.run(MINUTES, HOUR_S + 200)
    assert play.trace[1:] == ["3540: batch of 590 rows", "3601: final of 10 rows"]
    found = play.status(WINDOW)
    assert (found.state, found.batches, found.late) == ("done", 2, None)
    play.check_replay()


def test_the_slack_follows_what_is_left_to_do(root: Path) -> None:
    play = new_play(root)
    play.run(MINUTES, 1800.0)
    before = play.status(WINDOW).slack_s
    play.run([], HOUR_S - 20.0)
    # All 600 rows in one batch take 62 s and the final 5, with the margin 83.75 of the 120 s.
    assert before == pytest.approx(36.25, abs=2.0)
    assert play.status(WINDOW).slack_s == pytest.approx(36.25, abs=2.0)

    play = new_play(root / "again", "5 seconds")
    play.run(MINUTES, 1800.0)
    assert play.status(WINDOW).slack_s == pytest.approx(5.0 - 83.75, abs=2.0)


def test_a_deadline_that_no_plan_can_meet_is_foreseen(root: Path) -> None:
    play = new_play(root, "5 seconds")
    play.run(MINUTES, HOUR_S + 200)
    found = play.status(WINDOW)
    assert (found.foreseen, found.late) == (True, "foreseen")
    assert play.trace[-1] == (
        f"3608: report {WINDOW} is 3 s behind its deadline: no plan could meet it when it was"
        " submitted"
    )
    play.check_replay()


def test_what_nobody_knows_the_cost_of_is_measured_first_and_does_not_wait(root: Path) -> None:
    play = new_play(root, known=False)
    play.run(MINUTES, HOUR_S + 100)
    assert play.trace == [
        "60: batch of 10 rows", "63: final of 0 rows", "3600: final of 590 rows",
    ]  # fmt: skip
    play.check_replay()


def test_what_runs_once_runs_at_the_end(root: Path) -> None:
    play = new_play(root, known=False)
    play.batches.code = "ORDER_DEPENDENT"
    play.run(MINUTES, 2 * HOUR_S + 120)
    assert play.trace == [
        "60: batch of 10 rows",  # which found out that there is nothing to do before
        "63: final of 0 rows",
        "3600: final of 600 rows",
        "7242: final of 20 rows, incomplete",
    ]
    assert play.status(WINDOW).code == "ORDER_DEPENDENT"
    play.check_replay()


def test_a_feed_that_stops_does_not_stop_its_report(root: Path) -> None:
    play = new_play(root)
    play.run(MINUTES[:50], HOUR_S + 120)
    # What is there is worked off, and the rest waited for as long as it could still be in time.
    assert play.trace[1:] == ["3631: batch of 500 rows", "3711: final of 0 rows, incomplete"]
    found = play.status(WINDOW)
    assert (found.state, found.late, found.complete) == ("done", None, False)
    play.check_replay()


def test_a_machine_slower_than_the_margin_is_the_reason(root: Path) -> None:
    play = new_play(root, batch_s=lambda rows: 10.0 + 0.4 * rows)
    play.run(MINUTES, HOUR_S + 500)
    assert play.status(WINDOW).late == "slower"
    assert play.trace[-1] == (
        f"3855: report {WINDOW} is 135 s behind its deadline: a batch took longer than its margin"
        " allows"
    )
    play.check_replay()


def test_more_rows_than_a_plan_expected_are_a_reason(root: Path) -> None:
    play = new_play(root, "30 seconds")
    play.run([*MINUTES[:58], (3590.0, 800), (3600.0, 0)], HOUR_S + 300)
    assert play.trace[-1] == (
        f"3690: report {WINDOW} is 60 s behind its deadline: more rows came than were expected, or"
        " they came later"
    )
    assert play.status(WINDOW).late == "more"
    play.check_replay()


def test_two_reports_at_once_are_a_reason_though_each_could_be_in_time(root: Path) -> None:
    play = new_play(root, "10 minutes")
    play.arrive(0.0, 1000)
    play.known((100, 12.0), (1000, 102.0), view="one")
    play.known((100, 12.0), (1000, 102.0), view="two")
    for name in ("one", "two"):
        wanted = WantedReport(
            name, name, "SELECT n FROM orders", "a.sql", START_S - HOUR_S, START_S, START_S + 150.0
        )
        submit(play.journal, argument_of(wanted), START_S)
    play.journal.flush()
    play.reports.submitted()
    play.run([], 400.0)
    assert (play.status("one").late, play.status("two").late) == (None, "crowded")
    assert not play.status("two").foreseen
    play.check_replay()


def test_what_was_measured_too_late_is_a_reason(root: Path) -> None:
    play = new_play(root, "2 minutes", known=False, batch_s=lambda rows: 3.0 * rows)
    play.run([(3590.0, 60), (3600.0, 0)], HOUR_S + 400)
    assert play.status(WINDOW).late == "unmeasured"
    play.check_replay()


def test_failures_are_tried_again_and_then_given_up(root: Path) -> None:
    play = new_play(root, "80 seconds")
    play.batches.failures = ["no", "no"]
    play.run(MINUTES[:5], 400)
    finals = ["60: final of 0 rows", "69: final of 0 rows", "80: final of 0 rows"]
    assert play.trace[:3] == finals
    assert play.status().late == "failed"
    play.check_replay()

    play = new_play(root / "again", "2 minutes")
    play.batches.failures = ["no"] * 5
    play.run(MINUTES[:5], 400)
    assert play.trace[-1] == "125: report sales@1970-02-11T15:00:00Z is given up: no"
    assert (play.status().state, play.status().error) == ("failed", "no")
    play.check_replay()


def test_nothing_is_given_up_before_its_deadline(root: Path) -> None:
    """A store that does not answer for minutes is no reason to give up what is wanted tomorrow."""
    play = new_play(root, "2 hours")
    play.batches.failures = ["no"] * 9
    play.run(MINUTES, 2 * HOUR_S)
    assert (play.status().state, play.status().late) == ("done", None)
    starts_s = [int(line.split(":")[0]) for line in play.trace]
    # Behind the batch of 7 s after 2 s, 4 s and so on; never more than five minutes.
    pauses_s = [after - before - 7 for before, after in pairwise(starts_s[1:10])]
    assert pauses_s == [4, 8, 16, 32, 64, 128, 256, 300]
    play.check_replay()


def test_a_batch_that_went_well_ends_a_row_of_failures(root: Path) -> None:
    """However long a window is, failures of several days do not add up."""
    play = new_play(root, "10 minutes", known=False)
    fails = [True, True, True, True, False, True]
    run_batch = play.batches.run_batch

    def flaky(request: BatchRequest) -> BatchResult:
        if request.window.start_s == START_S and fails and fails.pop(0):
            raise PlatformError("made-to-fail", "the store did not answer")
        return run_batch(request)

    play.batches.run_batch = flaky  # type: ignore[method-assign]
    play.run(MINUTES, HOUR_S + 1500)
    assert not fails
    assert play.status(WINDOW).state == "done"
    play.check_replay()


def test_a_window_that_fails_is_given_up_when_the_next_one_is_over(root: Path) -> None:
    """The deadline of both is far away, and the second waits for the first."""
    play = new_play(root, "20 hours")
    run_batch = play.batches.run_batch

    def first_fails(request: BatchRequest) -> BatchResult:
        if request.window.start_s == START_S - HOUR_S:
            raise PlatformError("made-to-fail", "no")
        return run_batch(request)

    play.batches.run_batch = first_fails  # type: ignore[method-assign]
    play.run(MINUTES, 30 * HOUR_S)
    assert play.status().state == "failed"
    assert (play.status(WINDOW).state, play.status(WINDOW).late) == ("done", None)
    play.check_replay()


def test_rows_that_were_written_anew_are_no_reason_to_try_again(root: Path) -> None:
    play = new_play(root, "2 hours")

    def rewritten(request: BatchRequest) -> BatchResult:
        raise PlatformError("arrivals-rewritten", "rows were deleted")

    play.batches.run_batch = rewritten  # type: ignore[method-assign]
    play.run(MINUTES[:5], 2 * HOUR_S)
    assert play.status().state == "failed"
    assert len(play.trace) == 2, play.trace


def test_until_idle_no_window_behind_a_failing_one_is_waited_for(root: Path) -> None:
    play = new_play(root, "20 hours", until_idle=True)
    play.run([], 10.0)
    play.begin(HOUR_S + 100.0)
    play.arrive(HOUR_S, 100)
    play.batches.failures = ["no"] * 40
    play.run([], HOUR_S + 200.0)
    assert not play.reports.idle()
    play.run([], HOUR_S + 900.0)
    assert play.reports.idle()


def test_until_idle_waits_for_no_report_that_fails_again_and_again(root: Path) -> None:
    play = new_play(root, "2 hours", until_idle=True)
    play.batches.failures = ["no"] * 20
    play.arrive(-60.0, 100)
    play.run([], 10.0)
    assert not play.reports.idle()
    play.run([], 1000.0)
    assert play.reports.idle()
    assert play.status().state == "live"  # the next run tries it again


def test_a_new_process_goes_on_where_the_old_one_died(root: Path) -> None:
    play = new_play(root, "30 seconds")
    play.run(MINUTES, 3580.0)
    assert play.trace[-1] == "3540: batch of 590 rows"  # and dies during it
    play.begin(3580.0)
    play.arrive(3580.0, 0)
    play.run([(3600.0, 10)], HOUR_S + 100)
    assert play.trace[2:4] == ["3580: batch of 590 rows", "3641: final of 10 rows"]
    assert (play.status(WINDOW).state, play.status(WINDOW).late) == ("done", "restarted")
    play.check_replay()


def test_what_a_dead_process_had_committed_teaches_nothing_of_costs(root: Path) -> None:
    play = new_play(root)
    play.batches.repeated = True
    play.run(MINUTES, HOUR_S + 110)
    assert play.status(WINDOW).state == "done"
    assert measured(play.journal, "sales").batches == ((100, 12.0), (1000, 102.0))


def test_windows_begun_before_a_view_showed_any_are_made_however_late(root: Path) -> None:
    play = new_play(root)
    play.run(MINUTES[:50], 3000.0)  # and dies
    play.begin(3 * HOUR_S)  # when the window's deadline is over, too
    play.arrive(3 * HOUR_S, 0)
    play.run([], 3 * HOUR_S + 300)
    assert [line for line in play.trace if "final" in line][1:] == [
        "10800: final of 500 rows", "10857: final of 0 rows", "10864: final of 0 rows",
    ]  # fmt: skip
    found = play.status(WINDOW)
    assert (found.state, found.late, found.arrived_rows) == ("done", "restarted", 500)


@pytest.mark.parametrize("change", ["length", "gone", "old"])
def test_a_window_begun_that_is_not_made_any_more_is_given_up(root: Path, change: str) -> None:
    play = new_play(root)
    play.run(MINUTES[:50], 3000.0)
    days_s = 0.0
    if change == "length":
        view = play.project.reports[0]
        longer = ReportSettings(3 * HOUR_S, read_deadline("2 minutes"))
        play.project = replace(play.project, reports=(replace(view, report=longer),))
    elif change == "gone":
        play.project = replace(play.project, reports=())
    else:
        days_s = 10 * 24 * HOUR_S
    play.begin(days_s + 3 * HOUR_S)
    play.run([], days_s + 3 * HOUR_S + 10)
    assert play.status(WINDOW).state == "failed"
    (told,) = [line for line in play.trace if WINDOW in line]
    assert "[report-left-behind]" in told


def test_a_window_that_ends_later_now_is_begun_anew(root: Path) -> None:
    play = new_play(root)
    play.run(MINUTES[:50], 3000.0)
    view = play.project.reports[0]
    longer = ReportSettings(2 * HOUR_S, read_deadline("2 minutes"))
    play.project = replace(play.project, reports=(replace(view, report=longer),))
    play.begin(3100.0)
    play.run([(3200.0, 10)], 2 * HOUR_S + 110)
    wanted = play.status(WINDOW).wanted
    assert (wanted.end_s, wanted.deadline_s) == (START_S + 7200.0, START_S + 7320.0)
    assert play.status(WINDOW).arrived_rows == 510


def test_asked_and_withdrawn(root: Path) -> None:
    play = new_play(root)
    play.arrive(0.0, 100)
    wanted = WantedReport(
        "again", "again", "SELECT n FROM orders", "again.sql", START_S - HOUR_S, START_S,
        START_S + 300.0,
    )  # fmt: skip
    answer = submit(play.journal, argument_of(wanted), START_S)
    assert answer == {"ok": True, "message": "again is submitted"}
    play.journal.flush()
    assert not submit(play.journal, argument_of(wanted), START_S)["ok"]
    play.reports.submitted()
    play.run(MINUTES[:20], 1300.0)
    assert play.trace == ["0: final of 100 rows", "17: final of 100 rows"]
    assert play.status("again").state == "done"
    assert play.reports.withdraw("sales")
    assert not play.reports.withdraw("again")  # it is made
    play.run([], HOUR_S)
    assert play.status(WINDOW).state == "withdrawn"
    assert withdraw_offline(play.journal, "again")["ok"] is False
    play.check_replay()


def _ask(play: Play, query: str, end_s: float = START_S, *, now_s: float = START_S) -> None:
    wanted = WantedReport(
        "again", "again", query, "again.sql", end_s - HOUR_S, end_s, end_s + 300.0
    )
    submit(play.journal, argument_of(wanted), now_s)
    play.journal.flush()
    play.reports.submitted()


def test_one_that_no_longer_fits_the_project_is_given_up_and_the_others_are_made(
    root: Path,
) -> None:
    play = new_play(root)
    _ask(play, "SELECT n FROM renamed")
    play.run(MINUTES, HOUR_S + 110)
    (told,) = [line for line in play.trace if "given up" in line]
    assert told.startswith("0: report again is given up: ")
    assert "the report again reads the unknown table 'renamed'" in told
    found = play.status("again")
    assert (found.state, found.error) == (
        "failed", "the report again reads the unknown table 'renamed'",
    )  # fmt: skip
    assert play.status(WINDOW).state == "done"
    play.check_replay()


def test_one_that_is_withdrawn_before_its_batch_starts_leaves_the_track_to_the_others(
    root: Path,
) -> None:
    play = new_play(root)
    play.arrive(0.0, 100)
    _ask(play, "SELECT n FROM orders")
    play.reports.abandon(OSError("Spark is away"), START_S)
    play.run([], 1.0)  # its batch is ordered, and waits for Spark
    assert play.reports.withdraw("again")
    play.run([], 2.0)
    play.spark_is_there()
    play.run(MINUTES, HOUR_S + 110)
    assert play.status(WINDOW).state == "done"
    play.check_replay()


def test_a_report_asked_for_again_is_made_again(root: Path) -> None:
    play = new_play(root)
    play.arrive(0.0, 100)
    _ask(play, "SELECT n FROM orders")
    play.run([], 100.0)
    assert play.status("again").state == "done"
    _ask(play, "SELECT n + 1 AS n FROM orders", now_s=START_S + 100.0)  # of the same window
    play.run([], 101.0)
    assert play.reports.running
    assert play.reports.withdraw("again")
    _ask(play, "SELECT n + 2 AS n FROM orders", now_s=START_S + 101.0)
    play.run([], 200.0)  # what the withdrawn one's batch brings is not its result
    made = [each for each in play.batches.finals if each.table.name == "again"]
    assert [each.table.query for each in made] == [
        "SELECT n FROM orders", "SELECT n + 1 AS n FROM orders", "SELECT n + 2 AS n FROM orders",
    ]  # fmt: skip
    assert play.status("again").state == "done"
    # To Delta each is a new commit; one that was committed already would not be made again.
    numbers = [each.number for each in made]
    assert numbers == sorted(set(numbers))
    play.check_replay()


def test_one_whose_window_is_not_looked_at_yet_can_be_withdrawn(root: Path) -> None:
    play = new_play(root, until_idle=True)
    _ask(play, "SELECT n FROM orders", START_S + HOUR_S)
    play.run([], 5.0)
    assert play.reports.withdraw("again")
    assert play.status("again").state == "withdrawn"
    assert not play.reports.withdraw("again")


def test_until_idle_makes_what_is_over_and_waits_for_nothing(root: Path) -> None:
    play = new_play(root, known=False, until_idle=True)
    play.arrive(-1800.0, 100)
    play.run([], 5.0)
    assert not play.reports.idle()
    play.run([], 100.0)
    assert play.reports.idle()
    assert play.trace == ["6: final of 100 rows, incomplete"]


def test_the_track_is_reserved_for_the_next_start(root: Path) -> None:
    play = new_play(root)
    told: list[TrackReserved] = []
    reserve = play._reserve
    play._reserve = lambda event: (told.append(event), reserve(event))  # type: ignore[assignment,func-returns-value]
    play.run(MINUTES, HOUR_S + 110)
    assert {event.track for event in told} == {1}
    within = [event.from_s for event in told if event.from_s and event.from_s < START_S + 7000.0]
    # The planned start; with the window's last rows, at 3600, the batch went at once.
    assert [at_s - START_S for at_s in within[-2:]] == pytest.approx([3634.3, 3600.0], abs=1.0)


@pytest.mark.parametrize(("policy", "times"), [("aus", 2), ("max-benefit", 0)])
def test_a_policy_with_bounds_is_told_what_reports_take(
    root: Path, policy: str, times: int
) -> None:
    project = report_project(root, deadline="2 minutes")
    play = Play(replace(project, scheduler=SchedulerSettings(policy=policy, tracks=2)))
    play.known((100, 12.0), (1000, 102.0))
    told: list[TrackReserved] = []
    reserve = play._reserve
    play._reserve = lambda event: (told.append(event), reserve(event))  # type: ignore[assignment,func-returns-value]
    play.run([(60.0 * minute, 10) for minute in range(1, 63)], HOUR_S + 110)
    counted = [event.reports for event in told if event.reports is not None]
    assert len(counted) == times  # when rows came, and when the first window was made
    for reports in counted:
        ((cost_s, batches, window_s, delay_s),) = reports
        assert (batches, window_s, delay_s) == (1, HOUR_S, 120.0)
        assert 0.0 < cost_s < 200.0


@pytest.mark.parametrize(("ahead_s", "made"), [(0.0, True), (HOUR_S, False), (9 * HOUR_S, True)])
def test_a_window_shown_by_a_clock_that_was_ahead_hides_no_later_one(
    root: Path, ahead_s: float, made: bool
) -> None:
    project = report_project(root, deadline="2 minutes")
    end_s = START_S + ahead_s
    shown = {"start": rfc3339(end_s - HOUR_S), "end": rfc3339(end_s)}
    told = {"freshline": 1, "update": 1, "to": rfc3339(end_s), "window": shown}
    log = Path(project.table_path("sales")) / "_delta_log"
    log.mkdir(parents=True)
    commit = {"commitInfo": {"timestamp": 1, "userMetadata": json.dumps(told)}}
    (log / f"{0:020d}.json").write_text(json.dumps(commit))
    journal = Journal(root / "journal.db", create=True)
    due, faults = ReportWindows(project, journal, ended_only=False).due(START_S + 600.0, set())
    journal.close()
    assert faults == []
    assert [wanted.name for wanted, _ in due] == ([WINDOW] if made else [])


def test_windows_that_were_never_begun_and_are_not_made_are_told_once(root: Path) -> None:
    project = report_project(root, deadline="2 minutes")
    told = {
        "freshline": 1, "update": 1, "to": rfc3339(START_S),
        "window": {"start": rfc3339(START_S - HOUR_S), "end": rfc3339(START_S)},
    }  # fmt: skip
    log = Path(project.table_path("sales")) / "_delta_log"
    log.mkdir(parents=True)
    commit = {"commitInfo": {"timestamp": 1, "userMetadata": json.dumps(told)}}
    (log / f"{0:020d}.json").write_text(json.dumps(commit))
    journal = Journal(root / "journal.db", create=True)

    def faults_after(hours: int) -> list[tuple[WantedReport, UserError]]:
        windows = ReportWindows(project, journal, ended_only=False)
        now_s = START_S + hours * HOUR_S - 1.0
        due, faults = windows.due(now_s, set())
        assert len(due) == 100
        assert windows.due(now_s + HOUR_S, {wanted.name for wanted, _ in due})[1] == []
        return faults

    assert faults_after(100) == []
    ((newest, error),) = faults_after(103)
    assert error.what.startswith("3 windows of sales, ")
    first, last = (f"sales@{rfc3339(START_S + each * HOUR_S)}" for each in (0, 2))
    named = f"from {first} to {last}, are not made any more".replace(".000000", "")
    assert (error.code, named in error.what) == ("report-left-behind", True)
    note(journal, newest.name, state="failed")  # as a run does
    journal.flush()
    assert read_report(journal, newest.name) is not None, "it stays to be seen"
    assert faults_after(103) == []
    ((_, error),) = faults_after(104)
    named = f"sales@{rfc3339(START_S + 3 * HOUR_S)}".replace(".000000", "")
    assert error.what == f"the window {named} is not made any more", "not those told before"
    journal.close()


def test_a_window_that_longer_ones_leave_out_is_told_though_a_shorter_had_its_name(
    root: Path,
) -> None:
    project = report_project(root, deadline="2 minutes")
    (view,) = project.reports
    longer = replace(view, report=ReportSettings(2 * HOUR_S, read_deadline("2 minutes")))
    told = {
        "freshline": 1, "update": 1, "to": rfc3339(START_S + HOUR_S),
        "window": {"start": rfc3339(START_S), "end": rfc3339(START_S + HOUR_S)},
    }  # fmt: skip
    log = Path(project.table_path("sales")) / "_delta_log"
    log.mkdir(parents=True)
    commit = {"commitInfo": {"timestamp": 1, "userMetadata": json.dumps(told)}}
    (log / f"{0:020d}.json").write_text(json.dumps(commit))
    with closing(Journal(root / "journal.db", create=True)) as journal:
        note_wanted(journal, window_of(project, view, START_S), "done", START_S)
        journal.flush()
        windows = ReportWindows(replace(project, reports=(longer,)), journal, ended_only=False)
        assert windows.due(START_S + 1.5 * HOUR_S, set()) == ([], [])
        due, faults = windows.due(START_S + 2.5 * HOUR_S, set())
        assert [wanted.start_s for wanted, _ in due] == [START_S + 2 * HOUR_S]
        ((wanted, error),) = faults
        assert (wanted.start_s, wanted.end_s) == (START_S, START_S + 2 * HOUR_S)
        assert error.what == f"the window {WINDOW} is not made any more"
        note(journal, wanted.name, state="failed")  # as a run does
        journal.flush()
        windows = ReportWindows(replace(project, reports=(longer,)), journal, ended_only=False)
        assert windows.due(START_S + 2.5 * HOUR_S, set())[1] == [], "it is told once"


@pytest.mark.parametrize("first_s", [0.0, 9 * HOUR_S], ids=["clock set back", "window to come"])
def test_a_later_submission_under_one_name_has_the_larger_number(
    root: Path, first_s: float
) -> None:
    """Delta counts results by it, and takes a smaller one for one that was overtaken."""
    view = report_project(root, deadline="2 minutes").reports[0]
    with closing(Journal(root / "journal.db", create=True)) as journal:
        numbers = []
        for start_s, now_s in ((START_S + first_s, START_S + HOUR_S), (START_S, START_S + 60.0)):
            wanted = WantedReport("late", "late", "SELECT 1", None, start_s, start_s, start_s)
            assert submit(journal, argument_of(wanted), now_s)["ok"]
            journal.flush()
            found = read_report(journal, "late")
            assert found is not None
            window = Window(view, start_s, start_s, start_s, asked_s=found.asked_s)
            numbers.append(window.number)
            note(journal, "late", state="done")
            journal.flush()
    assert numbers == sorted(set(numbers))
