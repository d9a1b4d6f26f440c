"""Updates in the journal by time, found by its indexes however long it is.

An update's id rises with its start, so a window is a range of ids; of one table that is a range of
the index by table and id.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from freshline.runtime.journal.store import Journal, Row
from freshline.runtime.journal.strategies import NO_UPKEEP
from freshline.ui.reads.window import Window

_LATELY = 500
"""So many of the latest updates are looked at for what ran on each track."""
_LONG = 2_000
"""So many may start on other tracks while one goes on: it is shown in a window behind its start."""


def first_id(journal: Journal, from_s: float) -> int:
    """The id of the first update that started at ``from_s`` or later."""
    row = journal.row(
        "SELECT id FROM updates WHERE start_s>=? ORDER BY start_s, id LIMIT 1", (from_s,)
    )
    if row is not None:
        return int(row["id"])
    newest = journal.row("SELECT max(id) AS id FROM updates")
    return int(newest["id"] or 0) + 1 if newest else 1


def behind_id(journal: Journal, until_s: float, now_s: float) -> int:
    """The id behind the last update that had started before ``until_s``.

    Whatever has started, has started before now: also what was noted by a clock that was ahead,
    and what came after that clock was put back.
    """
    return first_id(journal, math.inf if until_s >= now_s else until_s)


def updates_of(
    journal: Journal, table: str, window: Window, now_s: float, most: int
) -> tuple[list[Row], bool]:
    """The updates of ``table`` that a window shows, oldest first.

    Those that started in it, and before them the last committed one, which says how fresh the
    table was when the window began, with what was tried since. Work on files is left out.

    Returns:
        The updates, and whether older ones of the window were left out: at most ``most``.
    """
    first = first_id(journal, window.from_s)
    behind = behind_id(journal, window.to_s, now_s)
    rows = journal.rows(
        f"SELECT * FROM updates WHERE table_name=? AND id>=? AND id<? AND {NO_UPKEEP}"
        " ORDER BY id DESC LIMIT ?",
        (table, first, behind, most + 1),
    )
    if len(rows) > most:
        return rows[:most][::-1], True
    before = commit_before(journal, table, first)
    since = before["id"] if before is not None else 0
    earlier = journal.rows(
        f"SELECT * FROM updates WHERE table_name=? AND id>? AND id<? AND {NO_UPKEEP}"
        " ORDER BY id DESC LIMIT 20",
        (table, since, first),
    )
    return [*([] if before is None else [before]), *earlier[::-1], *rows[::-1]], False


def update_at(journal: Journal, table: str, at_s: float, now_s: float) -> Row | None:
    """The last update of ``table`` that had started at ``at_s``."""
    return journal.row(
        f"SELECT * FROM updates WHERE table_name=? AND id<? AND {NO_UPKEEP}"
        " ORDER BY id DESC LIMIT 1",
        (table, behind_id(journal, at_s + 1e-6, now_s)),
    )


def update_after(journal: Journal, table: str, at_s: float, now_s: float) -> Row | None:
    """The first update of ``table`` that started behind ``at_s``."""
    return journal.row(
        f"SELECT * FROM updates WHERE table_name=? AND id>=? AND {NO_UPKEEP} ORDER BY id LIMIT 1",
        (table, behind_id(journal, at_s + 1e-6, now_s)),
    )


def commit_before(journal: Journal, table: str, first: int) -> Row | None:
    """The last committed update of ``table`` with an id before ``first``."""
    return journal.row(
        f"SELECT * FROM updates WHERE table_name=? AND id<? AND state='done' AND {NO_UPKEEP}"
        " ORDER BY id DESC LIMIT 1",
        (table, first),
    )


def commit_after(journal: Journal, table: str, until_s: float, now_s: float) -> Row | None:
    """The first committed update of ``table`` that started at ``until_s`` or later."""
    return journal.row(
        f"SELECT * FROM updates WHERE table_name=? AND id>=? AND state='done' AND {NO_UPKEEP}"
        " ORDER BY id LIMIT 1",
        (table, behind_id(journal, until_s, now_s)),
    )


def began_before(
    journal: Journal, first: int, from_s: float, alive: int | None, running: Sequence[str]
) -> list[Row]:
    """The updates that ran when a window began, by id; upkeep, too.

    Args:
        journal: To read.
        first: The window's first id.
        from_s: When it begins.
        alive: The run that goes on; None: none does.
        running: The tables that an update runs of now, however long it has.
    """
    earlier = []
    for table in running:  # what runs is a table's newest update
        newest = journal.row(
            "SELECT * FROM updates WHERE table_name=? ORDER BY id DESC LIMIT 1", (table,)
        )
        if newest is not None and newest["id"] < first - _LONG and newest["finish_s"] is None:
            earlier.append(newest)
    return earlier + journal.rows(
        "SELECT * FROM updates WHERE id>=? AND id<? AND (finish_s>? OR finish_s IS NULL AND run=?)"
        " ORDER BY id",
        (first - _LONG, first, from_s, alive),
    )


def on_tracks(journal: Journal, at_s: float, now_s: float) -> list[Row]:
    """What ran on each track at ``at_s``, by track; a track that was idle is not in it."""
    behind = behind_id(journal, at_s + 1e-6, now_s)
    newest = journal.row("SELECT run FROM updates WHERE id<? ORDER BY id DESC LIMIT 1", (behind,))
    if newest is None:
        return []
    # A track runs one update at a time, and its last one began among the latest few hundred.
    rows = journal.rows(
        "SELECT * FROM updates WHERE id IN (SELECT max(id) FROM updates WHERE id<? AND id>=?"
        " AND run=? GROUP BY track) ORDER BY track",
        (behind, behind - _LATELY, newest["run"]),
    )
    return [
        row
        for row in rows
        if row["start_s"] <= at_s + 1e-6 and (row["finish_s"] is None or row["finish_s"] >= at_s)
    ]
