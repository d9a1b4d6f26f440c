"""Move as little as possible, in blocks of T = c0/c1 that are fixed by the order of arrival.

A block as large as T costs at most twice its start, so nothing is gained by larger ones. Room
is made by the newest complete block in memory other than the head's; the head's block is read
when its first tuple is due. At most four times the optimum in extended cost.

Source: Motwani and Thomas 2004, section 3 (Theorem 3.2); rules M7, M8.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from freshline.core.errors import InternalError
from freshline.queues.algorithm import SpillAlgorithm
from freshline.queues.memory import QueueMemory
from freshline.queues.moves import Move, Read, Write
from freshline.queues.settings import RefusedSettingError, SpillSettings


class GreedyChunk(SpillAlgorithm):
    """Algorithm GreedyChunk; ``block`` is T, at most half of the memory."""

    def __init__(self, block: int) -> None:
        self.block = block

    @classmethod
    def build(cls, settings: SpillSettings) -> Self:
        """Refuses settings that the algorithm is not defined for."""
        settings.require_one_queue("greedy-chunk")
        settings.require_memory("greedy-chunk", 2, "it must hold two blocks")
        if settings.c1 == 0:
            raise RefusedSettingError(
                "cost",
                "greedy-chunk is not defined for c1 = 0",
                rule="its blocks hold c0/c1 tuples",
                next_step="Give c1, or use half or hybrid.",
            )
        if 2 * settings.worthwhile > settings.memory:
            raise RefusedSettingError(
                "cost",
                f"blocks of c0/c1 tuples are too large for a memory of {settings.memory}",
                rule=f"two blocks must fit: c0/c1 may be {settings.memory // 2} at most",
                next_step="Use half or hybrid, or a larger memory.",
            )
        return cls(settings.worthwhile)

    def make_room(self, memory: QueueMemory, units: int) -> Iterable[Move]:
        """As few blocks as will do, the newest first."""
        while memory.free < units:
            start = self._newest_block(memory)
            yield Write(0, start, start + self.block)

    def bring_front(self, memory: QueueMemory, queue: int) -> Iterable[Move]:
        """The head's block, after room for it."""
        start = memory.front(0)  # blocks move whole, so one on disk begins with its first tuple
        yield from self.make_room(memory, self.block)
        yield Read(0, start, start + self.block)

    def _newest_block(self, memory: QueueMemory) -> int:
        """Where the newest complete block in memory, not the head's, begins."""
        above_head = (memory.front(0) // self.block + 1) * self.block
        for start, stop in memory.held_newest_first(0):
            block = (stop // self.block - 1) * self.block
            if block >= max(start, above_head):
                return block
        raise InternalError("no-block", "two blocks fit into memory, so one can be written")


ALGORITHM = GreedyChunk
