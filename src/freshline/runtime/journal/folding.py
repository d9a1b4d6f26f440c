"""Ranges of topics that were loaded long ago, joined in the journal: a few rows for a year.

A look at a topic that finds records is a row, up to two a second. Ranges that meet are one range
(:mod:`freshline.executor.offsets`), so of the older ones a row for each gap between them stays. It
has the number of the newest update that loaded a part of it. Where a table's log went back behind
that, the row says too much: the log says what was loaded (:mod:`.recovery`). Ranges that were
lost before they were loaded are joined as well.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from sqlite3 import Row

from freshline.executor.offsets import Coverage, is_range, joined_names, parsed
from freshline.project.model import Project
from freshline.runtime.journal.store import Journal

KEPT_ROWS = 5_000
"""Of a table's newest ranges."""

FOLDED = "joined"
"""In the column ``reason`` of a row that stands for what several updates loaded."""

_LOOK_EVERY_S = 600.0
_PIECE = 5_000
_PIECE_EVERY_S = 1.0
_NUMBER = "ifnull(number, 0)"
"""Of the update that loaded a range; lost ones have none."""


class RangeFolding:
    """Joins old ranges, a piece at a turn of the loop.

    Args:
        project: Whose tables.
        journal: Of the run; flushed here.
        kept: So many of a table's newest rows stay as they are.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        project: Project,
        journal: Journal,
        kept: int = KEPT_ROWS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._journal = journal
        self._kept = kept
        self._clock = clock
        self._due_s = float("-inf")
        self._behind: dict[tuple[str, str], tuple[int, str]] = {}
        """Number and name of the range behind which the next piece begins."""
        self._tables = [table.name for table in project.tables if project.reads_topic(table)]

    def step(self) -> None:
        """Join the next piece, where it is time and there is one; a full disk waits."""
        now_s = self._clock()
        if not self._tables or now_s < self._due_s or not self._journal.is_written:
            return
        some = [self._join(table, state) for table in self._tables for state in ("loaded", "lost")]
        self._due_s = now_s + (_PIECE_EVERY_S if any(some) else _LOOK_EVERY_S)
        if any(some):
            self._journal.flush()

    def _join(self, table: str, state: str) -> bool:
        """Whether there was a piece of a table's ranges to join.

        Ranges that lie apart stay so: behind a piece of them the next one is looked at.
        """
        ranges = "FROM files WHERE table_name=? AND state=?"
        counted = self._journal.row(f"SELECT count(*) AS n {ranges}", (table, state))
        if counted is None or counted["n"] <= 2 * self._kept:
            self._behind.pop((table, state), None)
            return False
        newest = self._journal.row(
            f"SELECT {_NUMBER} AS number {ranges} ORDER BY 1 DESC LIMIT 1 OFFSET ?",
            (table, state, self._kept),
        )
        assert newest is not None
        behind = self._behind.pop((table, state), (-1, ""))
        rows = self._journal.rows(
            f"SELECT * {ranges} AND {_NUMBER}<=? AND ({_NUMBER}, name)>(?,?)"
            f" ORDER BY {_NUMBER}, name LIMIT ?",
            (table, state, newest["number"], *behind, _PIECE),
        )
        if not rows:
            return False
        own = [row for row in rows if is_range(row["name"])]
        names = joined_names(row["name"] for row in own)
        if len(names) < len(own):
            self._replace(table, state, own, names)
            # What was joined has the last number; it may meet what comes next.
            self._behind[table, state] = (rows[-1]["number"] or 0, "")
        else:
            self._behind[table, state] = (rows[-1]["number"] or 0, rows[-1]["name"])
        return True

    def _replace(self, table: str, state: str, rows: Sequence[Row], names: Sequence[str]) -> None:
        for row in rows:
            self._journal.write(
                "DELETE FROM files WHERE table_name=? AND name=?", (table, row["name"])
            )
        columns = ("modified_s", "timestamp_s", "arrived_s", "number")
        greatest = [_greatest(rows, column) for column in columns]
        for name in names:
            self._journal.write(
                "INSERT INTO files (table_name, name, size_bytes, modified_s, timestamp_s,"
                " arrived_s, number, state, reason) VALUES (?,?,0,?,?,?,?,?,?)",
                (table, name, *greatest, state, FOLDED),
            )


def note_folded(journal: Journal, table: str, names: Collection[str]) -> None:
    """Loaded ranges of a table stand for what several updates loaded."""
    for name in names:
        journal.write(
            "UPDATE files SET reason=? WHERE table_name=? AND name=?", (FOLDED, table, name)
        )


def forget_overtaken(journal: Journal, table: str, loaded: Iterable[str]) -> None:
    """Ranges that wait, and of which commits of another journal have loaded a part, are forgotten.

    Another host led meanwhile, or the journal was put back: whoever looked at the topic then found
    the same offsets at another moment, under another name. The next look tells what of them is in
    no commit, also of those in quarantine.

    Args:
        journal: Told already that ``loaded`` is loaded.
        table: Whose; only one that reads a topic has such.
        loaded: Names in the commits that are taken over.
    """
    covered: dict[str, Coverage] = {}
    for each in map(parsed, filter(is_range, loaded)):
        covered.setdefault(each.topic_id, Coverage()).add(each)
    if not covered:
        return
    waiting = "('pending','retrying','quarantined')"
    for (name,) in journal.rows(
        f"SELECT name FROM files WHERE table_name=? AND state IN {waiting}", (table,)
    ):
        if not is_range(name):
            continue  # of the feed that the table read before
        waits = parsed(name)
        # An empty one says where the table begins: the commits say that better.
        if not waits.size_offsets or covered.get(waits.topic_id, Coverage()).meets(waits):
            journal.write(
                f"DELETE FROM files WHERE table_name=? AND name=? AND state IN {waiting}",
                (table, name),
            )


def says_too_much(journal: Journal, table: str, number: int) -> bool:
    """Whether joined ranges have parts of updates up to ``number`` and of later ones."""
    row = journal.row(
        "SELECT 1 FROM files WHERE table_name=? AND state='loaded' AND number>? AND reason=?",
        (table, number, FOLDED),
    )
    return row is not None


def _greatest(rows: Collection[Row], column: str) -> object:
    values = [row[column] for row in rows if row[column] is not None]
    return max(values, default=None)
