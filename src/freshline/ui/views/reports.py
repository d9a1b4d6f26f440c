"""``/v1/ui/reports``: the windows of each report, their batches, deadlines and slack."""

from __future__ import annotations

from typing import Any

from freshline.render.output import shortened
from freshline.render.report_table import report_record
from freshline.runtime.reports.store import ReportStatus, read_reports
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
    record = report_record(each, now_s)
    behind_s = each.behind_s(now_s)
    slack_s = each.slack_left_s(now_s) if running and behind_s is None else None
    return {
        **record,
        "error": None if each.error is None else shortened(each.error, _TEXT),
        "late_s": None if behind_s is None else round(behind_s, 3),
        "slack_s": None if slack_s is None else round(slack_s, 3),
        "next_batch": record["next_batch"] if running else None,
        "deadline_s": each.wanted.deadline_s,
        "finish_s": each.finish_s,
        "planned_s": list(each.planned_s)[:10],
    }
