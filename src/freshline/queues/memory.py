"""Which units of which queue are in memory and which on disk: the model of Motwani and Thomas.

A queue is the range of positions ``[front, end)``: its front is consumed next, arrivals are
appended at its end. Here stand the model's rules, whatever the algorithm (section 1.1; reading
notes M3, M10): memory never holds more than its capacity, a consumed unit is in memory, a move
takes neighbours of one queue. Nothing here decides anything.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from freshline.core.errors import InternalError
from freshline.queues.moves import Move, Write
from freshline.queues.ranges import RangeSet

_FEW_CUTS = 64
"""So many consumed borders are not worth moving the rest for."""


@dataclass(slots=True)
class _Queue:
    front: int = 0
    end: int = 0
    held: int = 0
    idle: bool = False
    disk: RangeSet = field(default_factory=RangeSet)
    returned: RangeSet = field(default_factory=RangeSet)
    """Read in and not yet consumed; to write one of these again is a rewrite."""
    cuts: array[int] = field(default_factory=lambda: array("q"))
    """Where the items begin, ascending; empty while every unit is an item of its own."""


@dataclass(frozen=True, slots=True)
class SpillStatistics:
    """What was moved so far, and what memory holds. Sizes in units.

    ``rewritten`` counts units written although they had been on disk before: 0 exactly when the
    run so far is acyclic.
    """

    reads: int
    writes: int
    moved_in: int
    moved_out: int
    rewritten: int
    used: int
    peak_used: int

    @property
    def acyclic(self) -> bool:
        """No unit was written twice."""
        return self.rewritten == 0


class QueueMemory:
    """The state of ``queues`` queues that share ``capacity`` units of memory."""

    __slots__ = (
        "_moved_in",
        "_moved_out",
        "_peak_used",
        "_queues",
        "_reads",
        "_rewritten",
        "_writes",
        "capacity",
        "used",
    )

    def __init__(self, capacity: int, queues: int) -> None:
        self.capacity = capacity
        self.used = 0
        self._queues = [_Queue() for _ in range(queues)]
        self._reads = self._writes = self._moved_in = self._moved_out = 0
        self._rewritten = self._peak_used = 0

    # What an algorithm may ask.

    @property
    def free(self) -> int:
        """Units of memory that nothing occupies."""
        return self.capacity - self.used

    @property
    def queues(self) -> int:
        """How many queues there are."""
        return len(self._queues)

    def front(self, queue: int) -> int:
        """Position of the oldest unit not consumed."""
        return self._queues[queue].front

    def end(self, queue: int) -> int:
        """Position the next unit to arrive will have."""
        return self._queues[queue].end

    def held(self, queue: int) -> int:
        """Units of the queue in memory."""
        return self._queues[queue].held

    def spilled(self, queue: int) -> RangeSet:
        """Positions of the queue on disk; to look at, not to change."""
        return self._queues[queue].disk

    def is_idle(self, queue: int) -> bool:
        """Whether the caller said that nothing is consumed from the queue for now."""
        return self._queues[queue].idle

    def is_due_on_disk(self, queue: int) -> bool:
        """Whether the queue is not empty and its oldest unit is on disk."""
        disk = self._queues[queue].disk
        return bool(disk) and disk.first[0] == self._queues[queue].front

    def ready(self, queue: int) -> int:
        """Units at the front that are in memory: this many can be consumed without a read."""
        state = self._queues[queue]
        return (state.disk.first[0] if state.disk else state.end) - state.front

    def held_newest_first(self, queue: int) -> Iterator[tuple[int, int]]:
        """The runs of neighbours in memory, the newest first."""
        state = self._queues[queue]
        return state.disk.gaps_newest_first(state.front, state.end)

    def item_start(self, queue: int, position: int) -> int:
        """The greatest border between items that is at most ``position``."""
        state = self._queues[queue]
        if not state.cuts or position >= state.end:
            return min(position, state.end)
        return state.cuts[bisect_right(state.cuts, position) - 1]

    def item_end(self, queue: int, position: int) -> int:
        """The end of the item that holds ``position``."""
        state = self._queues[queue]
        if not state.cuts:
            return position + 1
        after = bisect_right(state.cuts, position)
        return state.cuts[after] if after < len(state.cuts) else state.end

    def statistics(self) -> SpillStatistics:
        """What was moved so far, and what memory holds."""
        return SpillStatistics(
            reads=self._reads,
            writes=self._writes,
            moved_in=self._moved_in,
            moved_out=self._moved_out,
            rewritten=self._rewritten,
            used=self.used,
            peak_used=self._peak_used,
        )

    # What happens to it.

    def set_idle(self, queue: int, *, idle: bool) -> None:
        """Note whether anything is being consumed from the queue."""
        self._queues[queue].idle = idle

    def append(self, queue: int, units: int) -> None:
        """``units`` units arrive, each an item of its own, and there is room for them."""
        state = self._queues[queue]
        if state.cuts:
            raise InternalError("mixed-queue", f"queue {queue} holds items, not single units")
        self._occupy(state, units)
        state.end += units

    def append_item(self, queue: int, units: int, *, on_disk: bool = False) -> None:
        """One item of ``units`` units arrives; it is only ever moved whole."""
        state = self._queues[queue]
        if not state.cuts and state.front < state.end:
            raise InternalError("mixed-queue", f"queue {queue} holds single units, not items")
        if on_disk:
            state.disk.add(state.end, state.end + units)
        else:
            self._occupy(state, units)
        state.cuts.append(state.end)
        state.end += units

    def consume(self, queue: int, units: int) -> None:
        """The ``units`` oldest leave the queue; all of them are in memory."""
        state = self._queues[queue]
        front = state.front + units
        if units > self.ready(queue):
            raise InternalError("not-in-memory", f"queue {queue}: {units} units are not in memory")
        if self.item_start(queue, front) != front:
            raise InternalError("split-item", f"queue {queue}: {units} units end inside an item")
        state.front = front
        state.held -= units
        self.used -= units
        state.returned.discard_below(front)
        self._drop_cuts(state)

    def apply(self, move: Move) -> None:
        """Carry out one access and count it."""
        state = self._queues[move.queue]
        units = move.stop - move.start
        if isinstance(move, Write):
            inside = state.front <= move.start < move.stop <= state.end
            if not inside or state.disk.overlaps(move.start, move.stop):
                raise InternalError("bad-write", f"not all of it is in memory: {move}")
            self._rewritten += state.returned.shared(move.start, move.stop)
            state.disk.add(move.start, move.stop)
            self._forget_returned(state, move)
            state.held -= units
            self.used -= units
            self._writes += 1
            self._moved_out += units
        else:
            state.disk.remove(move.start, move.stop)
            state.returned.add(move.start, move.stop)
            self._occupy(state, units)
            self._reads += 1
            self._moved_in += units

    def check_invariants(self) -> None:
        """Raise InternalError unless the counts agree with the ranges."""
        for number, state in enumerate(self._queues):
            if state.held != state.end - state.front - state.disk.size:
                raise InternalError("lost-count", f"queue {number}: {state}")
        if self.used != sum(state.held for state in self._queues) or self.free < 0:
            raise InternalError("lost-count", f"{self.used} units of memory are counted as used")

    def _occupy(self, state: _Queue, units: int) -> None:
        if units < 1 or self.used + units > self.capacity:
            raise InternalError("no-room", f"{units} units into {self.free} of {self.capacity}")
        state.held += units
        self.used += units
        self._peak_used = max(self._peak_used, self.used)

    @staticmethod
    def _forget_returned(state: _Queue, move: Move) -> None:
        """What is on disk again is no longer 'returned'; its next read puts it back there."""
        for start, stop in list(state.returned):
            low, high = max(start, move.start), min(stop, move.stop)
            if low < high:
                state.returned.remove(low, high)

    @staticmethod
    def _drop_cuts(state: _Queue) -> None:
        """Forget consumed borders, rarely enough to cost nothing on average."""
        if not state.cuts:
            return
        if state.front == state.end:
            del state.cuts[:]
            return
        consumed = bisect_right(state.cuts, state.front) - 1
        if consumed > _FEW_CUTS and consumed > len(state.cuts) // 2:
            del state.cuts[:consumed]
