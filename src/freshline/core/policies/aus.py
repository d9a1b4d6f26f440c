"""The adaptive update scheduler: normal and recovery mode, earliest deadline first.

A table that fell behind (its feed was out and came back with a backlog) may be updated more
often, but only as far as capacity is left, so that the others keep their bounds.

Source: Leontyev, Johnson and Anderson 2009, II and III. Rules of docs/papers.md: L7 (what an
instant does, in order), L8 (switches to recovery are decided only at arrivals, completions and
returns to normal; nobody returns and switches at one instant), L9 (ties by table order), L13
(chop, partition and priorities do not apply). The parts are in ``core/aus``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, ClassVar, NamedTuple

from freshline.core.aus.capacity import Capacity
from freshline.core.aus.guarantee import Guarantee, guarantees_of, lent_by, load_of
from freshline.core.aus.modes import Mode, Signal, after
from freshline.core.aus.releases import Releases
from freshline.core.aus.shares import execution_s
from freshline.core.aus.supply import ReportDemand
from freshline.core.extent import Extent, OneFile
from freshline.core.instant import INSTANT_DIGITS, TIME_EPSILON_S
from freshline.core.model import Table
from freshline.core.placement import interval_s
from freshline.core.policy import Policy, View

_NEVER = float("inf")

_MOST_SWITCHES = 100_000
"""Some 10 MB; a simulation has fewer."""

_DRIFT = 0.25
"""Learned costs wander by a few per cent for ever; bounds are computed anew, and recovery
periods with them, when a table's e has moved by this share."""


class Switch(NamedTuple):
    """A table changed its mode."""

    time_s: float
    table: str
    to: str


@dataclass(slots=True)
class Aus(Policy):
    """Earliest deadline first among released updates, one file each.

    Not eager: an update that is not released yet waits, even when a track is free.

    Attributes:
        recovery: How recovery periods are chosen: average, worst, simultaneous, explicit.
        worst_factor: How many times its mean an update takes at worst (for ``worst``).
        guarantees: Shares and bounds of every table, in table order.
        switches: Changes of mode, oldest first; of a run that lasts a year the newest ones.
    """

    name: ClassVar[str] = "aus"
    eager: ClassVar[bool] = False
    reacts: ClassVar[bool] = True
    heeds_arrivals: ClassVar[bool] = True
    inherits: ClassVar[bool] = False
    partitioned: ClassVar[bool] = False

    recovery: str = "average"
    worst_factor: float = 1.0
    guarantees: list[Guarantee] = field(default_factory=list, init=False)
    switches: list[Switch] = field(default_factory=list, init=False)
    _releases: list[Releases] = field(default_factory=list, init=False)
    _thresholds_s: list[float] = field(default_factory=list, init=False)
    _basis: list[tuple[float, float]] = field(default_factory=list, init=False)
    _reports: tuple[ReportDemand, ...] = field(default=(), init=False)
    _capacity: Capacity = field(init=False)
    # Timers; an entry counts while the table's record still says that time.
    _due: list[tuple[float, int]] = field(default_factory=list, init=False)
    _returns: list[tuple[float, int]] = field(default_factory=list, init=False)
    # Tables with news and no released update, since the last instant.
    _touched: list[Releases] = field(default_factory=list, init=False)
    # Tables that returned to normal at an instant and may not switch before the next.
    _held: list[Releases] = field(default_factory=list, init=False)
    # Tables in recovery that have not caught up, and those that wait and cannot run, by place.
    _recovering: dict[int, Releases] = field(default_factory=dict, init=False)
    _stopped: dict[int, Releases] = field(default_factory=dict, init=False)

    # ---- what the scheduler asks ----

    def prepare(self, view: View) -> None:
        if len(self._releases) != len(view.tables):
            self._releases = [Releases(table) for table in view.tables]
        self._reports = view.reservations.reports
        lent = lent_by(
            view.tables,
            self._reports,
            tracks=view.track_count,
            recovery=self.recovery,
            worst_factor=self.worst_factor,
        )
        self.guarantees = guarantees_of(
            view.tables,
            tracks=view.track_count,
            recovery=self.recovery,
            worst_factor=self.worst_factor,
            lent=lent,
        )
        self._thresholds_s = [
            _NEVER if item.threshold_s is None else item.threshold_s for item in self.guarantees
        ]
        self._basis = [self._assumed(table) for table in view.tables]
        claims = [item.share for item in self.guarantees]
        self._capacity = Capacity(claims, view.track_count - lent.share)
        for record in self._releases:
            if record.mode is Mode.WAITING:
                self._capacity.ask(record.table.order)
            elif record.mode is not Mode.NORMAL:
                self._capacity.take(record.table.order)

    def extent(self, given: Extent) -> Extent:
        return OneFile()

    def key(self, table: Table) -> float | None:
        record = self._releases[table.order]
        if record.is_open:  # and not running, or nobody would ask
            return round(record.deadline_s, INSTANT_DIGITS)
        # Asked only about a table with news: when its next update is released is ``react``'s
        # to say, after all events of the instant.
        self._touched.append(record)
        return None

    def score(self, table: Table) -> str:
        record = self._releases[table.order]
        return f"deadline {record.deadline_s:.3f}, {record.released_in.two}"

    def release_s(self, table: Table) -> float:
        record = self._releases[table.order]
        return record.release_s if record.is_open else table.release_s

    def mode(self, table: Table) -> str:
        record = self._releases[table.order]
        return (record.released_in if record.is_open else record.mode).two

    def standing(self, table: Table) -> str | None:
        return self._releases[table.order].mode.value

    def started(self, table: Table, now_s: float) -> None:
        record = self._releases[table.order]
        if not record.is_open:
            # Somebody asked for it ahead of its release: released now, as (3) says.
            record.release(now_s, self._period_s(record))
        record.number = table.number + 1

    def next_wakeup_s(self) -> float:
        due, returns, releases = self._due, self._returns, self._releases
        while due and releases[due[0][1]].due_s != due[0][0]:
            heappop(due)
        while returns and releases[returns[0][1]].return_s != returns[0][0]:
            heappop(returns)
        due_s = due[0][0] if due else _NEVER
        return min(due_s, returns[0][0]) if returns else due_s

    def findings(self) -> dict[str, Any]:
        return {
            "utilisation": load_of(self.guarantees),
            "tables": {
                record.table.name: guarantee.record()
                for record, guarantee in zip(self._releases, self.guarantees, strict=True)
            },
            "switches": [
                {"time": switch.time_s, "table": switch.table, "to": switch.to}
                for switch in self.switches
            ],
        }

    # ---- one instant (L7) ----

    def react(self, view: View, finished: Sequence[Table], arrived: Sequence[Table]) -> None:
        now_s = view.now_s
        if view.reservations.reports != self._reports:
            self.prepare(view)
        moved: list[Table] = list(arrived)
        any_finished = False
        for table in finished:
            any_finished = True
            self._finished(table, now_s)
            moved.extend(table.children)
            if self._drifted(table):
                self.prepare(view)
        any_stopped = self._stop(now_s)
        any_returned = self._return_due(now_s)
        if moved or any_finished or any_returned or any_stopped:
            self._switch(view, moved, now_s)
        for record in self._touched:
            self._plan(record, now_s)
        self._touched.clear()
        self._release_due(view, now_s)

    def _finished(self, table: Table, now_s: float) -> None:
        record = self._releases[table.order]
        fresh = not table.has_news
        share = self.guarantees[table.order].share
        record.finished(now_s, fresh=fresh, recovery_period_s=share.recovery_period_s)
        if fresh and record.mode is Mode.RECOVERY:
            self._caught_up(record, now_s)
        elif record.mode is Mode.WAITING and not self._is_behind(record):
            record.mode = after(record.mode, Signal.EASED)

    def _caught_up(self, record: Releases, now_s: float) -> None:
        """RN: back to normal at max(f, d)."""
        record.mode = after(record.mode, Signal.FRESH)
        record.return_s = max(now_s, record.deadline_s)
        heappush(self._returns, (record.return_s, record.table.order))
        self._recovering.pop(record.table.order, None)

    def _stop(self, now_s: float) -> bool:
        """Take recovery from tables that cannot run: what they hold keeps others from it.

        One whose backlog was withdrawn will have no update that ends fresh: it has caught up.
        """
        stopped = False
        for order, record in list(self._recovering.items()):
            if not _can_run(record.table, now_s):
                stopped = True
                del self._recovering[order]
                self._capacity.give_back(order)
                self._enter(record, Signal.STOPPED, now_s)
                self._stopped[order] = record
            elif record.table.running is None and not record.table.has_news:
                self._caught_up(record, now_s)
        return stopped

    def _return_due(self, now_s: float) -> bool:
        """Carry out the returns to normal mode that are due, in table order."""
        returns, due = self._returns, []
        while returns and returns[0][0] <= now_s + TIME_EPSILON_S:
            return_s, order = heappop(returns)
            if self._releases[order].return_s == return_s:
                due.append(order)
        for order in sorted(due):  # their times may differ in the last digit
            record = self._releases[order]
            record.return_s = _NEVER
            record.returned_s = now_s
            self._capacity.give_back(order)
            self._enter(record, Signal.DEADLINE, now_s)
            self._held.append(record)
        return bool(due)

    def _switch(self, view: View, moved: Iterable[Table], now_s: float) -> None:
        """NR: the tables that are behind ask for recovery, and get it as far as (6) allows.

        ``moved`` are those whose trailing edge may have moved; nobody else can have fallen
        behind, except those that were held back when they returned.
        """
        held, self._held = self._held, []
        for record in held:
            if record.returned_s == now_s:
                self._held.append(record)
            else:
                self._ask_if_behind(record)
        for table in moved:
            record = self._releases[table.order]
            if record.returned_s != now_s:
                self._ask_if_behind(record)
        for order in [each for each in self._stopped if _can_run(view.tables[each], now_s)]:
            if self._stopped.pop(order).mode is Mode.WAITING:
                self._capacity.ask(order)
        for order in self._capacity.admit(lambda order: self._still_wants(order, now_s)):
            record = self._recovering[order] = self._releases[order]
            self._enter(record, Signal.ADMITTED, now_s)
            record.reweight(now_s, self.guarantees[order].share.recovery_period_s)
            # Its deadline may have moved, or the date of its next release.
            view.rekey(record.table)

    def _ask_if_behind(self, record: Releases) -> None:
        if record.mode is Mode.NORMAL and self._is_behind(record):
            record.mode = after(record.mode, Signal.FELL_BEHIND)
            self._capacity.ask(record.table.order)

    def _enter(self, record: Releases, signal: Signal, now_s: float) -> None:
        record.mode = after(record.mode, signal)
        self.switches.append(Switch(now_s, record.table.name, record.mode.two))
        if len(self.switches) > _MOST_SWITCHES:
            del self.switches[: _MOST_SWITCHES // 2]

    def _still_wants(self, order: int, now_s: float) -> bool:
        record = self._releases[order]
        if record.mode is Mode.WAITING and not self._is_behind(record):
            record.mode = after(record.mode, Signal.EASED)
        if record.mode is Mode.WAITING and not _can_run(record.table, now_s):
            self._stopped[order] = record
            return False
        return record.mode is Mode.WAITING

    def _is_behind(self, record: Releases) -> bool:
        table = record.table
        behind_s = table.trailing_edge_s - table.freshness_s
        return behind_s > self._thresholds_s[table.order] + TIME_EPSILON_S

    # ---- releases ----

    def _plan(self, record: Releases, now_s: float) -> None:
        """Say when the next update of a table is released that has news and none released."""
        table = record.table
        if record.due_s is None and not record.is_open and table.has_news:
            record.due_s = record.next_release_s(now_s)
            heappush(self._due, (record.due_s, table.order))

    def _release_due(self, view: View, now_s: float) -> None:
        due = self._due
        while due and due[0][0] <= now_s + TIME_EPSILON_S:
            due_s, order = heappop(due)
            record = self._releases[order]
            if record.due_s != due_s:
                continue
            if record.table.has_news:
                record.release(due_s, self._period_s(record))
                view.rekey(record.table)
                continue
            record.due_s = None  # its files were withdrawn
            if record.mode is Mode.RECOVERY:
                self._caught_up(record, now_s)

    def _period_s(self, record: Releases) -> float:
        """p(T, t): p in normal mode, p^r in recovery."""
        share = self.guarantees[record.table.order].share
        return share.recovery_period_s if record.mode.two == "recovery" else record.table.period_s

    # ---- costs that are learned ----

    def _assumed(self, table: Table) -> tuple[float, float]:
        return execution_s(table, self.recovery, self.worst_factor), interval_s(table)

    def _drifted(self, table: Table) -> bool:
        """Whether its e or p is no longer about what the guarantees were computed from."""
        time_s, period_s = self._assumed(table)
        basis_time_s, basis_period_s = self._basis[table.order]
        if time_s == basis_time_s and period_s == basis_period_s:
            return False
        return (
            abs(time_s - basis_time_s) > _DRIFT * max(time_s, basis_time_s)
            or period_s != basis_period_s
        )


def _can_run(table: Table, now_s: float) -> bool:
    """Whether an update of it runs, or could start: it is not paused, and has not just failed."""
    return table.running is not None or not table.stands_still(now_s)
