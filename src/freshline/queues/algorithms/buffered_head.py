"""Never write the B oldest of any queue; else write the B newest of the queue that holds most.

Reads bring the next B of the queue whose oldest is due. Acyclic, since what is read is at once
among the B oldest; with one served round after the other at most 2n times the optimum. If a
queue is never served no bound holds, even with M/2 more memory (M1, Theorem 4.5 is false): the
full queues that are idle make those in use thrash. So idle queues, if the caller names any,
are written first.

Items of several units move whole: a head protects the items that end within its B oldest units,
a write takes at least B units where there are as many, a read the items that end within B units
and at least one.

Source: Motwani and Thomas 2004, section 4.1 (Theorems 4.1, 4.2); rules M1, M6, M11.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, Self

from freshline.queues.algorithm import SpillAlgorithm
from freshline.queues.memory import QueueMemory
from freshline.queues.moves import Move, Read, Write
from freshline.queues.settings import RefusedSettingError, SpillSettings


class BufferedHead(SpillAlgorithm):
    """Algorithm BufferedHead; ``block`` is B."""

    name: ClassVar[str] = "buffered-head"
    moves_whole_items: ClassVar[bool] = True

    def __init__(self, block: int) -> None:
        self.block = block

    @classmethod
    def build(cls, settings: SpillSettings) -> Self:
        """Refuses settings that the algorithm is not defined for."""
        settings.require_memory(
            cls.name, 2 * settings.queues, "half of the memory is shared by the queues' heads"
        )
        block = settings.share if settings.block is None else settings.block
        if block * settings.queues >= settings.memory:
            raise RefusedSettingError(
                "block",
                f"{settings.queues} protected heads of {block} leave no room in a memory of "
                f"{settings.memory}",
                rule="queues * block must be less than memory",
                next_step=f"Leave block out for {settings.share}.",
            )
        return cls(block)

    def make_room(self, memory: QueueMemory, units: int) -> Iterable[Move]:
        """B at a time from the queue that holds most, chosen anew each time."""
        while memory.free < units:
            runs = self._next_writes(memory)
            if not runs:
                return  # an item too large for what the heads leave
            yield from runs

    def bring_front(self, memory: QueueMemory, queue: int) -> Iterable[Move]:
        """The first B of the run at the front, after room for them."""
        start, run_stop = memory.spilled(queue).first
        wanted = memory.item_start(queue, min(run_stop, start + self.block))
        stop = wanted if wanted > start else memory.item_end(queue, start)
        yield from self.make_room(memory, stop - start)
        yield Read(queue, start, stop)

    def largest_item(self, memory: QueueMemory) -> int:
        """What the protected heads of all queues leave."""
        return memory.capacity - memory.queues * self.block

    def _next_writes(self, memory: QueueMemory) -> list[Write]:
        """The writes of one step, from the first queue that has anything outside its head."""
        for queue in self._candidates(memory):
            runs = list(self._newest_runs(memory, queue))
            if runs:
                return runs
        return []

    @staticmethod
    def _candidates(memory: QueueMemory) -> Iterator[int]:
        """Idle queues first, then those holding most, then the lowest index.

        Nearly always the first one will do, so the others are sorted only when asked for.
        """

        def rank(queue: int) -> tuple[bool, int, int]:
            return not memory.is_idle(queue), -memory.held(queue), queue

        first = min(range(memory.queues), key=rank)
        yield first
        yield from sorted((q for q in range(memory.queues) if q != first), key=rank)

    def _newest_runs(self, memory: QueueMemory, queue: int) -> Iterator[Write]:
        """The newest units outside the head, ``_write_units`` of them, a run of neighbours each."""
        head_stop = memory.item_start(queue, memory.front(queue) + self.block)
        left = self._write_units(memory)
        for run_start, stop in memory.held_newest_first(queue):
            lowest = max(run_start, head_stop)
            if left <= 0 or lowest >= stop:
                return
            start = memory.item_start(queue, max(lowest, stop - left))
            yield Write(queue, start, stop)
            left -= stop - start

    def _write_units(self, memory: QueueMemory) -> int:
        return self.block


ALGORITHM = BufferedHead
