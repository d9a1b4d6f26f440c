"""``/v1/ui/reports``: the windows of each report, their batches, deadlines and slack."""

from __future__ import annotations

from typing import Any

from freshline.render.output import shortened
from freshline.render.report_table import report_record
from freshline.runtime.reports.store import read_reports
from freshline.ui.reads.reading import Reader

_MOST = 200
_TEXT = 300


def answer(reader: Reader, _: None) -> dict[str, Any]:
    """The newest 200 windows, the one with the latest deadline first."""
    with reader.journal() as journal:
        found = () if journal is None else read_reports(journal)
    ordered = sorted(found, key=lambda each: (-each.wanted.deadline_s, each.wanted.name))
    records = []
    for each in ordered[:_MOST]:
        record = report_record(each)
        record["error"] = None if each.error is None else shortened(each.error, _TEXT)
        records.append(
            {
                **record,
                "deadline_s": each.wanted.deadline_s,
                "finish_s": each.finish_s,
                "planned_s": list(each.planned_s)[:10],
            }
        )
    return {
        "at_s": reader.clock(),
        "reports": records,
        "total": len(found),
        "defined": [each.name for each in reader.project.reports],
    }
