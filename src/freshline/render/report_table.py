"""Reports as JSON and as lines of a table, for ``freshline report`` and ``freshline status``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from freshline.render.output import clock, counted, moment
from freshline.runtime.reports.in_progress import LATENESS
from freshline.runtime.reports.store import OPEN, ReportStatus
from freshline.times import brief_s

if TYPE_CHECKING:
    from rich.table import Table

_TITLES = (
    "report", "state", "deadline (UTC)", "progress", "slack", "next batch", "remarks",
)  # fmt: skip


def report_record(each: ReportStatus, now_s: float) -> dict[str, Any]:
    """One report as JSON."""
    wanted = each.wanted
    slack_s = each.slack_left_s(now_s)
    return {
        "name": wanted.name,
        "table": wanted.view,
        "window": {"start": moment(wanted.start_s), "end": moment(wanted.end_s)},
        "deadline": moment(wanted.deadline_s),
        "state": each.state,
        "batches": each.batches,
        "rows_arrived": each.arrived_rows,
        "rows_taken": each.taken_rows,
        "cost_s": round(each.cost_s, 3),
        "slack_s": None if slack_s is None else round(slack_s, 3),
        "next_batch": moment(each.planned_s[0]) if each.planned_s else None,
        "finished": moment(each.finish_s),
        "version": each.version,
        "rows": each.rows,
        "complete": each.complete,
        "runs_once": each.code or None,
        "late": each.late,
        "foreseen": each.foreseen,
        "error": each.error,
    }


def report_table(reports: Iterable[ReportStatus], now_s: float) -> Table:
    """Reports as a table."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in _TITLES:
        table.add_column(title)
    for each in reports:
        table.add_row(each.wanted.name, each.state, *_cells(each, now_s))
    return table


def _cells(each: ReportStatus, now_s: float) -> tuple[str, ...]:
    progress = counted(each.batches, "batch", "batches")
    if each.state in OPEN:
        progress += f", {each.taken_rows:,} of {counted(each.arrived_rows, 'row')}"
    slack_s = each.slack_left_s(now_s)
    remarks = [
        f"runs once: {each.code}" if each.code else "",
        f"late: {LATENESS[each.late]}" if each.late else "",
        "no plan meets its deadline" if each.foreseen and each.state in OPEN else "",
        "incomplete: the streams were behind" if each.complete is False else "",
        each.error or "",
    ]
    return (
        clock(each.wanted.deadline_s, now_s),
        progress,
        "" if slack_s is None else signed(slack_s),
        clock(each.planned_s[0], now_s) if each.planned_s else "",
        "; ".join(filter(None, remarks)),
    )


def signed(seconds: float) -> str:
    """Seconds in words, with their sign."""
    return brief_s(seconds) if seconds >= 0.0 else f"-{brief_s(-seconds)}"
