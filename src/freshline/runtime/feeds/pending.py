"""The files of each base table that are known and not loaded, with all that is known of them."""

from __future__ import annotations

from collections.abc import Iterable

from freshline.core.events import Event, FileArrived
from freshline.delta.loaded import is_of_feed
from freshline.executor.records import FeedFile
from freshline.project.model import Project
from freshline.runtime.journal.store import Journal, Row

WAITING = ("pending", "retrying")
"""States of files in the journal that are still to be loaded."""


class PendingFiles:
    """Names to records of what is to be loaded; the core knows files by name only.

    What is loaded stands in the journal alone: a year of files is not kept in memory.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._files: dict[str, dict[str, FeedFile]] = {}
        self._lately: dict[tuple[str, str], bool] = {}
        """Whether a file is known, of those of which the journal may not have written all."""
        self._loaded: dict[tuple[str, str], FeedFile] = {}
        """Those of them that are loaded."""
        self._kinds: dict[str, str] = {}
        """Of the feed of each base table."""

    def restored(self, project: Project) -> list[Event]:
        """Arrivals of the files that former runs saw and did not load."""
        events: list[Event] = []
        states = ",".join(f"'{state}'" for state in WAITING)
        for table in project.tables:
            if table.kind != "base":
                continue
            self._kinds[table.name] = project.feeds[table.feed or ""].kind
            for row in self._journal.each(
                f"SELECT * FROM files WHERE table_name=? AND state IN ({states})"
                " AND timestamp_s IS NOT NULL ORDER BY timestamp_s, name",
                (table.name,),
            ):
                file = file_of(row)
                self._files.setdefault(table.name, {})[file.name] = file
                timestamp_s = min(file.timestamp_s, row["arrived_s"])
                events.append(FileArrived(table.name, timestamp_s, file.name))
        return events

    def add(self, table: str, file: FeedFile) -> bool:
        """Take in a file; False where ``table`` knows one of this name."""
        if self._is_known(table, file.name):
            return False
        self._note(table, file.name, known=True)
        self._files.setdefault(table, {})[file.name] = file
        return True

    def _is_known(self, table: str, name: str) -> bool:
        if name in self._files.get(table, {}):
            return True
        self._look_whether_written()
        lately = self._lately.get((table, name))
        if lately is not None:
            return lately
        row = self._journal.row(
            "SELECT 1 FROM files WHERE table_name=? AND name=? AND state<>'vanished'", (table, name)
        )
        return row is not None

    def _note(self, table: str, name: str, *, known: bool) -> None:
        self._look_whether_written()
        self._lately[table, name] = known

    def _look_whether_written(self) -> None:
        if self._journal.is_written:
            self._lately.clear()
            self._loaded.clear()

    def put_back(self, table: str, file: FeedFile) -> None:
        """A file out of quarantine is pending again."""
        self._files.setdefault(table, {})[file.name] = file

    def get(self, table: str, names: Iterable[str]) -> tuple[FeedFile, ...]:
        """The records of pending files."""
        files = self._files.get(table, {})
        return tuple(files[name] for name in names)

    def is_waiting(self, table: str, name: str) -> bool:
        """Whether a file is known and not loaded yet."""
        return name in self._files.get(table, {})

    def loaded(self, table: str, names: Iterable[str]) -> None:
        """Files are in the table; once the journal has written that, nothing of them is kept."""
        for name in names:
            file = self.withdrawn(table, name)
            if file is not None and not self._journal.is_written:
                self._loaded[table, name] = file

    def withdrawn(self, table: str, name: str) -> FeedFile | None:
        """A file waits no more, though it is known; its record."""
        self._note(table, name, known=True)
        return self._files.get(table, {}).pop(name, None)

    def is_loaded_lately(self, table: str, name: str) -> bool:
        """Whether a file is in the table, of which the journal may not know yet."""
        self._look_whether_written()
        return (table, name) in self._loaded

    def forget(self, table: str, name: str) -> None:
        """A file vanished; one that comes under its name is a new one."""
        self._note(table, name, known=False)
        self._files.get(table, {}).pop(name, None)

    def waiting(self, table: str) -> tuple[FeedFile, ...]:
        """Every file that is known and not loaded."""
        return tuple(self._files.get(table, {}).values())

    def all_files(self, table: str) -> tuple[FeedFile, ...]:
        """Every file that is loaded or waits: what a full reload reads.

        One that could not be read comes back by itself, when it is tried again.
        """
        # Not by the journal's states: a file that comes back may not be written down yet.
        found = [*self.loaded_files(table), *self.waiting(table)]
        return tuple(sorted(found, key=lambda file: (file.timestamp_s, file.name)))

    def loaded_files(self, table: str) -> tuple[FeedFile, ...]:
        """Every file of its feed that is in the table: what a backfill reads."""
        rows = self._journal.rows(
            "SELECT * FROM files WHERE table_name=? AND state='loaded' ORDER BY timestamp_s, name",
            (table,),
        )
        self._look_whether_written()
        lately = [file for (name, _), file in self._loaded.items() if name == table]
        kind = self._kinds.get(table, "files")
        found = {
            file.name: file
            for file in [*map(file_of, rows), *lately]
            if is_of_feed(kind, file.name)
        }
        return tuple(sorted(found.values(), key=lambda file: (file.timestamp_s, file.name)))


def file_of(row: Row) -> FeedFile:
    """The record of a file from its row in the journal."""
    return FeedFile(
        row["name"], row["size_bytes"] or 0, row["modified_s"] or 0.0, row["timestamp_s"] or 0.0
    )
