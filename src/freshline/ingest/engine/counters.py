"""Counts that several threads add to, and rates of what flows."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter, deque
from dataclasses import dataclass, field

from freshline.ingest.engine.metrics import GROUP_BOUNDS, LATENCY_BOUNDS_S, Histogram

_WINDOW_S = 60.0
_LONGEST_RETRY_S = 300
_UNKNOWN_RETRY_S = 5


class Rate:
    """Bytes a second over the last minute."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()
        self._total = 0

    def add(self, amount: int) -> None:
        """So much flowed just now."""
        now_s = time.monotonic()
        self._seen.append((now_s, amount))
        self._total += amount
        while self._seen[0][0] < now_s - _WINDOW_S:
            self._total -= self._seen.popleft()[1]

    def retry_after_s(self, excess_bytes: int) -> int:
        """Whole seconds, 1 to 300, after which so much will have flowed."""
        if not self._total:
            return _UNKNOWN_RETRY_S
        span_s = max(1.0, time.monotonic() - self._seen[0][0])
        wait_s = math.ceil(excess_bytes * span_s / self._total)
        return min(_LONGEST_RETRY_S, max(1, wait_s))


@dataclass(slots=True)
class FeedCounts:
    """One feed's, since the start; names as in ``FeedMetrics``, times in microseconds."""

    received_requests: int = 0
    received_records: int = 0
    acknowledged_requests: int = 0
    acknowledged_records: int = 0
    duplicate_requests: int = 0
    landed_files: int = 0
    landed_records: int = 0
    newest_us: int = 0
    refused: Counter[str] = field(default_factory=Counter)


class Counters:
    """All of them; hold ``lock`` to change or to read several."""

    def __init__(self, feeds: list[str]) -> None:
        self.lock = threading.Lock()
        self.feeds = {feed: FeedCounts() for feed in feeds}
        self.group_requests = Histogram(GROUP_BOUNDS)
        self.commit_s = Histogram(LATENCY_BOUNDS_S)
        self.committed = Rate()
        self.landed = Rate()
        self.memory_peak_bytes = 0

    def refuse(self, feed: str, code: str) -> None:
        """A request was refused."""
        with self.lock:
            self.feeds[feed].refused[code] += 1

    def memory(self, used_bytes: int) -> None:
        """So much is used now."""
        self.memory_peak_bytes = max(self.memory_peak_bytes, used_bytes)
