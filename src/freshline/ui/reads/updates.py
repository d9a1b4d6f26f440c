"""Updates in the journal by time, found by its indexes however long it is.

An update's id rises with its start, so a window is a range of ids; of one table that is a range of
the index by table and id.
"""

from __future__ import annotations

from freshline.runtime.journal.store import Journal, Row
from freshline.runtime.journal.strategies import NO_UPKEEP
from freshline.ui.reads.window import Window

_LATELY = 500
"""So many of the latest updates are looked at for what ran on each track."""


def first_id(journal: Journal, from_s: float) -> int:
    """The id of the first update that started at ``from_s`` or later."""
    row = journal.row(
        "SELECT id FROM updates WHERE start_s>=? ORDER BY start_s, id LIMIT 1", (from_s,)
    )
    if row is not None:
        return int(row["id"])
    newest = journal.row("SELECT max(id) AS id FROM updates")
    return int(newest["id"] or 0) + 1 if newest else 1


def updates_of(journal: Journal, table: str, window: Window, most: int) -> tuple[list[Row], bool]:
    """The updates of ``table`` that a window shows, oldest first.

    Those that started in it, and before them the last committed one, which says how fresh the
    table was when the window began, with what was tried since. Work on files is left out.

    Returns:
        The updates, and whether older ones of the window were left out: at most ``most``.
    """
    first, behind = first_id(journal, window.from_s), first_id(journal, window.to_s)
    rows = journal.rows(
        f"SELECT * FROM updates WHERE table_name=? AND id>=? AND id<? AND {NO_UPKEEP}"
        " ORDER BY id DESC LIMIT ?",
        (table, first, behind, most + 1),
    )
    if len(rows) > most:
        return rows[:most][::-1], True
    before = journal.row(
        f"SELECT * FROM updates WHERE table_name=? AND id<? AND state='done' AND {NO_UPKEEP}"
        " ORDER BY id DESC LIMIT 1",
        (table, first),
    )
    since = before["id"] if before is not None else 0
    earlier = journal.rows(
        f"SELECT * FROM updates WHERE table_name=? AND id>? AND id<? AND {NO_UPKEEP}"
        " ORDER BY id DESC LIMIT 20",
        (table, since, first),
    )
    return [*([] if before is None else [before]), *earlier[::-1], *rows[::-1]], False


def update_at(journal: Journal, table: str, at_s: float) -> Row | None:
    """The last update of ``table`` that had started at ``at_s``."""
    return journal.row(
        f"SELECT * FROM updates WHERE table_name=? AND id<? AND {NO_UPKEEP}"
        " ORDER BY id DESC LIMIT 1",
        (table, first_id(journal, at_s + 1e-6)),
    )


def update_after(journal: Journal, table: str, at_s: float) -> Row | None:
    """The first update of ``table`` that started behind ``at_s``."""
    return journal.row(
        f"SELECT * FROM updates WHERE table_name=? AND id>=? AND {NO_UPKEEP} ORDER BY id LIMIT 1",
        (table, first_id(journal, at_s + 1e-6)),
    )


def on_tracks(journal: Journal, at_s: float) -> list[Row]:
    """What ran on each track at ``at_s``, by track; a track that was idle is not in it."""
    behind = first_id(journal, at_s + 1e-6)
    newest = journal.row("SELECT run FROM updates WHERE id<? ORDER BY id DESC LIMIT 1", (behind,))
    if newest is None:
        return []
    # A track runs one update at a time, and its last one began among the latest few hundred.
    rows = journal.rows(
        "SELECT * FROM updates WHERE id IN (SELECT max(id) FROM updates WHERE id<? AND id>=?"
        " AND run=? GROUP BY track) ORDER BY track",
        (behind, behind - _LATELY, newest["run"]),
    )
    return [row for row in rows if row["finish_s"] is None or row["finish_s"] >= at_s]
