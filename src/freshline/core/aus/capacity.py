"""Who may switch to recovery: rule (6), least gain first.

Leontyev et al. 2009, III: shares after all changes of an instant sum to at most m. Reading
notes: L5 (within 1e-9, because (7) makes it an equality), L9 (ties by table order). The
tables that wait for capacity stand in a heap by gain, so asking who is next costs O(log n).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush

from freshline.core.aus.shares import Share, utilisation_of
from freshline.core.placement import TOLERANCE

_DIGITS = 9
"""Gains are ordered to so many places: (7) gives all tables the gain m - U, and what differs
in the last digit is rounding, not an order."""


class Capacity:
    """The shares in use, and the tables that wait for more.

    Args:
        shares: Of every table, in table order.
        tracks: m, less what is lent to reports.
    """

    def __init__(self, shares: Sequence[Share], tracks: float) -> None:
        self._gains = [share.gain for share in shares]
        self._order = [round(gain, _DIGITS) for gain in self._gains]
        self._base = utilisation_of([share.utilisation for share in shares])
        self._limit = tracks + TOLERANCE
        self._extra = 0.0
        self._recovering = 0
        self._waiting: list[tuple[float, int]] = []
        self._queued = [False] * len(self._gains)

    @property
    def in_use(self) -> float:
        """The left-hand side of (6)."""
        return self._base + self._extra

    def take(self, order: int) -> None:
        """Table ``order`` is in recovery mode from now on."""
        self._extra += self._gains[order]
        self._recovering += 1

    def give_back(self, order: int) -> None:
        """Table ``order`` is in normal mode again."""
        self._recovering -= 1
        # Sums and differences of rounded numbers drift; an empty sum is known exactly.
        self._extra = self._extra - self._gains[order] if self._recovering else 0.0

    def ask(self, order: int) -> None:
        """Table ``order`` wants to switch; asking again while it waits changes nothing."""
        if not self._queued[order]:
            self._queued[order] = True
            heappush(self._waiting, (self._order[order], order))

    def admit(self, still_wants: Callable[[int], bool]) -> list[int]:
        """Who switches now, by increasing gain while (6) holds; their shares are taken.

        Args:
            still_wants: Whether a table in the queue still wants to; else it leaves the queue.
        """
        admitted: list[int] = []
        waiting = self._waiting
        while waiting:
            order = waiting[0][1]
            if still_wants(order):
                if self.in_use + self._gains[order] > self._limit:
                    break
                self.take(order)
                admitted.append(order)
            heappop(waiting)
            self._queued[order] = False
        return admitted
