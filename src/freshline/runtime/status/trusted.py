"""Whether views are trusted: which were found wrong, and whether their strategies were tried."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial

from freshline.core.errors import PlatformError
from freshline.delta.log import last_commit, local_log
from freshline.executor.distrust import WrongView, distrusted_views, rebuilt_if_known
from freshline.executor.trials import TRIAL_FAILED, UNTRIED
from freshline.project.definition import definition_of
from freshline.project.model import Project, TableDef
from freshline.runtime.journal.reading import journal_read
from freshline.runtime.journal.trials import read_trials
from freshline.runtime.looks import Look
from freshline.times import brief_s

PATIENCE_S = 5.0
"""A storage at a URI may take so long to answer: who asks for a status waits for it."""

_FIRST_PATIENCE_S = 20.0
"""So long waits whoever this process has told nothing yet, such as a command that asks once."""

_LASTS_S = 10.0
"""What a look found is told for so long, and not looked for again: alerts, the page and scrapes ask
every second, and each look asks the storage several times."""

_GIVEN_UP_S = 90.0
"""A look that goes on for longer hangs: another one is begun."""

Found = dict[str, tuple[WrongView, bool]]
"""What was found wrong, and whether the view was computed again since, by view."""


@dataclass(frozen=True, slots=True)
class WrongViews:
    """What audits found wrong, as far as the storage tells.

    Attributes:
        found: By view.
        unknown: Why that is what the storage told this process last; None: it is what it tells.
    """

    found: Mapping[str, tuple[WrongView, bool]]
    unknown: str | None = None


_lock = threading.Lock()
_told: dict[str, Found] = {}
"""What each storage told last."""
_looks: dict[tuple[str, ...], Look[Found]] = {}
"""The last look for each storage and tables, which may go on."""


def wrong_views(project: Project) -> WrongViews:
    """Which views were found wrong; where the storage does not answer, what it told last.

    All else that people, probes and alerts are told stands in the journal, and is told then, too.
    """
    place, names = project.own_path, [table.name for table in project.tables]
    try:
        is_local = local_log(place) is not None
        found = _found(project, names) if is_local else _looked(project, names)
    except PlatformError as error:
        with _lock:
            told = _told.get(place, {})
        return WrongViews({name: told[name] for name in names if name in told}, error.render())
    return WrongViews(found)


def _found(project: Project, names: Collection[str]) -> Found:
    """The same from the storage; it is kept what that told of these tables.

    Raises:
        PlatformError: It does not answer.
    """
    place, found = project.own_path, {}
    for name, wrong in distrusted_views(project).items():
        rebuilt = rebuilt_if_known(project, wrong)
        if rebuilt is None:
            with _lock:
                told = _told.get(place, {}).get(name)
            rebuilt = told is not None and told == (wrong, True)
        found[name] = wrong, rebuilt
    with _lock:
        others = {name: each for name, each in _told.get(place, {}).items() if name not in names}
        _told[place] = others | found
    return found


def _looked(project: Project, names: list[str]) -> Found:
    """The same, of a storage that may hang: whoever asks meanwhile waits for the same look.

    Raises:
        PlatformError: The storage does not answer, or not yet.
    """
    key = (project.own_path, *names)
    with _lock:
        look = _looks.get(key)
        patience_s = PATIENCE_S if project.own_path in _told or look else _FIRST_PATIENCE_S
        if look is None or look.is_over(lasts_s=_LASTS_S, given_up_s=_GIVEN_UP_S):
            look = _looks[key] = Look(partial(_found, project, names), "wrong-views")
    if not look.has_ended(patience_s):
        raise PlatformError(
            "storage-unreachable",
            f"freshline's own files at {project.own_path} were asked for {brief_s(look.took_s)}"
            " ago, and the storage has not answered",
            next_step="Check that the storage answers.",
        )
    return look.answer()


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
