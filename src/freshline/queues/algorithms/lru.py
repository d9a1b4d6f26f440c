"""Write the least recently touched: what a buffer manager does, and the wrong thing for queues.

The least recently touched tuples of a queue are those consumed next, so they come back at once
and are written again. Here to be compared with, not to be used. A tuple is touched on arrival
and when it is read in.

Source: Motwani and Thomas 2004, section 1.1 (acyclicity); defined by rule M12.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Self

from freshline.queues.algorithm import SpillAlgorithm
from freshline.queues.memory import QueueMemory
from freshline.queues.moves import Move, Read, Write
from freshline.queues.settings import SpillSettings

_Run = tuple[int, int, int]
"""Queue, start and stop of units touched one after the other."""


_FEW_RUNS = 64
"""So many stale runs are not worth sweeping out."""


class LeastRecentlyUsed(SpillAlgorithm):
    """LRU in blocks of ``block`` = M/2n units."""

    def __init__(self, block: int) -> None:
        self.block = block
        self._touched: deque[_Run] = deque()
        """Everything in memory, the least recently touched first; parts may be consumed."""
        self._sweep_at = _FEW_RUNS

    @classmethod
    def build(cls, settings: SpillSettings) -> Self:
        """Refuses settings that the algorithm is not defined for."""
        settings.require_memory("lru", 2, "a block and the tuple that enters must fit")
        return cls(settings.share)

    def make_room(self, memory: QueueMemory, units: int) -> Iterable[Move]:
        """The least recently touched, M/2n at a time."""
        while memory.free < units:
            yield from self._oldest_block(memory)

    def bring_front(self, memory: QueueMemory, queue: int) -> Iterable[Move]:
        """The first M/2n of the run at the front, after room for them."""
        # The tuple due is on disk while room is made for it, so it cannot be chosen (M12).
        start, stop = memory.spilled(queue).first
        stop = min(stop, start + self.block)
        yield from self.make_room(memory, stop - start)
        yield Read(queue, start, stop)
        self._touch(memory, queue, start, stop)

    def after_arrival(
        self, memory: QueueMemory, queue: int, start: int, stop: int
    ) -> Iterable[Move]:
        """No moves; arriving is being touched."""
        self._touch(memory, queue, start, stop)
        return ()

    def _touch(self, memory: QueueMemory, queue: int, start: int, stop: int) -> None:
        if self._touched and self._touched[-1][0] == queue and self._touched[-1][2] == start:
            start = self._touched.pop()[1]
        self._touched.append((queue, start, stop))
        if len(self._touched) > self._sweep_at:
            left = [run for run in self._touched if run[2] > memory.front(run[0])]
            self._touched = deque(left)
            self._sweep_at = _FEW_RUNS + 2 * len(left)

    def _oldest_block(self, memory: QueueMemory) -> list[Move]:
        """The next ``block`` units by age, a write for each run of neighbours."""
        chosen: list[_Run] = []
        left = self.block
        while left and self._touched:
            queue, start, stop = self._touched.popleft()
            start = max(start, memory.front(queue))
            if start >= stop:
                continue
            taken = min(left, stop - start)
            if start + taken < stop:
                self._touched.appendleft((queue, start + taken, stop))
            chosen.append((queue, start, start + taken))
            left -= taken
        return _as_writes(chosen)


def _as_writes(runs: list[_Run]) -> list[Move]:
    """One access for neighbours, also where they were touched at different times."""
    joined: list[_Run] = []
    for run in sorted(runs):
        if joined and joined[-1][0] == run[0] and joined[-1][2] == run[1]:
            joined[-1] = (run[0], joined[-1][1], run[2])
        else:
            joined.append(run)
    return [Write(queue, start, stop) for queue, start, stop in joined]


ALGORITHM = LeastRecentlyUsed
