"""Observed tardiness, response and staleness, compared with the bounds all the time.

Leontyev et al. 2009: Theorem 1 (tardiness Y), Lemma 1 (response Theta), Definition 13
(staleness A). They hold while no update takes longer than its e, no feed brings more than its
period promises and nothing fails (rule L12), so in a run where none of these broke
every counter stays 0. Where one did break, a violation is counted for the table that was
late or stale, with that reason.

Staleness is bounded from the first moment at which a table is fresh, and while the feeds of
all its ancestors are healthy (Theorems 2 and 3): an outage takes the bound away until the
table is fresh again, and is no violation of it. Where nobody sees whether a feed is healthy (its
period is not known, or there is no feed), nothing is bounded behind it.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from freshline.core.commands import StartUpdate
from freshline.core.graph import ancestors, dependents
from freshline.core.model import Table


class Reason(Enum):
    """Which assumption broke."""

    FAULT = "a fault"
    EXECUTION = "execution took longer than assumed"
    DATA = "more data than the period promised"
    UNKNOWN = "no broken assumption was seen"


class Kind(Enum):
    """Which bound was exceeded."""

    TARDINESS = "tardiness"
    RESPONSE = "response"
    STALENESS = "staleness"


@dataclass(frozen=True, slots=True)
class Limits:
    """One table's bounds in force; None: nothing is promised.

    Attributes:
        execution_s: e: what an update may take.
        period_s, recovery_period_s: p and p^r.
        tardiness_s, response_s, staleness_s: Y, Theta and A.
    """

    execution_s: float
    period_s: float
    recovery_period_s: float
    tardiness_s: float | None
    response_s: float | None
    staleness_s: float | None


class Violation(NamedTuple):
    """A bound that was exceeded.

    Attributes:
        time_s: When it was seen.
        table: Whose.
        kind: Which bound.
        observed_s, bound_s: What was seen, and what had been promised.
        reason: Which assumption broke.
        because: Whose it was, and how: one phrase.
    """

    time_s: float
    table: str
    kind: Kind
    observed_s: float
    bound_s: float
    reason: Reason
    because: str


class _Cause(NamedTuple):
    time_s: float
    table: str
    reason: Reason
    because: str


class _Watched:
    """What is remembered of one table."""

    __slots__ = (
        "beside",
        "counts",
        "is_stale",
        "limits",
        "running",
        "since_fresh",
        "table",
        "upkeep",
        "worst_s",
    )

    def __init__(self, table: Table) -> None:
        self.table = table
        self.limits: Limits | None = None
        self.running: tuple[StartUpdate, float, Limits] | None = None
        """What was started, when, and the limits in force then."""
        self.beside = False
        """It is background work: it waits for its share, and no response is promised of it."""
        self.upkeep = ""
        """Which work on its files runs: nothing is promised of it, and it may hold up others."""
        self.since_fresh = False
        self.is_stale = False
        self.counts: Counter[Reason] = Counter()
        self.worst_s: dict[Kind, float] = {}


class BoundsKept:
    """Compares what happens with the bounds.

    Args:
        tables: The scheduler's; read only.
        tolerance_s: What does not count: rounding, and a wall clock's loop.

    Attributes:
        violations: The newest hundred.
    """

    def __init__(self, tables: Sequence[Table], tolerance_s: float = 1e-6) -> None:
        self._tolerance_s = tolerance_s
        self._watched = {table.name: _Watched(table) for table in tables}
        self._unhealthy: set[str] = set()
        self._latest_s = float("-inf")
        self._causes: deque[_Cause] = deque(maxlen=1000)
        self._upkeep: deque[_Cause] = deque(maxlen=100)
        self.violations: deque[Violation] = deque(maxlen=100)

    def promise(self, limits: Iterable[tuple[str, Limits]]) -> None:
        """The bounds in force from now on; updates that run are held to those they began with."""
        for name, each in limits:
            self._watched[name].limits = each

    def counts(self, table: str) -> dict[str, int]:
        """How often a bound of ``table`` was exceeded, by reason."""
        counts = self._watched[table].counts
        return (
            {reason.value: counts[reason] for reason in Reason if counts[reason]} if counts else {}
        )

    def worst_s(self, table: str) -> dict[str, float]:
        """The largest tardiness, response and staleness seen of ``table``."""
        return {kind.value: value for kind, value in self._watched[table].worst_s.items()}

    # ---- what happens ----

    def feed_out(self, table: str, now_s: float) -> None:
        """The feed of a base table is out: nothing bounds staleness behind it."""
        self._unhealthy.add(table)
        for watched in self._behind(table):
            watched.since_fresh = False
            watched.is_stale = False
        self._causes.append(_Cause(now_s, table, Reason.FAULT, f"the feed of {table} was out"))

    def unwatched(self, table: str) -> None:
        """Nobody sees when a base table's data is due: nothing bounds staleness behind it."""
        self._unhealthy.add(table)

    def feed_back(self, table: str) -> None:
        """It brings files again; what is behind it is bounded again once it is fresh."""
        self._unhealthy.discard(table)

    def feed_excess(self, table: str, now_s: float, what: str) -> None:
        """The feed of a base table brought more than its period promises."""
        self._causes.append(
            _Cause(now_s, table, Reason.DATA, f"the feed of {table} brought {what}")
        )

    def fault(self, table: str, now_s: float, what: str) -> None:
        """Something failed, or somebody held a table."""
        self._causes.append(_Cause(now_s, table, Reason.FAULT, f"{table}: {what}"))

    def started(self, command: StartUpdate, now_s: float) -> None:
        """An update starts, or work on a table's files."""
        watched = self._watched[command.table]
        watched.upkeep = command.upkeep
        if command.upkeep:
            return
        if watched.limits is not None:
            watched.running = (command, now_s, watched.limits)
            running = watched.table.running
            watched.beside = running is not None and running.background

    def failed(self, table: str, now_s: float) -> None:
        """The running update of ``table`` failed."""
        self._watched[table].running = None
        self._watched[table].upkeep = ""
        self.fault(table, now_s, "an update failed")

    def finished(self, table: str, now_s: float) -> None:
        """The running update of ``table`` ended."""
        self._latest_s = now_s
        watched = self._watched[table]
        if watched.upkeep:
            self._upkeep.append(_beside(table, watched.upkeep, now_s))
            watched.upkeep = ""
        if watched.running is None:
            return
        command, start_s, limits = watched.running
        watched.running = None
        took_s = now_s - start_s
        if took_s > limits.execution_s + self._tolerance_s:
            because = (
                f"an update of {table} took {took_s:.3g} s; {limits.execution_s:.3g} s assumed"
            )
            self._causes.append(self._long(watched, command, now_s, because))
        if not watched.beside:
            self._check_response(watched, command, limits, now_s)
        # The moment before F moved: staleness was largest then.
        self._check_staleness(watched, now_s - command.from_s, now_s)
        watched.is_stale = False

    def look(self, now_s: float) -> None:
        """Staleness of every table, after all events of an instant."""
        self._latest_s = now_s
        for name, watched in self._watched.items():
            table = watched.table
            if not table.known:
                continue
            if not table.has_news and not watched.since_fresh:
                # Fresh to sources that are not themselves is not fresh; and of a source that is,
                # no feed above it is out.
                watched.since_fresh = name not in self._unhealthy and all(
                    self._watched[source.name].since_fresh for source in table.sources
                )
            self._check_staleness(watched, now_s - table.complete_s, now_s)

    # ---- comparing ----

    def _check_response(
        self, watched: _Watched, command: StartUpdate, limits: Limits, now_s: float
    ) -> None:
        response_s = now_s - command.release_s
        period_s = limits.recovery_period_s if command.mode == "recovery" else limits.period_s
        since_s = command.release_s - (limits.response_s or 0.0)
        found = self._exceeds(watched, Kind.RESPONSE, response_s, limits.response_s)
        found = found or self._exceeds(
            watched, Kind.TARDINESS, response_s - period_s, limits.tardiness_s
        )
        if found is not None:  # late once, however it is measured
            self._violated(watched, found, now_s, since_s)

    def _check_staleness(self, watched: _Watched, stale_s: float, now_s: float) -> None:
        if not watched.since_fresh or watched.limits is None:
            return
        found = self._exceeds(watched, Kind.STALENESS, stale_s, watched.limits.staleness_s)
        if found is not None and not watched.is_stale:  # one each time, not one a look
            self._violated(watched, found, now_s, now_s - stale_s)
        watched.is_stale = found is not None

    def _exceeds(
        self, watched: _Watched, kind: Kind, observed_s: float, bound_s: float | None
    ) -> tuple[Kind, float, float] | None:
        if observed_s > watched.worst_s.get(kind, 0.0):
            watched.worst_s[kind] = observed_s
        if bound_s is None or observed_s <= bound_s + self._tolerance_s:
            return None
        return kind, observed_s, bound_s

    def _violated(
        self, watched: _Watched, found: tuple[Kind, float, float], now_s: float, since_s: float
    ) -> None:
        cause = self._cause(watched.table, since_s)
        watched.counts[cause.reason] += 1
        self.violations.append(
            Violation(now_s, watched.table.name, *found, cause.reason, cause.because)
        )

    def _cause(self, table: Table, since_s: float) -> _Cause:
        """Why: what broke since then.

        Best of the table itself, else of its ancestors, else of anybody: the tracks are
        everybody's.
        """
        # What broke is told rather than work on files, which is there all the time.
        every = (*self._upkeep, *self._at_work(), *self._causes)
        recent = [cause for cause in every if cause.time_s >= since_s]
        recent += self._overdue()
        if not recent:
            # A long wait may go back further than one response: whatever broke last.
            recent = list(self._causes)[-1:]
        for names in ({table.name}, {each.name for each in ancestors(table)}):
            own = [cause for cause in recent if cause.table in names]
            if own:
                return own[-1]
        if recent:
            return recent[-1]
        return _Cause(since_s, table.name, Reason.UNKNOWN, "")

    def _at_work(self) -> list[_Cause]:
        """Work on files that has not ended."""
        return [
            _beside(name, watched.upkeep, self._latest_s)
            for name, watched in self._watched.items()
            if watched.upkeep
        ]

    def _overdue(self) -> list[_Cause]:
        """Updates that run longer than assumed and have not ended."""
        found = []
        for name, watched in self._watched.items():
            if watched.running is None:
                continue
            command, start_s, limits = watched.running
            allowed_s = start_s + limits.execution_s
            if self._latest_s > allowed_s + self._tolerance_s:
                because = f"an update of {name} takes longer than assumed"
                found.append(self._long(watched, command, allowed_s, because))
        return found

    def _long(self, watched: _Watched, command: StartUpdate, time_s: float, because: str) -> _Cause:
        """An update took longer than assumed: by itself, or because its feed brought more."""
        name, since_s = watched.table.name, command.release_s - watched.table.period_s
        for cause in self._causes:
            if (cause.table, cause.reason) == (name, Reason.DATA) and cause.time_s >= since_s:
                return _Cause(time_s, name, Reason.DATA, cause.because)
        return _Cause(time_s, name, Reason.EXECUTION, because)

    def _behind(self, name: str) -> list[_Watched]:
        """The table of that name and all that is derived from it."""
        table = self._watched[name].table
        return [self._watched[each.name] for each in (table, *dependents(table))]


def _beside(name: str, work: str, now_s: float) -> _Cause:
    return _Cause(now_s, name, Reason.EXECUTION, f"{work} of {name} had a track meanwhile")
