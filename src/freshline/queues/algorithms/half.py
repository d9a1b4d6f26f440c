"""Keep the two ends of one queue in memory and move half a memory at a time.

The queue is head, spilled, tail. The first write takes the M/2 newest; while anything is on
disk the tail is written as soon as it is M/2 long; when the head empties M/2 are read, and when
the disk has emptied the tail is head again. At most twice the optimum in unit cost, and nothing
better than twice is possible.

Source: Motwani and Thomas 2004, section 2 (Theorems 2.1, 2.2); rules M2-M4, M11.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from freshline.core.errors import InternalError
from freshline.queues.algorithm import SpillAlgorithm
from freshline.queues.memory import QueueMemory
from freshline.queues.moves import Move, Read, Write
from freshline.queues.settings import SpillSettings


class Half(SpillAlgorithm):
    """Algorithm Half of one queue; ``half`` is M/2."""

    def __init__(self, half: int) -> None:
        self.half = half

    @classmethod
    def build(cls, settings: SpillSettings) -> Self:
        """Refuses settings that the algorithm is not defined for."""
        settings.require_one_queue("half")
        settings.require_memory("half", 2, "half of the memory is the least it moves")
        return cls(settings.half)

    def make_room(self, memory: QueueMemory, units: int) -> Iterable[Move]:
        """The first write: the M/2 newest; later ones leave room before it is needed."""
        if memory.spilled(0) or memory.free + self.half < units:
            raise InternalError("half-full", "half keeps room for its tail and its reads")
        yield Write(0, memory.end(0) - self.half, memory.end(0))

    def unwatched_units(self, memory: QueueMemory, queue: int) -> int:
        """As many as the tail still takes before it is written."""
        if not memory.spilled(0):
            return memory.capacity
        return self.half - tail_units(memory)

    def after_arrival(
        self, memory: QueueMemory, queue: int, start: int, stop: int
    ) -> Iterable[Move]:
        """The write-out of a tail that has become M/2 long."""
        if memory.spilled(0) and tail_units(memory) == self.half:
            yield write_tail(memory)

    def after_consumption(self, memory: QueueMemory, queue: int) -> Iterable[Move]:
        """The read-in, the moment the head is empty."""
        if memory.is_due_on_disk(0):
            yield read_head(memory, self.half)

    def bring_front(self, memory: QueueMemory, queue: int) -> Iterable[Move]:
        """Never needed: the front is read before it is due."""
        raise InternalError("late-read", "half reads the moment its head empties (M4)")


def tail_units(memory: QueueMemory) -> int:
    """Units in memory behind the newest on disk; something must be on disk."""
    return memory.end(0) - memory.spilled(0).last[1]


def write_tail(memory: QueueMemory) -> Write:
    """The whole tail; it must not be empty."""
    return Write(0, memory.spilled(0).last[1], memory.end(0))


def read_head(memory: QueueMemory, half: int) -> Read:
    """The M/2 oldest on disk, or all if there are fewer."""
    start, stop = memory.spilled(0).first
    return Read(0, start, min(stop, start + half))


ALGORITHM = Half
