"""Queues larger than memory: what enters, what is consumed, and the moves in between.

One object for the simulation, whose tuples are single units, and for the gateway, whose requests
are items of many bytes. It holds no payloads; every method returns the moves that the caller
must carry out, in their order.
"""

from __future__ import annotations

from collections.abc import Iterable

from freshline.core.errors import InternalError
from freshline.queues.algorithm import build_algorithm
from freshline.queues.memory import QueueMemory, SpillStatistics
from freshline.queues.moves import Move
from freshline.queues.settings import SpillSettings


class SpillingQueues:
    """``settings.queues`` queues, numbered from 0, that share ``settings.memory`` units.

    Args:
        algorithm: One of ``algorithm_names()``.
        settings: Memory, number of queues, cost, block.

    Raises:
        UserError: There is no such algorithm, or it is not defined for the settings.

    Example:
        >>> queues = SpillingQueues("half", SpillSettings(memory=4))
        >>> queues.enter(0, 5)
        [Write(queue=0, start=2, stop=4)]
        >>> queues.consume(0), queues.consume(0)
        ([], [Read(queue=0, start=2, stop=4)])
    """

    def __init__(self, algorithm: str, settings: SpillSettings) -> None:
        self._algorithm = build_algorithm(algorithm, settings)
        self._memory = QueueMemory(settings.memory, settings.queues)

    @property
    def largest_item(self) -> int:
        """Units of the largest item that ``enter_item`` takes."""
        return self._algorithm.largest_item(self._memory)

    def enter(self, queue: int, units: int = 1) -> list[Move]:
        """``units`` units arrive one by one, each an item of its own."""
        memory, algorithm = self._memory, self._algorithm
        moves: list[Move] = []
        while units > 0:
            if memory.free == 0:
                self._play(algorithm.make_room(memory, 1), moves)
            step = min(units, memory.free, algorithm.unwatched_units(memory, queue))
            start = memory.end(queue)
            memory.append(queue, step)
            self._play(algorithm.after_arrival(memory, queue, start, start + step), moves)
            units -= step
        return moves

    def enter_item(self, queue: int, units: int) -> list[Move]:
        """One item of ``units`` units arrives, to be moved and consumed whole.

        Raises:
            InternalError: It is larger than ``largest_item``, or the algorithm cuts items.
        """
        memory, algorithm = self._memory, self._algorithm
        self._check_item(units)
        moves: list[Move] = []
        self._play(algorithm.make_room(memory, units), moves)
        start = memory.end(queue)
        memory.append_item(queue, units)
        self._play(algorithm.after_arrival(memory, queue, start, start + units), moves)
        return moves

    def restore_item(self, queue: int, units: int) -> None:
        """One item that is on disk already joins the queue, as on recovery: no access."""
        self._check_item(units)
        self._memory.append_item(queue, units, on_disk=True)

    def bring(self, queue: int) -> list[Move]:
        """The moves after which the queue's oldest item is in memory; none if it is."""
        moves: list[Move] = []
        if self._memory.is_due_on_disk(queue):
            self._play(self._algorithm.bring_front(self._memory, queue), moves)
            if self._memory.is_due_on_disk(queue):
                raise InternalError("not-brought", f"the front of queue {queue} is still on disk")
        return moves

    def consume(self, queue: int, units: int = 1) -> list[Move]:
        """The ``units`` oldest units, all in memory, leave the queue."""
        self._memory.consume(queue, units)
        moves: list[Move] = []
        self._play(self._algorithm.after_consumption(self._memory, queue), moves)
        return moves

    def set_idle(self, queue: int, *, idle: bool) -> None:
        """Say whether anything is being consumed from the queue; idle ones spill first (M1)."""
        self._memory.set_idle(queue, idle=idle)

    def length(self, queue: int) -> int:
        """Units not consumed, in memory and on disk."""
        return self._memory.end(queue) - self._memory.front(queue)

    def ready(self, queue: int) -> int:
        """Units at the front that are in memory."""
        return self._memory.ready(queue)

    def held(self, queue: int) -> int:
        """Units of the queue in memory."""
        return self._memory.held(queue)

    def statistics(self) -> SpillStatistics:
        """Accesses, units moved, memory used."""
        return self._memory.statistics()

    def check_invariants(self) -> None:
        """Raise InternalError unless every count agrees with what is where."""
        self._memory.check_invariants()

    def _check_item(self, units: int) -> None:
        if not self._algorithm.moves_whole_items:
            raise InternalError("cuts-items", "this algorithm moves parts of items")
        if not 0 < units <= self.largest_item:
            raise InternalError(
                "item-size", f"an item of {units} units; at most {self.largest_item} always fit"
            )

    def _play(self, proposed: Iterable[Move], moves: list[Move]) -> None:
        """Carry out each move before asking for the next."""
        for move in proposed:
            self._memory.apply(move)
            moves.append(move)
