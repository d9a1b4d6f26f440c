"""The gateway's engine: a request goes in, and is answered when it is on disk.

Two threads: the committer writes the log, a group of requests a commit; the lander turns full
segments into files and removes them. Everything that both touch is in the log, whose segments
have one writer each, and in the backlog, behind its lock.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path

from freshline.core.errors import InternalError, PlatformError
from freshline.ingest.engine.backlog import Backlog
from freshline.ingest.engine.committer import Committer, Request
from freshline.ingest.engine.context import EngineContext
from freshline.ingest.engine.counters import Counters
from freshline.ingest.engine.lander import Lander
from freshline.ingest.engine.metrics import FeedMetrics, Metrics
from freshline.ingest.engine.recovery import Recoverer, Recovery
from freshline.ingest.engine.settings import EngineSettings, FeedSpec, fitted
from freshline.ingest.engine.store_landing import StoreLanding, log_id
from freshline.ingest.log.catalogue import Catalogue
from freshline.ingest.log.commit_marker import Witness
from freshline.ingest.log.disk import Ballast, DiskAdmission, FolderLock, free_bytes
from freshline.ingest.log.log import Log
from freshline.ingest.log.quarantine import Quarantine
from freshline.ingest.log.rows import pack
from freshline.ingest.receipts import (
    Batch,
    BatchTooLarge,
    OverQuota,
    Reason,
    Receipt,
    RefusedError,
    Unavailable,
    UnknownFeed,
)
from freshline.private import private_file

__all__ = ["Engine", "Recovery"]

_POLL_S = 0.02


class Engine:
    """Durable log, group commit, memory limit and landing of all pushed feeds.

    Args:
        folder: STORAGE/_freshline/ingest; made if it is not there.
        feeds: By name, at least one.
        settings: Sizes.
        private: Folders, itself or above it, that other users may not enter.
        clock: Wall-clock seconds since the epoch.
    """

    def __init__(
        self,
        folder: Path,
        feeds: Mapping[str, FeedSpec],
        settings: EngineSettings | None = None,
        *,
        private: Sequence[Path] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.folder = folder
        self._private = private
        self.feeds = dict(feeds)
        for name, spec in self.feeds.items():
            if name != spec.name or "/" in name or name[:1] in ("", ".", "_") or "\0" in name:
                raise InternalError("feed-name", f"{name!r} cannot name a folder of landed files")
        self.settings = settings or EngineSettings()
        self._clock = clock
        self._lock: FolderLock | None = None
        self._threads: list[threading.Thread] = []
        self._draining = False
        self._memory_refused_bytes = 0
        """Of the last request that memory had no room for; 0: there was room since."""
        self._admission = threading.Lock()

    def check_free(self) -> None:
        """Whether it could be started.

        Raises:
            UserError: Another process holds the folder (``already-running``).
            PlatformError: The folder cannot be used.
        """
        FolderLock(self.folder, self._private).release()

    def start(self, *, threads: bool = True) -> Recovery:
        """Lock, recover, start the threads.

        Args:
            threads: False: the caller takes every step (``commit_waiting``, ``land_once``).

        Raises:
            UserError: Another process holds the folder (``already-running``).
            PlatformError: The folder cannot be used.
        """
        self._lock = FolderLock(self.folder, self._private)
        try:
            recovery = self._recover()
        except (OSError, sqlite3.Error) as error:
            if hasattr(self, "_log"):  # the disk may fail before there is one
                self._log.close()
            self._lock.release()
            self._lock = None
            raise PlatformError(
                "ingest-log",
                f"the log in {self.folder} cannot be opened: {error}",
                next_step="Check the disk and the room on it; what is in the log stays there.",
            ) from error
        self.recovery = recovery
        self._threads = []
        if threads:
            for name, run in (("committer", self._committer.run), ("lander", self._lander.run)):
                thread = threading.Thread(target=run, name=f"ingest-{name}", daemon=True)
                thread.start()
                self._threads.append(thread)
        return recovery

    def _recover(self) -> Recovery:
        # Room to work in; it is taken back when there is enough.
        ballast = Ballast(self.folder, self.settings.ballast_bytes)
        ballast.give()
        for path in self.folder.glob("segment-*.db"):
            private_file(path)  # of a version that left it to the umask
        log_bytes = sum(path.stat().st_size for path in self.folder.glob("segment-*"))
        settings = fitted(self.settings, log_bytes + free_bytes(self.folder))
        ballast.size_bytes = settings.ballast_bytes
        names = list(self.feeds)
        context = EngineContext(
            folder=self.folder,
            feeds=self.feeds,
            settings=settings,
            clock=self._clock,
            log=Log(self.folder, Catalogue(self.folder), settings.checkpoint_bytes),
            # The other half is for requests that wait for their commit.
            backlog=Backlog(names, settings.memory_bytes // 2),
            witness=Witness(self.folder),
            quarantine=Quarantine(self.folder),
            gate=DiskAdmission(self.folder, settings.stop, settings.resume, settings.ballast_bytes),
            ballast=ballast,
            counters=Counters(names),
            stores=self._stores(),
        )
        self._log, self._backlog, self._gate = context.log, context.backlog, context.gate
        self._counters, self._quarantine = context.counters, context.quarantine
        self._witness = context.witness
        recovery = Recoverer(context).run()
        self._witness.open()
        # Both files, so that a damaged one is not met again.
        self._witness.note(self._log.next_id - 1, self._log.lasts)
        self._witness.note(self._log.next_id - 1, self._log.lasts)
        self._committer = Committer(context, committed=self._committed)
        self._lander = Lander(context, self._committer)
        self._lander.housekeep()
        return recovery

    def _stores(self) -> dict[str, StoreLanding]:
        far = {feed: spec for feed, spec in self.feeds.items() if spec.store is not None}
        log = log_id(self.folder) if far else ""
        return {
            feed: StoreLanding(feed, spec.store, spec.landing, log)
            for feed, spec in far.items()
            if spec.store is not None
        }

    def _committed(self) -> None:
        """After each commit and each new segment."""
        self._gate.look(self._log.size_bytes)
        self._counters.memory(self._memory_bytes())
        if self._draining:
            self._lander.wake()

    def _memory_bytes(self) -> int:
        return self._committer.waiting_bytes + self._backlog.statistics().used

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
        if batch.feed not in self.feeds:
            raise UnknownFeed(f"no feed {batch.feed} takes pushed records")
        if batch.records < 1:
            raise InternalError("empty-batch", "a request without records needs no engine")
        counts = self._counters.feeds[batch.feed]
        with self._counters.lock:
            counts.received_requests += 1
            counts.received_records += batch.records
        try:
            self._check_open()
            received_us = int(self._clock() * 1e6)
            packed = pack(batch, key, received_us)
            request = Request(packed, Future())
            self._admit(request)
        except RefusedError as error:
            self._counters.refuse(batch.feed, error.code)
            raise
        return request.future

    def _check_open(self) -> None:
        if self._draining:
            raise Unavailable("draining", 1, "the gateway is stopping")
        failure = self._committer.failure
        if failure is not None:
            raise Unavailable(failure, 1, "the disk failed and the log cannot go on yet")
        if self._gate.closed:
            raise self._disk_full()

    def _admit(self, request: Request) -> None:
        """Take the request in, or say why not; one at a time, so that no limit is overrun."""
        size = request.size_bytes
        feed = request.packed.feed
        if size > self._backlog.largest_body_bytes:
            raise BatchTooLarge(
                f"the records take {size} bytes; the gateway's memory allows "
                f"{self._backlog.largest_body_bytes} in one request"
            )
        with self._admission:
            waiting = self._committer.waiting_bytes
            mark = self.settings.resume if self._memory_refused_bytes else self.settings.stop
            is_full = self._exceeds(mark, waiting, size)
            self._memory_refused_bytes = size if is_full else 0
            if is_full:
                retry_s = self._counters.committed.retry_after_s(waiting)
                raise Unavailable("memory", retry_s, "too much waits to be stored")
            if not self._gate.admits(waiting + size):
                raise self._disk_full()
            self._check_quota(feed, size)
            self._committer.put(request)
        self._counters.memory(self._memory_bytes())

    def _exceeds(self, mark: float, waiting_bytes: int, size_bytes: int) -> bool:
        """Whether one more request would fill more than a share of the memory for requests."""
        half = self.settings.memory_bytes // 2
        return waiting_bytes > 0 and waiting_bytes + size_bytes > mark * half

    def _check_quota(self, feed: str, size: int) -> None:
        quota = self.feeds[feed].quota_bytes
        if quota is None:
            return
        backlog = self._backlog.figures(feed)[2] + self._committer.waiting_of(feed)
        if backlog + size > quota:
            raise OverQuota(
                self._counters.landed.retry_after_s(backlog + size - quota),
                f"feed {feed} has {backlog} bytes that are not landed yet; its quota is {quota}",
            )

    def _disk_full(self) -> Unavailable:
        retry_s = self._counters.landed.retry_after_s(self._gate.excess_bytes)
        return Unavailable("disk", retry_s, "the disk is too full")

    def commit_waiting(self) -> None:
        """Commit one group now; only without threads."""
        self._committer.step(wait=False)

    def land_once(self) -> bool:
        """One round of sealing, landing and removing, at once; only without threads."""
        self._lander.forgive()
        return self._lander.step()

    def roll(self) -> None:
        """Let what is in the log be landed soon, however young it is."""
        self._committer.want_roll()

    def metrics(self) -> Metrics:
        """A picture of now; cheap enough to ask every second."""
        now_us = int(self._clock() * 1e6)
        spilled = self._backlog.statistics()
        segments = self._log.segments()
        figures = {feed: self._backlog.figures(feed) for feed in self.feeds}
        with self._counters.lock:
            feeds = {
                feed: FeedMetrics(
                    received_requests=counts.received_requests,
                    received_records=counts.received_records,
                    acknowledged_requests=counts.acknowledged_requests,
                    acknowledged_records=counts.acknowledged_records,
                    duplicate_requests=counts.duplicate_requests,
                    refused=dict(counts.refused),
                    backlog_requests=figures[feed][0],
                    backlog_records=figures[feed][1],
                    backlog_bytes=figures[feed][2],
                    backlog_age_s=max(0, now_us - figures[feed][3]) / 1e6
                    if figures[feed][0]
                    else 0,
                    memory_bytes=figures[feed][4],
                    landed_files=counts.landed_files,
                    landed_records=counts.landed_records,
                    last=self._log.lasts.get(feed, 0),
                    newest_s=counts.newest_us / 1e6 if counts.newest_us else None,
                )
                for feed, counts in self._counters.feeds.items()
            }
            group_requests = self._counters.group_requests.copy()
            commit_s = self._counters.commit_s.copy()
        return Metrics(
            feeds=feeds,
            state=self._state(),
            land_after_s=self.settings.landing_period_s,
            memory_limit_bytes=self.settings.memory_bytes,
            memory_bytes=self._memory_bytes(),
            memory_peak_bytes=self._counters.memory_peak_bytes,
            reads=spilled.reads,
            writes=spilled.writes,
            rewritten_bytes=spilled.rewritten,
            group_requests=group_requests,
            commit_s=commit_s,
            segments=len(segments),
            log_bytes=self._log.size_bytes,
            disk_free_bytes=free_bytes(self.folder),
            corrupt_rows=self._quarantine.rows,
            recovery_s=self.recovery.seconds,
            messages=tuple(self._quarantine.messages),
        )

    def _state(self) -> Reason | str:
        if self._lock is None:
            return "closed"
        if self._draining:
            return "draining"
        if self._committer.failure is not None:
            return self._committer.failure
        self._gate.look(self._log.size_bytes)
        if self._gate.full:
            return "disk"
        # Asked anew: where nobody pushes because of what this says, no request would reset it.
        refused, waiting = self._memory_refused_bytes, self._committer.waiting_bytes
        is_full = refused > 0 and self._exceeds(self.settings.resume, waiting, refused)
        return "memory" if is_full else "open"

    @property
    def alive(self) -> bool:
        """Whether its threads live: they end when it is closed, or of a fault of their own."""
        return bool(self._threads) and all(thread.is_alive() for thread in self._threads)

    def drain(self, timeout_s: float) -> bool:
        """Take in nothing more, commit what was taken in, land everything.

        Returns:
            Whether everything was landed in time; the rest is safe in the log.
        """
        self._draining = True
        self._lander.draining = True
        deadline_s = time.monotonic() + timeout_s
        while time.monotonic() < deadline_s and (self.alive or not self._threads):
            landed = not any(self._backlog.figures(feed)[0] for feed in self.feeds)
            if self._committer.idle and landed:
                return True
            self._lander.wake()
            time.sleep(_POLL_S)
        return False

    def close(self) -> None:
        """Commit what was taken in, stop the threads, give back the lock."""
        if self._lock is None:
            return
        self._draining = True
        self._committer.stop()
        self._lander.stop()
        for thread in self._threads:
            thread.join()
        if not self._threads:
            while self._committer.step(wait=False):
                pass
        try:
            self._witness.flush()
        except OSError as error:
            self._quarantine.tell(f"the witness cannot be flushed: {error.strerror}")
        self._witness.close()
        self._log.close()
        self._lock.release()
        self._lock = None
