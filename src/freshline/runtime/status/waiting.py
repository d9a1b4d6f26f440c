"""Waiting until tables are fresh enough, beside a running warehouse or without one.

Where a process runs the warehouse its journal tells how fresh a table is; where none does, the
table's own log decides, since the journal may be behind it or gone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from freshline.delta.log import last_commit
from freshline.project.model import Project
from freshline.runtime.health.steady_clock import boot_time_s
from freshline.runtime.status.blame import Blame
from freshline.runtime.status.status import TableStatus, WarehouseStatus, read_status
from freshline.runtime.subset import subset
from freshline.times import seconds

_LOOK_S = 0.2
_REMOTE_LOOK_S = 2.0
"""An object store charges for listings and answers slowly."""


@dataclass(frozen=True, slots=True)
class Goal:
    """How fresh is fresh enough; one of the two.

    Attributes:
        fresh_to_s: All data up to this time, seconds since the epoch.
        within_s: At most so stale, seconds.
    """

    fresh_to_s: float | None = None
    within_s: float | None = None

    def is_met(self, freshness_s: float | None, now_s: float) -> bool:
        """Whether a table of that freshness meets it."""
        if freshness_s is None:
            return False
        if self.fresh_to_s is not None:
            return freshness_s >= self.fresh_to_s
        return self.within_s is not None and now_s - freshness_s <= self.within_s


@dataclass(frozen=True, slots=True)
class Awaited:
    """One table that somebody waits for.

    Attributes:
        fresh: Whether it is fresh enough.
        freshness_s: It holds all data up to here, seconds since the epoch; None: no version yet.
        staleness_s: Now less that.
        state: As in ``freshline status``.
        held_up: What it waits for, one phrase; None where it is fresh enough.
    """

    name: str
    fresh: bool
    freshness_s: float | None
    staleness_s: float | None
    state: str
    held_up: str | None


@dataclass(frozen=True, slots=True)
class Waited:
    """The end of a wait: ``fresh`` where all tables are fresh enough."""

    fresh: bool
    waited_s: float
    tables: tuple[Awaited, ...]


def wait(
    project: Project,
    names: Sequence[str],
    goal: Goal,
    timeout_s: float | None = None,
    *,
    clock: Callable[[], float] = time.time,
    elapsed: Callable[[], float] = boot_time_s,
    sleep: Callable[[float], None] = time.sleep,
) -> Waited:
    """Look until all tables are fresh enough, or the time is over.

    Args:
        project: The tables' project.
        names: Tables, as the project writes them.
        goal: How fresh.
        timeout_s: How long to look at most; 0 looks once, None waits for ever.
        clock: Wall-clock seconds since the epoch.
        elapsed: Seconds that no setting of the clock changes; by it the time is over.
        sleep: Passes so many seconds.

    Raises:
        PlatformError: The journal or a table's log cannot be read.
    """
    part = subset(project, names)
    look_s = _REMOTE_LOOK_S if "://" in project.storage else _LOOK_S
    began_s = elapsed()
    while True:
        now_s = clock()
        waited_s = elapsed() - began_s
        tables = look(part, names, goal, now_s)
        fresh = all(table.fresh for table in tables)
        if fresh or (timeout_s is not None and waited_s >= timeout_s):
            return Waited(fresh, waited_s, tables)
        left_s = look_s if timeout_s is None else min(look_s, timeout_s - waited_s)
        sleep(max(0.001, left_s))


def look(project: Project, names: Sequence[str], goal: Goal, now_s: float) -> tuple[Awaited, ...]:
    """How tables stand against a goal at ``now_s``.

    Args:
        project: With the tables and all that they are made of.
        names: Of the tables to tell of.
        goal: How fresh.
        now_s: Seconds since the epoch.
    """
    status = read_status(project, now_s, account=False)
    by_name = {item.name: item for item in status.tables}
    freshness_s = {
        table.name: _freshness_s(project, status, by_name[table.name]) for table in project.tables
    }
    blame = Blame(project, status, freshness_s)
    found = []
    for name in names:
        at_s = freshness_s[name]
        fresh = goal.is_met(at_s, now_s)
        found.append(
            Awaited(
                name=name,
                fresh=fresh,
                freshness_s=at_s,
                staleness_s=None if at_s is None else max(0.0, now_s - at_s),
                state=by_name[name].state,
                held_up=None if fresh else blame.of(name, goal.is_met),
            )
        )
    return tuple(found)


def _freshness_s(project: Project, status: WarehouseStatus, item: TableStatus) -> float | None:
    if status.run.running and status.note is None:
        return item.freshness_s
    commit = last_commit(project.table_path(item.name))
    return None if commit is None else seconds(commit.metadata["to"])
