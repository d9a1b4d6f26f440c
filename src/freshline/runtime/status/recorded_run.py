"""A recorded run out of the journal, for replays and for what-if."""

from __future__ import annotations

import json
from typing import Any

from freshline.core.assembly import SchedulerSettings
from freshline.core.errors import UserError
from freshline.core.model import TableSpec
from freshline.core.recorded import RecordedInstant, RecordedRun
from freshline.project.model import Project
from freshline.runtime.journal.codec import decoded_command, decoded_event
from freshline.runtime.journal.reading import journal_read
from freshline.runtime.journal.store import Journal, Row

_GREATEST = 2**63 - 1
"""Number that SQLite has."""


def last_run(project: Project, run: int | None = None) -> RecordedRun:
    """The run of that number in the project's journal, by default the last that did anything.

    Raises:
        UserError: There is none, or its first instants are no longer kept.
        PlatformError: The journal is there and cannot be opened.
    """
    with journal_read(project) as journal:
        if journal is None:
            raise _no_run(run)
        if run is None and journal.row("SELECT 1 FROM sqlite_master WHERE name='instants'"):
            newest = journal.row("SELECT max(run) AS run FROM instants WHERE commands<>'[]'")
            run = newest["run"] if newest is not None else None
        return recorded_run(journal, run)


def recorded_run(journal: Journal, run: int | None = None) -> RecordedRun:
    """The run of that number, by default the last.

    Raises:
        UserError: There is none, or its first instants are no longer kept.
    """
    row = recorded_row(journal, run)
    setting: dict[str, Any] = json.loads(row["setting"])
    chosen = SchedulerSettings(**setting["scheduler"])
    instants = tuple(
        RecordedInstant(
            instant["now_s"],
            tuple(decoded_event(values) for values in json.loads(instant["events"])),
            tuple(decoded_command(values) for values in json.loads(instant["commands"])),
        )
        for instant in journal.each("SELECT * FROM instants WHERE run=? ORDER BY id", (row["id"],))
    )
    last_s = instants[-1].now_s if instants else setting["start_s"]
    return RecordedRun(
        number=row["id"],
        start_s=setting["start_s"],
        end_s=last_s if row["stopped_s"] is None else max(last_s, row["stopped_s"]),
        specs=specs_in(setting),
        tracks=chosen.tracks,
        settings=chosen,
        instants=instants,
    )


def specs_in(setting: dict[str, Any]) -> tuple[TableSpec, ...]:
    """The tables of a recorded setting."""
    return tuple(
        TableSpec(**{**values, "sources": tuple(values["sources"])}) for values in setting["specs"]
    )


def recorded_end_s(project: Project, run: int) -> float:
    """When a run ended, or did the last thing that the journal has of it.

    Raises:
        UserError: There is no such run.
        PlatformError: The journal is there and cannot be opened.
    """
    with journal_read(project) as journal:
        if journal is None or abs(run) > _GREATEST:
            raise _no_run(run)
        row = journal.row("SELECT started_s, stopped_s FROM runs WHERE id=?", (run,))
        if row is None:
            raise _no_run(run)
        if row["stopped_s"] is not None:
            return float(row["stopped_s"])
        last = journal.row(
            "SELECT max(start_s) AS start_s, max(finish_s) AS finish_s FROM updates WHERE run=?",
            (run,),
        )
        known = [] if last is None else [last["start_s"], last["finish_s"]]
        return max([float(row["started_s"]), *(float(each) for each in known if each is not None)])


def recorded_row(journal: Journal, run: int | None) -> Row:
    """The row of that run, by default of the last.

    Raises:
        UserError: There is none, or its first instants are no longer kept.
    """
    if run is not None and abs(run) > _GREATEST:
        raise _no_run(run)
    row = (
        journal.row("SELECT * FROM runs ORDER BY id DESC LIMIT 1")
        if run is None
        else journal.row("SELECT * FROM runs WHERE id=?", (run,))
    )
    if row is None:
        raise _no_run(run)
    oldest = journal.row("SELECT id, run FROM instants ORDER BY id LIMIT 1")
    first_id = json.loads(row["setting"]).get("first_instant", 1)
    if oldest is not None and oldest["id"] > first_id and oldest["run"] >= row["id"]:
        raise UserError(
            "forgotten-run",
            f"the first instants of run {row['id']} are no longer in the journal",
            rule="a journal keeps a bounded number of instants",
            next_step="Replay a later run.",
        )
    return row


def _no_run(run: int | None) -> UserError:
    return UserError(
        "unknown-run",
        "the journal has no run" if run is None else f"the journal has no run {run}",
        next_step="Runs are recorded by `freshline run`.",
    )
