"""What people ask about reports: a report submitted, or withdrawn.

A running warehouse is asked with a request in the journal; where none runs, the journal keeps
what was asked until the next one does.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from freshline.runtime.journal.store import Journal
from freshline.runtime.reports.store import (
    GIVEN_UP,
    OPEN,
    WantedReport,
    note,
    note_wanted,
    read_report,
    read_reports,
)

_LATER_S = 0.002
"""Numbers of results are milliseconds (`executor/report_records.py`)."""

SUBMIT, WITHDRAW = "report-submit", "report-withdraw"

Answer = dict[str, Any]


def argument_of(wanted: WantedReport) -> str:
    """An ad hoc report as the argument of a request; an earlier version may run."""
    told = asdict(wanted)
    del told["definition"]
    return json.dumps(told)


def submit(journal: Journal, argument: str, now_s: float) -> Answer:
    """Write down a submitted report; the caller flushes."""
    wanted = WantedReport(**json.loads(argument))
    found = read_report(journal, wanted.name)
    if found is not None and found.wanted.name == wanted.name and found.state in OPEN:
        return {
            "ok": False,
            "message": f"a report {wanted.name} is still to be made; withdraw it first, or give"
            " this one another name",
        }
    for each in read_reports(journal):
        if each.wanted.name == wanted.name:
            # Results under one name are counted by this: a clock may have been set back, and the
            # window before may begin later than now.
            before_s = max(each.asked_s or 0.0, each.wanted.start_s)
            now_s = max(now_s, before_s + _LATER_S)
    note_wanted(journal, wanted, "asked", now_s)
    return {"ok": True, "message": f"{wanted.name} is submitted"}


def withdraw_offline(journal: Journal, name: str) -> Answer:
    """Withdraw a report where no warehouse runs; the caller flushes."""
    found = read_report(journal, name)
    if found is None or found.state not in (*OPEN, GIVEN_UP):
        return not_open(name)
    note(journal, found.wanted.name, state="withdrawn", planned="[]")
    return {"ok": True, "message": f"{found.wanted.name} is withdrawn"}


def not_open(name: str) -> Answer:
    """The answer about a report that is not to be made."""
    return {"ok": False, "message": f"no report {name} is still to be made"}
