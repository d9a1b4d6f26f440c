"""A project's journal opened for reading: absent, being created, or damaged; and to be shown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from freshline.core.errors import PlatformError
from freshline.project.model import Project
from freshline.runtime.journal.damage import ERRORS
from freshline.runtime.journal.lock import holder
from freshline.runtime.journal.paths import journal_path, own_folder
from freshline.runtime.journal.store import Journal

NEWEST_FINISH = (
    "SELECT max(finish_s) AS at_s FROM (SELECT finish_s FROM updates WHERE state='done'"
    " ORDER BY id DESC LIMIT 200)"
)
"""When the newest update ended: of several tracks one of those that started last."""

LOST = "the process ended during it"
"""The error of an update that is lost."""


@contextmanager
def journal_read(project: Project) -> Iterator[Journal | None]:
    """The journal of ``project`` for as long as it is read.

    None: there is none yet, or a run is just making it.

    Raises:
        PlatformError: It cannot be opened or read.
    """
    path = journal_path(project)
    try:
        there = path.exists()
    except OSError as error:  # its folder is private
        raise PlatformError(
            "journal",
            f"cannot see the journal {path}: {error.strerror}",
            next_step="Run this as the user who runs the warehouse, or as one who may read its"
            " storage.",
        ) from error
    if not there:
        yield None
        return
    journal = Journal(path, create=False)
    try:
        journal.row("PRAGMA query_only=ON")
        version = journal.row("PRAGMA user_version")  # written once its tables are there
        yield None if version is None or version[0] == 0 else journal
    except ERRORS as error:
        raise PlatformError(
            "journal",
            f"cannot read the journal {path}: {error}",
            next_step="A damaged journal may be deleted: the next run rebuilds it.",
        ) from error
    finally:
        journal.close()


@contextmanager
def journal_shown(project: Project, run: int | None = None) -> Iterator[Journal | None]:
    """The journal as people are to see it: no update runs whose process has ended.

    Args:
        project: Whose it is.
        run: Updates are read as they were at the end of that run: no later one is in it, nor how
            the tables stand now. Reports, backfills, trials and sums are those of now. None: as
            it is.

    Raises:
        PlatformError: It cannot be opened or read.
    """
    is_held = holder(own_folder(project)) is not None
    with journal_read(project) as journal:
        if journal is not None and (run is not None or not is_held):
            _hide(journal, run, is_held=is_held)
        yield journal


def _hide(journal: Journal, run: int | None, *, is_held: bool) -> None:
    """Names of this connection alone stand before those of the file, which stays as it is."""
    newest = journal.row("SELECT max(id) AS id FROM runs")
    goes_on = f"run={newest['id']}" if is_held and newest is not None else "0"
    lost = f"CASE WHEN state='running' AND NOT ({goes_on}) THEN"
    read = {
        "state": f"{lost} 'lost' ELSE state END AS state",
        "error": f"{lost} '{LOST}' ELSE error END AS error",
    }
    columns = journal.rows("SELECT name FROM pragma_table_info('updates', 'main')")
    shown = ", ".join(read.get(name, name) for (name,) in columns)
    where = ""
    journal.row("PRAGMA query_only=OFF")  # it bars names of this connection, too
    if run is not None:
        last = journal.row("SELECT id FROM updates WHERE run<=? ORDER BY id DESC LIMIT 1", (run,))
        where = f" WHERE id<={0 if last is None else last['id']}"
        journal.row(f"CREATE TEMP VIEW runs AS SELECT * FROM main.runs WHERE id<={run}")
        journal.row("CREATE TEMP VIEW tables AS SELECT * FROM main.tables WHERE 0")
    journal.row(f"CREATE TEMP VIEW updates AS SELECT {shown} FROM main.updates{where}")
    journal.row("PRAGMA query_only=ON")
