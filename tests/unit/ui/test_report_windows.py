"""Windows of reports on the page: behind their deadlines, with and without a run."""

from __future__ import annotations

import dataclasses

import pytest

from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.runtime.reports.store import WantedReport, note, note_wanted
from freshline.ui.reads.reading import Reader
from tests.support.report_play import report_project

NOW_S = 1_790_000_000.0


@pytest.fixture
def project(tmp_path):
    """Four windows: two that are not made, 8 minutes behind and 20 s ahead; two that are."""
    project = report_project(tmp_path)
    journal = Journal(journal_path(project), create=True)
    for name, deadline_s, state, slack_s, finish_s in (
        ("overdue", NOW_S - 480.0, "live", 13.0, None),
        ("open", NOW_S + 20.0, "live", 300.0, None),
        ("missed", NOW_S - 3600.0, "done", 13.0, NOW_S - 3570.0),
        ("met", NOW_S - 7200.0, "done", 13.0, NOW_S - 7230.0),
    ):
        wanted = WantedReport(name, "sales", None, None, 0.0, 1.0, deadline_s)
        note_wanted(journal, wanted, state, 0.0)
        planned = f"[{NOW_S + 5.0}]"
        note(journal, name, slack_s=slack_s, finish_s=finish_s, planned=planned)
    journal.close()
    return project


@pytest.fixture
def runs(monkeypatch):
    """A run is alive."""
    asked = Reader.run_now
    monkeypatch.setattr(
        Reader, "run_now", lambda self: dataclasses.replace(asked(self), running=True)
    )


def windows(project, serve):
    with serve(project, clock=lambda: NOW_S) as ask:
        found = ask("/v1/ui/reports").json
    return found, {each["name"]: each for each in found["reports"]}


def test_a_window_says_how_late_it_is_and_without_a_run_nothing_of_a_plan(project, serve):
    found, reports = windows(project, serve)
    assert found["running"] is False
    late = {name: each["late_s"] for name, each in reports.items()}
    assert late == {"overdue": 480.0, "open": None, "missed": 30.0, "met": None}
    assert {each["slack_s"] for each in reports.values()} == {None}
    assert {each["next_batch"] for each in reports.values()} == {None}


@pytest.mark.usefixtures("runs")
def test_slack_is_no_more_than_the_time_left(project, serve):
    found, reports = windows(project, serve)
    assert found["running"] is True
    slack = {name: each["slack_s"] for name, each in reports.items()}
    assert slack == {"overdue": None, "open": 20.0, "missed": None, "met": None}


def test_the_name_of_a_report_leads_to_reports(project, serve):
    with serve(project) as ask:
        for path in ("/v1/tables/sales", "/v1/tables/SALES/updates"):
            reply = ask(path)
            assert (reply.status, reply.json["error"]) == (404, "a-report")
            assert reply.json["message"].startswith("sales is a report: ")
