"""A journal is taken from a process that still writes it: what was committed, and nothing torn."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from freshline.failpoints import armed
from freshline.runtime.journal.store import Journal
from freshline.runtime.journal.succession import finish_leaving, leave_behind
from freshline.runtime.journal.writer import Ledger

COPIES = 12
WRITER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA wal_autocheckpoint=20")
db.execute("PRAGMA synchronous=OFF")
number = 0
while True:
    number += 1
    db.execute("BEGIN IMMEDIATE")
    for part in range(10):
        db.execute("INSERT INTO files (table_name, name, state, number) VALUES ('orders', ?,"
                   " 'loaded', ?)", (f"{number % 7}-{number}-{part}.csv", number))
    db.execute("DELETE FROM files WHERE number < ?", (number - 300,))
    db.execute("INSERT INTO tables (name, number) VALUES ('orders', ?)"
               " ON CONFLICT (name) DO UPDATE SET number=excluded.number", (number,))
    db.execute("COMMIT")
    if number == 400:
        print("full", flush=True)
"""


@pytest.fixture
def path(tmp_path):
    made = tmp_path / "own" / "journal.db"
    Journal(made, create=True).close()
    return made


def test_a_copy_beside_a_process_that_writes_is_what_was_committed_at_one_moment(tmp_path):
    for number in range(COPIES):
        path = tmp_path / str(number) / "journal.db"
        Journal(path, create=True).close()
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
        )
        try:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "full\n"
            assert leave_behind(path) is None
            with closing(sqlite3.connect(path)) as db:
                assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
                (newest,) = db.execute("SELECT number FROM tables").fetchone()
                numbers = db.execute("SELECT number, count(*) FROM files GROUP BY number")
                assert numbers.fetchall() == [
                    (each, 10) for each in range(newest - 300, newest + 1)
                ]
        finally:
            writer.kill()
            writer.communicate()


@pytest.mark.parametrize("where", ["succession.ready", "succession.unlinked"])
def test_a_death_in_between_leaves_a_copy_that_the_next_one_puts_in_place(path, where):
    other = Journal(path, create=True)
    Ledger(other).files_loaded("orders", ["a.csv"], 1)
    other.flush()
    with armed(f"{where}=eio"), pytest.raises(OSError, match="Input/output"):
        leave_behind(path)
    finish_leaving(path)
    mine = Journal(path, create=True)
    Ledger(other).files_loaded("orders", ["b.csv"], 2)
    other.flush()  # it wakes up, and writes what it has open
    assert [row["name"] for row in mine.rows("SELECT name FROM files")] == ["a.csv"]
    Ledger(mine).files_loaded("orders", ["c.csv"], 2)
    mine.close()
    other.close()
    mine = Journal(path, create=True)
    assert [row["name"] for row in mine.rows("SELECT name FROM files")] == ["a.csv", "c.csv"]
    mine.close()


def test_a_journal_that_cannot_be_read_is_left_and_rebuilt(path):
    path.write_bytes(b"nothing that SQLite knows" * 100)
    text = leave_behind(path)
    assert text is not None
    assert "cannot be read" in text
    assert not path.exists()
    assert len(list(path.parent.glob("journal.db.left-*"))) >= 1


def test_without_a_journal_there_is_nothing_to_leave(tmp_path):
    assert leave_behind(tmp_path / "journal.db") is None
    assert list(tmp_path.iterdir()) == []
