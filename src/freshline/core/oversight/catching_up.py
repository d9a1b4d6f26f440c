"""When a table that fell behind will be fresh again: computed, then revised.

A table catches up from the moment its feed comes back from an outage, or from its switch to
recovery, until an update ends with nothing left to load. How fast depends on how updates are
made:

- aus loads a file every p^r while one arrives every p: of d seconds of backlog nothing is left
  after d * p^r / (p - p^r). Theorem 4 of Leontyev et al. 2009 bounds it; the estimate is below.
  A table that waits for capacity begins when the first of those in recovery is done.
- with chop c an update loads c periods in E(c * p) seconds, and as much as it took comes anew.
- otherwise one update loads all of it.

A derived table cannot be fresh before its sources are, and then needs one update of its own.
Estimates leave out what other tables do to a track, so they are revised at every instant.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from freshline.core.graph import dependents, topological
from freshline.core.model import Table


@dataclass(slots=True)
class CatchingUp:
    """One table on its way back.

    Attributes:
        since_s: When it began.
        backlog_s: TE - F now, seconds of feed time.
        first_s: When it would be fresh again, as computed at the beginning; None: never, at
            what updates cost.
        fresh_s: The same as revised last.
        waits: It waits for capacity: rule (6) of aus refuses it, or no track is free.
        bound_s: Theorem 4's bound on the time of its end; None where nothing bounds it.
    """

    since_s: float
    backlog_s: float = 0.0
    first_s: float | None = None
    fresh_s: float | None = None
    waits: bool = False
    bound_s: float | None = None


@dataclass(frozen=True, slots=True)
class Pace:
    """How a table under aus catches up.

    Attributes:
        mode: As ``modes.Mode`` says it.
        period_s, recovery_period_s: p and p^r.
        bound_s: Theorem 4's x for the outage that it recovers from; None where there is none.
    """

    mode: str
    period_s: float
    recovery_period_s: float
    bound_s: float | None


class Recoveries:
    """All tables that catch up.

    Args:
        tables: The scheduler's; read only.
        chop: Periods that one update loads at most; None: all that is pending.
    """

    def __init__(self, tables: Sequence[Table], chop: float | None = None) -> None:
        self._tables = topological(tables)
        self._place = {table.name: place for place, table in enumerate(self._tables)}
        self._by_name = {table.name: table for table in tables}
        self._chop = chop
        self._found: dict[str, CatchingUp] = {}

    def began(self, name: str, now_s: float) -> None:
        """The base table ``name`` has a backlog; what is derived from it follows."""
        table = self._by_name[name]
        for each in (table, *dependents(table)):
            self._found.setdefault(each.name, CatchingUp(now_s))

    def of(self, name: str) -> CatchingUp | None:
        """How ``name`` catches up; None while it does not."""
        return self._found.get(name)

    @property
    def names(self) -> Collection[str]:
        """Of the tables that catch up."""
        return self._found.keys()

    def revise(
        self, now_s: float, *, free_tracks: int, pace: Callable[[Table], Pace] | None = None
    ) -> list[str]:
        """Compute every date anew.

        Args:
            now_s: The instant, after its events.
            free_tracks: How many tracks are idle.
            pace: How a table catches up under aus; None under other policies.

        Returns:
            The tables that are fresh again.
        """
        paces = {} if pace is None else {table.name: pace(table) for table in self._tables}
        for name, each in paces.items():
            if each.mode in ("recovery", "waiting"):
                self._found.setdefault(name, CatchingUp(now_s))
        done = [name for name, item in self._found.items() if self._is_done(name, item, now_s)]
        for name in done:
            del self._found[name]
        capacity_s = self._first_capacity_s(now_s, paces)
        for name in sorted(self._found, key=self._place.__getitem__):  # sources first
            table, item, own = self._by_name[name], self._found[name], paces.get(name)
            item.backlog_s = max(0.0, table.trailing_edge_s - table.freshness_s)
            item.waits = own.mode == "waiting" if own else (
                free_tracks == 0 and table.running is None and table.has_news
            )  # fmt: skip
            item.fresh_s = self._fresh_s(table, item, own, now_s, capacity_s)
            if item.first_s is None:
                item.first_s = item.fresh_s
            if item.bound_s is None and own is not None and own.mode == "recovery" and own.bound_s:
                item.bound_s = now_s + own.bound_s
        return done

    def _is_done(self, name: str, item: CatchingUp, now_s: float) -> bool:
        """Fresh, and not just because its sources have not got there yet."""
        table = self._by_name[name]
        if table.has_news or table.running is not None or now_s <= item.since_s:
            return False
        return not any(source.name in self._found for source in table.sources)

    def _first_capacity_s(self, now_s: float, paces: Mapping[str, Pace]) -> float | None:
        """When the first of the tables in recovery is done; None where nobody recovers."""
        ends = [
            end_s
            for name, own in paces.items()
            if own.mode == "recovery"
            if (end_s := _recovered_s(self._by_name[name], own, now_s)) is not None
        ]
        return min(ends, default=None)

    def _fresh_s(
        self,
        table: Table,
        item: CatchingUp,
        own: Pace | None,
        now_s: float,
        capacity_s: float | None,
    ) -> float | None:
        """The estimate for one table, its sources' being known."""
        begin_s = now_s
        running = table.running
        if running is not None:
            begin_s = max(now_s, running.start_s + running.command.expected_s)
        if own is not None and own.mode == "waiting":
            if capacity_s is None:
                return None
            begin_s = max(begin_s, capacity_s)
        sources_s = _latest(
            self._found[source.name].fresh_s
            for source in table.sources
            if source.name in self._found
        )
        if sources_s is None:
            return None
        if own is not None and own.mode in ("recovery", "waiting"):
            own_s = _recovered_s(table, own, begin_s)
            return None if own_s is None else max(own_s, sources_s)
        if table.sources:
            return max(begin_s, sources_s) + table.cost.expected_s(item.backlog_s)
        return self._merged_s(table, item.backlog_s, begin_s)

    def _merged_s(self, table: Table, backlog_s: float, begin_s: float) -> float | None:
        running = table.running
        left_s = backlog_s
        if running is not None:
            left_s = max(0.0, table.trailing_edge_s - max(running.to_s, table.freshness_s))
        if left_s <= 0.0:
            return begin_s
        cost = table.cost
        if self._chop is None:
            return begin_s + cost.expected_s(left_s)
        load_s = self._chop * table.period_s
        took_s = cost.expected_s(load_s)
        gained_s = load_s - took_s
        if gained_s <= 0.0:
            return None
        return begin_s + took_s * max(1.0, left_s / gained_s)


def _recovered_s(table: Table, own: Pace, begin_s: float) -> float | None:
    """Under aus: the backlog shrinks by p - p^r with every update, each p^r after the other."""
    backlog_s = max(0.0, table.trailing_edge_s - table.freshness_s)
    if backlog_s <= 0.0:
        return begin_s
    if own.recovery_period_s >= own.period_s:
        return None
    return begin_s + backlog_s * own.recovery_period_s / (own.period_s - own.recovery_period_s)


def _latest(times: Iterable[float | None]) -> float | None:
    """The latest of them; 0 of none; None if one of them is never."""
    latest_s = 0.0
    for time_s in times:
        if time_s is None:
            return None
        latest_s = max(latest_s, time_s)
    return latest_s
