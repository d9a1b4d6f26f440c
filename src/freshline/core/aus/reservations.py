"""Tracks that something else needs from some moment on: reports with deadlines.

From that moment no update starts on the track; before it only one that will have ended by then,
by its learned cost. Nobody knows how long a table takes that is computed anew: it lets the batch
pass that is next when it could start, if that is due within an hour, and then starts in the first
gap, or on the only track it would never start. A track that is not reserved is not affected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heapify, heappush
from math import inf, nextafter

from freshline.core.aus.supply import ReportDemand
from freshline.core.commands import StartUpdate
from freshline.core.events import TrackReserved
from freshline.core.model import Table

_AMPLE_S = 3600.0
"""So far ahead of a batch, a table that is computed anew starts at once."""


class Reservations:
    """Which tracks are reserved, and from when.

    Attributes:
        from_s: The reserved tracks, and from when they are.
        reports: What the reports take of their track in the long run.
        wakeup_s: When a table that is computed anew has let its batch pass, and may start though
            nothing happens: the batch was put off.
    """

    def __init__(self) -> None:
        self.from_s: dict[int, float] = {}
        self.reports: tuple[ReportDemand, ...] = ()
        self.wakeup_s = inf
        # By order of a table that waits to be computed anew: its number, and which batch passes.
        self._until: dict[int, tuple[int, float]] = {}

    def reserve(self, event: TrackReserved) -> None:
        """Reserve a track from a moment on, or give it back."""
        if event.from_s is None:
            self.from_s.pop(event.track, None)
        else:
            self.from_s[event.track] = event.from_s
        if event.reports is not None:
            self.reports = tuple(ReportDemand(*each) for each in event.reports)

    def hide(self, free: list[int]) -> list[int]:
        """Take the reserved tracks out of the free ones; returns them."""
        hidden = sorted(track for track in free if track in self.from_s)
        free[:] = [track for track in free if track not in self.from_s]
        heapify(free)
        return hidden

    def use(
        self,
        hidden: list[int],
        free: list[int],
        now_s: float,
        waiting: Callable[[], Iterable[Table]],
        start: Callable[[Table, int], StartUpdate],
    ) -> list[StartUpdate]:
        """Start on hidden tracks what ends in time, best first; the others are free again."""
        commands = []
        self.wakeup_s = inf
        for track in hidden:
            for table in waiting() if self.from_s[track] > now_s else ():
                if self._fits(table, now_s, self.from_s[track]):
                    commands.append(start(table, track))
                    break
            else:
                heappush(free, track)
        return commands

    def _fits(self, table: Table, now_s: float, from_s: float) -> bool:
        """Whether ``table`` may start on a track that is reserved from ``from_s`` on."""
        if not table.full:
            amount_s = table.next_to_s - table.freshness_s + table.late_s
            return now_s + table.cost.expected_s(amount_s) <= from_s
        if from_s - now_s >= _AMPLE_S:
            return True
        number, until_s = self._until.get(table.order, (table.number, from_s))
        if number != table.number:
            until_s = from_s
        self._until[table.order] = (table.number, until_s)
        if now_s <= until_s < from_s:
            self.wakeup_s = min(self.wakeup_s, nextafter(until_s, inf))
        return now_s > until_s
