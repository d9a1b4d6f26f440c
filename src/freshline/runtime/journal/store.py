"""The journal: what happened in a warehouse, in one SQLite file beside the tables.

It is a cache. What is true stands in the Delta log; a lost journal is rebuilt from there
(``recovery.py``), and a damaged one is put aside and then counts as lost. So nothing here
must survive a power cut, and a full disk does not stop the warehouse: writes are buffered,
one transaction an instant, and a transaction that cannot be written is kept and tried again
with the next.

Only the running warehouse writes, except for requests (``pause``, ``refresh``, ...), which
other processes add and the warehouse answers. Its alerts are written over connections of their
own. Everybody may read, at any time.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from freshline.core.errors import PlatformError
from freshline.failpoints import failpoint
from freshline.private import private_file, private_folder
from freshline.runtime.journal.damage import ERRORS, is_damage, is_damaged, move_aside

_SCHEMA_VERSION = 1
_HELD_S = 5.0
"""For so long what is written waits for another process that holds the journal."""
_PATIENCE_S = 10.0
"""And for so long where it must be written."""
_INCREMENTAL = 2
"""Of SQLite's ways to vacuum: pages are cut off when it is asked to."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
  id INTEGER PRIMARY KEY, pid INTEGER, started_s REAL, ready_s REAL, stopped_s REAL,
  setting TEXT);
CREATE TABLE IF NOT EXISTS tables (
  name TEXT PRIMARY KEY, kind TEXT, definition TEXT, freshness_s REAL, trailing_edge_s REAL,
  version INTEGER, number INTEGER DEFAULT 0, parents TEXT, alpha_s REAL, beta REAL,
  cost_samples INTEGER DEFAULT 0, cost_error REAL DEFAULT 0, period_s REAL,
  paused INTEGER DEFAULT 0, priority REAL, state TEXT DEFAULT 'new', since_s REAL,
  failures INTEGER DEFAULT 0, error TEXT, retry_s REAL, note TEXT,
  rejected_rows INTEGER DEFAULT 0, updates INTEGER DEFAULT 0, busy_s REAL DEFAULT 0,
  max_staleness_s REAL, staleness_area_s2 REAL, measured_s REAL, dropped INTEGER DEFAULT 0,
  accepted_version INTEGER, feed_path TEXT, full_asked INTEGER DEFAULT 0,
  marked_version INTEGER, mark TEXT);
CREATE TABLE IF NOT EXISTS files (
  table_name TEXT, name TEXT, size_bytes INTEGER, modified_s REAL, timestamp_s REAL,
  arrived_s REAL, state TEXT, number INTEGER, attempts INTEGER DEFAULT 0, reason TEXT,
  retry_s REAL, PRIMARY KEY (table_name, name)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS files_by_state ON files (table_name, state);
CREATE TABLE IF NOT EXISTS changed_files (
  table_name TEXT, name TEXT, size_bytes INTEGER, modified_s REAL, reason TEXT, seen_s REAL,
  PRIMARY KEY (table_name, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS updates (
  id INTEGER PRIMARY KEY, run INTEGER, table_name TEXT, number INTEGER, attempt INTEGER,
  track INTEGER, release_s REAL, start_s REAL, finish_s REAL, from_s REAL, to_s REAL,
  expected_s REAL, seconds REAL, rows INTEGER, rejected_rows INTEGER, version INTEGER,
  strategy TEXT, reason TEXT, state TEXT, error TEXT, score TEXT, passed_over TEXT,
  files INTEGER, parents TEXT, full INTEGER);
CREATE INDEX IF NOT EXISTS updates_by_table ON updates (table_name, id);
CREATE INDEX IF NOT EXISTS updates_by_start ON updates (start_s);
CREATE INDEX IF NOT EXISTS updates_by_freshness ON updates (table_name, to_s);
CREATE TABLE IF NOT EXISTS instants (
  id INTEGER PRIMARY KEY, run INTEGER, now_s REAL, events TEXT, commands TEXT);
CREATE TABLE IF NOT EXISTS requests (
  id INTEGER PRIMARY KEY, at_s REAL, kind TEXT, table_name TEXT, argument TEXT,
  answered_s REAL, answer TEXT);
CREATE TABLE IF NOT EXISTS feeds (
  name TEXT PRIMARY KEY, last_s REAL, period_s REAL, jitter_s REAL, silent_since_s REAL,
  came_back_s REAL, error TEXT);
CREATE TABLE IF NOT EXISTS gaps (
  id INTEGER PRIMARY KEY, feed TEXT, from_s REAL, to_s REAL);
CREATE TABLE IF NOT EXISTS topics (
  table_name TEXT PRIMARY KEY, feed TEXT, topic_id TEXT, state TEXT, since_s REAL, error TEXT,
  ends TEXT, newest_s REAL);
CREATE TABLE IF NOT EXISTS backfills (
  id INTEGER PRIMARY KEY, table_name TEXT, from_s REAL, to_s REAL, asked_s REAL, state TEXT,
  ended_s REAL, error TEXT);
CREATE TABLE IF NOT EXISTS strategies (
  table_name TEXT, strategy TEXT, code TEXT, updates INTEGER, rows INTEGER, read_rows INTEGER,
  seconds REAL, last_s REAL, last_number INTEGER, last_read_rows INTEGER, reason TEXT,
  PRIMARY KEY (table_name, strategy, code)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS corrections (
  table_name TEXT PRIMARY KEY, updates INTEGER, rows INTEGER, last_s REAL);
CREATE TABLE IF NOT EXISTS reports (
  name TEXT PRIMARY KEY, view TEXT, query TEXT, file TEXT, start_s REAL, end_s REAL,
  deadline_s REAL, group_rows INTEGER, state TEXT, asked_s REAL, batches INTEGER DEFAULT 0,
  cost_s REAL DEFAULT 0, arrived_rows INTEGER DEFAULT 0, taken_rows INTEGER DEFAULT 0,
  planned TEXT, slack_s REAL, foreseen INTEGER DEFAULT 0, finish_s REAL, version INTEGER,
  rows INTEGER, code TEXT, late TEXT, error TEXT, complete INTEGER, definition TEXT);
CREATE TABLE IF NOT EXISTS report_batches (
  id INTEGER PRIMARY KEY, report TEXT, view TEXT, start_s REAL, rows INTEGER, seconds REAL,
  final_s REAL, expected_s REAL, batches INTEGER, error TEXT);
CREATE INDEX IF NOT EXISTS report_batches_by_view ON report_batches (view, id);
CREATE TABLE IF NOT EXISTS report_instants (
  id INTEGER PRIMARY KEY, run INTEGER, now_s REAL, events TEXT, commands TEXT);
CREATE TABLE IF NOT EXISTS watched (
  name TEXT PRIMARY KEY, mode TEXT, since_s REAL, backlog_s REAL, first_s REAL, fresh_s REAL,
  waits INTEGER, bound_s REAL, bounds TEXT, worst TEXT, violations TEXT, last_violation TEXT,
  newest_s REAL);
CREATE TABLE IF NOT EXISTS trials (
  table_name TEXT PRIMARY KEY, definition TEXT, tried TEXT, outcome TEXT, at_s REAL, seconds REAL,
  compared TEXT, reason TEXT, evidence TEXT);
CREATE TABLE IF NOT EXISTS misfits (partition TEXT PRIMARY KEY, since_s REAL, what TEXT);
CREATE TABLE IF NOT EXISTS alerts (
  url TEXT, kind TEXT, subject TEXT, since_s REAL, seen_s REAL, told_s REAL,
  PRIMARY KEY (url, kind, subject)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS postings (
  id INTEGER PRIMARY KEY AUTOINCREMENT, url TEXT, event TEXT, at_s REAL);
"""

_READ_AT_START = frozenset(
    {
        "tables", "files", "feeds", "topics", "requests", "backfills", "strategies",
        "corrections", "reports", "report_batches", "misfits", "changed_files",
    }
)  # fmt: skip
"""Tables without which a run cannot start; their texts are looked at, too."""

Row = sqlite3.Row


class Journal:
    """One journal file.

    Args:
        path: The SQLite file; made with its folder when ``create``.
        create: False opens what is there, for reading and for requests.
        check: Called at each flush; what it raises leaves the buffered rows unwritten.

    Attributes:
        behind: The last flush could not write; the next one tries again.
        damage: What SQLite said when it met damage; nothing is read or written any more.
        moved_aside: Where a damaged journal was put that stood here; this one is new.

    Raises:
        PlatformError: It cannot be opened, or was written by a newer freshline.
    """

    def __init__(
        self, path: Path, *, create: bool, check: Callable[[], None] = lambda: None
    ) -> None:
        self.path = path
        self._check = check
        self._buffer: list[tuple[str, Sequence[Any]]] = []
        self.behind = False
        self._is_held = False
        self.damage: Exception | None = None
        self.moved_aside: Path | None = None
        try:
            if create:
                path.parent.mkdir(parents=True, exist_ok=True)
                private_folder(path.parent)
                if is_damaged(path, _READ_AT_START):
                    self.moved_aside = move_aside(path)
                private_file(path)
            mode = "rwc" if create else "rw"
            self._db = sqlite3.connect(
                f"file:{_uri_path(path)}?mode={mode}",
                uri=True,
                timeout=_HELD_S,
                isolation_level=None,
                check_same_thread=False,
            )
            self._db.row_factory = sqlite3.Row
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            if version > _SCHEMA_VERSION:
                raise PlatformError(
                    "newer-journal",
                    f"{path} was written by a newer freshline (schema {version})",
                    next_step="Use that version, or delete the journal: it will be rebuilt.",
                )
            if create:
                self._give_pages_back()
                self._db.execute("PRAGMA journal_mode=WAL")
                # A cache: what a power cut takes, the Delta log gives back.
                self._db.execute("PRAGMA synchronous=NORMAL")
                self._db.executescript(_SCHEMA)
                self._add_columns()
                self._db.execute(f"PRAGMA user_version={_SCHEMA_VERSION}")
        except OSError as error:  # of its folder: the journal has no part in it
            raise PlatformError(
                "journal",
                f"cannot open the journal {path}: {error.strerror or error}",
                next_step="Check the disk and the permissions.",
            ) from error
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if isinstance(error, sqlite3.OperationalError) and not os.access(path.parent, os.W_OK):
                raise PlatformError(
                    "journal",
                    f"cannot open the journal {path}: its folder cannot be written",
                    rule="SQLite writes beside the file that it reads",
                    next_step="Where its disk is mounted read-only, mount it writable; else run"
                    " this as a user who may write there.",
                ) from error
            raise PlatformError(
                "journal",
                f"cannot open the journal {path}: {error}",
                next_step="Check disk and permissions; a damaged journal may be deleted.",
            ) from error

    def _add_columns(self) -> None:
        """Those that a journal of before has not got; without one no transaction is written."""
        with contextlib.closing(sqlite3.connect(":memory:")) as new:
            new.executescript(_SCHEMA)
            for table in _names(
                new, "sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite%'"
            ):
                columns = _names(self._db, f"pragma_table_info('{table}')")
                known = {each.lower() for each in columns}  # as SQLite compares them
                for _, name, kind, _, default, _ in new.execute(f"PRAGMA table_info({table})"):
                    if name not in known:
                        given = "" if default is None else f" DEFAULT {default}"
                        self._db.execute(f"ALTER TABLE {table} ADD COLUMN {name} {kind}{given}")

    # ---- writing: buffered until flush ----

    def write(self, sql: str, values: Sequence[Any] = ()) -> None:
        """Buffer one statement."""
        self._buffer.append((sql, values))

    @property
    def is_written(self) -> bool:
        """Whether a query sees all that was told to the journal."""
        return not (self._buffer or self.behind)

    def put(self, table: str, key: dict[str, Any], **values: Any) -> None:
        """Insert or update the row of ``table`` that ``key`` names."""
        names = [*key, *values]
        marks = ",".join("?" * len(names))
        changed = ",".join(f"{name}=excluded.{name}" for name in values) or "rowid=rowid"
        self.write(
            f"INSERT INTO {table} ({','.join(names)}) VALUES ({marks}) "
            f"ON CONFLICT ({','.join(key)}) DO UPDATE SET {changed}",
            [*key.values(), *values.values()],
        )

    def flush(self) -> bool:
        """Write what is buffered in one transaction.

        Returns:
            Whether it is written. If not (disk full, I/O error), the buffer is kept, and
            ``behind`` is set until a later flush succeeds. Damage is kept as ``damage``: the
            next reading raises it.
        """
        if self.damage is not None:
            return False
        self._check()
        if not self._buffer:
            return not self.behind
        try:
            self._db.execute("BEGIN IMMEDIATE")
            for sql, values in self._buffer:
                self._execute(sql, values)
            failpoint("journal.before_commit")
            self._db.execute("COMMIT")
            failpoint("journal.after_commit")
        except ERRORS as error:
            damaged = is_damage(error)
            if not (damaged or isinstance(error, sqlite3.OperationalError)):
                raise
            self.behind = True
            self._is_held = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
            self.damage = error if damaged else None
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            return False
        self._buffer.clear()
        self.behind = False
        return True

    def flush_patiently(self) -> bool:
        """The same, tried again for a while where another process holds the journal."""
        end_s = time.monotonic() + _PATIENCE_S
        while not self.flush():
            if not self._is_held or time.monotonic() > end_s:
                return False
        return True

    def _execute(self, sql: str, values: Sequence[Any]) -> None:
        try:
            self._db.execute(sql, values)
        except UnicodeEncodeError:
            # A part of an error message that was never text, such as a file's name.
            self._db.execute(sql, [_storable(value) for value in values])

    def give_back(self, pages: int) -> None:
        """Cut so many unused pages off the file; what fails is tried again another time."""
        with contextlib.suppress(sqlite3.OperationalError):
            # Not execute(): it makes one step, and each gives one page back.
            self._db.executescript(f"PRAGMA incremental_vacuum({pages})")

    def _give_pages_back(self) -> None:
        """Have SQLite know its unused pages; a journal of before is written again once."""
        if self._db.execute("PRAGMA auto_vacuum").fetchone()[0] == _INCREMENTAL:
            return
        self._db.execute(f"PRAGMA auto_vacuum={_INCREMENTAL}")
        if self._db.execute("PRAGMA page_count").fetchone()[0]:
            with contextlib.suppress(sqlite3.OperationalError):  # a full disk: it stays as it was
                self._db.execute("VACUUM")

    # ---- reading ----

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """All rows of a query."""
        return self._read(sql, values).fetchall()

    def row(self, sql: str, values: Sequence[Any] = ()) -> Row | None:
        """The first row of a query."""
        found: Row | None = self._read(sql, values).fetchone()
        return found

    def rows_if_there(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """All rows; none in a journal of an earlier version, which lacks the table or a column."""
        try:
            return self.rows(sql, values)
        except sqlite3.OperationalError as error:
            if str(error).startswith(("no such table", "no such column")):
                return []
            raise

    def each(self, sql: str, values: Sequence[Any] = ()) -> Iterator[Row]:
        """The rows of a query one by one."""
        yield from self._read(sql, values)

    def _read(self, sql: str, values: Sequence[Any]) -> sqlite3.Cursor:
        if self.damage is not None:
            raise self.damage
        return self._db.execute(sql, values)

    # ---- requests: other processes ask, the running warehouse answers ----

    def ask(self, at_s: float, kind: str, table: str, argument: str = "") -> int:
        """Add a request at once; its id."""
        cursor = self._db.execute(
            "INSERT INTO requests (at_s, kind, table_name, argument) VALUES (?,?,?,?)",
            (at_s, kind, table, argument),
        )
        return int(cursor.lastrowid or 0)

    def answer_to(self, request: int) -> dict[str, Any] | None:
        """The answer, None while there is none."""
        found = self.row("SELECT answer FROM requests WHERE id=?", (request,))
        return json.loads(found["answer"]) if found and found["answer"] else None

    def close(self) -> None:
        """Write what is left, and close."""
        try:
            self.flush()
        finally:
            self._db.close()


def _names(db: sqlite3.Connection, source: str) -> list[str]:
    return [name for (name,) in db.execute(f"SELECT name FROM {source}")]


def _storable(value: Any) -> Any:
    """A value that SQLite takes: a text without what UTF-8 cannot hold."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    return value


def _uri_path(path: Path) -> str:
    """The path as SQLite's URI form wants it."""
    return str(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
