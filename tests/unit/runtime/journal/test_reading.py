"""Everything that reads a project's journal knows one that is missing, half made or damaged."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from freshline.core.errors import PlatformError, UserError
from freshline.project.model import Project
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.reading import journal_read
from freshline.runtime.journal.store import Journal
from freshline.runtime.reports.needs import report_needs
from freshline.runtime.reports.together import crowded_reports
from freshline.runtime.status.measured import measured, utilisation
from freshline.runtime.status.recorded_run import last_run
from freshline.runtime.status.status import read_status
from freshline.runtime.status.targets import check_against_running
from freshline.runtime.status.trusted import objection
from tests.support.shop import made_shop

READERS: dict[str, Callable[[Project], object]] = {
    "measured": measured,
    "report_needs": report_needs,
    "crowded_reports": crowded_reports,
    "last_run": last_run,
    "read_status": lambda project: read_status(project, 0.0),
    "check_against_running": check_against_running,
    "objection": lambda project: objection(project, project.tables[0]),
    "utilisation": utilisation,
}


@pytest.fixture
def project(tmp_path):
    return made_shop(tmp_path, {"a": ()}).project


def made_by_hand(project, script):
    path = journal_path(project)
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as db:
        db.executescript(script)


def row(project, sql):
    with journal_read(project) as journal:
        assert journal is not None
        return journal.row(sql)


def found(reader, project):
    """What a reader gives, or the code and text of what it refuses."""
    try:
        return READERS[reader](project)
    except UserError as error:
        return error.code, str(error)


@pytest.mark.parametrize("reader", READERS)
def test_a_journal_that_a_run_is_just_making_reads_as_none(project, reader):
    without = found(reader, project)
    made_by_hand(project, "CREATE TABLE runs (id INTEGER PRIMARY KEY)")
    assert found(reader, project) == without


def test_a_journal_cannot_be_written_by_who_reads_it(project):
    made_by_hand(project, "CREATE TABLE a (b); PRAGMA user_version=1")
    with pytest.raises(PlatformError, match="readonly"):
        row(project, "INSERT INTO a VALUES (1) RETURNING b")


def test_a_damaged_journal_is_named_with_the_way_out(project):
    made_by_hand(project, "CREATE TABLE a (b); PRAGMA user_version=1")
    with pytest.raises(PlatformError) as caught:
        row(project, "SELECT * FROM tables")
    assert str(caught.value) == (
        f"[journal] cannot read the journal {journal_path(project)}: no such table: tables."
        " A damaged journal may be deleted: the next run rebuilds it."
    )


@pytest.mark.parametrize("query", ["SELECT * FROM gaps", "SELECT name, later FROM tables"])
def test_what_an_earlier_version_did_not_write_is_no_rows(project, query):
    made_by_hand(project, "CREATE TABLE tables (name TEXT); PRAGMA user_version=1")
    with journal_read(project) as journal:
        assert journal is not None
        assert journal.rows_if_there(query) == []


def test_any_other_failure_is_not_taken_for_an_earlier_version(project):
    made_by_hand(project, "CREATE TABLE tables (name TEXT); PRAGMA user_version=1")
    with journal_read(project) as journal:
        assert journal is not None
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            _interrupted(journal)


def _interrupted(journal: Journal) -> None:
    journal._db.set_progress_handler(lambda: 1, 1)
    try:
        journal.rows_if_there("SELECT * FROM tables")
    finally:
        journal._db.set_progress_handler(None, 0)


def test_every_column_that_a_journal_of_before_lacks_is_added(tmp_path):
    def columns(path):
        with closing(sqlite3.connect(path)) as db:
            tables = [name for (name,) in db.execute(TABLES)]
            return {
                (table, *column[1:5])
                for table in tables
                for column in db.execute(f"PRAGMA table_info({table})")
            }

    Journal(tmp_path / "new.db", create=True).close()
    with closing(sqlite3.connect(tmp_path / "old.db")) as db:
        db.executescript(
            "CREATE TABLE feeds (name TEXT PRIMARY KEY, last_s REAL, out_since_s REAL);"
            "CREATE TABLE tables (name TEXT PRIMARY KEY); INSERT INTO tables VALUES ('a');"
            "CREATE TABLE runs (id INTEGER PRIMARY KEY, started_s REAL);"
        )
    journal = Journal(tmp_path / "old.db", create=True)
    journal.put("feeds", {"name": "f"}, silent_since_s=1.0, error=None)
    assert journal.flush()
    added = journal.row("SELECT paused, state, number, full_asked, error FROM tables")
    journal.close()
    assert added is not None
    assert tuple(added) == (0, "new", 0, 0, None)
    assert columns(tmp_path / "new.db") <= columns(tmp_path / "old.db")


TABLES = "SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite%'"


def test_one_in_the_private_folder_of_another_user_is_no_fault_of_ours(project, monkeypatch):
    path, exists = journal_path(project), Path.exists

    def refused(asked):
        if asked == path:
            raise PermissionError(errno.EACCES, "Permission denied", str(asked))
        return exists(asked)

    monkeypatch.setattr(Path, "exists", refused)
    with pytest.raises(PlatformError, match="Run this as the user who runs the warehouse"):
        utilisation(project)


def test_one_on_a_disk_that_cannot_be_written_is_not_said_to_be_damaged(tmp_path, monkeypatch):
    path = tmp_path / "journal.db"
    Journal(path, create=True).close()

    def refused(*_, **__):
        raise sqlite3.OperationalError("unable to open database file")

    monkeypatch.setattr(sqlite3, "connect", refused)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(PlatformError) as error:
        Journal(path, create=False)
    assert "its folder cannot be written; SQLite writes beside the file" in str(error.value)
    assert "damaged" not in str(error.value)
