"""Which files of a feed are known already, looked up in the journal and not kept in memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from freshline.runtime.journal.store import Journal

_AT_ONCE = 500


class KnownNames:
    """Asks the journal for names; for one thread, which need not be the journal's.

    Args:
        path: The journal.
        tables: The feed's readers. A file that one of them does not know yet is news.
    """

    def __init__(self, path: Path, tables: Sequence[str]) -> None:
        self._path = path
        self._tables = tuple(tables)
        self._journal: Journal | None = None

    def among(self, names: Collection[str]) -> set[str]:
        """Those of the names that every reader knows.

        Raises:
            sqlite3.Error: The journal cannot be read.
        """
        if self._journal is None:
            self._journal = Journal(self._path, create=False)
        known = set(names)
        for table in self._tables:
            asked = list(known)
            pieces = [asked[at : at + _AT_ONCE] for at in range(0, len(asked), _AT_ONCE)]
            known = {name for piece in pieces for name in self._of(table, piece)}
        return known

    def close(self) -> None:
        """Close the journal."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    def _of(self, table: str, names: Sequence[str]) -> list[str]:
        assert self._journal is not None
        marks = ",".join("?" * len(names))
        rows = self._journal.rows(
            f"SELECT name FROM files WHERE table_name=? AND name IN ({marks})"
            " AND state<>'vanished'",
            (table, *names),
        )
        return [row["name"] for row in rows]
