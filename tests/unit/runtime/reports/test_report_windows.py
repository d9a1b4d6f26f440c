"""When a view's windows begin and end."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from freshline.project.deadlines import read_deadline
from freshline.project.model import ReportSettings
from freshline.project.windows import SESSION_ZONE
from freshline.runtime.journal.store import Journal
from freshline.runtime.reports.windows import ReportWindows, window_of
from tests.support.report_play import report_project

TOKYO = ZoneInfo("Asia/Tokyo")


def test_a_days_window_begins_at_midnight_of_the_zone_in_which_its_rows_are_read(
    tmp_path: Path,
) -> None:
    """A pipeline may set one for the report alone, in which a DATE or wall clock is an instant."""
    project = report_project(tmp_path)
    (view,) = project.reports
    settings = ReportSettings(86_400.0, read_deadline("06:00 UTC"))
    view = replace(view, report=settings, settings={SESSION_ZONE: str(TOKYO)})
    project = replace(project, reports=(view,), configuration={SESSION_ZONE: "Europe/Berlin"})
    day = datetime(2026, 1, 1, tzinfo=TOKYO)
    now_s, start_s, end_s = (
        (day + timedelta(hours=hours)).timestamp() for hours in (3.0, 0.0, 24.0)
    )
    wanted = window_of(project, view, now_s)
    assert (wanted.start_s, wanted.end_s) == (start_s, end_s)
    journal = Journal(tmp_path / "journal.db", create=True)
    assert ReportWindows(project, journal, ended_only=False).next_s(now_s) == end_s
    journal.close()
