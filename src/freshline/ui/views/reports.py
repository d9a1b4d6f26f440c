"""``/v1/ui/reports``: the windows of each report, their batches, deadlines and slack."""

from __future__ import annotations

from typing import Any

from freshline.render.output import shortened
from freshline.render.report_table import report_record
from freshline.runtime.reports.store import OPEN, ReportStatus, read_reports
from freshline.ui.reads.reading import Reader

_MOST = 200
_TEXT = 300


def answer(reader: Reader, _: None) -> dict[str, Any]:
    """The newest 200 windows, the one with the latest deadline first.

    ``late_s`` is by how much a deadline was missed, up to now where there is no result yet.
    ``slack_s`` and ``next_batch`` are of the plan: without a run there is none.
    """
    now_s = reader.clock()
    running = reader.run_now().running
    with reader.journal() as journal:
        found = () if journal is None else read_reports(journal)
    ordered = sorted(found, key=lambda each: (-each.wanted.deadline_s, each.wanted.name))
    return {
        "at_s": now_s,
        "running": running,
        "reports": [_record(each, now_s, running=running) for each in ordered[:_MOST]],
        "total": len(found),
        "defined": [each.name for each in reader.project.reports],
    }


def _record(each: ReportStatus, now_s: float, *, running: bool) -> dict[str, Any]:
    record = report_record(each)
    return {
        **record,
        "error": None if each.error is None else shortened(each.error, _TEXT),
        "late_s": _late_s(each, now_s),
        "slack_s": _slack_s(each, now_s) if running else None,
        "next_batch": record["next_batch"] if running else None,
        "deadline_s": each.wanted.deadline_s,
        "finish_s": each.finish_s,
        "planned_s": list(each.planned_s)[:10],
    }


def _late_s(each: ReportStatus, now_s: float) -> float | None:
    """How far behind its deadline it is, or was when it was done; None: it is not."""
    until_s = now_s if each.state in OPEN else each.finish_s
    if until_s is None or until_s <= each.wanted.deadline_s:
        return None
    return round(until_s - each.wanted.deadline_s, 3)


def _slack_s(each: ReportStatus, now_s: float) -> float | None:
    """What the plan leaves; it was written a while ago, and is never more than the time left."""
    left_s = each.wanted.deadline_s - now_s
    if each.slack_s is None or each.state not in OPEN or left_s < 0.0:
        return None
    return round(min(each.slack_s, left_s), 3)
