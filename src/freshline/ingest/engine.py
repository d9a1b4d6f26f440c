"""The gateway's engine: a request goes in, and is answered when it is on disk."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from freshline.ingest.metrics import Metrics
from freshline.ingest.receipts import Batch, Receipt
from freshline.ingest.settings import EngineSettings, FeedSpec


@dataclass(frozen=True, slots=True)
class Recovery:
    """What the start found.

    Attributes:
        seconds: How long it took.
        requests: In the log and not landed.
        records: Theirs.
        read_bytes: Of the log, checked.
        corrupt_rows: Damaged or missing, put into quarantine.
        messages: One for each thing that somebody should look at.
    """

    seconds: float
    requests: int
    records: int
    read_bytes: int
    corrupt_rows: int
    messages: tuple[str, ...]


class Engine:
    """Durable log, group commit, memory limit and landing of all pushed feeds.

    Args:
        folder: STORAGE/_freshline/ingest; made if it is not there.
        feeds: By name.
        settings: Sizes.
        clock: Wall-clock seconds since the epoch.
    """

    def __init__(
        self,
        folder: Path,
        feeds: Mapping[str, FeedSpec],
        settings: EngineSettings | None = None,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.folder = folder
        self.feeds = feeds
        self.settings = settings or EngineSettings()
        self._clock = clock

    def start(self) -> Recovery:
        """Lock, recover, start the threads.

        Raises:
            UserError: Another process holds the folder (``already-running``).
            PlatformError: The folder cannot be used.
        """
        raise NotImplementedError

    def submit(self, batch: Batch, key: str | None) -> Future[Receipt]:
        """Take in a request; its result is set when the commit is on disk.

        Compresses the body: call it from a worker thread, not from an event loop. From any
        number of threads.

        Args:
            batch: The records.
            key: The client's Idempotency-Key, of this feed alone.

        Returns:
            A future of the receipt, or of Unavailable (``commit-failed``, ``disk``) or
            KeyConflict.

        Raises:
            RefusedError: At once: Unavailable, OverQuota, BatchTooLarge, UnknownFeed.
        """
        raise NotImplementedError

    def metrics(self) -> Metrics:
        """A picture of now; cheap enough to ask every second."""
        raise NotImplementedError

    def drain(self, timeout_s: float) -> bool:
        """Take in nothing more, commit what was taken in, land everything.

        Returns:
            Whether everything was landed in time; the rest is safe in the log.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Stop the threads and give back the lock; what was not committed is refused."""
        raise NotImplementedError
