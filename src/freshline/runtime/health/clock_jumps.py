"""Notices that somebody set the clock, while a warehouse runs."""

from __future__ import annotations

import time
from collections.abc import Callable

from freshline.runtime.health.steady_clock import boot_time_s

JUMP_S = 600.0
"""A smaller step is a clock that is corrected; VACUUM keeps an hour at least."""
DISTRUST_S = 7 * 86400.0
"""How long Delta's record of removed files is doubtful: it keeps a week."""


class ClockJumps:
    """Compares the wall clock with one that nobody can set.

    By the wall clock Delta drops its record of files that were removed a week ago, and VACUUM then
    takes them for garbage, whenever they were removed. So after a jump forward there is no
    trusting that record, even if the clock is right again.

    Args:
        wall: Seconds since the epoch.
        elapsed: Seconds that no setting of the clock changes.
    """

    def __init__(
        self, wall: Callable[[], float] = time.time, elapsed: Callable[[], float] = boot_time_s
    ) -> None:
        self._wall = wall
        self._elapsed = elapsed
        self._ahead_s = wall() - elapsed()
        self._jumped_s = -DISTRUST_S + elapsed()

    def look(self) -> float:
        """By how many seconds the clock was set since the last look; 0.0 where it was not."""
        ahead_s = self._wall() - self._elapsed()
        jump_s = ahead_s - self._ahead_s
        self._ahead_s = ahead_s
        if abs(jump_s) < JUMP_S:
            return 0.0
        if jump_s > 0.0:
            self._jumped_s = self._elapsed()
        return jump_s

    @property
    def doubtful(self) -> bool:
        """Whether the clock jumped forward within the last week of this run."""
        return self._elapsed() - self._jumped_s < DISTRUST_S
