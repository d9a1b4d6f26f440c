"""What must outlive the segments: keys for a day, and which segments were landed and removed.

Both are derived: a segment's keys are copied here, and its end noted, when it is sealed, in one
transaction; until then the segment itself is asked. What is damaged here is set aside, and what
the remaining segments know is copied again.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from freshline.failpoints import failpoint
from freshline.ingest.log.rows import text_crc32
from freshline.ingest.log.segment import KnownKey, Segment
from freshline.private import private_file

_SCHEMA = """
PRAGMA journal_mode = WAL;
CREATE TABLE IF NOT EXISTS keys (
    feed TEXT NOT NULL, request_id TEXT NOT NULL, first INTEGER NOT NULL, records INTEGER NOT NULL,
    received_us INTEGER NOT NULL, digest BLOB NOT NULL, segment INTEGER NOT NULL,
    crc32 INTEGER NOT NULL, PRIMARY KEY (feed, request_id)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS keys_by_segment ON keys (segment);
CREATE TABLE IF NOT EXISTS segments (
    number INTEGER PRIMARY KEY, first_id INTEGER NOT NULL, next_id INTEGER NOT NULL,
    keys INTEGER NOT NULL, newest_us INTEGER NOT NULL, done INTEGER NOT NULL,
    crc32 INTEGER NOT NULL);
"""


class Catalogue:
    """The database ``catalogue.db`` of a folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "catalogue.db"
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            if self._connection is None:
                private_file(self.path)
                connection = sqlite3.connect(
                    self.path, isolation_level=None, check_same_thread=False
                )
                try:
                    connection.execute("PRAGMA synchronous = FULL")
                    connection.executescript(_SCHEMA)
                except BaseException:
                    connection.close()
                    raise
                self._connection = connection
            yield self._connection

    def close(self) -> None:
        """Close it; the next call opens it again."""
        with self._lock:
            if self._connection is not None:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.close()
                self._connection = None

    def files(self) -> list[Path]:
        """The database and SQLite's files beside it."""
        return [self.path.with_name(self.path.name + end) for end in ("", "-wal", "-shm")]

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """One that closes the database when it fails: the next starts from what is on disk."""
        try:
            with self._open() as connection:
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
                # What is in the database file no later damage of SQLite's log can take away.
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except BaseException:
            self.close()
            raise

    def find_key(self, feed: str, key: str) -> KnownKey | None:
        """The use of a key in a sealed segment."""
        with self._open() as connection:
            found = connection.execute(
                "SELECT first, records, digest FROM keys WHERE feed = ? AND request_id = ?",
                (feed, key),
            ).fetchone()
        return None if found is None else KnownKey(*found)

    def seal(self, segment: Segment) -> None:
        """Copy a segment's keys and note its end; done twice, it is done once."""
        assert segment.next_id is not None
        failpoint("ingest.seal.before-keys")
        with self._transaction() as connection:
            connection.execute("DELETE FROM keys WHERE segment = ?", (segment.number,))
            count = 0
            newest_us = segment.oldest_us or 0
            for feed, key, first, records, received_us, digest in segment.used_keys():
                row = (feed, key, first, records, received_us, digest, segment.number)
                connection.execute(
                    "INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (*row, text_crc32(*row)),
                )
                count += 1
                newest_us = max(newest_us, received_us)
            self._put(
                connection,
                (segment.number, segment.first_id, segment.next_id, count, newest_us, 0),
            )
            failpoint("ingest.seal.before-sync")
        failpoint("ingest.seal.after-keys")

    def finish(self, segment: Segment) -> None:
        """Note that all of a segment was landed: its file may be missing from now on."""
        with self._transaction() as connection:
            row = connection.execute(
                "SELECT number, first_id, next_id, keys, newest_us FROM segments WHERE number = ?",
                (segment.number,),
            ).fetchone()
            # Its entry may have been damaged, and dropped.
            row = row or (segment.number, segment.first_id, segment.next_id, 0, 0)
            self._put(connection, (*row, 1))

    @staticmethod
    def _put(connection: sqlite3.Connection, row: tuple[int, ...]) -> None:
        connection.execute(
            "INSERT OR REPLACE INTO segments VALUES (?, ?, ?, ?, ?, ?, ?)", (*row, text_crc32(*row))
        )

    def segments(self) -> dict[int, tuple[int, int, bool]]:
        """By number: first id, next id, done. Damaged rows are left out."""
        with self._open() as connection:
            return {
                row[0]: (row[1], row[2], bool(row[5]))
                for row in connection.execute("SELECT * FROM segments")
                if text_crc32(*row[:6]) == row[6]
            }

    def prune(self, before_us: int, behind_us: int, oldest_number: int) -> None:
        """Forget the keys of finished segments whose newest request is older, or behind a moment.

        That a segment was finished stays known while an older one is there: without it the
        numbers between that one and the next would seem to be lost.
        """
        with self._transaction() as connection:
            old = connection.execute(
                "SELECT number, first_id, next_id, newest_us FROM segments "
                "WHERE done = 1 AND (newest_us < ? OR newest_us > ?)",
                (before_us, behind_us),
            ).fetchall()
            for number, first_id, next_id, newest_us in old:
                connection.execute("DELETE FROM keys WHERE segment = ?", (number,))
                if number < oldest_number:
                    connection.execute("DELETE FROM segments WHERE number = ?", (number,))
                else:
                    self._put(connection, (number, first_id, next_id, 0, newest_us, 1))

    def problems(self) -> list[str]:
        """What is wrong with it, by its own checksums and counts; empty: nothing.

        Raises:
            sqlite3.DatabaseError: It cannot be read at all.
        """
        found = []
        counts: dict[int, int] = {}
        with self._open() as connection:
            damaged = 0
            before = ("", "")
            for row in connection.execute("SELECT * FROM keys ORDER BY feed, request_id"):
                if text_crc32(*row[:7]) != row[7] or row[:2] <= before:
                    damaged += 1
                    continue
                before = row[:2]
                counts[row[6]] = counts.get(row[6], 0) + 1
            if damaged:
                found.append(f"{damaged} remembered keys are damaged")
            for row in connection.execute("SELECT * FROM segments"):
                if text_crc32(*row[:6]) != row[6]:
                    found.append(f"the entry of segment {row[0]} is damaged")
                elif counts.get(row[0], 0) > row[3]:
                    found.append(f"segment {row[0]} has more keys than were copied")
                elif counts.pop(row[0], 0) < row[3]:
                    found.append(f"keys of segment {row[0]} are missing")
        return found

    def rebuild(self) -> None:
        """Write it anew with the rows that are whole; the old one must be saved before.

        The counts are those of what is left, so that what was lost is told once.
        """
        keys: list[tuple[object, ...]] = []
        segments: list[tuple[int, ...]] = []
        with contextlib.suppress(sqlite3.DatabaseError, UnicodeDecodeError), self._open() as old:
            # Row by row: what was read before the damage is kept.
            for row in old.execute("SELECT * FROM segments"):
                segments += [row[:6]] if text_crc32(*row[:6]) == row[6] else []
            for row in old.execute("SELECT * FROM keys"):
                keys += [row] if text_crc32(*row[:7]) == row[7] else []
        self.close()
        for path in self.files():
            path.unlink(missing_ok=True)
        counts = Counter(row[6] for row in keys)
        with self._transaction() as new:
            new.executemany("INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?, ?, ?, ?, ?)", keys)
            for number, first_id, next_id, _, newest_us, done in segments:
                self._put(new, (number, first_id, next_id, counts[number], newest_us, done))
