"""What would come of a first choice, if all after it were chosen by an index.

A rollout (Bertsekas, Tsitsiklis and Wu 1997; Tesauro and Galperin 1996): the near future is
played with expected costs and the files that are due, once for each table that could start now.
It sees what no key of one table can: which files come while an update runs. The reduction of
staleness counts less the later it comes, falling to nothing at the end of what is played, so
that it does not matter what is under way just then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush, heapreplace
from math import inf

from freshline.core.lookahead.calendar import next_date_s
from freshline.core.model import Table

_SILENT = 2.0
"""Periods without a file after which no file of a feed is expected."""


@dataclass(frozen=True, slots=True)
class Index:
    """The order after the first choice: largest worth * d^2 / seconds first.

    Attributes:
        worth, alpha_s, beta: By table; d is the data that an update loads, in seconds.
        patience_s: Seconds are alpha * (1 + d / patience) + beta * d * (held_up + d / patience).
        held_up: Share of the seconds for data that counts however short d is.
    """

    worth: Sequence[float]
    alpha_s: Sequence[float]
    beta: Sequence[float]
    patience_s: float
    held_up: float


class Rollout:
    """The state at one instant, to be played from with each first choice.

    Args:
        tables: All tables, in table order.
        tracks: How many updates can run at once.
        now_s: The instant.
        span_s: How long is played.
        index: The order after the first choice.
    """

    def __init__(
        self, tables: Sequence[Table], *, tracks: int, now_s: float, span_s: float, index: Index
    ) -> None:
        self._tables = tables
        self._tracks = tracks
        self._now_s = now_s
        self._span_s = span_s
        self._index = index
        self._fresh_s = [table.freshness_s for table in tables]
        self._edge_s = [table.trailing_edge_s for table in tables]
        self._late_s = [table.late_s for table in tables]
        self._idle = [
            table.running is None and not table.paused and table.deferred_until_s <= now_s
            for table in tables
        ]
        self._ends = [_end(table, now_s) for table in tables if table.running is not None]
        heapify(self._ends)
        self._files = [file for table in tables if (file := _next_file(table, now_s)) is not None]
        heapify(self._files)
        self._alpha_s = [table.cost.alpha_s for table in tables]
        self._beta = [table.cost.beta for table in tables]
        self._periods_s = [table.period_s for table in tables]
        # Without any update staleness rises from what it is, and counts from 1 down to 0.
        self._unserved = sum(
            table.priority * (0.5 * (now_s - table.freshness_s) + span_s / 6.0) for table in tables
        )

    def staleness(self, first: Table | None = None) -> float:
        """Weighted staleness over what is played, the sooner the more it counts.

        Args:
            first: What starts now; None: what the index says.
        """
        tables, index, span_s, now_s = self._tables, self._index, self._span_s, self._now_s
        fresh_s, edge_s, late_s = self._fresh_s[:], self._edge_s[:], self._late_s[:]
        idle, ends, files = self._idle[:], self._ends[:], self._files[:]
        alpha_s, beta, periods_s = self._alpha_s, self._beta, self._periods_s
        end_s = now_s + span_s
        free = self._tracks - len(ends)
        gained = 0.0
        order = -1 if first is None else first.order
        while True:
            while free > 0:
                if order < 0:
                    order = _best(index, idle, fresh_s, edge_s, late_s)
                    if order < 0:
                        break
                amount_s = edge_s[order] - fresh_s[order] + late_s[order]
                seconds = alpha_s[order] + beta[order] * amount_s
                idle[order], late_s[order] = False, 0.0
                heappush(ends, (now_s + seconds, order, edge_s[order]))
                free -= 1
                order = -1
            next_s = ends[0][0] if ends else inf
            if free > 0 and files and files[0][0] < next_s:
                next_s = files[0][0]
            if next_s >= end_s:
                return self._unserved - gained
            now_s = next_s
            while ends and ends[0][0] <= now_s:
                _, ended, to_s = heappop(ends)
                free += 1
                table = tables[ended]
                idle[ended] = not table.paused
                if to_s > fresh_s[ended]:
                    left = (end_s - now_s) / span_s
                    gained += table.priority * (to_s - fresh_s[ended]) * 0.5 * left * left
                    fresh_s[ended] = to_s
                for child in table.children:
                    edge_s[child.order] = min([fresh_s[source.order] for source in child.sources])
            while files and files[0][0] <= now_s:
                date_s, came = files[0]
                passed_s = (1.0 + (now_s - date_s) // periods_s[came]) * periods_s[came]
                edge_s[came] += passed_s
                heapreplace(files, (date_s + passed_s, came))


def _best(
    index: Index,
    idle: Sequence[bool],
    fresh_s: Sequence[float],
    edge_s: Sequence[float],
    late_s: Sequence[float],
) -> int:
    """The place of the table that the index starts; -1 where none has news."""
    worth, alpha_s, beta, held_up = index.worth, index.alpha_s, index.beta, index.held_up
    best, most = -1, -1.0
    for order, is_idle in enumerate(idle):
        if is_idle:
            amount_s = edge_s[order] - fresh_s[order] + late_s[order]
            if amount_s > 0.0:
                patient = amount_s / index.patience_s
                seconds = alpha_s[order] * (1.0 + patient) + beta[order] * amount_s * (
                    held_up + patient
                )
                value = worth[order] * amount_s * amount_s / seconds if seconds > 0.0 else inf
                if value > most:
                    best, most = order, value
    return best


def _end(table: Table, now_s: float) -> tuple[float, int, float]:
    """When a running update is expected to end, of what table, and how fresh it is then."""
    running = table.running
    assert running is not None
    to_s = table.freshness_s if running.background else running.to_s
    return max(now_s, running.start_s + running.command.expected_s), table.order, to_s


def _next_file(table: Table, now_s: float) -> tuple[float, int] | None:
    last_s = table.last_arrival_s
    if not table.is_base or last_s is None or now_s - last_s > _SILENT * table.period_s:
        return None
    date_s = next_date_s(table, now_s)
    return None if date_s is None else (date_s, table.order)
