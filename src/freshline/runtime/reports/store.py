"""What the journal knows of reports: what is wanted, the batches that ran, and how it ended.

All SQL about them stands here. A lost journal loses measured costs and ad hoc reports that were
not made yet; finished batches and results are in the Delta logs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from freshline.delta.metadata import BACKFILL
from freshline.reports.learned import NEWEST
from freshline.runtime.journal.store import Journal, Row
from freshline.runtime.journal.strategies import NO_UPKEEP

OPEN = ("asked", "live")
"""States of reports that are still to make."""

GIVEN_UP = "failed"
"""State of one that nobody makes any more, and nobody withdrew."""

KEPT_WINDOWS = 200
"""Of one view: twice as many as are looked back for to be made (``windows.py``)."""

KEPT_BATCHES = 100_000

_BROUGHT = (
    f"state='done' AND {NO_UPKEEP} AND strategy IS NOT '{BACKFILL}' AND NOT coalesce(full, 0)"
)
"""SQL on a row of ``updates``: its rows had arrived since the one before, and were not read again.
"""


@dataclass(frozen=True, slots=True)
class WantedReport:
    """One window of a report.

    Attributes:
        name: Of the view and its window, or that under which an ad hoc report was submitted.
        view: Whose result table it is.
        query: Of an ad hoc report; None for a view's.
        file: Where that query stands.
        start_s, end_s, deadline_s: Seconds since the epoch.
        groups: Rows that the result should have.
        definition: A short name for what a view computes; empty for an ad hoc report.
    """

    name: str
    view: str
    query: str | None
    file: str | None
    start_s: float
    end_s: float
    deadline_s: float
    groups: int = 1
    definition: str = ""


@dataclass(frozen=True, slots=True)
class ReportStatus:
    """How one report stands.

    Attributes:
        state: asked, live, done, withdrawn or failed.
        asked_s: When it was submitted, or a view's window was begun.
        batches, cost_s: Finished ones, and what they took with the final.
        arrived_rows, taken_rows: Of the window's streams, as far as their updates tell.
        planned_s: Starts of the batches to come.
        slack_s: What is left of the deadline, alone in one batch or in the plan of all reports,
            whichever is less; see `freshline.runtime.reports.in_progress.ReportInProgress.slack_s`.
        foreseen: The plan said beforehand that the deadline is missed.
        finish_s, version, rows: Of the result.
        code: Why the query runs once; empty for one that is cut.
        late: Why the deadline was missed; None: it was not.
        error: Why the last attempt failed.
        complete: Whether the result holds its whole window: every stream was as fresh as the
            window's end; None: there is no result yet.
    """

    wanted: WantedReport
    state: str
    batches: int = 0
    cost_s: float = 0.0
    arrived_rows: int = 0
    taken_rows: int = 0
    planned_s: tuple[float, ...] = ()
    slack_s: float | None = None
    foreseen: bool = False
    finish_s: float | None = None
    version: int | None = None
    rows: int | None = None
    code: str = ""
    late: str | None = None
    error: str | None = None
    complete: bool | None = None
    asked_s: float | None = None

    def behind_s(self, now_s: float) -> float | None:
        """How far behind its deadline it is, or was when it was done; None: it is not."""
        until_s = now_s if self.state in OPEN else self.finish_s
        if until_s is None or until_s <= self.wanted.deadline_s:
            return None
        return until_s - self.wanted.deadline_s

    def slack_left_s(self, now_s: float) -> float | None:
        """The slack, which was written a while ago and is never more than the time left.

        None: it is not known, or nothing is left to do.
        """
        if self.slack_s is None or self.state not in OPEN:
            return None
        return min(self.slack_s, self.wanted.deadline_s - now_s)


@dataclass(frozen=True, slots=True)
class Measured:
    """What the newest batches of a report took, oldest first.

    Attributes:
        batches: Rows and seconds of each batch.
        finals: Number of batches and seconds of each final.
        once: The query runs once.
    """

    batches: tuple[tuple[int, float], ...] = ()
    finals: tuple[tuple[int, float], ...] = ()
    once: bool = False


@dataclass(frozen=True, slots=True)
class Arrival:
    """What one update of a stream brought: its rows, and when.

    Attributes:
        at_s: When it was committed.
        to_s: The freshness that it brought.
        from_s: The freshness before; None: unknown.
    """

    at_s: float
    rows: int
    to_s: float
    from_s: float | None = None


def note_wanted(journal: Journal, wanted: WantedReport, state: str, now_s: float) -> None:
    """Write down a report; one of that name that ended before is replaced."""
    journal.write("DELETE FROM reports WHERE name=?", (wanted.name,))
    journal.write(
        "INSERT INTO reports (name, view, query, file, start_s, end_s, deadline_s, group_rows,"
        " state, asked_s, definition) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
        (
            wanted.name, wanted.view, wanted.query, wanted.file, wanted.start_s, wanted.end_s,
            wanted.deadline_s, wanted.groups, state, now_s, wanted.definition,
        ),
    )  # fmt: skip


def begin(journal: Journal, wanted: WantedReport, now_s: float) -> ReportStatus | None:
    """Write down that a report is being made.

    Returns:
        How it stood before; None where it is begun anew, as a window is that has another end or
        another query now.
    """
    found = next((each for each in read_reports(journal) if each.wanted == wanted), None)
    if found is None:
        note_wanted(journal, wanted, "live", now_s)
    else:
        note(journal, wanted.name, state="live")
    return found


def note(journal: Journal, name: str, **values: Any) -> None:
    """Change columns of a report's row."""
    changed = ", ".join(f"{column}=?" for column in values)
    journal.write(f"UPDATE reports SET {changed} WHERE name=?", (*values.values(), name))


def note_planned(
    journal: Journal, name: str, starts_s: Iterable[float], slack_s: float | None
) -> None:
    """Write down when the batches to come start, and the slack; None leaves that as it is."""
    slack = {} if slack_s is None else {"slack_s": slack_s}
    note(journal, name, planned=json.dumps(list(starts_s)), **slack)


def note_batch(
    journal: Journal, status: WantedReport, *, start_s: float, rows: int, seconds: float,
    final_s: float, expected_s: float, batches: int, error: str | None,
) -> None:  # fmt: skip
    """Write down a batch that ended."""
    journal.write(
        "INSERT INTO report_batches (report, view, start_s, rows, seconds, final_s, expected_s,"
        " batches, error) VALUES (?,?,?,?,?,?,?,?,?)",
        (status.name, status.view, start_s, rows, seconds, final_s, expected_s, batches, error),
    )


def forget_old(journal: Journal) -> None:
    """Of each view the newest ended windows stay, and the newest batches of all."""
    journal.write(
        "DELETE FROM reports WHERE state NOT IN (?,?) AND name IN (SELECT name FROM (SELECT name,"
        " row_number() OVER (PARTITION BY view ORDER BY end_s DESC) AS place FROM reports)"
        " WHERE place > ?)",
        (*OPEN, KEPT_WINDOWS),
    )
    journal.write(
        "DELETE FROM report_batches WHERE id <= (SELECT max(id) FROM report_batches) - ?",
        (KEPT_BATCHES,),
    )


def read_reports(journal: Journal) -> tuple[ReportStatus, ...]:
    """All that are known, the open ones by deadline, then the others, newest first."""
    rows = journal.rows_if_there("SELECT * FROM reports")
    found = [_status(row) for row in rows]
    going = sorted(
        (each for each in found if each.state in OPEN), key=lambda each: each.wanted.deadline_s
    )
    ended = sorted(
        (each for each in found if each.state not in OPEN), key=lambda each: -each.wanted.end_s
    )
    return (*going, *ended)


def read_report(journal: Journal, name: str) -> ReportStatus | None:
    """One report, by its name; a view's name means its next window."""
    found = [each for each in read_reports(journal) if name in (each.wanted.name, each.wanted.view)]
    return found[0] if found else None


def standing(reports: Iterable[ReportStatus]) -> list[ReportStatus]:
    """Those that are to make, and of every report the windows since the newest that was made.

    That one is among them; a window that was given up stands until a later one is made.

    Args:
        reports: In the order of :func:`read_reports`.
    """
    found: list[ReportStatus] = []
    made: set[str] = set()
    for each in reports:
        if each.state in OPEN:
            found.append(each)
        elif each.wanted.view not in made:
            found.append(each)
            if each.state == "done":
                made.add(each.wanted.view)
    return found


def measured(journal: Journal, view: str) -> Measured:
    """What is known of a report's costs."""
    newest = "AND error IS NULL ORDER BY id DESC LIMIT ?"
    batches = journal.rows_if_there(
        f"SELECT rows, seconds FROM report_batches WHERE view=? AND rows>0 {newest}",
        (view, NEWEST),
    )
    finals = journal.rows_if_there(
        f"SELECT batches, final_s FROM report_batches WHERE view=? AND final_s>0 {newest}",
        (view, NEWEST),
    )
    once = journal.rows_if_there(
        "SELECT code FROM reports WHERE view=? AND (batches>0 OR code<>'')"
        " ORDER BY asked_s DESC LIMIT 1",
        (view,),
    )
    return Measured(
        tuple((row["rows"], row["seconds"]) for row in reversed(batches)),
        tuple((row["batches"], row["final_s"]) for row in reversed(finals)),
        bool(once and once[0]["code"]),
    )


def arrivals(
    journal: Journal, tables: Iterable[str], start_s: float, end_s: float
) -> list[Arrival]:
    """What the updates of ``tables`` brought whose freshness lies in (start_s, end_s], by time.

    A table is complete up to its freshness, so the update that brings it to a window's end
    still holds that window's data (Chandrasekaran and Sudarshan, 2; rules C7).
    """
    found: list[Arrival] = []
    for name in tables:
        found += [
            _arrival(row)
            for row in journal.rows(
                "SELECT finish_s, rows, from_s, to_s FROM updates WHERE table_name=?"
                f" AND {_BROUGHT} AND to_s>? AND to_s<=?",
                (name, start_s, end_s),
            )
        ]
    return sorted(found, key=lambda each: (each.at_s, each.to_s))


def brought(
    journal: Journal, tables: Iterable[str], start_s: float, end_s: float
) -> tuple[int, float] | None:
    """The same in sum: rows, and their updates' mean delay behind their freshness, in seconds.

    None: there was no update.
    """
    updates, rows, delay_s = 0, 0, 0.0
    for name in tables:
        row = journal.row(
            "SELECT count(*) AS updates, sum(rows) AS rows, sum(finish_s - to_s) AS delay_s"
            f" FROM updates WHERE table_name=? AND {_BROUGHT} AND to_s>? AND to_s<=?",
            (name, start_s, end_s),
        )
        if row is not None and row["updates"]:
            updates += row["updates"]
            rows += row["rows"] or 0
            delay_s += row["delay_s"]
    return (rows, delay_s / updates) if updates else None


def newest_arrival(journal: Journal, table: str) -> Arrival | None:
    """The update that brought a table to where it is now; later ones left it there."""
    row = journal.row(
        "SELECT finish_s, rows, from_s, to_s FROM updates WHERE table_name=? AND state='done'"
        " AND to_s IS NOT NULL ORDER BY to_s DESC, id",
        (table,),
    )
    return None if row is None else _arrival(row)


def _arrival(row: Row) -> Arrival:
    return Arrival(row["finish_s"], row["rows"] or 0, row["to_s"], row["from_s"])


def count_late(reports: Iterable[ReportStatus]) -> Mapping[str, int]:
    """How many deadlines were missed, by reason."""
    counts: dict[str, int] = {}
    for each in reports:
        if each.late:
            counts[each.late] = counts.get(each.late, 0) + 1
    return counts


def _status(row: Row) -> ReportStatus:
    wanted = WantedReport(
        row["name"], row["view"], row["query"], row["file"], row["start_s"], row["end_s"],
        row["deadline_s"], row["group_rows"] or 1,
        # As below.
        (row["definition"] or "") if "definition" in row.keys() else "",  # noqa: SIM118
    )  # fmt: skip
    return ReportStatus(
        wanted,
        row["state"],
        row["batches"],
        row["cost_s"],
        row["arrived_rows"],
        row["taken_rows"],
        tuple(json.loads(row["planned"] or "[]")),
        row["slack_s"],
        bool(row["foreseen"]),
        row["finish_s"],
        row["version"],
        row["rows"],
        row["code"] or "",
        row["late"],
        row["error"],
        # A journal that only an earlier version wrote has no such column.
        None if "complete" not in row.keys() or row["complete"] is None  # noqa: SIM118
        else bool(row["complete"]),
        row["asked_s"],
    )  # fmt: skip
