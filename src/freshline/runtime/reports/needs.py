"""How much the project's reports use of the track that they share with the updates.

Of a view's window: the fullest of the last ones that are over, cut into batches by the learned
costs as ``freshline report plan`` cuts it, the planner's margin included, by the nearest deadline
that one of them had. An ad hoc report counts
once, with what is left of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Any

from freshline.core.aus.supply import ReportDemand
from freshline.core.errors import Place, UserError
from freshline.project.asked import asked_table
from freshline.project.model import Project, TableDef
from freshline.reports.planning.model import Infeasible
from freshline.runtime.journal.reading import NEWEST_FINISH, journal_read
from freshline.runtime.journal.store import Journal
from freshline.runtime.reports.outlook import outlook, stream_names
from freshline.runtime.reports.store import (
    OPEN,
    ReportStatus,
    WantedReport,
    arrivals,
    measured,
    read_reports,
)
from freshline.runtime.reports.windows import window_of

WINDOWS_SEEN = 7
"""So many windows are looked at for the fullest: of days, a week."""

_ROUNDING_S = 1e-3


@dataclass(frozen=True, slots=True)
class ReportNeed:
    """What one report needs.

    Attributes:
        name: Of the view, or of an ad hoc report.
        window_s: Length of its windows; None: it is made once.
        delay_s: From a window's end to its deadline; the least of the last windows.
        rows: Of the streams' updates in the window counted with.
        demand: What it takes of the track; None: unknown, because of ``unknown``.
        feasible: Some plan of it alone meets the deadline; None: unknown.
        earliest_s: The least delay that one could meet, where none meets the deadline.
        unknown: Why nothing is known of its cost; empty where it is.
    """

    name: str
    window_s: float | None
    delay_s: float
    rows: int = 0
    demand: ReportDemand | None = None
    feasible: bool | None = None
    earliest_s: float | None = None
    unknown: str = ""

    def record(self) -> dict[str, Any]:
        """As JSON; times in seconds."""
        demand = self.demand
        return {
            "name": self.name,
            "window": self.window_s,
            "deadline_after": self.delay_s,
            "rows": None if demand is None else self.rows,
            "batches": None if demand is None else demand.batches,
            "cost": None if demand is None else demand.cost_s,
            "utilisation": None if demand is None or self.window_s is None else demand.share,
            "feasible": self.feasible,
            "earliest_deadline_after": self.earliest_s,
            "unknown": self.unknown or None,
        }


def demands(needs: Sequence[ReportNeed]) -> tuple[ReportDemand, ...]:
    """Those that are known."""
    return tuple(need.demand for need in needs if need.demand is not None)


def share_of(needs: Sequence[ReportNeed]) -> float:
    """The part of their track that the known ones need; above 1 it does not hold them all."""
    return fsum(demand.share for demand in demands(needs))


def report_needs(project: Project) -> tuple[ReportNeed, ...]:
    """Of every report of the project and every ad hoc one still to make, in that order.

    Raises:
        PlatformError: The journal is there and cannot be read.
    """
    with journal_read(project) as journal:
        if journal is None:
            return tuple(_unmeasured(project, view, 0.0) for view in project.reports)
        return needs_in(project, journal)


def needs_in(project: Project, journal: Journal) -> tuple[ReportNeed, ...]:
    """The same from an open journal; its clock is that of the newest update."""
    newest = journal.row(NEWEST_FINISH)
    now_s = float(newest["at_s"] or 0.0) if newest else 0.0
    needs = [_of_view(project, journal, view, now_s) for view in project.reports]
    asked = [
        each
        for each in read_reports(journal)
        if each.wanted.query is not None and each.state in OPEN
    ]
    return (*needs, *(_ad_hoc(project, journal, each, now_s) for each in asked))


def _of_view(project: Project, journal: Journal, view: TableDef, now_s: float) -> ReportNeed:
    if not measured(journal, view.name).batches:
        return _unmeasured(project, view, now_s)
    wanted, over = _fullest(project, journal, view, now_s)
    ahead_s = wanted.end_s if over else now_s
    # By cron, one window's deadline is nearer than another's: the nearest is to be met, and
    # updates lose as much as by the farthest, behind which windows pile up.
    delays_s = [each.deadline_s - each.end_s for each in _last_windows(project, view, now_s)]
    wanted = replace(wanted, deadline_s=wanted.end_s + min(delays_s))
    need = _planned(
        project, journal, view, wanted, (ahead_s, wanted.start_s), once=False, closed=over
    )
    if need.demand is None:
        return need
    return replace(need, demand=replace(need.demand, delay_s=max(delays_s)))


def _ad_hoc(project: Project, journal: Journal, status: ReportStatus, now_s: float) -> ReportNeed:
    wanted = status.wanted
    where = Place(wanted.file or "the journal", 1)
    need = ReportNeed(wanted.name, None, wanted.deadline_s - wanted.end_s)
    try:
        table = asked_table(project, wanted.name, wanted.query or "", where)
    except UserError as error:
        return replace(need, unknown=error.what)
    if not measured(journal, wanted.view).batches:
        return replace(need, unknown="never measured")
    return _planned(project, journal, table, wanted, (now_s, now_s), once=True, status=status)


def _planned(
    project: Project,
    journal: Journal,
    table: TableDef,
    wanted: WantedReport,
    looked: tuple[float, float],
    *,
    once: bool,
    closed: bool = False,
    status: ReportStatus | None = None,
) -> ReportNeed:
    """Cut one window into batches.

    Args:
        looked: Up to when arrivals are known, and from when on is planned.
        closed: Nothing more comes.
        status: How far it is; None: nothing was done.
    """
    known_s, from_s = looked
    ahead = outlook(
        project, journal, table, wanted, known_s,
        taken_rows=0 if status is None else status.taken_rows,
        batches=0 if status is None else status.batches,
        closed=closed,
    )  # fmt: skip
    length_s = None if once else wanted.end_s - wanted.start_s
    need = ReportNeed(wanted.view, length_s, wanted.deadline_s - wanted.end_s, ahead.expected_rows)
    if ahead.expected_rows == 0:
        return replace(need, unknown="no rows came yet")
    plan = ahead.plan(from_s)
    earliest_s = None
    if isinstance(plan, Infeasible):
        earliest_s = plan.earliest_deadline_s - wanted.end_s
        later = replace(ahead.report, deadline_s=plan.earliest_deadline_s + _ROUNDING_S)
        plan = replace(ahead, report=later).plan(from_s)
        assert not isinstance(plan, Infeasible), "that deadline can be met"
    demand = ReportDemand(plan.cost_s, max(1, len(plan.batches)), length_s, need.delay_s)
    return replace(need, demand=demand, feasible=earliest_s is None, earliest_s=earliest_s)


def _fullest(
    project: Project, journal: Journal, view: TableDef, now_s: float
) -> tuple[WantedReport, bool]:
    """The window with the most rows among the last that are over; else that of now.

    Returns:
        The window, and whether it is over.
    """
    streams = stream_names(project, view)
    found, *over = _last_windows(project, view, now_s)
    most = 0
    for window in over:
        rows = sum(each.rows for each in arrivals(journal, streams, window.start_s, window.end_s))
        if rows > most:
            found, most = window, rows
    return found, most > 0


def _last_windows(project: Project, view: TableDef, now_s: float) -> list[WantedReport]:
    """The window of now, and the last that are over, newest first."""
    windows = [window_of(project, view, now_s)]
    for _ in range(WINDOWS_SEEN):
        windows.append(window_of(project, view, windows[-1].start_s - 1.0))
    return windows


def _unmeasured(project: Project, view: TableDef, now_s: float) -> ReportNeed:
    window = window_of(project, view, now_s)
    length_s, delay_s = window.end_s - window.start_s, window.deadline_s - window.end_s
    return ReportNeed(view.name, length_s, delay_s, unknown="never measured")
