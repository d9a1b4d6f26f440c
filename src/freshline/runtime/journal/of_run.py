"""The journal of a run, from its start to its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from freshline.core.errors import PlatformError
from freshline.project.model import Project
from freshline.runtime.journal.damage import ERRORS, is_damage, move_aside
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal


@contextmanager
def journal_of_run(project: Project, check: Callable[[], None]) -> Iterator[Journal]:
    """The journal, open while a run goes on; the lock of the warehouse is held.

    A journal that turns out to be damaged is put aside at the end, so that the next start
    rebuilds it, whether or not it would see the damage.

    Args:
        project: Whose journal.
        check: Raises where another process has the warehouse now; called before each write.

    Raises:
        PlatformError: It cannot be opened, or was found damaged (``journal-damaged``).
    """
    path = journal_path(project)
    journal = Journal(path, create=True, check=check)
    try:
        yield journal
    except ERRORS as error:
        if not is_damage(error):
            raise
        journal.damage = error
    finally:
        journal.close()
    if journal.damage is not None:
        aside = move_aside(path)
        raise PlatformError(
            "journal-damaged",
            f"the journal {path} is damaged: {journal.damage}",
            rule=f"it is kept as {aside.name}; no row is lost with it",
            next_step="Start `freshline run` again: it rebuilds the journal from the tables' logs."
            " Then check the disk.",
        ) from journal.damage
