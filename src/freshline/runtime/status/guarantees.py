"""What can be promised of a project, from the costs that its runs have learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from freshline.core.assembly import SchedulerSettings
from freshline.core.aus.assessment import Assessment, assessed
from freshline.core.aus.guarantee import graph_of
from freshline.core.aus.supply import ReportDemand
from freshline.core.model import TableSpec
from freshline.project.model import Project
from freshline.runtime.reports.needs import ReportNeed, demands, report_needs, share_of
from freshline.runtime.status.measured import Measured, measured


@dataclass(frozen=True, slots=True)
class ProjectGuarantees:
    """What is promised, and what the promise stands on.

    Attributes:
        assessment: The bounds.
        measured: The costs that they count with.
        quantile: The part of updates that kept them; None: they are means.
        reports: What shares the last track with the updates; those of unknown cost are not
            counted in the bounds.
    """

    assessment: Assessment
    measured: Measured
    quantile: float | None
    reports: tuple[ReportNeed, ...] = ()

    def record(self) -> dict[str, Any]:
        """The object that ``freshline guarantees --json`` prints for a project.

        Beside the documented keys: ``quantile``, and for each table ``mean`` (what an update
        takes on average, in seconds) and ``updates`` (how many the quantile comes from). Where
        there are reports: ``reports``, a list, their ``reports_utilisation`` of one track, whether
        it holds them all and each can meet its deadline (``reports_schedulable``; None while
        something is unknown), and ``lent``, what the updates lose to them.
        """
        record = self.assessment.record()
        record["quantile"] = self.quantile
        for table in self.assessment.tables:
            alpha_s, beta = self.measured.mean[table.name]
            record["tables"][table.name]["mean"] = alpha_s + beta * table.period_s
            record["tables"][table.name]["updates"] = self.measured.updates.get(table.name)
        if self.reports:
            lent = self.assessment.lent
            record["reports"] = [need.record() for need in self.reports]
            record["reports_utilisation"] = share_of(self.reports)
            record["reports_schedulable"] = self.reports_schedulable
            record["lent"] = {"share": lent.share, "burst": lent.burst_s}
        return record

    @property
    def reports_schedulable(self) -> bool | None:
        """Whether all reports can be in time; None: those that are known can."""
        if share_of(self.reports) > 1.0 or any(need.feasible is False for need in self.reports):
            return False
        return None if any(need.unknown for need in self.reports) else True


def project_guarantees(
    project: Project, *, outage_s: float | None = None, quantile: float | None = None
) -> ProjectGuarantees:
    """Judge a project's tables by the rules of aus, with the costs learned so far.

    Args:
        project: Its tables, tracks, and how recovery periods are chosen.
        outage_s: Length of the outage that base tables shall recover from; None: none.
        quantile: Part of the updates that shall take no longer than assumed; None: the mean.

    Raises:
        UserError: Some table was never updated, so nothing is known of its costs.
        PlatformError: The journal is there and cannot be opened.
    """
    costs = measured(project, quantile=quantile)
    needs = report_needs(project)
    assessment = assessment_of(
        costs.specs, project.scheduler, outage_s=outage_s, reports=demands(needs)
    )
    return ProjectGuarantees(assessment, costs, quantile, needs)


def assessment_of(
    specs: Sequence[TableSpec],
    chosen: SchedulerSettings,
    *,
    outage_s: float | None = None,
    reports: Sequence[ReportDemand] = (),
) -> Assessment:
    """Judge tables under a project's settings, beside ``reports``.

    Raises:
        UserError: Recovery periods are to be explicit, and a table has none.
    """
    return assessed(
        graph_of(specs),
        tracks=chosen.tracks,
        recovery=chosen.recovery,
        outage_s=outage_s,
        policy=chosen.policy,
        chop=chosen.chop,
        objective=chosen.objective,
        reports=reports,
    )
