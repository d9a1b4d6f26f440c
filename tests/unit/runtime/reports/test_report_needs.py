"""What reports need of their track, from the journal; and what guarantees say with them.

Orders bring ten rows a minute, 600 an hour; a batch took 2 s and 0.1 s a row, the final 5 s.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from freshline.cli.commands.guarantees import report_grid, reports_in_words
from freshline.cli.commands.validate import utilisation_lines
from freshline.core.aus.supply import ReportDemand, RestrictedSupply
from freshline.project.model import Project
from freshline.render.output import console
from freshline.reports.costs import FinalCost
from freshline.reports.planning.model import Plan
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.reading import journal_read
from freshline.runtime.journal.store import Journal
from freshline.runtime.reports.needs import ReportNeed, report_needs
from freshline.runtime.reports.outlook import outlook
from freshline.runtime.reports.requests import argument_of, submit, withdraw_offline
from freshline.runtime.reports.store import WantedReport
from freshline.runtime.reports.together import crowded_reports
from freshline.runtime.reports.windows import window_of
from freshline.runtime.status.guarantees import project_guarantees
from tests.support.report_play import HOUR_S, START_S, report_project

MARGIN = 1.25


def near(value: float) -> Any:
    """A number that may differ in its last digits, wherever one is wanted."""
    return pytest.approx(value)


def recorded(
    root: Path,
    deadline: str = "2 minutes",
    *,
    tracks: int = 1,
    hours: tuple[int, ...] = (600,),
    known: bool = True,
) -> Project:
    """A project whose journal has one update a minute, so many rows an hour before START_S.

    The last of ``hours`` is the hour that was over at START_S.
    """
    project = report_project(root, tracks=tracks, deadline=deadline)
    feeds = {name: replace(feed, period_s=10.0) for name, feed in project.feeds.items()}
    project = replace(project, feeds=feeds)
    journal = Journal(journal_path(project), create=True)
    journal.write(
        "INSERT INTO tables (name, kind, updates, alpha_s, beta, period_s)"
        " VALUES ('orders', 'base', 60, 2.0, 0.0, 10.0)"
    )
    number = 0
    for place, rows in enumerate(hours):
        begins_s = START_S - (len(hours) - place) * HOUR_S
        for minute in range(60):
            number += 1
            at_s = begins_s + 60.0 * minute + 30.0
            journal.write(
                "INSERT INTO updates (table_name, number, state, finish_s, to_s, rows)"
                " VALUES ('orders', ?, 'done', ?, ?, ?)",
                (number, at_s, at_s - 1.0, rows // 60),
            )
    journal.write(
        "INSERT INTO updates (table_name, number, state, finish_s, to_s, rows)"
        " VALUES ('orders', ?, 'done', ?, ?, 0)",
        (number + 1, START_S + 1.0, START_S),
    )
    for size, seconds in ((100, 12.0), (1000, 102.0)) if known else ():
        journal.write(
            "INSERT INTO report_batches (report, view, rows, seconds, final_s, batches)"
            " VALUES ('before', 'sales', ?, ?, 5.0, 1)",
            (size, seconds),
        )
    journal.close()
    return project


def test_a_window_that_fits_one_batch(tmp_path):
    (need,) = report_needs(recorded(tmp_path))
    demand = ReportDemand(near(MARGIN * (62.0 + 5.0)), 1, HOUR_S, 120.0)
    assert need == ReportNeed("sales", HOUR_S, 120.0, 600, demand, feasible=True)
    assert need.record() == {
        "name": "sales",
        "window": HOUR_S,
        "deadline_after": 120.0,
        "rows": 600,
        "batches": 1,
        "cost": near(83.75),
        "utilisation": near(83.75 / 3600),
        "feasible": True,
        "earliest_deadline_after": None,
        "unknown": None,
    }


def test_a_nearer_deadline_takes_more_batches_and_costs_more(tmp_path):
    (need,) = report_needs(recorded(tmp_path, "30 seconds"))
    # A batch more costs its 2 s, and 0.05 s more in the final.
    assert need.demand is not None
    assert need.demand.batches == 2
    assert need.demand.cost_s == near(MARGIN * (62.0 + 2.0 + 5.0 + 0.05))
    assert need.feasible is True


def test_a_deadline_that_no_plan_meets_is_counted_with_the_earliest_one(tmp_path):
    (need,) = report_needs(recorded(tmp_path, "5 seconds"))
    assert need.feasible is False
    assert need.earliest_s is not None
    # The last batch holds a unit of three rows at least, and the final.
    assert MARGIN * (2.3 + 5.0) < need.earliest_s < 30.0
    assert need.demand is not None
    assert need.demand.cost_s > MARGIN * 67.0


def test_the_fullest_of_the_last_windows_counts(tmp_path):
    project = recorded(tmp_path, hours=(1800, *[600] * 2, 900, *[60] * 5))
    (need,) = report_needs(project)
    assert need.rows == 900  # the 1,800 are nine windows back


def test_of_deadlines_by_cron_the_nearest_is_to_be_met_and_the_farthest_counts_in_the_loss(
    tmp_path,
):
    # Hours that end at 10:00 ... 16:00; deadlines at 12:30 and 18:30. The fullest ends at 12:00.
    (need,) = report_needs(recorded(tmp_path, "30 */6 * * *", hours=(60, 60, 1800, 60, 60, 60, 60)))
    assert (need.rows, need.delay_s) == (1800, 0.5 * HOUR_S)
    assert need.demand is not None
    assert need.demand.delay_s == 5.5 * HOUR_S  # of the hour that ends at 13:00


def test_a_full_window_with_a_far_deadline_is_planned_by_the_nearest_one(tmp_path):
    # As above, but the fullest ends at 13:00: its own deadline is 5.5 hours away.
    hours = (60, 60, 60, 60000, 60, 60, 60)
    (need,) = report_needs(recorded(tmp_path, "30 */6 * * *", hours=hours))
    assert (need.rows, need.delay_s) == (60000, 0.5 * HOUR_S)
    assert need.feasible is False
    assert need.earliest_s is not None
    assert 0.5 * HOUR_S < need.earliest_s < 5.5 * HOUR_S


def test_the_final_of_a_plan_combines_the_batches_made_before(tmp_path):
    project = recorded(tmp_path)
    (view,) = project.reports
    with journal_read(project) as journal:
        assert journal is not None
        wanted = window_of(project, view, START_S - 1.0)
        costs = []
        for batches in (0, 3):
            ahead = outlook(project, journal, view, wanted, START_S, batches=batches, closed=True)
            final = FinalCost(2.0, 5.0, of_one=True)
            plan = replace(ahead, report=replace(ahead.report, final=final)).plan(START_S)
            assert isinstance(plan, Plan)
            costs.append((plan.cost_s, plan.final_cost_s))
    (cost_s, final_s), (cost_after_s, final_after_s) = costs
    assert cost_after_s - cost_s == near(MARGIN * 2.0 * 3)
    assert final_after_s - final_s == near(MARGIN * 2.0 * 3)


def test_what_was_never_measured_or_brought_nothing_is_unknown(tmp_path):
    project = recorded(tmp_path / "a", known=False)
    assert report_needs(project) == (ReportNeed("sales", HOUR_S, 120.0, unknown="never measured"),)
    project = recorded(tmp_path / "b", hours=(0,))
    assert report_needs(project) == (
        ReportNeed("sales", HOUR_S, 120.0, unknown="no rows came yet"),
    )
    project = report_project(tmp_path / "c", deadline="2 minutes")  # which has no journal
    assert report_needs(project) == (ReportNeed("sales", HOUR_S, 120.0, unknown="never measured"),)


def test_an_ad_hoc_report_counts_once_and_until_it_is_made(tmp_path):
    project = recorded(tmp_path)
    wanted = WantedReport(
        "again", "again", "SELECT n FROM orders", "again.sql", START_S - HOUR_S, START_S,
        START_S + 300.0,
    )  # fmt: skip
    journal = Journal(journal_path(project), create=False)
    submit(journal, argument_of(wanted), START_S)
    journal.flush()
    assert report_needs(project)[1] == ReportNeed("again", None, 300.0, unknown="never measured")
    journal.write(
        "INSERT INTO report_batches (report, view, rows, seconds, final_s, batches)"
        " VALUES ('again', 'again', 100, 12.0, 5.0, 1)"
    )
    journal.flush()
    need = report_needs(project)[1]
    # 600 rows: half of 12 s for the batch, the other half for each hundred rows.
    demand = ReportDemand(near(MARGIN * (42.0 + 5.0)), 1, None, 300.0)
    assert need == ReportNeed("again", None, 300.0, 600, demand, feasible=True)
    assert need.record()["utilisation"] is None
    withdraw_offline(journal, "again")
    journal.close()
    assert [each.name for each in report_needs(project)] == ["sales"]


def test_the_promise_counts_reports(tmp_path):
    found = project_guarantees(recorded(tmp_path))
    # (83.75 + 2) / 3600, and Theorem 1 with one table: Y = e + burst / (1 - share).
    share = 85.75 / 3600
    burst_s = 2 * 85.75 + share * 120.0
    assert found.assessment.lent == RestrictedSupply(near(share), near(burst_s))
    record = found.record()
    assert record["tables"]["orders"]["tardiness_bound"] == near(2.0 + burst_s / (1.0 - share))
    assert record["reports"] == [need.record() for need in found.reports]
    assert record["reports_utilisation"] == near(83.75 / 3600)
    assert record["reports_schedulable"] is True
    assert record["lent"] == {"share": near(share), "burst": near(burst_s)}


def test_without_reports_nothing_is_said_of_them(tmp_path):
    project = replace(recorded(tmp_path), reports=())
    found = project_guarantees(project)
    assert set(found.record()) == {
        "schedulable", "tracks", "tracks_needed", "utilisation", "stretch", "tables", "quantile",
    }  # fmt: skip
    assert found.assessment.lent == RestrictedSupply()


@pytest.mark.parametrize(
    ("deadline", "known", "schedulable"),
    [("2 minutes", True, True), ("5 seconds", True, False), ("2 minutes", False, None)],
)
def test_whether_reports_can_be_in_time(tmp_path, deadline, known, schedulable):
    found = project_guarantees(recorded(tmp_path, deadline, known=known))
    assert found.reports_schedulable is schedulable


def test_in_words(tmp_path, capsys):
    found = project_guarantees(recorded(tmp_path))
    needs = found.reports
    console().print(report_grid(needs))
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["report", "a", "window", "of", "rows", "batches", "takes", "share", "due", "after"],
        ["sales", "1", "h", "600", "1", "84", "s", "2.3", "%", "2", "min"],
    ]
    assert reports_in_words(needs, found.assessment) == [
        "Reports need 2.3 % of the only track, their margin included.",
        (
            "With what stands idle before their batches the updates lose 2.4 % of it, and 3 min at"
            " once at most."
        ),
    ]


def test_in_words_where_every_table_has_a_track_of_its_own(tmp_path):
    found = project_guarantees(recorded(tmp_path, tracks=2))
    assert found.assessment.lent == RestrictedSupply()
    assert reports_in_words(found.reports, found.assessment) == [
        "Reports need 2.3 % of the last track, their margin included.",
        "The updates lose nothing: there are fewer tables than tracks.",
    ]


def test_in_words_what_does_not_fit_and_what_is_not_known(tmp_path):
    found = project_guarantees(recorded(tmp_path))
    demand = ReportDemand(3000.0, 1, HOUR_S, 120.0)
    needs = [
        ReportNeed("big", HOUR_S, 120.0, 10, demand, feasible=True),
        ReportNeed("hasty", HOUR_S, 5.0, 10, demand, feasible=False, earliest_s=14.0),
        ReportNeed("new", HOUR_S, 5.0, unknown="never measured"),
    ]
    taken = replace(found.assessment, lent=RestrictedSupply(1.0, 0.0))
    assert reports_in_words(needs, taken) == [
        "Reports need 166.7 % of the only track, their margin included.",
        "With what stands idle before their batches the updates lose all of it.",
        "One track does not hold them: some will be late.",
        (
            "No plan of report hasty meets its deadline: at the earliest it is made 14 s after a"
            " window."
        ),
        "Report new is not counted: never measured.",
    ]


def test_reports_that_fit_alone_and_not_together_are_crowded(tmp_path):
    """The last rows, the final and the margin take 9 s of each; there are 12 for both."""
    project = recorded(tmp_path, "12 seconds")
    (sales,) = project.reports
    assert crowded_reports(project) == []
    both = replace(project, reports=(sales, replace(sales, name="returns")))
    assert crowded_reports(both) == []  # nothing is known of the other
    journal = Journal(journal_path(project), create=False)
    journal.write(
        "INSERT INTO report_batches (report, view, rows, seconds, final_s, batches)"
        " SELECT report, 'returns', rows, seconds, final_s, batches FROM report_batches"
    )
    journal.close()
    (told,) = crowded_reports(both)
    assert re.fullmatch(
        r"report (sales|returns)@1970-02-11T16:00:00Z is crowded: alone it could be in time,"
        r" planned together with (returns|sales)@1970-02-11T16:00:00Z it is [67] s late; give one"
        r" of them a later deadline",
        told,
    )
    assert utilisation_lines(both)[2] == told


def test_validate_says_what_reports_need_of_the_last_track(tmp_path):
    lines = utilisation_lines(recorded(tmp_path / "measured"))
    assert lines == [
        "utilisation: 0.2 of 1 track",  # 2 s every 10 s
        "reports: 0.0233 of the last track",  # 83.75 s of an hour
    ]
    lines = utilisation_lines(recorded(tmp_path / "unknown", known=False))
    assert lines[1] == "reports: 0 of the last track; not measured yet: sales"
