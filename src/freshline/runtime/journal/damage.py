"""Damaged journals: how they are recognised, and put aside."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection
from contextlib import closing
from pathlib import Path

_BYTE = 0xFF
"""Of SQLite's codes: the kind of error; the rest says more."""
_KINDS = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


ERRORS = (sqlite3.DatabaseError, UnicodeDecodeError)
"""What SQLite's driver raises over a damaged file; the second where SQLite's own message, or the
name of a column, holds bytes of the damage."""


def is_damage(error: Exception) -> bool:
    """Whether an error means that the file is damaged: in a page, or in a text."""
    if isinstance(error, UnicodeDecodeError):
        return True
    code = getattr(error, "sqlite_errorcode", None)
    return (code is not None and code & _BYTE in _KINDS) or "UTF-8" in str(error)


def is_damaged(path: Path, read: Collection[str]) -> bool:
    """Whether the file is no database, or one with broken pages or texts.

    A journal without an index entry or a page would make the warehouse forget a file, so all
    pages are looked at: milliseconds a megabyte.

    Args:
        path: Of the journal; it need not be there.
        read: Tables whose texts are read, too.
    """
    if not path.exists():
        return False
    try:
        with closing(sqlite3.connect(path, timeout=5.0)) as db:
            if db.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                return True
            found = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
            for table in found:  # columns are added where they lack, to tables of all kinds
                db.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
            for table in sorted(found & set(read)):
                for _ in db.execute(f"SELECT * FROM {table}"):
                    pass
    except sqlite3.OperationalError as error:
        # Locked, or not to be opened: not the file's fault. A statement that is always right and
        # that SQLite takes for wrong: it cannot read the header or the schema.
        return is_damage(error) or error.sqlite_errorcode == sqlite3.SQLITE_ERROR
    except ERRORS:
        return True
    return False


def move_aside(path: Path) -> Path:
    """Rename a damaged journal and what SQLite keeps beside it; its new name."""
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    aside = path.with_name(f"{path.name}.damaged-{moment}")
    for suffix in ("-wal", "-shm", ""):
        part = path.with_name(path.name + suffix)
        if part.exists():
            part.replace(aside.with_name(aside.name + suffix))
    return aside
