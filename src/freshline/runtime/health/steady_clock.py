"""The clock of a run: wall-clock time that neither goes back nor stands still."""

from __future__ import annotations

import time
from collections.abc import Callable

_CATCHING_UP = 0.5
"""How fast time goes while the wall clock is behind it: delays end, and the two meet again."""


def boot_time_s() -> float:
    """Seconds that no setting of the clock changes; those of a suspended machine count, too."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class SteadyClock:
    """Follows the wall clock as long as that goes forward.

    Where the wall clock was set back, time goes on at half its speed until the wall clock has
    caught up. So a clock that jumped forward and back holds up no retry.

    Args:
        wall: Seconds since the epoch.
        elapsed: Seconds that no setting of the clock changes.
    """

    def __init__(
        self, wall: Callable[[], float] = time.time, elapsed: Callable[[], float] = boot_time_s
    ) -> None:
        self._wall = wall
        self._elapsed = elapsed
        self._now_s = wall()
        self._looked_s = elapsed()

    def __call__(self) -> float:
        """Now, seconds since the epoch."""
        looked_s = self._elapsed()
        passed_s, self._looked_s = looked_s - self._looked_s, looked_s
        # Also where the wall clock is not behind: it may have been set back meanwhile.
        self._now_s = max(self._wall(), self._now_s + _CATCHING_UP * max(0.0, passed_s))
        return self._now_s
