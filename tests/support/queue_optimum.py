"""The cheapest way to play a small scenario when the future is known: an exhaustive search.

Under the algorithms' own rules (reading note M3): tuples enter one by one, room is made before
one enters, never more than M in memory, an access moves neighbours of one queue.

Writes are tried only when room is needed and reads only when a tuple is due, which loses
nothing: an access put off meets no more in memory and moves no more tuples, and where tuples
are written again between a read and their turn, leaving that write out pays for the second read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

Disk = tuple[int, ...]
"""For each queue, the positions on disk as bits."""


def events(
    ticks: list[list[int]], queues: int, consume: list[int | None] | None = None
) -> Iterator[tuple[str, int]]:
    """What happens, in order; the drain at the end included. None: round-robin."""
    lengths = [0] * queues
    for number in range(len(ticks) if consume is None else len(consume)):
        for queue, arrivals in enumerate(ticks[number] if number < len(ticks) else []):
            yield from [("enter", queue)] * arrivals
            lengths[queue] += arrivals
        served: Iterable[int | None] = range(queues) if consume is None else [consume[number]]
        for one in served:
            if one is not None and lengths[one]:
                yield "consume", one
                lengths[one] -= 1
    while any(lengths):
        for queue in range(queues):
            if lengths[queue]:
                yield "consume", queue
                lengths[queue] -= 1


class Optimum:
    """The least cost over every way to play; an access that moves t tuples costs c0 + c1*t."""

    def __init__(self, memory: int, queues: int, c0: int = 1, c1: int = 0) -> None:
        self.memory = memory
        self.c0, self.c1 = c0, c1
        self.fronts = [0] * queues
        self.ends = [0] * queues

    def cost(self, happening: Iterator[tuple[str, int]]) -> int:
        costs: dict[Disk, int] = {(0,) * len(self.fronts): 0}
        for what, queue in happening:
            after: dict[Disk, int] = {}
            for disk, cost in costs.items():
                choices = self.with_room(disk, 1) if what == "enter" else self.with_due(disk, queue)
                for choice, more in choices.items():
                    if cost + more < after.get(choice, cost + more + 1):
                        after[choice] = cost + more
            if what == "enter":
                self.ends[queue] += 1
            else:
                self.fronts[queue] += 1
            costs = after
        return min(costs.values())

    def used(self, disk: Disk) -> int:
        held = sum(self.ends) - sum(self.fronts)
        return held - sum(bits.bit_count() for bits in disk)

    def with_room(self, disk: Disk, needed: int) -> dict[Disk, int]:
        """Every state with room for ``needed`` that writes lead to, and their least cost."""
        reached: dict[Disk, int] = {}
        frontier = {disk: 0}
        while frontier:
            following: dict[Disk, int] = {}
            for state, cost in frontier.items():
                if self.used(state) + needed <= self.memory:
                    reached[state] = min(cost, reached.get(state, cost))
                    continue
                for written, tuples in self.writes(state):
                    total = cost + self.c0 + self.c1 * tuples
                    following[written] = min(total, following.get(written, total))
            frontier = following
        return reached

    def writes(self, disk: Disk) -> Iterator[tuple[Disk, int]]:
        for queue, bits in enumerate(disk):
            for start in range(self.fronts[queue], self.ends[queue]):
                taken = bits
                for stop in range(start, self.ends[queue]):
                    if bits >> stop & 1:
                        break
                    taken |= 1 << stop
                    yield (*disk[:queue], taken, *disk[queue + 1 :]), stop - start + 1

    def with_due(self, disk: Disk, queue: int) -> dict[Disk, int]:
        """Every state with the queue's front in memory, and its least cost."""
        front, bits = self.fronts[queue], disk[queue]
        if not bits >> front & 1:
            return {disk: 0}
        reached: dict[Disk, int] = {}
        tuples = 0
        while bits >> front + tuples & 1 and tuples < self.memory:
            tuples += 1
            read = (1 << front + tuples) - (1 << front)
            for state, cost in self.with_room(disk, tuples).items():
                if state[queue] & read != read:
                    continue
                after = (*state[:queue], state[queue] & ~read, *state[queue + 1 :])
                total = cost + self.c0 + self.c1 * tuples
                reached[after] = min(total, reached.get(after, total))
        return reached


def optimum(
    memory: int,
    ticks: list[list[int]],
    *,
    queues: int = 1,
    consume: list[int | None] | None = None,
    c0: int = 1,
    c1: int = 0,
) -> int:
    """The least cost of a scenario that is drained at the end."""
    return Optimum(memory, queues, c0, c1).cost(events(ticks, queues, consume))
