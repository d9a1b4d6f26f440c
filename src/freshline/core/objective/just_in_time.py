"""Objective ``cost``: a table waits until it would otherwise miss its target.

A policy around the chosen policy. It holds back the tables that are not due yet and leaves
the order of those that are due to the policy inside. A table's latest start hangs on its own
freshness alone (``core/objective/targets.py``), so it changes when an update of it ends, and never
because of another table: the dates stand in a heap, and an event costs O(log n). Under the
objective ``staleness`` nothing of this exists.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from math import inf
from typing import Any

from freshline.core.extent import Extent
from freshline.core.instant import TIME_EPSILON_S
from freshline.core.model import Table
from freshline.core.objective.targets import AT_ONCE, Need, blocking_s, need_of, needs
from freshline.core.policy import Key, Policy, View

OBJECTIVES = ("staleness", "cost")

_FLAGS = ("name", "chooses", "ranks_by_gain", "inherits", "partitioned", "own_partition")

_DRIFT = 0.05
"""Needs are worked out anew when a table's expected seconds moved by this share."""

_ROUND_SHARE = 16
"""All needs are worked out together at most once in a sixteenth of a round, so that an update
costs the same however many tables there are; what a table's own costs ask of it, at once."""

_ROUNDS_REMEMBERED = 30
"""Rounds (updates of as many tables as there are) in which a queue is forgotten."""

_LONGER, _SHORTER = 1.1, 0.7
"""The needs follow the queue seen on the tracks once it is so many times what they count with:
in steps, because every table gets a new date with each, and sooner up than down."""


class JustInTime(Policy):
    """Another policy's order among the tables that are due.

    Due is a table whose first update has not been made yet, whose query changed, that nobody
    set a target for, or whose latest start has come.

    Args:
        inner: The policy.
        worst_factor: How many times its mean an update takes at worst, where that is known.
    """

    eager = False
    reacts = True
    heeds_arrivals = True  # at the dates, too, at which nothing happens

    def __init__(self, inner: Policy, *, worst_factor: float = 1.0) -> None:
        for flag in _FLAGS:
            setattr(self, flag, getattr(inner, flag))
        self.inner = inner
        self.needs: list[Need] = []
        self._worst_factor = worst_factor
        self._view: View
        self._basis: list[float] = []
        self._waits: list[tuple[float, int]] = []
        self._date_s: list[float] = []
        self._due_since_s: list[float] = []
        self._queue_s = 0.0
        self._least_queue_s = 0.0
        self._most_queue_s = 0.0
        self._counted_queue_s = 0.0
        self._is_new = True
        self._is_stale = False
        self._ended = 0

    # ---- what the scheduler asks ----

    def prepare(self, view: View) -> None:
        self._view = view
        self._date_s = [inf] * len(view.tables)
        self._due_since_s = [inf] * len(view.tables)
        self._waits = []
        self._work_out(view)
        self._is_new = True  # what former runs learned comes with the first instant
        self.inner.prepare(view)

    def extent(self, given: Extent) -> Extent:
        return self.inner.extent(given)

    def key(self, table: Table) -> Key:
        order, now_s = table.order, self._view.now_s
        start_s = self.latest_start_s(table)
        if start_s > now_s + TIME_EPSILON_S:
            self._due_since_s[order] = inf
            if self._date_s[order] != start_s:
                self._date_s[order] = start_s
                if start_s != inf:
                    self._await(start_s, order)
            return None
        if self._due_since_s[order] == inf:
            self._due_since_s[order] = now_s
        return self.inner.key(table)

    def latest_start_s(self, table: Table) -> float:
        """When an update of ``table`` has to start; -infinity: at once, infinity: never."""
        if table.number == 0 or table.full:
            return AT_ONCE
        return table.freshness_s + self.needs[table.order].start_lag_s

    def score(self, table: Table) -> str:
        start_s = self.latest_start_s(table)
        if start_s == AT_ONCE:
            return self.inner.score(table)
        if start_s == inf:
            return f"not needed; {self.inner.score(table)}"
        late_s = self._view.now_s - start_s
        lag_s = self.needs[table.order].lag_s
        return f"due since {late_s:.3f} s for {lag_s:g} s of lag; {self.inner.score(table)}"

    def picks(self, tables: Sequence[Table], *, held_back: bool = False) -> bool:
        return self.inner.picks(tables, held_back=True)

    def choose(self, view: View) -> Table | None:
        return self.inner.choose(view)

    def release_s(self, table: Table) -> float:
        return self.inner.release_s(table)

    def mode(self, table: Table) -> str | None:
        return self.inner.mode(table)

    def findings(self) -> dict[str, Any]:
        return self.inner.findings()

    def started(self, table: Table, now_s: float) -> None:
        order = table.order
        self._date_s[order] = inf
        if self._due_since_s[order] != inf:
            self._waited(now_s - self._due_since_s[order])
            self._due_since_s[order] = inf
        if self.inner.reacts:
            self.inner.started(table, now_s)

    def react(self, view: View, finished: Sequence[Table], arrived: Sequence[Table]) -> None:
        if self.inner.reacts:
            self.inner.react(view, finished, arrived)
        self._adapt(view, finished)
        waits, dates = self._waits, self._date_s
        until_s = view.now_s + TIME_EPSILON_S
        while waits and waits[0][0] <= until_s:
            date_s, order = heappop(waits)
            if dates[order] == date_s:
                dates[order] = inf
                view.rekey(view.tables[order])

    def prioritised(self, view: View) -> None:
        if self.inner.reacts:
            self.inner.prioritised(view)

    def next_wakeup_s(self) -> float:
        waits, dates = self._waits, self._date_s
        while waits and dates[waits[0][1]] != waits[0][0]:
            heappop(waits)
        mine_s = waits[0][0] if waits else inf
        return min(mine_s, self.inner.next_wakeup_s()) if self.inner.reacts else mine_s

    # ---- needs ----

    def _adapt(self, view: View, ended: Sequence[Table]) -> None:
        """Follow costs that were learned and queues that were seen."""
        self._ended += len(ended)
        for table in ended:
            if self._drifted(table):
                self._is_stale = True
                self._need_anew(table)
                view.rekey(table)
        if self._is_new or (
            self._ended * _ROUND_SHARE >= len(view.tables)
            and (self._is_stale or self._queue_moved())
        ):
            self._work_out(view)
            for table in view.tables:
                view.rekey(table)

    def _need_anew(self, table: Table) -> None:
        """What the table's own costs ask of it now; its sources learn later."""
        lag_s = self.needs[table.order].lag_s
        self._basis[table.order] = _load_s(table)
        if lag_s != inf:
            self.needs[table.order] = need_of(
                table, lag_s, worst_factor=self._worst_factor, queueing_s=self._counted_queue_s
            )

    # ---- dates ----

    def _await(self, start_s: float, order: int) -> None:
        waits, dates = self._waits, self._date_s
        heappush(waits, (start_s, order))
        if len(waits) > 64 + 4 * len(dates):
            waits[:] = [entry for entry in waits if dates[entry[1]] == entry[0]]
            heapify(waits)

    def _work_out(self, view: View) -> None:
        """The needs with the costs known now and the queue seen lately."""
        tables = view.tables
        self._is_new = self._is_stale = False
        self._ended = 0
        self._basis = [_load_s(table) for table in tables]
        self._least_queue_s = blocking_s(tables, view.track_count, self._worst_factor)
        # Whoever waited longer was paused meanwhile: it had no track to wait for.
        self._most_queue_s = sum(self._basis) / view.track_count + self._least_queue_s
        self._counted_queue_s = max(self._queue_s, self._least_queue_s)
        self.needs = needs(
            tables, worst_factor=self._worst_factor, queueing_s=self._counted_queue_s
        )

    def _drifted(self, table: Table) -> bool:
        load_s, basis_s = _load_s(table), self._basis[table.order]
        return abs(load_s - basis_s) > _DRIFT * max(load_s, basis_s)

    def _waited(self, seconds: float) -> None:
        """An update that was due waited for its track so long."""
        fading = 1.0 / (_ROUNDS_REMEMBERED * len(self._date_s))
        seconds = min(seconds, self._most_queue_s)
        self._queue_s = max(seconds, self._queue_s + (seconds - self._queue_s) * fading)

    def _queue_moved(self) -> bool:
        queue_s, counted_s = max(self._queue_s, self._least_queue_s), self._counted_queue_s
        return queue_s > _LONGER * counted_s or queue_s < _SHORTER * counted_s


def _load_s(table: Table) -> float:
    """What the needs hang on: expected seconds of a period's data, with the error allowed."""
    cost = table.cost
    return (cost.alpha_s + cost.beta * table.period_s) * (1.0 + cost.error_ratio)
