"""However processes freeze and a store delays and forgets its answers: one leader at a time.

Each process has its own clock, which nobody compares with another; the store carries out what
it is asked at some moment between question and answer, or after the answer was given up.
"""

from __future__ import annotations

import heapq
import itertools
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from freshline.core.lease import (
    LAPSE_S,
    LOOK_S,
    Ended,
    Event,
    Found,
    Holder,
    Lease,
    Read,
    Record,
    Refused,
    StopAsked,
    Swap,
    Swapped,
    Unreachable,
    Wait,
    Woke,
)

ANSWER_S = 2.0
"""An answer takes no longer, or is given up."""


class Storage:
    """One record; a swap compares and replaces at one moment."""

    def __init__(self) -> None:
        self.record: Record | None = None
        self.tag: str | None = None
        self._count = itertools.count(1)
        self.epochs: list[tuple[int, str]] = []

    def swap(self, record: Record, tag: str | None) -> Event:
        if tag != self.tag:
            return Refused()
        if self.record is None or self.record.holder != record.holder:
            self.epochs.append((record.epoch, record.holder.id))
        self.record, self.tag = record, f"tag{next(self._count)}"
        return Swapped(self.tag)

    def read(self) -> Event:
        return Found(self.record, self.tag)


class World:
    """Processes that follow, lead, freeze, die and come back, in virtual time."""

    def __init__(self, seed: int, processes: int, trouble: float) -> None:
        self.chance = random.Random(seed)
        self.trouble = trouble
        self.storage = Storage()
        self.now_s = 0.0
        self._agenda: list[tuple[float, int, object]] = []
        self._order = itertools.count()
        self.processes: list[Process] = []
        for _ in range(processes):
            self.add()

    def at(self, moment_s: float, what: object) -> None:
        heapq.heappush(self._agenda, (moment_s, next(self._order), what))

    def add(self) -> None:
        Process(self, f"p{len(self.processes)}")

    def leaders(self) -> list[Process]:
        return [each for each in self.processes if each.leads()]

    def run(self, until_s: float) -> None:
        while self._agenda and self._agenda[0][0] <= until_s:
            self.now_s, _, what = heapq.heappop(self._agenda)
            assert callable(what)
            what()
            assert len(self.leaders()) <= 1, "two lead at once"
        self.now_s = until_s


class Process:
    """A machine and the driver around it."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.offset_s = world.chance.uniform(-1e6, 1e6)
        self.lease = Lease(Holder(name, "host", 1), patient=True)
        self.alive = True
        self.frozen_until_s = 0.0
        world.processes.append(self)
        self.carry_out(self.lease.handle(self.clock(), Woke()))

    def clock(self) -> float:
        return self.world.now_s + self.offset_s

    def leads(self) -> bool:
        return self.alive and self.lease.held and self.clock() < self.lease.valid_until_s

    def hear(self, event: Event) -> None:
        """An answer; a frozen process hears it when it wakes."""
        if not self.alive:
            return
        world = self.world
        if world.now_s < self.frozen_until_s:
            world.at(self.frozen_until_s, lambda: self.hear(event))
            return
        if world.chance.random() < world.trouble:
            kind = world.chance.choice(("freeze", "freeze", "die", "stop"))
            if kind == "die":
                self.alive = False
                world.at(world.now_s + world.chance.uniform(0, 20), world.add)
                return
            if kind == "stop":
                world.at(world.now_s + world.chance.uniform(0, 20), world.add)
                event = StopAsked()
            else:
                self.frozen_until_s = world.now_s + world.chance.uniform(0, 60)
        self.carry_out(self.lease.handle(self.clock(), event))

    def carry_out(self, action: object) -> None:
        world = self.world
        asked_s = world.now_s
        match action:
            case Wait(until_s):
                world.at(max(asked_s, until_s - self.offset_s), lambda: self.hear(Woke()))
            case Ended(_, _):
                self.alive = False
            case Read() | Swap():
                self.ask(action)

    def ask(self, action: Read | Swap) -> None:
        """The store does it some time, and answers later, if it is heard at all."""
        world = self.world
        done_s = world.now_s + world.chance.uniform(0, 0.8)
        lost = world.chance.random() < world.trouble
        never = lost and world.chance.random() < 0.5
        given_up_s = world.now_s + ANSWER_S
        if lost and not never:  # perhaps long after nobody waits for it any more
            done_s = world.now_s + world.chance.uniform(0, 40)

        def done() -> None:
            storage = world.storage
            answer = storage.read() if isinstance(action, Read) else storage.swap(
                action.record, action.tag
            )  # fmt: skip
            if not lost:
                world.at(world.now_s + world.chance.uniform(0, 0.8), lambda: self.hear(answer))

        if not never:
            world.at(done_s, done)
        if lost:
            world.at(given_up_s, lambda: self.hear(Unreachable()))


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 4), st.sampled_from([0.0, 0.02, 0.1, 0.3]))
def test_one_leads_at_a_time_and_the_epoch_grows_with_every_change_of_hands(
    seed, processes, trouble
):
    world = World(seed, processes, trouble)
    world.run(600.0)
    epochs = [epoch for epoch, _ in world.storage.epochs]
    assert epochs == list(range(1, len(epochs) + 1))
    for process in world.processes:
        if process.lease.held:
            assert (process.lease.epoch, process.lease.me.id) in world.storage.epochs


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 4))
def test_when_the_leader_dies_another_leads_within_fifteen_seconds_and_a_look(seed, processes):
    world = World(seed, processes, 0.0)
    world.run(30.0)
    (leader,) = world.leaders()
    leader.alive = False
    world.run(30.0 + LAPSE_S + LOOK_S + 2 * ANSWER_S)
    (successor,) = world.leaders()
    assert successor is not leader
    assert successor.lease.epoch == leader.lease.epoch + 1
    assert successor.lease.lapsed


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32))
def test_a_leader_that_the_store_answers_leads_without_a_gap(seed):
    world = World(seed, 2, 0.0)
    world.run(20.0)
    (leader,) = world.leaders()
    for second in range(21, 300):
        world.run(float(second))
        assert world.leaders() == [leader]
