"""What the engine counts: one picture at one moment, for /metrics and ``status``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

LATENCY_BOUNDS_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
GROUP_BOUNDS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(slots=True)
class Histogram:
    """Counts by upper bound, as Prometheus wants them; ``counts`` has one more for the rest."""

    bounds: tuple[float, ...]
    counts: list[int] = field(default_factory=list)
    total: float = 0.0
    number: int = 0

    def __post_init__(self) -> None:
        if not self.counts:
            self.counts = [0] * (len(self.bounds) + 1)

    def add(self, value: float) -> None:
        """Count one value."""
        at = next((i for i, bound in enumerate(self.bounds) if value <= bound), len(self.bounds))
        self.counts[at] += 1
        self.total += value
        self.number += 1

    def quantile(self, share: float) -> float | None:
        """The bound below which ``share`` of the values lie; None: no values, or above all."""
        left = share * self.number
        for bound, count in zip(self.bounds, self.counts, strict=False):
            left -= count
            if left <= 0 and self.number:
                return bound
        return None

    def copy(self) -> Histogram:
        """One that no longer changes."""
        return Histogram(self.bounds, list(self.counts), self.total, self.number)


@dataclass(frozen=True, slots=True)
class FeedMetrics:
    """One feed, since the start unless said.

    Attributes:
        received_requests: All that were submitted, refused ones too.
        received_records: Theirs.
        acknowledged_requests: Stored and answered, without duplicates.
        acknowledged_records: Theirs.
        duplicate_requests: Answered from the first time.
        refused: By code: over-quota, memory, disk, commit-failed, draining, key-conflict,
            too-large.
        backlog_requests: Now in the log and not landed.
        backlog_records: Theirs.
        backlog_bytes: Theirs, compressed.
        backlog_age_s: Of the oldest of them; 0 without any.
        memory_bytes: Of them held in memory, too.
        landed_files: Files landed.
        landed_records: Theirs.
        last: The last sequence number given out, ever.
        newest_s: When the newest acknowledged request was received; None: none since the start.
    """

    received_requests: int
    received_records: int
    acknowledged_requests: int
    acknowledged_records: int
    duplicate_requests: int
    refused: Mapping[str, int]
    backlog_requests: int
    backlog_records: int
    backlog_bytes: int
    backlog_age_s: float
    memory_bytes: int
    landed_files: int
    landed_records: int
    last: int
    newest_s: float | None = None


@dataclass(frozen=True, slots=True)
class Metrics:
    """The whole engine.

    Attributes:
        feeds: By name.
        state: ``open``, ``memory``, ``disk``, ``commit-failed``, ``draining`` or ``closed``.
        land_after_s: Records are landed when they are this old.
        memory_limit_bytes: M.
        memory_bytes: Requests waiting for their commit, and the queues.
        memory_peak_bytes: The most it has been.
        reads: Times that a run of requests was read back from the log.
        writes: Times that a run was dropped from memory (it is in the log already).
        rewritten_bytes: Dropped after having been read back: 0 with buffered-head.
        group_requests: Requests in a commit.
        commit_s: Seconds of a commit.
        segments: Files of the log.
        log_bytes: Theirs.
        disk_free_bytes: On the log's file system.
        corrupt_rows: Requests found damaged or missing, ever.
        recovery_s: How long the start took.
        messages: What somebody should look at, the newest last, at most 100.
    """

    feeds: Mapping[str, FeedMetrics]
    state: str
    land_after_s: float
    memory_limit_bytes: int
    memory_bytes: int
    memory_peak_bytes: int
    reads: int
    writes: int
    rewritten_bytes: int
    group_requests: Histogram
    commit_s: Histogram
    segments: int
    log_bytes: int
    disk_free_bytes: int
    corrupt_rows: int
    recovery_s: float
    messages: tuple[str, ...]
