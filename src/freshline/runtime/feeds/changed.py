"""Whether loaded files are unchanged: some are checked at each listing, changes are reported.

Files are known by their names. One that grows, or is replaced under its name, after it was
loaded is not loaded again; what it holds now and its table are no longer the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from freshline.executor.records import FeedFile
from freshline.runtime.journal.store import Journal
from freshline.runtime.journal.writer import Ledger
from freshline.times import rfc3339

EVERY_S = 1.0
PIECE = 1000
"""Files a second, of all feeds together: about a two-hundredth of a core on a local disk."""

_TURNS = 20
"""Pieces a second at most: to ask the journal for one takes as long as to look at twenty files."""

_SAME_S = 2e-6
"""Seconds since the epoch are exact to a quarter of a microsecond; listings round differently."""

_LAST = "\U0010ffff"
_SQL = (
    "SELECT f.name, coalesce(c.size_bytes, f.size_bytes) AS size_bytes,"
    " coalesce(c.modified_s, f.modified_s) AS modified_s FROM files f"
    " LEFT JOIN changed_files c ON c.table_name=f.table_name AND c.name=f.name"
    " WHERE f.table_name=? AND f.state='loaded' AND f.name<? ORDER BY f.name DESC LIMIT ?"
)


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """A file as it was when a table loaded it, or when a change of it was noticed last.

    Attributes:
        size_bytes, modified_s: None where the journal was lost since.
    """

    table: str
    name: str
    size_bytes: int | None
    modified_s: float | None

    def differs(self, size_bytes: int, modified_s: float) -> bool:
        """Whether the file is another one now, or nobody knows what it was."""
        if self.size_bytes is None or self.modified_s is None:
            return True
        return self.size_bytes != size_bytes or abs(self.modified_s - modified_s) > _SAME_S


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that is not as it was; ``now`` is what was seen."""

    loaded: LoadedFile
    now: FeedFile


class LoadedFiles:
    """Hands out the loaded files of a feed's tables, the last names first, again and again.

    For one thread, which need not be the journal's: it opens the journal itself.

    Args:
        path: The journal.
        tables: The feed's readers.
        everything: Hand out all of them at once.
        feeds: How many feeds are compared at the same time, this one included.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        path: Path,
        tables: Sequence[str],
        *,
        everything: bool,
        feeds: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = path
        self._tables = tuple(tables)
        self._everything = everything
        self._every_s = EVERY_S * max(1.0, feeds / _TURNS)
        self._most = max(1, round(PIECE * self._every_s / (EVERY_S * feeds)))
        self._clock = clock
        self._journal: Journal | None = None
        self._at = 0
        self._before = _LAST
        self._due_s = float("-inf")

    def piece(self) -> list[LoadedFile]:
        """The next ones; none while the last piece was a moment ago.

        Raises:
            sqlite3.Error: The journal cannot be read.
        """
        if self._clock() < self._due_s:
            return []
        self._due_s = self._clock() + self._every_s
        if self._journal is None:
            self._journal = Journal(self._path, create=False)
        if self._everything:
            return [each for table in self._tables for each in self._read(table, _LAST, -1)]
        table = self._tables[self._at]
        found = self._read(table, self._before, self._most)
        self._before = found[-1].name if found else _LAST
        if len(found) < self._most:
            self._at, self._before = (self._at + 1) % len(self._tables), _LAST
        return found

    def close(self) -> None:
        """Close the journal."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    def _read(self, table: str, before: str, limit: int) -> list[LoadedFile]:
        assert self._journal is not None
        return [
            LoadedFile(table, row["name"], row["size_bytes"], row["modified_s"])
            for row in self._journal.rows(_SQL, (table, before, limit))
        ]


def note_changes(ledger: Ledger, changed: Iterable[ChangedFile], now_s: float) -> list[str]:
    """Write down which loaded files have changed; what people should hear, a line a table.

    The caller flushes the journal.
    """
    told: dict[str, list[ChangedFile]] = {}
    for each in changed:
        was, now = each.loaded, each.now
        row = ledger.file_as_loaded(was.table, was.name)
        if row is None or not was.differs(now.size_bytes, now.modified_s):
            continue
        known = LoadedFile(was.table, was.name, row["size_bytes"], row["modified_s"])
        if known.size_bytes is None:  # the journal was lost: what is there now counts as loaded
            ledger.file_read(was.table, was.name, now.size_bytes, now.modified_s)
        elif not known.differs(now.size_bytes, now.modified_s):
            ledger.file_unchanged(was.table, was.name)  # reloaded meanwhile, or put back
        else:
            ledger.file_changed(was.table, now, reason(known, now), now_s)
            told.setdefault(was.table, []).append(each)
    return [
        f"{table}: {_named(each)} changed after being loaded; the table keeps the rows it has:"
        f" `freshline refresh {table} --full` loads every file again, `freshline accept {table}`"
        " leaves it so"
        for table, each in told.items()
    ]


def reason(was: LoadedFile, now: FeedFile) -> str:
    """How a file has changed, in one line."""
    return (
        f"[file-changed] it was loaded with {was.size_bytes} bytes of"
        f" {_second(was.modified_s or 0.0)} and has {now.size_bytes} bytes of"
        f" {_second(now.modified_s)}"
    )


def _named(changed: list[ChangedFile]) -> str:
    first = changed[0].now.name
    if len(changed) == 1:
        return f"the file {first}"
    return f"{len(changed)} files ({first}, ...)"


def _second(moment_s: float) -> str:
    return rfc3339(moment_s).split(".")[0].replace("T", " ")
