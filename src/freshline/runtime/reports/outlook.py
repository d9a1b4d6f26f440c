"""What a report is expected to bring and to cost, and the plan that follows from it.

Arrivals are predicted by ``forecast.py``. The planner counts in units of rows, so that a
window of millions is planned as quickly as one of hundreds; a unit's time is that of the update
which completed it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from freshline.project.model import Project, TableDef
from freshline.reports.costs import CostModel, FinalCost, PiecewiseCost
from freshline.reports.events import InputKind, Reached, Report
from freshline.reports.learned import (
    FIRST_BATCH,
    FIRST_FINAL,
    learned_cost,
    learned_final,
    scaled,
)
from freshline.reports.planning.model import Infeasible, Plan, Window
from freshline.reports.planning.planner import plan_window
from freshline.runtime.journal.store import Journal
from freshline.runtime.reports.forecast import Forecast, forecast, typical_start_s
from freshline.runtime.reports.store import (
    Arrival,
    Measured,
    WantedReport,
    arrivals,
    measured,
    newest_arrival,
)
from freshline.runtime.reports.windows import window_of

MARGIN = 1.25
"""Batches are planned as if they took so many times what was learned."""

UNITS = 200
"""Units of rows to which a window is cut for planning, at most about so many."""


_ROUNDING = 1e-6
"""More than a sum of shares of rows is off."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is expected of one report from now on.

    Attributes:
        unit_rows: Rows of one unit; None: the whole window is one (the query runs once).
        report: As the planner takes it; its tuples are units not yet taken.
        arrived_rows: Of the window so far.
        expected_rows: Of the whole window.
        forecasts: By stream, what it brought and should bring.
        taken_rows: Worked off before; the planner's tuples are those behind them.
    """

    unit_rows: int | None
    report: Report
    arrived_rows: int
    expected_rows: int
    forecasts: Mapping[str, Forecast]
    taken_rows: int = 0

    def units(self, rows: int, *, closed: bool) -> int:
        """Units that so many rows make; the last one may be smaller, once nothing more comes."""
        if self.unit_rows is None:
            return 1 if closed else 0
        return -(-rows // self.unit_rows) if closed else rows // self.unit_rows

    def reached(self, journal: Journal) -> Reached | None:
        """How far the streams have come by this prediction, as the planner is told.

        Its lag is that of the slowest stream. None where the window is one unit.
        """
        if self.unit_rows is None:
            return None
        rows, lags_s = 0.0, []
        for stream, predicted in self.forecasts.items():
            newest = newest_arrival(journal, stream)
            if newest is None or newest.to_s <= predicted.start_s:
                continue
            rows += predicted.rows_upto(newest.to_s)
            if newest.to_s < predicted.end_s:
                lags_s.append(predicted.lag_s(newest))
        behind = max(0, math.floor(rows + _ROUNDING) - self.taken_rows)
        units, lag_s = self.units(behind, closed=False), max(lags_s, default=0.0)
        grain_s = max((each.grain_s for each in self.forecasts.values()), default=0.0)
        return Reached(self.report.name, units, lag_s, grain_s)

    def plan(self, now_s: float) -> Plan | Infeasible:
        """The fewest batches from now on that meet the deadline, with the margin."""
        report = self.report
        # The final combines the partials of batches made before, too, whatever is planned now.
        before_s = report.final.per_batch_s * report.batches_before
        window = Window(
            report.start_s,
            max(report.end_s, now_s),
            tuple(max(each, now_s) for each in report.predicted_s),
            report.deadline_s,
            slower(report.cost),
            replace(
                report.final,
                per_batch_s=MARGIN * report.final.per_batch_s,
                overhead_s=MARGIN * (report.final.overhead_s + before_s),
            ),
        )
        return plan_window(window)


def stream_names(project: Project, table: TableDef) -> list[str]:
    """The base tables that a report reads; their updates are its arrivals."""
    return [name for name in table.parents if project.table(name).kind == "base"]


def _start_before_s(project: Project, view: TableDef, start_s: float) -> float:
    return window_of(project, view, start_s - 1.0).start_s


def outlook(
    project: Project,
    journal: Journal,
    table: TableDef,
    wanted: WantedReport,
    now_s: float,
    *,
    taken_rows: int = 0,
    batches: int = 0,
    key: str | None = None,
    known: Measured | None = None,
    closed: bool = False,
) -> Outlook:
    """What is expected of a report.

    Args:
        table: The report's definition.
        taken_rows, batches: What is worked off already.
        key: The planner's name for it; None: the report's.
        known: Measured costs; None: those of the journal.
        closed: Nothing more of the window is waited for.
    """
    streams = stream_names(project, table)
    known = known or measured(journal, wanted.view)
    start_s, end_s = wanted.start_s, wanted.end_s
    arrived_rows = sum(each.rows for each in arrivals(journal, streams, start_s, end_s))
    before_s = None if table.report is None else partial(_start_before_s, project, table)
    typical_s = typical_start_s(journal, streams, start_s, end_s, before_s)
    forecasts = {
        name: forecast(journal, name, start_s, end_s, now_s, typical_s=typical_s, closed=closed)
        for name in streams
    }
    expected = sorted(
        (each for found in forecasts.values() for each in found.arrivals),
        key=lambda each: each.at_s,
    )
    total = sum(each.rows for each in expected)
    cost: CostModel = learned_cost(known.batches, FIRST_BATCH)
    # A window's result is always put together from its state, also from that of one batch.
    final = replace(learned_final(known.finals, FIRST_FINAL), of_one=True)
    views = len(streams) < len(table.parents)
    unit_rows: int | None = max(1, total // UNITS)
    if known.once:
        final = FinalCost()
    if known.once or views or total == 0:
        unit_rows, times = None, [wanted.end_s]
        cost = scaled(cost, max(1, total))
    else:
        assert unit_rows is not None
        times = _times(expected, unit_rows, taken_rows)
        cost = scaled(cost, unit_rows)
    start_s = min([start_s, *times[:1]])
    report = Report(
        key or wanted.name,
        start_s,
        max(end_s, start_s),
        wanted.deadline_s,
        tuple(times),
        cost,
        final,
        wanted.groups,
        InputKind.TOTAL_VARIES,
        batches,
    )
    return Outlook(unit_rows, report, arrived_rows, total, forecasts, taken_rows)


def slower(cost: CostModel) -> CostModel:
    """The same with the margin."""
    points = tuple((float(size), MARGIN * cost(size)) for size in _knots(cost))
    return PiecewiseCost(points)


def _knots(cost: CostModel) -> list[int]:
    if isinstance(cost, PiecewiseCost):
        return sorted({1, *(max(1, round(size)) for size, _ in cost.points), 10**6})
    return [1, 10**6]


def _times(expected: Sequence[Arrival], unit_rows: int, taken_rows: int) -> list[float]:
    """When each unit behind the taken rows is complete."""
    times: list[float] = []
    rows = 0
    latest_s = float("-inf")
    for each in expected:
        rows += each.rows
        latest_s = max(latest_s, each.at_s)
        while taken_rows + (len(times) + 1) * unit_rows <= rows:
            times.append(latest_s)
    if rows > taken_rows + len(times) * unit_rows:
        times.append(latest_s)
    return times
