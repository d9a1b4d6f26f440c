"""As half, but the tail waits until memory is full, or a read does not fit, and goes whole.

Fewer writes than half; that it is 2-competitive too, as the footnote says, is false (M5).

Source: Motwani and Thomas 2004, section 2, footnote 2; rules M5, M11.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from freshline.core.errors import InternalError
from freshline.queues.algorithm import SpillAlgorithm
from freshline.queues.algorithms.half import read_head, tail_units, write_tail
from freshline.queues.memory import QueueMemory
from freshline.queues.moves import Move, Write
from freshline.queues.settings import SpillSettings


class HalfLazy(SpillAlgorithm):
    """Half with lazy writes of its tail; ``half`` is M/2."""

    def __init__(self, half: int) -> None:
        self.half = half

    @classmethod
    def build(cls, settings: SpillSettings) -> Self:
        """Refuses settings that the algorithm is not defined for."""
        settings.require_one_queue("half-lazy")
        settings.require_memory("half-lazy", 2, "half of the memory is the least it moves")
        return cls(settings.half)

    def make_room(self, memory: QueueMemory, units: int) -> Iterable[Move]:
        """The first write as half's, then the whole tail."""
        if memory.free >= units:
            return
        if memory.spilled(0):
            yield write_tail(memory)
        else:
            yield Write(0, memory.end(0) - self.half, memory.end(0))

    def after_consumption(self, memory: QueueMemory, queue: int) -> Iterable[Move]:
        """The read-in, the moment the head is empty; before it the tail, if it is in the way."""
        if not memory.is_due_on_disk(0):
            return
        wanted = min(self.half, memory.spilled(0).size)
        if wanted > memory.free and tail_units(memory):
            yield write_tail(memory)
        yield read_head(memory, self.half)  # of what is on disk now, the tail included (M5)

    def bring_front(self, memory: QueueMemory, queue: int) -> Iterable[Move]:
        """Never needed: the front is read before it is due."""
        raise InternalError("late-read", "half-lazy reads the moment its head empties (M4)")


ALGORITHM = HalfLazy
