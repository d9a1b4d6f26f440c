"""Group commit without a timer: while one group is being flushed, the next one gathers.

After a commit that failed nothing is known of what it wrote, and flushing again would prove
nothing (the kernel may have dropped the pages and forgotten the error). So the segment is given
up as it is: the log goes on in a new one that begins with the numbers of the refused group, and
what the old one may hold from there on never happened.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from freshline.ingest.engine.context import EngineContext
from freshline.ingest.log.disk import is_full
from freshline.ingest.log.rows import Packed, Row, is_repeated
from freshline.ingest.log.segment import ROW_OVERHEAD_BYTES, KnownKey
from freshline.ingest.receipts import KeyConflict, Reason, Receipt, Unavailable

_RETRY_S = 0.2


@dataclass(frozen=True, slots=True)
class Request:
    """One that waits for its commit."""

    packed: Packed
    future: Future[Receipt]

    @property
    def size_bytes(self) -> int:
        """What it takes in memory and in the log."""
        return len(self.packed.body) + ROW_OVERHEAD_BYTES


class Committer:
    """The only writer of the log.

    Args:
        context: Of the engine.
        committed: Called after each commit and each new segment.

    Attributes:
        failure: Why nothing can be committed just now; None: it can.
        waiting_bytes: Of requests taken in and not committed.
    """

    def __init__(
        self,
        context: EngineContext,
        *,
        committed: Callable[[], None],
    ) -> None:
        self._log = context.log
        self._backlog = context.backlog
        self._witness = context.witness
        self._ballast = context.ballast
        self._counters = context.counters
        self._settings = context.settings
        self._tell = context.quarantine.tell
        self._committed = committed
        self._changed = threading.Condition()
        self._queue: deque[Request] = deque()
        self._roll_wanted = False
        self._stopping = False
        self._idle = True
        self.failure: Reason | None = None
        self.waiting_bytes = 0
        self._waiting_of: Counter[str] = Counter()

    def put(self, request: Request) -> None:
        """Take in a request. Its future is settled by the thread that runs ``run``.

        Raises:
            Unavailable: Nothing is committed any more (``draining``).
        """
        with self._changed:
            if self._stopping:
                raise Unavailable("draining", 1, "the gateway is stopping")
            self._queue.append(request)
            self.waiting_bytes += request.size_bytes
            self._waiting_of[request.packed.feed] += request.size_bytes
            self._changed.notify()

    def waiting_of(self, feed: str) -> int:
        """Bytes of one feed's requests taken in and not committed."""
        with self._changed:
            return self._waiting_of.get(feed, 0)

    def want_roll(self) -> None:
        """Close the active segment soon, so that it can be landed."""
        with self._changed:
            self._roll_wanted = True
            self._changed.notify()

    def stop(self) -> None:
        """Commit what was taken in, then end ``run``."""
        with self._changed:
            self._stopping = True
            self._changed.notify()

    @property
    def idle(self) -> bool:
        """Whether everything taken in has been settled."""
        with self._changed:
            return self._idle and not self._queue and not self._roll_wanted

    def run(self) -> None:
        """Commit until ``stop``."""
        try:
            while self.step(wait=True):
                pass
        except BaseException as error:
            # A fault of ours: nobody may wait for ever for an answer.
            self._tell(f"the gateway stopped committing: {error!r}")
            with self._changed:
                self._stopping = True
                self.failure = "commit-failed"
                left = list(self._queue)
                self._queue.clear()
                self.waiting_bytes = 0
            self._refuse(left, "the gateway stopped on a fault of its own")
            raise

    def step(self, *, wait: bool) -> bool:
        """One group; returns whether there may be more to do."""
        group, roll = self._gather(wait=wait)
        try:
            if self.failure is not None:
                self._roll()
            if group:
                self._commit(group)
            size = self._log.active.size_bytes
            if (roll and size) or size >= self._settings.segment_bytes:
                self._roll()
        except BaseException:
            self.failure = "commit-failed"
            self._refuse(
                [request for request in group if not request.future.done()],
                "the gateway stopped on a fault of its own",
            )
            raise
        finally:
            with self._changed:
                self._idle = True
                for request in group:
                    self.waiting_bytes -= request.size_bytes
                    self._waiting_of[request.packed.feed] -= request.size_bytes
                more = bool(self._queue) or not self._stopping
        return more

    def _gather(self, *, wait: bool) -> tuple[list[Request], bool]:
        with self._changed:
            while wait and not (self._queue or self._roll_wanted or self._stopping):
                if not self._changed.wait(None if self.failure is None else _RETRY_S):
                    break
            group: list[Request] = []
            left = self._settings.group_bytes
            while self._queue and (not group or self._queue[0].size_bytes <= left):
                request = self._queue.popleft()
                left -= request.size_bytes
                group.append(request)
            roll, self._roll_wanted = self._roll_wanted, False
            self._idle = False
            return group, roll

    def _roll(self) -> None:
        try:
            self._log.roll()
        except (OSError, sqlite3.Error) as error:
            # A segment that works can take more; one that failed must not.
            self._tell(f"a new segment of the log cannot be made: {error}")
            if is_full(error):
                self._ballast.give()
            return
        self.failure = None
        self._committed()

    def _commit(self, group: list[Request]) -> None:
        if self.failure is not None:
            self._refuse(group, "the disk failed and the log cannot go on yet")
            return
        started_s = time.monotonic()
        placed: list[tuple[int, int, Packed]] = []
        mine: dict[tuple[str, str], tuple[KnownKey, Request]] = {}
        fresh: list[tuple[Request, Receipt]] = []
        repeated: list[tuple[Request, KnownKey]] = []
        lasts = dict(self._log.lasts)
        next_id = self._log.next_id
        try:
            for request in group:
                packed = request.packed
                if packed.key is not None:
                    name = (packed.feed, packed.key)
                    known = mine[name][0] if name in mine else self._log.find_key(*name)
                    if known is not None:
                        repeated.append((request, known))
                        continue
                first = lasts.get(packed.feed, 0) + 1
                lasts[packed.feed] = last = first + packed.records - 1
                if packed.key is not None:
                    known = KnownKey(first, packed.records, packed.digest)
                    mine[packed.feed, packed.key] = (known, request)
                placed.append((next_id, first, packed))
                fresh.append((request, Receipt(packed.records, first, last, duplicate=False)))
                next_id += 1
            if placed:
                self._log.active.append(placed)
        except (OSError, sqlite3.Error) as error:
            self._give_up(group, error)
            return
        self._log.lasts = lasts
        self._log.next_id = next_id
        if placed:
            self._note(placed, time.monotonic() - started_s)
        self._answer(fresh, repeated)
        self._committed()

    def _note(self, placed: list[tuple[int, int, Packed]], seconds: float) -> None:
        """Everybody who must know of a commit, before it is acknowledged."""
        try:
            self._witness.note(self._log.next_id - 1, self._log.lasts)
        except OSError as error:
            self._tell(f"the witness cannot be written: {error.strerror}")
        self._backlog.add(
            [
                Row(row_id, packed.feed, first, packed.records, packed.received_us, packed.body)
                for row_id, first, packed in placed
            ]
        )
        counters = self._counters
        with counters.lock:
            counters.group_requests.add(len(placed))
            counters.commit_s.add(seconds)
            counters.committed.add(sum(len(packed.body) for _, _, packed in placed))

    def _answer(
        self, fresh: list[tuple[Request, Receipt]], repeated: list[tuple[Request, KnownKey]]
    ) -> None:
        with self._counters.lock:
            for request, receipt in fresh:
                counts = self._counters.feeds[request.packed.feed]
                counts.acknowledged_requests += 1
                counts.acknowledged_records += receipt.accepted
                counts.newest_us = max(counts.newest_us, request.packed.received_us)
        for request, receipt in fresh:
            _settle(request, receipt)
        for request, known in repeated:
            packed = request.packed
            if known.records != packed.records or not is_repeated(known.digest, packed):
                self._counters.refuse(packed.feed, KeyConflict.code)
                _settle(request, KeyConflict("this Idempotency-Key came with other records before"))
                continue
            with self._counters.lock:
                self._counters.feeds[packed.feed].duplicate_requests += 1
            last = known.first + known.records - 1
            _settle(request, Receipt(known.records, known.first, last, duplicate=True))

    def _give_up(self, group: list[Request], error: Exception) -> None:
        self._tell(f"a commit failed: {error}; the log goes on in a new segment")
        self.failure = "disk" if is_full(error) else "commit-failed"
        self._log.active.close()
        if is_full(error):
            self._ballast.give()
        self._refuse(group, f"the records could not be stored: {error}")
        self._roll()

    def _refuse(self, group: list[Request], message: str) -> None:
        assert self.failure is not None
        for request in group:
            self._counters.refuse(request.packed.feed, self.failure)
            excess = self._log.active.size_bytes
            retry_s = self._counters.landed.retry_after_s(excess)
            _settle(request, Unavailable(self.failure, retry_s, message))


def _settle(request: Request, outcome: Receipt | Exception) -> None:
    """Unless the client gave up waiting."""
    if not request.future.set_running_or_notify_cancel():
        return
    if isinstance(outcome, Exception):
        request.future.set_exception(outcome)
    else:
        request.future.set_result(outcome)
