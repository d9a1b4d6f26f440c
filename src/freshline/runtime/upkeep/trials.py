"""Trials in a running warehouse: which views are due, and what follows from the results.

A view is due once it was built, where no trial of its query is in the journal, and again when an
update says that it is not what was tried (its parents' columns changed, or our version). The core
starts a trial on a track that nobody needs, or when its share of the tracks' time has come.
A run that ends when idle offers one after the other, so that it can stop once they took their time.
"""

from __future__ import annotations

from freshline.core.background.upkeep import TRY
from freshline.core.events import Event, UpdateFailed, UpkeepOffered
from freshline.core.model import Table
from freshline.core.scheduler import Scheduler
from freshline.executor.trials import UNTRIED, Trust
from freshline.project.definition import definition_of
from freshline.project.model import Project, TableDef
from freshline.project.names import listed
from freshline.runtime.journal.store import Journal
from freshline.runtime.journal.trials import note_trial, read_trials
from freshline.runtime.notices import Hears
from freshline.runtime.tracks import Outcome

EXPECTED_S = 10.0
"""What a trial may take of a track."""

IDLE_RUN_S = 30.0
"""A run that ends when idle begins no further trial once its trials have taken so long."""

_NOTHING = Trust()


def _is_maintained(table: TableDef) -> bool:
    """Whether it may be maintained from changes; one that Python functions make never is."""
    return table.kind == "derived" and table.refresh != "full" and not table.programs


class Trials:
    """Asks for the trials of a project's views, and remembers how they ended.

    Args:
        project: Its views, and whether there are trials at all.
        journal: Of earlier runs; verdicts are written into it.
        scheduler: Read, never changed.
        hears: Told of views that failed.
        until_idle: Whether the run ends when idle.
    """

    def __init__(
        self,
        project: Project,
        journal: Journal,
        scheduler: Scheduler,
        hears: Hears,
        *,
        until_idle: bool = False,
    ) -> None:
        self._left_s = IDLE_RUN_S if until_idle else None
        self._told_of_end = False
        self._journal = journal
        self._scheduler = scheduler
        self._hears = hears
        self._definitions = {
            table.name: definition_of(table)
            for table in project.tables
            if project.maintenance.trials and _is_maintained(table)
        }
        self._tried = {
            name: tried
            for name, tried in read_trials(journal).items()
            if self._definitions.get(name) == tried.definition
        }
        self._waiting: set[str] = set()
        self._failed_at: dict[str, int] = {}

    def trust(self, name: str) -> Trust | None:
        """What an update of a table has to know; None: it is not tried."""
        if name not in self._definitions:
            return None
        tried = self._tried.get(name)
        return _NOTHING if tried is None else tried.trust

    def due(self) -> list[Event]:
        """The trials to ask for now; each is asked for once."""
        untried = self._definitions.keys() - self._tried.keys() - self._waiting
        due = {name for name in untried if self._is_due(self._scheduler.table(name))}
        names = [name for name in self._definitions if name in due] if due else []
        if self._left_s is not None:
            names = self._one_of(names, self._left_s)
        self._waiting.update(names)
        return [
            UpkeepOffered(name, TRY, self._scheduler.table(name).number, EXPECTED_S)
            for name in names
        ]

    def _one_of(self, names: list[str], left_s: float) -> list[str]:
        """The first that can start, while there is time for trials."""
        scheduler = self._scheduler
        ready = [
            name
            for name in names
            if not scheduler.table(name).paused
            and scheduler.table(name).deferred_until_s <= scheduler.now_s
        ]
        if not ready or self._waiting:
            return []
        if left_s > 0.0:
            return ready[:1]
        if not self._told_of_end:
            self._told_of_end = True
            self._hears.notice(
                f"trials used the {IDLE_RUN_S:.0f} s that a run until idle gives them; a later run"
                f" tries these, which are computed in full until then: {listed(names)}"
            )
        return []

    def updated(self, outcome: Outcome) -> None:
        """An update that is no upkeep was committed."""
        result, name = outcome.result, outcome.command.table
        if result is not None and result.code == UNTRIED:
            self._tried.pop(name, None)

    def done(self, outcome: Outcome, now_s: float) -> None:
        """A trial ended, whatever its outcome."""
        result, name = outcome.result, outcome.command.table
        assert result is not None
        assert result.verdict is not None
        self._waiting.discard(name)
        verdict = result.verdict
        if self._left_s is not None:
            self._left_s -= outcome.seconds
        self._tried[name] = tried = note_trial(
            self._journal, name, self._definitions[name], verdict, now_s
        )
        if tried.failed:
            kept = f"; the case is kept in {verdict.evidence}" if verdict.evidence else ""
            self._hears.notice(
                f"{name} is computed in full: its trial failed: {verdict.reason}{kept}",
                level="error", table=name,
            )  # fmt: skip

    def failed(self, outcome: Outcome, now_s: float) -> list[Event]:
        """A trial could not be carried out; it is asked for again after the view's next update."""
        name = outcome.command.table
        self._waiting.discard(name)
        self._failed_at[name] = self._scheduler.table(name).number
        if self._left_s is not None:
            self._left_s -= outcome.seconds
        return [UpdateFailed(name, now_s, gives_up=True)]

    def _is_due(self, table: Table) -> bool:
        return table.version is not None and self._failed_at.get(table.name) != table.number
