"""The reports of a project planned together, outside of a run: do all deadlines fit on one track?

A report that alone could be in time and together with the others is not is *crowded*. That is
told before it is accepted, and by ``validate``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from freshline.core.errors import Place, UserError
from freshline.project.asked import asked_table
from freshline.project.definition import definition_of
from freshline.project.model import Project, TableDef
from freshline.reports.events import Report
from freshline.reports.joint.together import Together, plan_together
from freshline.reports.planning.model import Infeasible, Plan
from freshline.runtime.journal.reading import NEWEST_FINISH, journal_read
from freshline.runtime.journal.store import Journal
from freshline.runtime.reports.outlook import MARGIN, Outlook, outlook
from freshline.runtime.reports.store import (
    OPEN,
    ReportStatus,
    WantedReport,
    measured,
    read_reports,
)
from freshline.runtime.reports.windows import window_of

_TRIES = 12
"""Plans made for the earliest deadline that fits."""
_CLOSE_S = 1.0
"""That is searched for up to so many seconds."""
LATE_S = 0.5
"""Planned lateness up to this is none: the search for the joint plan is no closer."""


@dataclass(frozen=True, slots=True)
class Ahead:
    """What is ahead of one report.

    Attributes:
        outlook: What is expected of it.
        alone: Its plan if it had the track for itself.
        together: The plan of all reports that are to be made.
        later_s: By report, by how much it is late only because this one is made, too.
        fits_s: The earliest deadline of this one with which that is so of none; None: nobody
            looked, or there is none.
    """

    wanted: WantedReport
    outlook: Outlook
    alone: Plan | Infeasible
    together: Together
    later_s: dict[str, float] = field(default_factory=dict)
    fits_s: float | None = None

    @property
    def crowded(self) -> bool:
        """Alone it could be in time; together it, or another because of it, is not."""
        return bool(self.later_s) and not isinstance(self.alone, Infeasible)

    @property
    def in_time(self) -> bool:
        """Whether it meets its deadline by the plan of all."""
        alone = not isinstance(self.alone, Infeasible)
        return alone and self.together.late_s.get(self.wanted.name, 0.0) <= LATE_S

    @property
    def slack_s(self) -> float:
        """Of the plan of all, or of equation 2 where that is less."""
        return min(self.alone.slack_s, self.together.slack_s(self.outlook.report))

    @property
    def others(self) -> list[str]:
        """The other reports in the plan."""
        names = dict.fromkeys(each.name for each in self.together.stretches)
        return [name for name in names if name != self.wanted.name]


def look_ahead(
    project: Project,
    journal: Journal,
    wanted: WantedReport,
    table: TableDef,
    now_s: float,
    *,
    status: ReportStatus | None = None,
) -> Ahead:
    """Plan a report together with all that are to be made.

    Args:
        table: Its definition.
        status: How far it is; None: it is not accepted yet.
    """
    own = _outlook(project, journal, wanted, table, now_s, status)
    others = [
        each for each in _outlooks(project, journal, now_s) if each.report.name != wanted.name
    ]
    alone = own.plan(now_s)
    reports = [each.report for each in others]
    # Of those that are due together one that is not accepted yet is the last.
    new = own.report.name if status is None else ""
    by_deadline = sorted(
        [*reports, own.report], key=lambda each: (each.deadline_s, each.name == new, each.name)
    )
    together = plan_together(by_deadline, now_s, MARGIN)
    found = Ahead(wanted, own, alone, together)
    if isinstance(alone, Infeasible) or not together.late_s or not reports:
        return found
    without_s = plan_together(reports, now_s, MARGIN).late_s
    later_s = _later(together, without_s)
    if not later_s:
        return found
    fits_s = _fitting(own, reports, without_s, now_s, sum(later_s.values()))
    return replace(found, later_s=later_s, fits_s=fits_s)


def crowded_reports(project: Project) -> list[str]:
    """A sentence for every report that is late only together with the others.

    Of each view the window of the newest update counts, and ad hoc reports still to make; none
    that was never measured.

    Raises:
        PlatformError: The journal is there and cannot be opened.
    """
    if not project.reports:
        return []
    with journal_read(project) as journal:
        if journal is None:
            return []
        newest = journal.row(NEWEST_FINISH)
        now_s = float(newest["at_s"] or 0.0) if newest else 0.0
        known = [
            each
            for each in _outlooks(project, journal, now_s, measured_only=True)
            if not isinstance(each.plan(now_s), Infeasible)
        ]
        together = plan_together([each.report for each in known], now_s, MARGIN)
    return [
        f"report {name} is crowded: alone it could be in time, planned together with"
        f" {_listed([each.report.name for each in known if each.report.name != name])} it is"
        f" {late_s:.0f} s late; give one of them a later deadline"
        for name, late_s in sorted(together.late_s.items())
        if late_s > LATE_S
    ]


def _outlooks(
    project: Project, journal: Journal, now_s: float, *, measured_only: bool = False
) -> list[Outlook]:
    """Of every report that is to be made: those in the journal, and the views' windows of now."""
    statuses = [each for each in read_reports(journal) if each.state in OPEN]
    known = {each.wanted.name for each in read_reports(journal)}
    wanted: list[tuple[WantedReport, TableDef, ReportStatus | None]] = []
    for each in statuses:
        try:
            wanted.append((each.wanted, table_of(project, each.wanted), each))
        except UserError:
            continue  # its query no longer fits the project, so it is not made
    for view in project.reports:
        window = window_of(project, view, now_s)
        if window.name not in known:
            wanted.append((window, view, None))
    return [
        _outlook(project, journal, window, table, now_s, status)
        for window, table, status in wanted
        if not measured_only or measured(journal, window.view).batches
    ]


def table_of(project: Project, wanted: WantedReport) -> TableDef:
    """The definition of a report that was asked for, or of a view's.

    Raises:
        UserError: Its query does not fit the project.
    """
    view = project.report(wanted.view)
    if view is not None:
        return view
    return asked_table(
        project, wanted.name, wanted.query or "", Place(wanted.file or "the journal", 1)
    )


def _outlook(
    project: Project,
    journal: Journal,
    wanted: WantedReport,
    table: TableDef,
    now_s: float,
    status: ReportStatus | None,
) -> Outlook:
    if status is not None and wanted.query is None and wanted.definition != definition_of(table):
        status = None  # it was begun under another query, and is begun anew
    return outlook(
        project, journal, table, wanted, now_s,
        taken_rows=0 if status is None else status.taken_rows,
        batches=0 if status is None else status.batches,
    )  # fmt: skip


def _later(together: Together, without_s: dict[str, float]) -> dict[str, float]:
    """Who is late, and by how much, that is not without the one that is asked about."""
    return {
        name: late_s
        for name, late_s in together.late_s.items()
        if late_s > LATE_S and without_s.get(name, 0.0) <= LATE_S
    }


def _fitting(
    own: Outlook,
    reports: Sequence[Report],
    without_s: dict[str, float],
    now_s: float,
    step_s: float,
) -> float | None:
    """The earliest deadline of one report with which nobody is late because of it."""
    deadline_s = own.report.deadline_s
    low_s, high_s = deadline_s, None
    for _ in range(_TRIES):
        if high_s is not None and high_s - low_s <= _CLOSE_S:
            break
        tried_s = low_s + step_s if high_s is None else (low_s + high_s) / 2.0
        changed = replace(own.report, deadline_s=tried_s)
        if _later(plan_together([*reports, changed], now_s, MARGIN), without_s):
            low_s, step_s = tried_s, 2.0 * step_s
        else:
            high_s = tried_s
    return high_s


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else "".join(names)
