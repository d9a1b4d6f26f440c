"""Audits in a running warehouse: which views are due, and what is done when one is wrong.

Candidates come from what the run knows of each view's newest update, the choice from
:mod:`freshline.core.background.audits`. What came of audits stands in the journal with the
strategies: strategy ``verify``, its codes ``right``, ``wrong`` and ``skipped``.
"""

from __future__ import annotations

from freshline.core.background.audits import Audits as Account
from freshline.core.background.audits import Candidate
from freshline.core.background.upkeep import VERIFY
from freshline.core.events import Event, RefreshRequested, UpkeepOffered
from freshline.core.model import Table
from freshline.core.scheduler import Scheduler
from freshline.executor.distrust import distrusted, distrusted_views, is_rebuilt
from freshline.executor.verified import WRONG
from freshline.project.model import Project
from freshline.runtime.journal.store import Journal
from freshline.runtime.journal.strategies import UPKEEP, read_uses
from freshline.runtime.notices import Hears
from freshline.runtime.tracks import Outcome

_NEVER_S = float("-inf")
_UNKNOWN_S = 10.0
"""What the first audit of a view should take that was never computed in full here."""

_LEAST_S = 1.0
"""What any audit should take at least: also of small views the query is planned anew."""


class Audits:
    """Offers audits of the project's views.

    Args:
        project: Its views, and the share of time.
        journal: Of earlier runs.
        scheduler: Looked at, never changed.
        hears: Told of views that are wrong.
    """

    def __init__(
        self, project: Project, journal: Journal, scheduler: Scheduler, hears: Hears
    ) -> None:
        self._project = project
        self._scheduler = scheduler
        self._hears = hears
        self._share = project.maintenance.audit
        self._account = Account(self._share, scheduler.track_count, scheduler.now_s)
        self._last_s: dict[str, float] = {}
        self._seen: dict[str, int] = {}
        self._expected_s: dict[str, float] = {}
        self._from_changes: set[str] = set()
        self._rebuilt: set[str] = set()
        self._to_rebuild = [  # a former run found them wrong and died
            name
            for name, wrong in distrusted_views(project).items()
            if not is_rebuilt(project, wrong)
        ]
        for name, uses in read_uses(journal).items():
            audits = [use for use in uses if use.strategy == VERIFY]
            updates = [use for use in uses if use.strategy not in UPKEEP]
            in_full = [use for use in updates if use.strategy == "full" and use.seconds]
            if audits:
                self._last_s[name] = audits[0].last_s
                self._seen[name] = max(use.last_number for use in audits)
            if updates and updates[0].strategy != "full":
                self._from_changes.add(name)
            for use in (*in_full[:1], *audits[:1]):
                self._expected_s[name] = use.seconds / use.updates

    def offer(self, now_s: float) -> list[Event]:
        """The view whose newest version is to be verified now, if any; nothing else waits."""
        if self._to_rebuild:
            names, self._to_rebuild = self._to_rebuild, []
            return [RefreshRequested(name, full=True) for name in names]
        if not self._share:
            return []
        chosen = self._account.next(now_s, self._candidates(now_s))
        if chosen is None:
            return []
        table = self._scheduler.table(chosen.table)
        return [UpkeepOffered(table.name, VERIFY, table.number, chosen.expected_s)]

    def updated(self, outcome: Outcome) -> None:
        """An update that is no upkeep was committed."""
        result = outcome.result
        if result is None:
            return
        name = outcome.command.table
        if result.strategy == "full":
            self._from_changes.discard(name)
            self._expected_s.setdefault(name, outcome.seconds)
        else:
            self._from_changes.add(name)

    def done(self, outcome: Outcome, now_s: float) -> list[Event]:
        """An audit ended: a view that is wrong is rebuilt at once."""
        result, name = outcome.result, outcome.command.table
        assert result is not None
        self._account.ended(outcome.seconds)
        self._last_s[name] = now_s
        self._seen[name] = outcome.command.number
        self._expected_s[name] = outcome.seconds
        if result.code != WRONG:
            return []
        in_vain = name not in self._from_changes and name in self._rebuilt
        if in_vain:
            follows = "it was just rebuilt, so its query may give other rows each time"
        elif distrusted(self._project, name) is None:  # others wrote into it
            follows = "it is rebuilt"
        else:
            follows = f"it is rebuilt, and computed in full until `freshline retry {name}`"
        self._hears.notice(
            f"{result.reason}; {follows};"
            f" evidence is in {self._project.own_path}/evidence/{name}",
            level="error", table=name,
        )  # fmt: skip
        if in_vain:
            return []
        self._rebuilt.add(name)
        return [RefreshRequested(name, full=True)]

    def gave_way(self, outcome: Outcome) -> None:
        """An audit was ended for an update; its time is spent all the same."""
        self._account.ended(outcome.seconds)

    def failed(self, outcome: Outcome, now_s: float) -> None:
        """An audit failed: it is tried again after the view's next update."""
        self._account.ended(outcome.seconds)
        self._last_s[outcome.command.table] = now_s
        self._seen[outcome.command.table] = outcome.command.number

    def _candidates(self, now_s: float) -> list[Candidate]:
        return [
            Candidate(
                table.name,
                table.order,
                table.name in self._from_changes,
                self._last_s.get(table.name, _NEVER_S),
                max(_LEAST_S, self._expected_s.get(table.name, _UNKNOWN_S)),
            )
            for table in self._scheduler.tables
            if self._is_due(table, now_s)
        ]

    def _is_due(self, table: Table, now_s: float) -> bool:
        return (
            bool(table.sources)
            and table.version is not None
            and table.running is None
            and not table.paused
            and table.deferred_until_s <= now_s
            # An audit has the number that the next update will have.
            and self._seen.get(table.name) != table.number + 1
            and self._project.has_table(table.name)
        )
