"""The planner's recorded steps: how many the journal keeps, and which runs can be replayed."""

from __future__ import annotations

import pytest

from freshline.core.errors import UserError
from freshline.reports.costs import FinalCost, LinearCost
from freshline.reports.events import Report, Submitted, Withdrawn
from freshline.reports.scheduler import ReportScheduler
from freshline.runtime.journal.store import Journal
from freshline.runtime.reports import recording as report_recording
from freshline.runtime.reports.driver import POLICY
from freshline.runtime.reports.recording import Recording, replay_reports


@pytest.fixture
def journal(tmp_path, monkeypatch):
    monkeypatch.setattr(report_recording, "KEPT_STEPS", 20)
    monkeypatch.setattr(report_recording, "PRUNED_EVERY", 5)
    opened = Journal(tmp_path / "journal.sqlite", create=True)
    yield opened
    opened.close()


def run(journal: Journal, number: int, steps: int) -> None:
    """A run in which reports are submitted and withdrawn in turn."""
    recording = Recording(journal, number)
    planner = ReportScheduler(POLICY, tracks=1)
    for step in range(steps):
        name = f"r{step // 2}"
        report = Report(name, 0.0, 100.0, 200.0, (50.0,), LinearCost(1.0, 1.0), FinalCost())
        events = [Submitted(report, step) if step % 2 == 0 else Withdrawn(name)]
        recording.step(float(step), events, planner.step(float(step), events))
        journal.flush()


def kept(journal: Journal) -> dict[int, int]:
    rows = journal.rows("SELECT run, count(*) AS steps FROM report_instants GROUP BY run")
    return {row["run"]: row["steps"] for row in rows}


def test_earlier_runs_go_as_wholes_once_they_are_beyond_what_is_kept(journal):
    for number in range(1, 5):
        run(journal, number, 8)
    # With the fifth step of run 4 the newest 20 began within run 2.
    assert kept(journal) == {3: 8, 4: 8}
    assert [replay_reports(journal, number, POLICY) for number in (3, 4)] == [[], []]


def test_a_long_run_keeps_its_newest_steps_and_says_that_it_was_cut(journal):
    run(journal, 1, 8)
    run(journal, 2, 100)
    assert kept(journal) == {2: 21}  # and the mark
    newest = journal.row("SELECT max(now_s) AS at_s, min(now_s) AS from_s FROM report_instants")
    assert (newest["from_s"], newest["at_s"]) == (80.0, 99.0)
    with pytest.raises(UserError, match="the beginning of run 2 is no longer in the journal"):
        replay_reports(journal, 2, POLICY)
    run(journal, 3, 4)
    assert kept(journal) == {3: 4}  # nothing can be told again of a run without its beginning


def test_within_the_limit_nothing_goes(journal):
    run(journal, 1, 10)
    run(journal, 2, 10)
    assert kept(journal) == {1: 10, 2: 10}
