"""The eight algorithms again, tuple by tuple, as slowly and literally as the contract reads.

Written from the text alone and sharing nothing with the product: every tuple is an entry in a
dictionary, every decision scans all of them. The product must agree with it on every input.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Tuple_ = tuple[int, int]
"""Queue and number of arrival within it."""


@dataclass
class Naive:
    """One run; ``play`` gives the printed record."""

    memory: int
    queues: int
    algorithm: str
    c0: float = 1
    c1: float = 0
    block: int | None = None
    unconsumed: list[list[int]] = field(default_factory=list)
    in_memory: dict[Tuple_, int] = field(default_factory=dict)
    """Each tuple in memory, with the time of its last touch."""
    times_written: dict[Tuple_, int] = field(default_factory=dict)
    reads: int = 0
    writes: int = 0
    moved_in: int = 0
    moved_out: int = 0
    peak: int = 0
    clock: int = 0

    def __post_init__(self) -> None:
        self.unconsumed = [[] for _ in range(self.queues)]
        self.arrived = [0] * self.queues
        self.half = max(1, self.memory // 2)
        self.b = self.block or max(1, self.memory // (2 * self.queues))
        if self.algorithm == "lru":
            self.b = max(1, self.memory // (2 * self.queues))
        self.t = 1
        name = self.algorithm
        if name in ("greedy-chunk", "hybrid") and self.c1:
            self.t = max(1, int(self.c0 // self.c1))
        if name == "hybrid":
            name = "half" if self.c1 == 0 or self.t >= self.half else "greedy-chunk"
        self.kind = "greedy-chunk" if name == "greedy" else name

    def play(
        self, ticks: list[list[int]], consume: Any = "round-robin", drain: bool = True
    ) -> dict[str, Any]:
        """Arrivals, consumption, and at the end the drain."""
        length = len(ticks) if consume == "round-robin" else max(len(ticks), len(consume))
        for number in range(length):
            for queue, arrivals in enumerate(ticks[number] if number < len(ticks) else []):
                for _ in range(arrivals):
                    self.enter(queue)
            if consume == "round-robin":
                self.serve_all()
            elif consume[number] is not None:
                self.serve(consume[number])
        while drain and any(self.unconsumed):
            self.serve_all()
        return {
            "reads": self.reads,
            "writes": self.writes,
            "unit_cost": self.reads + self.writes,
            "extended_cost": self.c0 * (self.reads + self.writes)
            + self.c1 * (self.moved_in + self.moved_out),
            "moved_out": self.moved_out,
            "moved_in": self.moved_in,
            "acyclic": all(times < 2 for times in self.times_written.values()),
            "peak_memory": self.peak,
        }

    def enter(self, queue: int) -> None:
        self.make_room(1)
        self.unconsumed[queue].append(self.arrived[queue])
        self.put_in_memory((queue, self.arrived[queue]))
        self.arrived[queue] += 1
        if self.kind == "half" and self.on_disk(0) and len(self.tail()) == self.half:
            self.write(self.tail())

    def serve_all(self) -> None:
        for queue in range(self.queues):
            self.serve(queue)

    def serve(self, queue: int) -> None:
        if not self.unconsumed[queue]:
            return
        due = (queue, self.unconsumed[queue][0])
        if due not in self.in_memory:
            self.read_front(queue)
        del self.in_memory[due]
        self.unconsumed[queue].pop(0)
        if self.kind in ("half", "half-lazy"):
            left = self.unconsumed[0]
            if left and (0, left[0]) not in self.in_memory:
                wanted = min(self.half, len(self.on_disk(0)))
                if wanted > self.memory - len(self.in_memory):
                    assert self.kind == "half-lazy"
                    self.write(self.tail())
                self.read(self.on_disk(0)[: self.half])

    def read_front(self, queue: int) -> None:
        front = self.unconsumed[queue][0]
        if self.kind == "greedy-chunk":
            run = [(queue, front + step) for step in range(self.t)]
        else:
            run = []
            while len(run) < self.b:
                one = (queue, front + len(run))
                if one[1] not in self.unconsumed[queue] or one in self.in_memory:
                    break
                run.append(one)
        self.make_room(len(run))
        self.read(run)

    def make_room(self, needed: int) -> None:
        while len(self.in_memory) + needed > self.memory:
            if self.kind in ("half", "half-lazy"):
                if not self.on_disk(0):
                    self.write(sorted(self.in_memory)[-self.half :])
                else:
                    assert self.kind == "half-lazy"
                    self.write(self.tail())
            elif self.kind == "greedy-chunk":
                self.write(self.newest_block())
            elif self.kind == "lru":
                by_touch = sorted(self.in_memory, key=lambda one: self.in_memory[one])
                self.write(by_touch[: self.b])
            else:
                self.write_largest()

    def newest_block(self) -> list[Tuple_]:
        number = self.arrived[0] // self.t - 1
        while True:
            block = [(0, number * self.t + step) for step in range(self.t)]
            heads = number == self.unconsumed[0][0] // self.t
            if block[0] in self.in_memory and not heads:
                return block
            number -= 1

    def write_largest(self) -> None:
        held = [sorted(one for one in self.in_memory if one[0] == q) for q in range(self.queues)]
        for queue in sorted(range(self.queues), key=lambda q: (-len(held[q]), q)):
            protected = self.unconsumed[queue][: self.b]
            loose = [one for one in held[queue] if one[1] not in protected]
            if loose:
                self.write(loose if self.kind == "buffered-head-lazy" else loose[-self.b :])
                return
        raise AssertionError("no room")

    def on_disk(self, queue: int) -> list[Tuple_]:
        every = [(queue, number) for number in self.unconsumed[queue]]
        return [one for one in every if one not in self.in_memory]

    def tail(self) -> list[Tuple_]:
        last = self.on_disk(0)[-1]
        return [one for one in sorted(self.in_memory) if one > last]

    def put_in_memory(self, one: Tuple_) -> None:
        self.clock += 1
        self.in_memory[one] = self.clock
        self.peak = max(self.peak, len(self.in_memory))
        assert len(self.in_memory) <= self.memory

    def write(self, moved: list[Tuple_]) -> None:
        moved = sorted(moved)
        for one in moved:
            del self.in_memory[one]
            self.times_written[one] = self.times_written.get(one, 0) + 1
        self.writes += accesses(moved)
        self.moved_out += len(moved)

    def read(self, moved: list[Tuple_]) -> None:
        for one in moved:
            self.put_in_memory(one)
        self.reads += accesses(moved)
        self.moved_in += len(moved)


def accesses(moved: list[Tuple_]) -> int:
    """Runs of neighbours in one queue."""
    return sum((queue, number - 1) not in moved for queue, number in moved)
