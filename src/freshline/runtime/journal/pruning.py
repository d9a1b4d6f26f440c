"""What a journal keeps of the past: the newest rows of each kind, and no file larger than they are.

A run may last a year, so old rows go while it runs, some hundred at a time, and SQLite gives the
pages that they leave back to the disk. A table's newest row stays, and its newest update
that worked, however long ago they were.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from freshline.runtime.journal.store import Journal
from freshline.runtime.journal.strategies import NO_UPKEEP

LOOK_EVERY_S = 600.0
"""Between two looks at whether there is something to remove."""

_PIECE = 500
"""Rows of one kind that a turn of the loop removes: some milliseconds."""

_PIECE_EVERY_S = 0.2
_PAGES = 500
"""Given back to the disk after each piece; a row has a quarter of a page."""


@dataclass(frozen=True, slots=True)
class Kept:
    """How much of one kind is kept.

    Attributes:
        table: Of the journal; its rows have growing numbers, ``id``.
        rows: So many of the newest.
        but: A condition of older rows that stay.
    """

    table: str
    rows: int
    but: str


KEPT = (
    Kept(
        "updates", 100_000,
        "state='running' OR id IN (SELECT max(id) FROM updates GROUP BY table_name)"
        f" OR (state='done' AND {NO_UPKEEP} AND NOT EXISTS (SELECT 1 FROM updates AS later WHERE"
        " later.table_name=updates.table_name AND later.id>updates.id AND later.state='done' AND"
        f" {NO_UPKEEP}))",
    ),
    Kept("instants", 200_000, "0"),
    Kept("requests", 1_000, "answer IS NULL"),
    Kept("gaps", 1_000, "0"),
    Kept("backfills", 1_000, "state NOT IN ('done', 'given up')"),
    Kept("runs", 1_000, "id >= coalesce((SELECT run FROM instants ORDER BY id LIMIT 1), id + 1)"),
)  # fmt: skip


class Pruning:
    """Removes old rows, a piece at a turn of the loop.

    Args:
        journal: Of the run; removed with its next flush.
        kept: How much of each kind.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        journal: Journal,
        kept: tuple[Kept, ...] = KEPT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._journal = journal
        self._kept = kept
        self._clock = clock
        self._due_s = float("-inf")
        self._removed = dict.fromkeys((each.table for each in kept), 0)
        """Up to which number all was removed that is not to stay."""

    def step(self) -> None:
        """Remove the next piece, where it is time and there is one; a full disk waits."""
        now_s = self._clock()
        if now_s < self._due_s or self._journal.behind:
            return
        removed = [self._remove(each) for each in self._kept]
        self._due_s = now_s + (_PIECE_EVERY_S if any(removed) else LOOK_EVERY_S)
        if self._journal.flush():
            self._journal.give_back(_PAGES)

    def _remove(self, kept: Kept) -> bool:
        """Whether rows of that kind are removed."""
        table, since = kept.table, self._removed[kept.table]
        newest = self._journal.row(f"SELECT max(id) AS id FROM {table}")
        last = (newest["id"] or 0) - kept.rows if newest else 0
        if last <= since:
            return False
        piece = self._journal.row(
            f"SELECT id FROM {table} WHERE id>? AND id<=? ORDER BY id LIMIT 1 OFFSET ?",
            (since, last, _PIECE - 1),
        )
        until = last if piece is None else piece["id"]
        # Bound to the numbers first, so that a condition is asked of this piece alone.
        self._journal.write(
            f"DELETE FROM {table} WHERE id>? AND id<=? AND NOT ({kept.but})", (since, until)
        )
        self._removed[table] = until
        return True
