"""What many reports cost together on one track: who is late, and how much slack each has.

Plans of one report alone (`freshline.reports.planning.planner`) may all meet their deadlines,
and the reports not, since they share a track.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from freshline.reports.costs import TOLERANCE_S
from freshline.reports.events import Report
from freshline.reports.joint.order import Work
from freshline.reports.joint.search import plan_order


@dataclass(frozen=True, slots=True)
class Stretch:
    """A planned batch: its report, its tuples, and when it has the track, with its final."""

    name: str
    start_s: float
    end_s: float
    tuples: int = 0


@dataclass(frozen=True, slots=True)
class Together:
    """One plan for all reports, from ``now_s`` on.

    Attributes:
        stretches: In the order in which they have the track.
        late_s: By report, how much behind its deadline it ends; only those that do.
    """

    now_s: float
    stretches: tuple[Stretch, ...]
    late_s: dict[str, float]

    def of(self, name: str) -> tuple[Stretch, ...]:
        """One report's batches."""
        return tuple(each for each in self.stretches if each.name == name)

    def slack_s(self, report: Report) -> float:
        """See `slack_s`; from when the report's input is there."""
        there_s = max([self.now_s, report.end_s, *report.predicted_s[-1:]])
        return slack_s(self.stretches, report.name, there_s, report.deadline_s)


def plan_together(reports: Sequence[Report], now_s: float, margin: float) -> Together:
    """The joint plan of reports whose tuples come as predicted.

    Args:
        reports: Each under a name of its own.
        now_s: Nothing starts before; the track is free then.
        margin: Multiple of the modelled durations that is planned with.
    """
    works = [
        Work(
            name=report.name,
            expected_s=_expected_s(report, now_s),
            deadline_s=report.deadline_s,
            cost_s=[margin * report.cost(size) for size in range(len(report.predicted_s) + 1)],
            final=report.final,
            batches_before=report.batches_before,
            longest=max(1, len(report.predicted_s)),
            free_s=now_s,
            margin=margin,
        )
        for report in reports
        if report.predicted_s
    ]
    timed = plan_order(works, [now_s])
    stretches = tuple(
        Stretch(works[index].name, start_s, end_s, tuples)
        for index, start_s, end_s, tuples in zip(
            timed.order, timed.starts_s, timed.ends_s, timed.sizes, strict=True
        )
    )
    late_s = {}
    for work in works:
        end_s = max(each.end_s for each in stretches if each.name == work.name)
        if end_s > work.deadline_s + TOLERANCE_S:
            late_s[work.name] = end_s - work.deadline_s
    return Together(now_s, stretches, late_s)


def _expected_s(report: Report, now_s: float) -> list[float]:
    """When each tuple is there; with the last one the window is over (C6)."""
    *before_s, last_s = (max(now_s, at_s) for at_s in report.predicted_s)
    return [*before_s, max(last_s, report.end_s)]


def slack_s(stretches: Sequence[Stretch], name: str, there_s: float, deadline_s: float) -> float:
    """How long the track may stand still from ``there_s`` on without the report being late.

    That is the time up to its deadline in which no planned batch has the track before its own
    last one ends. Negative: by so much it is late by the plan.
    """
    ends_s = [each.end_s for each in stretches if each.name == name]
    if not ends_s:
        return deadline_s - there_s
    end_s = max(ends_s)
    if end_s > deadline_s + TOLERANCE_S:
        return deadline_s - end_s
    busy_s = sum(
        max(0.0, min(each.end_s, end_s) - max(each.start_s, there_s)) for each in stretches
    )
    return deadline_s - there_s - busy_s
