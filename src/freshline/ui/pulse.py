"""Whether the loop of a run still turns: it checks its clock at every turn."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

STILL_S = 15.0
"""A run's turn waits for the journal at most five seconds, and for messages a fraction of one."""


class Pulse:
    """The clock of a run, which notes when it was asked last.

    Args:
        clock: Wall-clock seconds since the epoch.
        monotonic: Seconds that no setting of the clock changes.
        leads: Whether the run has the storage's lease.
        still_s: How long a turn may take.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        *,
        leads: Callable[[], bool] = lambda: True,
        still_s: float = STILL_S,
    ) -> None:
        self._still_s = still_s
        self._leads = leads
        self._clock = clock
        self._monotonic = monotonic
        self._turned_s = monotonic()

    def __call__(self) -> float:
        """Now, for the loop."""
        self._turned_s = self._monotonic()
        return self._clock()

    def health(self, spark: str) -> tuple[int, dict[str, Any]]:
        """The status and the object that ``/healthz`` answers.

        Args:
            spark: ``starting`` or ``ready``.
        """
        still_s = self._monotonic() - self._turned_s
        record: dict[str, Any] = {
            "live": still_s <= self._still_s,
            "leader": self._leads(),
            "spark": spark,
        }
        if record["live"]:
            return 200, record
        return 503, {**record, "reason": f"the loop has not turned for {still_s:.0f} s"}
