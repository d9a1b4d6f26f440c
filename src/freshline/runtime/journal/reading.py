"""A project's journal opened for reading: absent, being created, or damaged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from freshline.core.errors import PlatformError
from freshline.project.model import Project
from freshline.runtime.journal.damage import ERRORS
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal

NEWEST_FINISH = (
    "SELECT max(finish_s) AS at_s FROM (SELECT finish_s FROM updates WHERE state='done'"
    " ORDER BY id DESC LIMIT 200)"
)
"""When the newest update ended: of several tracks one of those that started last."""


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
