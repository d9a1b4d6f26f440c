"""One file of the log: an SQLite database of requests, and of what was landed of them.

A row a request, so that a commit costs one flush however many records it brings; the ledger of
landed files sits beside the rows it is about. A segment is written by the committer until it is
sealed, later by the lander alone (ledger), and unlinked whole.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from freshline.durable import sync_folder
from freshline.failpoints import failpoint
from freshline.ingest.log.rows import DamagedError, Packed, Row, check, row_crc32, text_crc32
from freshline.private import private_file

COLUMNS = "id, feed, first, records, received_us, request_id, crc32, digest, body"
ROW_OVERHEAD_BYTES = 512
"""What a request takes besides its body, in a page and in memory; measured, rounded up."""

_FILE = re.compile(r"segment-(\d{8})-(\d{16})(?:-([0-9a-f]{12}))?\.db")
_SCHEMA = """
PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA user_version = 1;
CREATE TABLE requests (
    id INTEGER PRIMARY KEY, feed TEXT NOT NULL, first INTEGER NOT NULL, records INTEGER NOT NULL,
    received_us INTEGER NOT NULL, request_id TEXT, crc32 INTEGER NOT NULL, digest BLOB NOT NULL,
    body BLOB NOT NULL);
CREATE UNIQUE INDEX requests_by_key ON requests (feed, request_id) WHERE request_id IS NOT NULL;
CREATE TABLE landed (
    feed TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, name TEXT NOT NULL,
    crc32 INTEGER NOT NULL, PRIMARY KEY (feed, first));
CREATE TABLE counters (said TEXT NOT NULL, crc32 INTEGER NOT NULL);
"""


@dataclass(frozen=True, slots=True)
class KnownKey:
    """The first use of a key."""

    first: int
    records: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Landed:
    """A ledger row: the feed's records ``[first, last]`` are in file ``name`` ("": none left)."""

    feed: str
    first: int
    last: int
    name: str


class Segment:
    """The file ``segment-NUMBER-FIRST-TAG.db``.

    Attributes:
        path: Of the database.
        number: Counts segments.
        tag: Random, so that a segment of the same number is told from it: a disk that is put back
            from an older copy counts on from there. Empty where a former version made it.
        first_id: Of the first request it may hold.
        next_id: The next segment's first; None while it is the last. Rows from there on are of
            a commit that failed and was refused: the next segment has their numbers.
        remaining: Requests in it that are not landed.
        size_bytes: About what it takes on the disk.
        oldest_us: When its first request was received; None without any.
        sealed: Its keys are in the catalogue, and all of it is in the database file.
    """

    def __init__(self, path: Path, checkpoint_bytes: int) -> None:
        found = _FILE.fullmatch(path.name)
        assert found is not None
        self.path = path
        self.number = int(found[1])
        self.first_id = int(found[2])
        self.tag = found[3] or ""
        self.next_id: int | None = None
        self.remaining = 0
        self.size_bytes = 0
        self.oldest_us: int | None = None
        self.sealed = False
        self._checkpoint_bytes = checkpoint_bytes
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None

    @classmethod
    def create(
        cls, folder: Path, number: int, first_id: int, lasts: Mapping[str, int], checkpoint: int
    ) -> Segment:
        """Make an empty one: whole, or not at all.

        Args:
            folder: Where.
            number: Its own.
            first_id: Of the next request.
            lasts: Each feed's last record number so far.
            checkpoint: Bytes of SQLite's log.

        Raises:
            OSError: From the disk.
            sqlite3.Error: From SQLite.
        """
        tag = secrets.token_hex(6)
        path = folder / f"segment-{number:08d}-{first_id:016d}-{tag}.db"
        draft = path.with_suffix(".tmp")
        draft.unlink(missing_ok=True)
        failpoint("ingest.segment.create")
        said = json.dumps(lasts)
        private_file(draft)
        with contextlib.closing(sqlite3.connect(draft, isolation_level=None)) as connection:
            connection.executescript(_SCHEMA)
            counters = (said, text_crc32(said))
            connection.execute("INSERT INTO counters VALUES (?, ?)", counters)
            connection.execute("PRAGMA journal_mode = WAL")
        failpoint("ingest.segment.sync")
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        failpoint("ingest.segment.rename")
        draft.rename(path)
        sync_folder(folder)
        failpoint("ingest.segment.created")
        return cls(path, checkpoint)

    def rebuild(
        self, lasts: Mapping[str, int], rows: Sequence[tuple[object, ...]], ledger: Sequence[Landed]
    ) -> None:
        """Write the file anew with what could be read of it; the old one must be saved before.

        The new one is whole under another name before the old one goes (``finish_rebuild``).
        """
        self.close()
        draft = self.path.with_suffix(".tmp")
        draft.unlink(missing_ok=True)
        said = json.dumps(lasts)
        private_file(draft)
        with contextlib.closing(sqlite3.connect(draft, isolation_level=None)) as connection:
            connection.executescript(_SCHEMA)
            connection.execute("BEGIN")
            connection.execute("INSERT INTO counters VALUES (?, ?)", (said, text_crc32(said)))
            connection.executemany(
                f"INSERT INTO requests ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows
            )
            for item in ledger:
                row = (item.feed, item.first, item.last, item.name)
                connection.execute(
                    "INSERT INTO landed VALUES (?, ?, ?, ?, ?)", (*row, text_crc32(*row))
                )
            connection.execute("COMMIT")
            connection.execute("PRAGMA journal_mode = WAL")
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        rebuilt = self.path.with_suffix(".rebuilt")
        draft.rename(rebuilt)
        sync_folder(self.path.parent)
        finish_rebuild(rebuilt)

    @staticmethod
    def is_segment(name: str) -> bool:
        """Whether a file of this name is one."""
        return _FILE.fullmatch(name) is not None

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            if self._connection is None:
                # mode=rw: a file that has gone must not come back empty.
                connection = sqlite3.connect(
                    f"{self.path.as_uri()}?mode=rw",
                    uri=True,
                    isolation_level=None,
                    check_same_thread=False,
                )
                try:
                    connection.execute("PRAGMA synchronous = FULL")
                    pages = max(8, self._checkpoint_bytes // 4096)
                    connection.execute(f"PRAGMA wal_autocheckpoint = {pages}")
                except BaseException:
                    connection.close()
                    raise
                self._connection = connection
            yield self._connection

    def close(self) -> None:
        """Close the database; the next call opens it again.

        Errors of the last checkpoint are not ours to hear: what it would have moved stays in
        SQLite's log.
        """
        with self._lock:
            if self._connection is not None:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.close()
                self._connection = None

    def append(self, placed: Sequence[tuple[int, int, Packed]]) -> None:
        """Commit requests, given with their id and first record number: all or none.

        Raises:
            OSError: From the disk.
            sqlite3.Error: From SQLite. Whether the rows are there is open; see ``next_id``.
        """
        rows = [
            (
                row_id,
                packed.feed,
                first,
                packed.records,
                packed.received_us,
                packed.key,
                row_crc32(packed, row_id, first),
                packed.digest,
                packed.body,
            )
            for row_id, first, packed in placed
        ]
        with self._open() as connection:
            failpoint("ingest.commit.begin")
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(
                f"INSERT INTO requests ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows
            )
            failpoint("ingest.commit.before-sync")
            connection.execute("COMMIT")
            failpoint("ingest.commit.after-sync")
        self.remaining += len(rows)
        self.size_bytes += sum(len(packed.body) + ROW_OVERHEAD_BYTES for _, _, packed in placed)
        if self.oldest_us is None:
            self.oldest_us = placed[0][2].received_us

    def find_key(self, feed: str, key: str) -> KnownKey | None:
        """The use of a key in this segment."""
        with self._open() as connection:
            found = connection.execute(
                "SELECT id, first, records, digest FROM requests WHERE feed = ? AND request_id = ?",
                (feed, key),
            ).fetchone()
        if found is None or (self.next_id is not None and found[0] >= self.next_id):
            return None
        return KnownKey(*found[1:])

    def used_keys(self) -> Iterator[tuple[str, str, int, int, int, bytes]]:
        """(feed, key, first, records, received_us, digest) of every request that has a key."""
        with self._open() as connection:
            yield from connection.execute(
                "SELECT feed, request_id, first, records, received_us, digest FROM requests "
                "WHERE request_id IS NOT NULL AND id < ?",
                (self._stop(),),
            )

    def read(self, row_id: int) -> Row | None:
        """One row, checked; None: it is not there.

        Raises:
            DamagedError: It, or the database around it, is damaged.
        """
        found = self.columns(row_id)
        if found is None:
            return None
        row = check(found)
        if row.id != row_id:
            raise DamagedError(f"row {row.id} stands in the place of {row_id}")
        return row

    def columns(self, row_id: int) -> tuple[object, ...] | None:
        """One row's columns, unchecked.

        Raises:
            DamagedError: The database around it is damaged.
        """
        try:
            with self._open() as connection:
                found: tuple[object, ...] | None = connection.execute(
                    f"SELECT {COLUMNS} FROM requests WHERE id = ?", (row_id,)
                ).fetchone()
                return found
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise _damage(error) from error

    def scan(self) -> Iterator[tuple[object, ...]]:
        """The columns of every row, unchecked, by id."""
        with self._open() as connection:
            yield from connection.execute(
                f"SELECT {COLUMNS} FROM requests WHERE id < ? ORDER BY id", (self._stop(),)
            )

    def counters(self) -> dict[str, int]:
        """Each feed's last record number when this segment began.

        Raises:
            DamagedError: They cannot be read.
        """
        try:
            with self._open() as connection:
                said, crc32 = connection.execute("SELECT said, crc32 FROM counters").fetchone()
        except (sqlite3.DatabaseError, UnicodeDecodeError, TypeError) as error:
            raise _damage(error) from error
        if text_crc32(said) != crc32:
            raise DamagedError("the counters' checksum differs")
        lasts: dict[str, int] = json.loads(said)
        return lasts

    def ledger(self) -> tuple[list[Landed], bool]:
        """What was landed of it, and whether some of the ledger is damaged."""
        rows, damaged = [], False
        try:
            with self._open() as connection:
                for feed, first, last, name, crc32 in connection.execute("SELECT * FROM landed"):
                    if text_crc32(feed, first, last, name) == crc32:
                        rows.append(Landed(feed, first, last, name))
                    else:
                        damaged = True
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            if not is_damage(error):
                raise
            damaged = True
        return rows, damaged

    def note_landed(self, landed: Landed) -> None:
        """Commit a ledger row.

        Raises:
            OSError: From the disk.
            sqlite3.Error: From SQLite.
        """
        row = (landed.feed, landed.first, landed.last, landed.name)
        with self._open() as connection:
            failpoint("ingest.ledger.before")
            connection.execute(
                "INSERT OR REPLACE INTO landed VALUES (?, ?, ?, ?, ?)", (*row, text_crc32(*row))
            )
            failpoint("ingest.ledger.after")

    def checkpoint(self) -> None:
        """Move all of SQLite's log into the database file, durably.

        This writes the pages anew; so what a flush had failed to bring to the disk, and which
        the page cache still shows, is durable afterwards or the error is raised.

        Raises:
            sqlite3.Error: Not all could be moved.
        """
        with self._open() as connection:
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise sqlite3.OperationalError(f"{self.path.name} is in use by another program")

    def unlink(self) -> None:
        """Remove it; the database first, since its log means nothing without it."""
        self.close()
        for path in self.files():
            path.unlink(missing_ok=True)

    def files(self) -> list[Path]:
        """The database and SQLite's files beside it."""
        return [self.path.with_name(self.path.name + end) for end in ("", "-wal", "-shm")]

    def _stop(self) -> int:
        return self.next_id if self.next_id is not None else 1 << 62


def finish_rebuild(rebuilt: Path) -> None:
    """Put a rebuilt segment into its place; SQLite's old log must not be applied to it."""
    path = rebuilt.with_suffix(".db")
    for end in ("-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)
    rebuilt.rename(path)
    sync_folder(path.parent)


_PLATFORM = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PERM,
}


def is_damage(error: Exception) -> bool:
    """Whether an error says that the file is wrong, not that the disk or its room is."""
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", 0) & 0xFF not in _PLATFORM
    return isinstance(error, DamagedError | UnicodeDecodeError | ValueError | TypeError)


def _damage(error: Exception) -> Exception:
    return DamagedError(f"its file is damaged: {error}") if is_damage(error) else error
