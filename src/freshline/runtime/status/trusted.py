"""Whether a view's strategies are trusted, from the journal alone: what ``explain`` says."""

from __future__ import annotations

from freshline.delta.log import last_commit
from freshline.executor.trials import TRIAL_FAILED, UNTRIED
from freshline.project.definition import definition_of
from freshline.project.model import Project, TableDef
from freshline.runtime.journal.reading import journal_read
from freshline.runtime.journal.trials import read_trials


def objection(project: Project, table: TableDef) -> str | None:
    """The code with which the view is computed in full for its trial's sake; None: it is not.

    A view that was never built has nothing to be tried before.
    """
    if not project.maintenance.trials or last_commit(project.table_path(table.name)) is None:
        return None
    with journal_read(project) as journal:
        tried = None if journal is None else read_trials(journal).get(table.name)
    if tried is None or tried.definition != definition_of(table):
        return UNTRIED
    return TRIAL_FAILED if tried.failed else None
