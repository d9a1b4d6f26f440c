"""For tests of policies: tables, an executor and a clock, without files, Spark or waiting.

    warehouse = VirtualWarehouse(MyPolicy(), [base("orders", takes_s=2.0),
                                              view("totals", "orders", priority=5.0)])
    warehouse.arrive("orders", at_s=1.0)
    assert [update.table for update in warehouse.run()] == ["orders", "totals"]

The scheduler is the product's own; an update takes exactly as long as its table says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

from freshline.core.commands import StartUpdate
from freshline.core.errors import UserError
from freshline.core.events import Event, FileArrived, UpdateFailed, UpdateFinished
from freshline.core.model import TableSpec
from freshline.core.placement import Placement
from freshline.core.policy import Policy
from freshline.core.scheduler import Scheduler

_ENDS, _ARRIVES, _HAPPENS = range(3)
"""The order of what happens at one instant."""


def base(
    name: str,
    *,
    period_s: float = 10.0,
    takes_s: float = 1.0,
    takes_more: float = 0.0,
    priority: float = 1.0,
    target_lag_s: float | None = None,
) -> TableSpec:
    """A base table, which has a feed.

    Args:
        name: Unique among the tables.
        period_s: How often a file of its feed is due.
        takes_s: Seconds that every update takes.
        takes_more: Seconds more for each second of data that the update loads.
        priority: Weight of its staleness.
        target_lag_s: The staleness that it shall not exceed.
    """
    return TableSpec(name, (), period_s, priority, takes_s, takes_more, target_lag_s=target_lag_s)


def view(
    name: str,
    *sources: str,
    takes_s: float = 1.0,
    takes_more: float = 0.0,
    priority: float = 1.0,
    target_lag_s: float | None = None,
) -> TableSpec:
    """A table derived from others; arguments as those of :func:`base`."""
    return TableSpec(name, sources, None, priority, takes_s, takes_more, target_lag_s=target_lag_s)


@dataclass(frozen=True, slots=True)
class Update:
    """One attempt at an update that has ended.

    Attributes:
        table: Its table.
        track: Where it ran, counted from 0.
        start_s, finish_s: When, in virtual seconds.
        from_s, to_s: Freshness before and after it; where it failed, what it was to bring.
        score: Why it was chosen, in the policy's words.
        failed: Whether it was made to fail.
    """

    table: str
    track: int
    start_s: float
    finish_s: float
    from_s: float
    to_s: float
    score: str
    failed: bool = False


class _Coming(NamedTuple):
    """Something that will happen; sorts by when, then by the order of one instant."""

    at_s: float
    kind: int
    order: int
    number: int
    event: Event
    update: Update | None


class VirtualWarehouse:
    """Plays what a test lets happen on the scheduler under one policy, in virtual time.

    Attributes:
        scheduler: The scheduler; its ``tables`` tell freshness, cost and what is pending.
        now_s: The virtual time, in seconds; starts at 0.
        updates: All that ended so far, by finish, then track.

    Args:
        policy: The policy under test, with its parameters.
        tables: From :func:`base` and :func:`view`; their order breaks ties.
        tracks: How many updates can run at once.
        placement: A partition into tracks; None: any table on any track.
        inherit: Whose priority counts beside a table's own: none, max or sum.

    Raises:
        UserError: The policy or the placement does not fit the tables.
    """

    def __init__(
        self,
        policy: Policy,
        tables: Sequence[TableSpec],
        *,
        tracks: int = 1,
        placement: Placement | None = None,
        inherit: str = "none",
    ) -> None:
        self.scheduler = Scheduler(
            tables,
            tracks=tracks,
            policy=policy,
            placement=placement,
            inherit_rule=inherit,
            explains=True,
        )
        self.now_s = 0.0
        self.updates: list[Update] = []
        self._specs = {spec.name: (order, spec) for order, spec in enumerate(tables)}
        self._failing: dict[str, list[float]] = {}
        self._coming: list[_Coming] = []
        self._number = 0

    def arrive(self, table: str, *, at_s: float, timestamp_s: float | None = None) -> None:
        """Let a file of a base table's feed arrive.

        Args:
            table: The base table.
            at_s: When, not before now.
            timestamp_s: Of its data; None: when it arrives.

        Raises:
            UserError: No base table has that name, or the time is past.
        """
        order, _ = self._with_feed(table)
        event = FileArrived(table, at_s if timestamp_s is None else timestamp_s)
        self._come(at_s, _ARRIVES, order, event)

    def arrive_every(self, table: str, *, until_s: float) -> None:
        """Let files arrive once a period of the table's feed, from now's next period on.

        Raises:
            UserError: No base table has that name.
        """
        _, spec = self._with_feed(table)
        period_s = spec.period_s or 1.0
        turn = int(self.now_s // period_s) + 1
        while turn * period_s <= until_s:
            self.arrive(table, at_s=turn * period_s)
            turn += 1

    def happen(self, event: Event, *, at_s: float) -> None:
        """Let another event of ``freshline.core.events`` happen, such as a pause.

        Raises:
            UserError: The time is past.
        """
        self._come(at_s, _HAPPENS, 0, event)

    def fail(self, table: str, *, retry_after_s: float) -> None:
        """Let the next update of a table fail; it is tried again so many seconds after its end."""
        self._failing.setdefault(table, []).append(retry_after_s)

    def run(self, until_s: float = float("inf")) -> list[Update]:
        """Go on until nothing happens any more, or until a time; returns what ended meanwhile.

        Args:
            until_s: What happens at this time still counts. With a policy that wakes up by
                itself for ever, or files without end, it must be finite.
        """
        ended = len(self.updates)
        while True:
            next_s = self._coming[0].at_s if self._coming else float("inf")
            next_s = min(next_s, max(self.now_s, self.scheduler.next_wakeup_s()))
            if next_s > until_s or next_s == float("inf"):
                break
            self._instant(next_s)
        if until_s != float("inf"):
            self.now_s = max(self.now_s, until_s)
        return self.updates[ended:]

    def freshness_s(self, table: str) -> float:
        """Up to when a table has all data; 0 before its first update."""
        return self.scheduler.table(table).freshness_s

    def _with_feed(self, table: str) -> tuple[int, TableSpec]:
        """A base table's place in the order and what it is; UserError for any other name."""
        order, spec = self._specs.get(table, (0, None))
        if spec is None or spec.sources:
            names = ", ".join(name for name, (_, each) in self._specs.items() if not each.sources)
            raise UserError(
                "no-feed", f"files arrive for base tables only, not for '{table}'",
                rule=f"base tables here are {names}", next_step="Name one of them.",
            )  # fmt: skip
        return order, spec

    def _instant(self, now_s: float) -> None:
        events = []
        self.now_s = now_s
        while self._coming and self._coming[0].at_s <= now_s:
            coming = heappop(self._coming)
            events.append(coming.event)
            if coming.update is not None:
                self.updates.append(coming.update)
        for command in self.scheduler.handle(now_s, events):
            self._start(command)

    def _start(self, command: StartUpdate) -> None:
        """Carry a command out: its end comes after the table's seconds, or a failure."""
        spec = self._specs[command.table][1]
        seconds = spec.alpha_s + spec.beta * (command.to_s - command.from_s)
        end_s = self.now_s + seconds
        retries = self._failing.get(command.table)
        event: Event
        if retries:
            event = UpdateFailed(command.table, end_s + retries.pop(0))
        else:
            event = UpdateFinished(command.table)
        update = Update(
            command.table, command.track, self.now_s, end_s, command.from_s, command.to_s,
            command.score, failed=isinstance(event, UpdateFailed),
        )  # fmt: skip
        self._come(end_s, _ENDS, command.track, event, update)

    def _come(
        self, at_s: float, kind: int, order: int, event: Event, update: Update | None = None
    ) -> None:
        if at_s < self.now_s:
            raise UserError(
                "past", f"it is {self.now_s:g} s, and {at_s:g} s is past",
                rule="virtual time goes forward", next_step="Choose a later time.",
            )  # fmt: skip
        self._number += 1
        heappush(self._coming, _Coming(at_s, kind, order, self._number, event, update))
