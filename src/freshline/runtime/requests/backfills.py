"""Backfills: whether a range may be loaded or computed again, and which ones are still to do.

They stand in the journal until they are done, so a run that dies does not forget them; one
that was committed and not yet noted is done again, to the same result.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from freshline.core.errors import UserError
from freshline.core.events import BackfillRequested, Event
from freshline.delta.loaded import is_of_feed, loaded_until_now
from freshline.project.model import Project, TableDef
from freshline.runtime.journal.store import Journal
from freshline.runtime.requests.reloading import Look, loaded_names, reload_look
from freshline.times import rfc3339


@dataclass(frozen=True, slots=True)
class BackfillStatus:
    """One backfill that is still to do, or ended last.

    Attributes:
        table: Whose.
        from_s, to_s: The range [from, to), seconds since the epoch.
        asked_s: When somebody asked for it.
        state: waiting (or running), done or given up.
        ended_s: When it ended; None: not yet.
        error: Why it was given up; None: it was not, or by a version that did not tell.
    """

    table: str
    from_s: float
    to_s: float
    asked_s: float
    state: str
    ended_s: float | None
    error: str | None = None

    @property
    def given_up(self) -> str | None:
        """That it was given up, and why; None: it was not."""
        if self.error is None:
            return None
        range_text = f"{rfc3339(self.from_s)} to {rfc3339(self.to_s)}"
        return f"the backfill of {range_text} is given up: {self.error}"


def check_backfill(
    project: Project, journal: Journal, name: str, from_s: float, to_s: float
) -> None:
    """Refuse a backfill that could not be right.

    Raises:
        UserError: The range is empty; nothing was loaded yet; a base table has no event time, or
            rows of a feed of another kind; files that are in it are gone from its feed.
        PlatformError: The feed cannot be listed, or the table's log not be read.
    """
    look = backfill_look(project, journal, name, from_s, to_s)
    if look is not None:
        look()


def backfill_look(
    project: Project, journal: Journal, name: str, from_s: float, to_s: float
) -> Look | None:
    """The same but for listing the feed, which is left to do: see :func:`.reload_look`."""
    table = project.table(name)
    if not from_s < to_s:
        raise UserError(
            "empty-range",
            "the range of the backfill is empty",
            rule="--from is before --to; data of [from, to) is loaded again",
            next_step="Correct --from or --to.",
        )
    row = journal.row("SELECT version FROM tables WHERE name=?", (table.name,))
    if row is None or row["version"] is None:
        raise UserError(
            "nothing-loaded",
            f"table {table.name} has no data yet, so none of it can be loaded again",
            next_step="Run the project first.",
        )
    if table.kind == "base" and table.time_column is None:
        raise UserError(
            "no-event-time",
            f"table {table.name} has no event time, so the rows of a range cannot be identified",
            where=table.place,
            rule="a base table needs the property 'freshline.time' to load a range again",
            next_step="Name its event-time column, or load all of it again: `freshline refresh"
            f" {table.name} --full`.",
        )
    if table.feed is not None and project.feeds[table.feed].kind == "delta":
        raise UserError(
            "source-backfill",
            f"table {table.name} shows a version of the Delta table of feed {table.feed}",
            where=table.place,
            rule="all changes there are loaded, whatever their event time",
            next_step=f"`freshline refresh {table.name} --full` loads all of it again.",
        )
    _check_feeds(project, journal, table)
    return reload_look(project, journal, table.name)


def _check_feeds(project: Project, journal: Journal, table: TableDef) -> None:
    """Refuse where rows are of a feed of another kind, which the table read before."""
    if table.feed is None:
        return
    kind = project.feeds[table.feed].kind
    others = {each for each in loaded_names(journal, table.name) if not is_of_feed(kind, each)}
    # The journal keeps their names after all was loaded again; the log tells.
    if others and not others.isdisjoint(loaded_until_now(project, table.name)):
        raise UserError(
            "other-feed-rows",
            f"table {table.name} has rows of the feed that it read before",
            where=table.place,
            rule=f"a range is loaded again from feed {table.feed} alone, and they would be lost",
            next_step=f"`freshline refresh {table.name} --full` loads all again, without them.",
        )


def note_backfill(journal: Journal, name: str, from_s: float, to_s: float, now_s: float) -> None:
    """Write down that it is to do; the caller flushes."""
    journal.write(
        "INSERT INTO backfills (table_name, from_s, to_s, asked_s, state)"
        " VALUES (?,?,?,?,'waiting')",
        (name, from_s, to_s, now_s),
    )


def note_ended(
    journal: Journal,
    name: str,
    range_s: tuple[float, float],
    now_s: float,
    *,
    given_up: str | None = None,
) -> None:
    """Write down that it is done, or why it is given up; the caller flushes.

    Others of its range that were given up are told no more: it is done, or told itself.
    """
    state = "done" if given_up is None else "given up"
    journal.write(
        "DELETE FROM backfills WHERE table_name=? AND state='given up' AND from_s>=? AND to_s<=?",
        (name, *range_s),
    )
    journal.write(
        "UPDATE backfills SET state=?, ended_s=?, error=?"
        " WHERE table_name=? AND from_s=? AND to_s=? AND state='waiting'",
        (state, now_s, given_up, name, *range_s),
    )


def read_backfills(journal: Journal) -> tuple[BackfillStatus, ...]:
    """Those that are still to do or were given up, and of the others the newest of each table."""
    rows = journal.rows_if_there(
        "SELECT * FROM backfills WHERE state IN ('waiting','given up') OR id IN"
        " (SELECT max(id) FROM backfills WHERE state<>'waiting' GROUP BY table_name)"
        " ORDER BY id"
    )
    return tuple(
        BackfillStatus(
            row["table_name"], row["from_s"], row["to_s"], row["asked_s"], row["state"],
            row["ended_s"], dict(row).get("error"),
        )
        for row in rows
    )  # fmt: skip


def given_up_last(backfills: Iterable[BackfillStatus], name: str) -> BackfillStatus | None:
    """The backfill of a table that was given up last; None: none was, or it was made up for."""
    found = [each for each in backfills if each.table == name and each.given_up is not None]
    return max(found, key=lambda each: each.ended_s or 0.0, default=None)


def not_again(journal: Journal, name: str) -> str:
    """What somebody hears who has a table tried again whose backfill was given up."""
    if not any(each.given_up and each.table == name for each in read_backfills(journal)):
        return ""
    return "; the backfill that was given up is not: ask for it with `freshline backfill`"


def backfills_to_do(project: Project, journal: Journal) -> list[Event]:
    """What former runs, or a process beside them, have left to do, oldest first."""
    return [
        BackfillRequested(row["table_name"], row["from_s"], row["to_s"])
        for row in journal.rows("SELECT * FROM backfills WHERE state='waiting' ORDER BY id")
        if project.has_table(row["table_name"])
    ]


def range_of(argument: str) -> tuple[float, float]:
    """The range in a request's argument."""
    fields: dict[str, Any] = json.loads(argument)
    return float(fields["from_s"]), float(fields["to_s"])


def argument_of(from_s: float, to_s: float) -> str:
    """The same, to ask with."""
    return json.dumps({"from_s": from_s, "to_s": to_s})
