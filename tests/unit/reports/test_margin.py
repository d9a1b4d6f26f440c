"""The joint plan has its margin only where all deadlines leave room for it."""

from __future__ import annotations

import pytest

from freshline.reports.costs import FinalCost, LinearCost
from freshline.reports.events import InputKind, Report, Submitted
from freshline.reports.policies import ReportPolicy
from freshline.reports.scheduler import ReportScheduler

MARGIN = 1.25


def planned_ends_s(deadlines_s: list[float], cost_s: float, margin: float) -> dict[str, float]:
    """When reports over ten seconds, all of whose tuples come at their end, should be complete."""
    policy = ReportPolicy("joint", slack_factor=None, max_batch_time_s=None, margin=margin)
    scheduler = ReportScheduler(policy)
    reports = [
        Report(
            f"r{number}", 0.0, 10.0, deadline_s, (10.0,), LinearCost(0.0, cost_s), FinalCost(),
            input_kind=InputKind.KNOWN,
        )
        for number, deadline_s in enumerate(deadlines_s)
    ]  # fmt: skip
    scheduler.step(0.0, [Submitted(each, order) for order, each in enumerate(reports)])
    return {entry.name: entry.end_s for entry in scheduler.planned()}


@pytest.mark.parametrize(
    ("deadlines_s", "ends_s"),
    [
        ([15.0, 20.0], [15.0, 20.0]),  # there is room for all of it, to the second
        ([15.0, 19.9], [15.0, 19.9]),  # for less, but in time
        ([15.0, 18.0], [14.0, 18.0]),  # for none, to the second
        ([15.0, 17.0], [14.0, 18.0]),  # nothing helps: late by what is missing, no more
    ],
)
def test_the_margin_is_given_up_before_a_deadline_is_missed(
    deadlines_s: list[float], ends_s: list[float]
) -> None:
    found = planned_ends_s(deadlines_s, 4.0, MARGIN)
    assert found == pytest.approx(dict(zip(("r0", "r1"), ends_s, strict=True)))


def test_no_report_is_given_up_for_a_margin() -> None:
    """With all of it one report would be made last, so that twenty are in time."""
    deadlines_s = [11.0 + 4.1 * (number + 1) for number in range(20)]
    found = planned_ends_s(deadlines_s, 4.0, MARGIN)
    late = {name for number, name in enumerate(found) if found[name] > deadlines_s[number] + 1e-9}
    assert len(found) == 20
    assert late == set()


def test_who_is_late_by_itself_keeps_it() -> None:
    assert planned_ends_s([14.9], 4.0, MARGIN) == {"r0": 15.0}
    assert planned_ends_s([14.9, 30.0], 4.0, MARGIN) == {"r0": 15.0, "r1": 30.0}


def test_a_margin_below_one_is_planned_with_as_it_is() -> None:
    assert planned_ends_s([12.0], 4.0, 0.5) == {"r0": 12.0}
