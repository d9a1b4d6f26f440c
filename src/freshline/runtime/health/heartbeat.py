"""Asks Spark again and again whether it answers, in a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from freshline.core.errors import PlatformError
from freshline.times import brief_s

EVERY_S = 5.0
SILENT_S = 120.0
"""A collection of a large heap takes tens of seconds, a JVM that hangs stays silent."""

_MOST_STEP_S = 2.0
"""So much silence at most is counted from look to look: both processes may have stood still."""


class Heartbeat:
    """Whether Spark answers.

    Args:
        ask: Whether Spark is healthy; may take for ever.
        every_s: How often to ask.
        silent_s: After so long without an answer Spark hangs.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        ask: Callable[[], bool],
        every_s: float = EVERY_S,
        silent_s: float = SILENT_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ask = ask
        self._every_s = every_s
        self._silent_s = silent_s
        self._clock = clock
        self._stopped = threading.Event()
        self._answers = 0
        self._healthy = True
        self._seen = 0
        self._looked_s = clock()
        self._waited_s = 0.0

    def start(self) -> None:
        """Begin asking."""
        threading.Thread(target=self._work, name="spark-heartbeat", daemon=True).start()

    def stop(self) -> None:
        """Ask no more."""
        self._stopped.set()

    def look(self) -> PlatformError | None:
        """What is wrong with Spark, by its answers; to be called about every second."""
        now_s = self._clock()
        self._waited_s += min(now_s - self._looked_s, _MOST_STEP_S)
        self._looked_s = now_s
        answers = self._answers
        if answers != self._seen:
            self._seen, self._waited_s = answers, 0.0
        if not self._healthy:
            return PlatformError("spark-stopped", "Spark's context was stopped")
        if self._waited_s >= self._silent_s:
            return PlatformError(
                "spark-silent", f"Spark has not answered for {brief_s(self._waited_s)}"
            )
        return None

    def beat(self) -> None:
        """Ask once; returns with the answer."""
        try:
            self._healthy = self._ask()
        except Exception:  # noqa: BLE001 - whatever it is, Spark cannot be used
            self._healthy = False
        self._answers += 1

    def _work(self) -> None:
        while not self._stopped.is_set():
            self.beat()
            self._stopped.wait(self._every_s)
