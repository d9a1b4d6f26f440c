"""What is in the log and not landed: one queue a feed, held in memory as far as it fits.

The log holds everything already, so that to write a request to disk is to drop its copy in
memory, and to read it is to look it up. Which to drop and which to bring, buffered-head decides
(Motwani and Thomas 2004, section 4.1), with B = max(M/2n, 256 kB); feeds that are not being
landed go first, or an idle one would make the busy ones thrash for ever (rule M1).
"""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

from freshline.ingest.log.rows import Row, Waiting
from freshline.ingest.log.segment import ROW_OVERHEAD_BYTES
from freshline.queues.memory import SpillStatistics
from freshline.queues.moves import Move, Write
from freshline.queues.settings import SpillSettings
from freshline.queues.spilling import SpillingQueues

_LEAST_BLOCK_BYTES = 256 * 1024
_TRIM = 1024


@dataclass(slots=True)
class Hidden:
    """A file that is in the ledger, and not in its feed's store: only this host has it.

    Attributes:
        name: As the ledger has it.
        requests: In it.
        records: Theirs.
        size_bytes: Theirs, in the log.
        oldest_us: When the first of them was received.
    """

    name: str
    requests: int
    records: int
    size_bytes: int
    oldest_us: int


@dataclass(slots=True)
class _Queue:
    """Of a feed, in order; 40 bytes a request, wherever its body is."""

    ids: array[int] = field(default_factory=lambda: array("q"))
    starts: array[int] = field(default_factory=lambda: array("q"))
    firsts: array[int] = field(default_factory=lambda: array("q"))
    lasts: array[int] = field(default_factory=lambda: array("q"))
    received_us: array[int] = field(default_factory=lambda: array("q"))
    end: int = 0
    landed: int = 0
    """Index of the oldest that is not landed,"""
    taken: int = 0
    """and of the oldest that has not left the queue for landing."""
    held: dict[int, Row] = field(default_factory=dict)
    arriving: set[int] = field(default_factory=set)
    """Being read: to be held unless it is dropped again meanwhile."""
    hidden: list[Hidden] = field(default_factory=list)

    def columns(self) -> Sequence[array[int]]:
        return self.ids, self.starts, self.firsts, self.lasts, self.received_us

    def ids_between(self, start: int, stop: int) -> array[int]:
        return self.ids[bisect_left(self.starts, start) : bisect_left(self.starts, stop)]


def spill_settings(memory_bytes: int, feeds: int) -> SpillSettings:
    """M and B; B falls back to M/2n where 256 kB a feed would take most of the memory."""
    share = memory_bytes // (2 * feeds)
    block = max(share, _LEAST_BLOCK_BYTES)
    if block * feeds > memory_bytes // 2:
        block = share
    return SpillSettings(memory=memory_bytes, queues=feeds, block=block)


class Backlog:
    """The feeds' queues; one lock around all of it, never held while the disk is waited for.

    Args:
        feeds: Their names.
        memory_bytes: M.
    """

    def __init__(self, feeds: Sequence[str], memory_bytes: int) -> None:
        self._numbers = {feed: number for number, feed in enumerate(feeds)}
        self._queues = [_Queue() for _ in feeds]
        self._spilling = SpillingQueues("buffered-head", spill_settings(memory_bytes, len(feeds)))
        self._lock = threading.Lock()

    @property
    def largest_body_bytes(self) -> int:
        """Of a request that can always be brought into memory."""
        return self._spilling.largest_item - ROW_OVERHEAD_BYTES

    def add(self, rows: Sequence[Row]) -> None:
        """Requests just committed."""
        with self._lock:
            for row in rows:
                number = self._numbers[row.feed]
                queue = self._queues[number]
                size = len(row.body) + ROW_OVERHEAD_BYTES
                self._append(queue, row.id, row.first, row.last, row.received_us, size)
                queue.held[row.id] = row
                self._carry_out(self._spilling.enter_item(number, size))

    def restore(self, feed: str, item: Waiting) -> None:
        """One that is in the log from before the start; its body is read when it is due."""
        with self._lock:
            number = self._numbers[feed]
            # With less memory than before an item may be larger than any could be now; it is
            # landed alone, and memory counts what it can.
            size = min(item.size_bytes, self._spilling.largest_item)
            self._append(
                self._queues[number], item.id, item.first, item.last, item.received_us, size
            )
            self._spilling.restore_item(number, size)

    def hide(self, feed: str, file: Hidden) -> None:
        """What a death left between the ledger and the store; its requests are not restored."""
        with self._lock:
            self._queues[self._numbers[feed]].hidden.append(file)

    def hidden(self, feed: str) -> list[Hidden]:
        """The files that are still to be put into the store."""
        with self._lock:
            return list(self._queues[self._numbers[feed]].hidden)

    def shown(self, feed: str, file: Hidden) -> None:
        """The store has it now."""
        with self._lock:
            self._queues[self._numbers[feed]].hidden.remove(file)

    @staticmethod
    def _append(
        queue: _Queue, row_id: int, first: int, last: int, received_us: int, size: int
    ) -> None:
        for column, value in zip(
            queue.columns(), (row_id, queue.end, first, last, received_us), strict=True
        ):
            column.append(value)
        queue.end += size

    def waiting(self, feed: str, below_id: int, most_bytes: int) -> list[Waiting]:
        """The oldest requests not landed with ids less than ``below_id``: at least one if any."""
        queue = self._queues[self._numbers[feed]]
        found: list[Waiting] = []
        left = most_bytes
        with self._lock:
            for at in range(queue.landed, len(queue.ids)):
                stop = queue.starts[at + 1] if at + 1 < len(queue.ids) else queue.end
                size = stop - queue.starts[at]
                if queue.ids[at] >= below_id or (found and size > left):
                    break
                left -= size
                found.append(
                    Waiting(
                        queue.ids[at],
                        queue.firsts[at],
                        queue.lasts[at],
                        queue.received_us[at],
                        size,
                    )
                )
        return found

    def bring(self, feed: str) -> list[int]:
        """Make room for the oldest of the feed; returns the ids to read and ``arrive``."""
        number = self._numbers[feed]
        queue = self._queues[number]
        with self._lock:
            if queue.taken >= len(queue.ids):
                return []
            self._carry_out(self._spilling.bring(number))
            return sorted(queue.arriving)

    def arrive(self, feed: str, row_id: int, row: Row | None) -> None:
        """A row was read; None: it is damaged."""
        queue = self._queues[self._numbers[feed]]
        with self._lock:
            if row_id in queue.arriving:
                queue.arriving.discard(row_id)
                if row is not None:
                    queue.held[row_id] = row

    def is_taken(self, feed: str, row_id: int) -> bool:
        """Whether it left the queue in an earlier attempt to land it."""
        queue = self._queues[self._numbers[feed]]
        with self._lock:
            return queue.taken >= len(queue.ids) or queue.ids[queue.taken] > row_id

    def take(self, feed: str) -> Row | None:
        """The oldest leaves the queue; None: it is damaged."""
        number = self._numbers[feed]
        queue = self._queues[number]
        with self._lock:
            at = queue.taken
            row_id = queue.ids[at]
            stop = queue.starts[at + 1] if at + 1 < len(queue.ids) else queue.end
            self._carry_out(self._spilling.consume(number, stop - queue.starts[at]))
            queue.taken += 1
            return queue.held.pop(row_id, None)

    def landed(self, feed: str, requests: int) -> None:
        """The oldest ``requests`` are landed."""
        queue = self._queues[self._numbers[feed]]
        with self._lock:
            queue.landed += requests
            if queue.landed > _TRIM and queue.landed * 2 > len(queue.ids):
                for column in queue.columns():
                    del column[: queue.landed]
                queue.taken -= queue.landed
                queue.landed = 0

    def set_idle(self, feed: str, *, idle: bool) -> None:
        """Say whether the feed is being landed at all."""
        with self._lock:
            self._spilling.set_idle(self._numbers[feed], idle=idle)

    def statistics(self) -> SpillStatistics:
        """Accesses and memory used."""
        with self._lock:
            return self._spilling.statistics()

    def check_invariants(self) -> None:
        """Raise InternalError, or AssertionError, unless what is held is what is counted."""
        with self._lock:
            self._spilling.check_invariants()
            for number, queue in enumerate(self._queues):
                held = sum(len(row.body) + ROW_OVERHEAD_BYTES for row in queue.held.values())
                assert queue.arriving or held == self._spilling.held(number)

    def figures(self, feed: str) -> tuple[int, int, int, int, int]:
        """Requests, records, bytes in the log, microseconds of the oldest (0: none), held.

        With those of hidden files: nobody but this host has them, as if they were not landed.
        """
        number = self._numbers[feed]
        queue = self._queues[number]
        with self._lock:
            at = queue.landed
            requests = len(queue.ids) - at
            records = size = 0
            times_us = [file.oldest_us for file in queue.hidden]
            if requests:
                records = queue.lasts[-1] - queue.firsts[at] + 1
                size = queue.end - queue.starts[at]
                times_us.append(queue.received_us[at])
            requests += sum(file.requests for file in queue.hidden)
            records += sum(file.records for file in queue.hidden)
            size += sum(file.size_bytes for file in queue.hidden)
            held = self._spilling.held(number)
            return requests, records, size, min(times_us, default=0), held

    def _carry_out(self, moves: Sequence[Move]) -> None:
        """Drop what was written; note what must be read."""
        for move in moves:
            queue = self._queues[move.queue]
            ids = queue.ids_between(move.start, move.stop)
            if isinstance(move, Write):
                for row_id in ids:
                    queue.held.pop(row_id, None)
                    queue.arriving.discard(row_id)
            else:
                queue.arriving.update(ids)
