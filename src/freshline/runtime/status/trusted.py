"""Whether a view's strategies are trusted, from the journal alone: what ``explain`` says."""

from __future__ import annotations

from contextlib import closing

from freshline.delta.log import last_commit
from freshline.executor.trials import TRIAL_FAILED, UNTRIED
from freshline.project.definition import definition_of
from freshline.project.model import Project, TableDef
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.runtime.journal.trials import read_trials


def objection(project: Project, table: TableDef) -> str | None:
    """The code with which the view is computed in full for its trial's sake; None: it is not.

    A view that was never built has nothing to be tried before.
    """
    if not project.maintenance.trials or last_commit(project.table_path(table.name)) is None:
        return None
    path = journal_path(project)
    if not path.exists():
        return UNTRIED
    with closing(Journal(path, create=False)) as journal:
        tried = read_trials(journal).get(table.name)
    if tried is None or tried.definition != definition_of(table):
        return UNTRIED
    return TRIAL_FAILED if tried.failed else None
