"""Reports on one track: who is late though it could be in time alone, and what is left to each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from freshline.reports.costs import FinalCost, LinearCost
from freshline.reports.events import Report
from freshline.reports.joint.together import Stretch, plan_together, slack_s


def report(name: str, deadline_s: float, *, tuples: int = 10, end_s: float = 10.0) -> Report:
    """Works off its ten tuples in 6 s."""
    arrivals_s = tuple(end_s * (number + 1) / tuples for number in range(tuples))
    return Report(name, 0.0, end_s, deadline_s, arrivals_s, LinearCost(0.5, 1.0), FinalCost())


def test_one_report_has_the_slack_of_equation_2() -> None:
    only = report("a", 20.0)
    found = plan_together([only], 0.0, 1.0)
    assert found.of("a") == (Stretch("a", 14.0, 20.0, 10),)
    assert (found.late_s, found.slack_s(only)) == ({}, 4.0)


def test_two_reports_that_are_due_together_share_what_is_left() -> None:
    a, b = report("a", 25.0), report("b", 25.0)
    found = plan_together([a, b], 0.0, 1.0)
    assert found.late_s == {}
    # Each would have 9 s alone: 15 s less 6. The other's 6 s come off for who is last.
    assert sorted((found.slack_s(a), found.slack_s(b))) == [3.0, 9.0]


def test_two_reports_that_do_not_fit_are_late_by_what_is_missing() -> None:
    a, b = report("a", 16.0), report("b", 16.0)
    for each in (a, b):
        assert plan_together([each], 10.0, 1.0).late_s == {}
    found = plan_together([a, b], 10.0, 1.0)  # nothing could be worked off before
    ((name, late_s),) = found.late_s.items()
    assert late_s == 6.0
    assert found.slack_s({"a": a, "b": b}[name]) == -6.0


def test_no_last_batch_starts_before_its_window_is_over() -> None:
    early = Report("a", 0.0, 10.0, 15.0, (2.0, 3.0), LinearCost(0.5, 3.0), FinalCost())
    assert plan_together([early], 0.0, 1.0).of("a") == (Stretch("a", 11.0, 15.0, 2),)
    late = [replace(early, name=name) for name in "ab"]
    assert sum(plan_together(late, 0.0, 1.0).late_s.values()) >= 2.0


def test_a_report_without_tuples_is_in_no_plan() -> None:
    found = plan_together([report("a", 20.0, tuples=0)], 0.0, 1.0)
    assert (found.stretches, found.late_s) == ((), {})


@pytest.mark.parametrize(
    ("there_s", "left_s"),
    [
        (0.0, 8.0),  # of 15 s until the deadline both batches take 7
        (3.0, 7.0),  # of 12 s 2 of the other's batch and its own 3
        (12.0, 1.0),  # of 3 s the 2 that are left of its own
    ],
)
def test_only_what_runs_before_it_ends_takes_from_its_slack(there_s: float, left_s: float) -> None:
    plan = [Stretch("b", 1.0, 5.0), Stretch("a", 11.0, 14.0), Stretch("b", 14.0, 30.0)]
    assert slack_s(plan, "a", there_s, 15.0) == left_s
