"""Stores that make a request's records durable: each as its users would, for throughput.

All acknowledge a request when its records would outlive a loss of power, so SQLite's are set to
``synchronous = FULL``, which diskcache by itself is not, and a request is one transaction where
the store lets it be one.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Protocol

import diskcache
import persistqueue

from benchmarks.pushing.records import Sent

_FULL = 2


class Store(Protocol):
    """Keeps requests; one thread writes."""

    def put(self, sent: Sent) -> None:
        """Returns when all of its records are durable."""
        ...

    def close(self) -> None:
        """Let go of the files."""
        ...


class File:
    """A file to which a request is appended, then ``fdatasync``: no store can do with less."""

    def __init__(self, folder: Path) -> None:
        self._file = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def put(self, sent: Sent) -> None:
        """Write and sync."""
        left = memoryview(sent.arrow)
        while left:
            left = left[os.write(self._file, left) :]
        os.fdatasync(self._file)

    def close(self) -> None:
        """Close it."""
        os.close(self._file)


class Rows:
    """A row a record in SQLite, with a write-ahead log; a request is a transaction."""

    def __init__(self, folder: Path) -> None:
        self._db = sqlite3.connect(folder / "rows.db", isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("CREATE TABLE records (id INTEGER PRIMARY KEY, body BLOB NOT NULL)")

    def put(self, sent: Sent) -> None:
        """Insert and commit."""
        self._db.execute("BEGIN IMMEDIATE")
        self._db.executemany(
            "INSERT INTO records (body) VALUES (?)", ((record,) for record in sent.records)
        )
        self._db.execute("COMMIT")

    def close(self) -> None:
        """Close it."""
        self._db.close()


class PersistQueue:
    """persist-queue's SQLiteQueue, which commits each record, whatever ``auto_commit`` says."""

    def __init__(self, folder: Path) -> None:
        self._queue = persistqueue.SQLiteQueue(str(folder / "queue"))

    def put(self, sent: Sent) -> None:
        """Put each record."""
        for record in sent.records:
            self._queue.put(record)

    def close(self) -> None:
        """Close it."""
        self._queue.close()


class DiskCache:
    """diskcache's queue; a request is a transaction."""

    def __init__(self, folder: Path) -> None:
        self._cache = diskcache.Cache(
            str(folder / "cache"), eviction_policy="none", sqlite_synchronous=_FULL
        )

    def put(self, sent: Sent) -> None:
        """Push each record within one transaction."""
        with self._cache.transact():
            for record in sent.records:
                self._cache.push(record)

    def close(self) -> None:
        """Close it."""
        self._cache.close()
