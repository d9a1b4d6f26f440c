"""Why a deadline was missed although a plan had promised it.

A plan holds for the input that was expected, and for a track that is free. Both can be looked
at afterwards: what the streams brought when, and whose batches ran meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence

from freshline.runtime.journal.store import Journal
from freshline.runtime.reports.in_progress import Promise, ReportInProgress
from freshline.runtime.reports.outlook import MARGIN
from freshline.runtime.reports.store import Arrival

_LATER_S = 1.0
"""Rows that come later than expected by less count as in time."""


def reason(
    journal: Journal, live: ReportInProgress, actual: Sequence[Arrival], now_s: float
) -> str:
    """A reason of ``LATENESS`` for a result of now.

    Args:
        journal: It knows all batches.
        live: The report, which has seen nothing unusual itself.
        actual: What the streams brought in its window, by time.
        now_s: When its result was there.
    """
    if live.promise is None:
        return "unmeasured"
    if was_worse(live.promise, actual):
        return "more"
    if _shared_its_time(journal, live, now_s):
        return "crowded"
    return "input" if live.late_input else "unexplained"


def was_worse(promise: Promise, actual: Sequence[Arrival]) -> bool:
    """Whether more rows came than a plan expected, or any of them later."""
    if sum(each.rows for each in actual) > promise.outlook.expected_rows:
        return True
    unit_rows = promise.outlook.unit_rows or promise.outlook.expected_rows
    there = promise.taken_rows
    coming = iter(actual)
    rows = 0
    for expected_s in promise.outlook.report.predicted_s:
        there += unit_rows
        while rows < there:
            each = next(coming, None)
            if each is None:
                return False  # fewer rows came
            rows += each.rows
            if rows >= there and each.at_s > expected_s + _LATER_S:
                return True
    return False


def _shared_its_time(journal: Journal, live: ReportInProgress, now_s: float) -> bool:
    """Whether a batch of another report ran when this one needed the track for itself.

    That is from the last moment on at which everything in one batch would have been in time.
    """
    assert live.promise is not None
    outlook = live.promise.outlook
    report = outlook.report
    everything_s = report.cost(len(report.predicted_s)) + report.final(1)
    from_s = live.wanted.deadline_s - MARGIN * everything_s
    row = journal.row(
        "SELECT 1 FROM report_batches WHERE report<>? AND start_s<?"
        " AND start_s+seconds+coalesce(final_s, 0)>?",
        (live.name, now_s, from_s),
    )
    return row is not None
