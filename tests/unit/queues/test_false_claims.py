"""Claims of the paper that do not hold, each shown by the input that breaks it."""

from __future__ import annotations

from freshline.queues.memory import QueueMemory
from freshline.queues.moves import Write
from freshline.queues.settings import SpillSettings
from freshline.queues.spilling import SpillingQueues
from tests.support.queue_optimum import optimum
from tests.support.queue_playing import simulate, steps


def test_half_lazy_is_not_two_competitive():
    """Footnote 2 (M5): 5 accesses where 2 would do."""
    ticks = steps(2, 3, 3, 3, 0, 2, 0, 0)
    cost = simulate({"memory": 6, "algorithm": "half-lazy", "ticks": ticks})["unit_cost"]
    assert (cost, optimum(6, ticks)) == (5, 2)


def test_half_is_not_competitive_at_all_when_memory_is_odd():
    """Theorem 2.1 takes M/2 for whole; rounded down, Half writes while M tuples would fit.

    Three tuples wait all the time and fit into a memory of 3, but each is written and read.
    """
    for rounds in (10, 100):
        ticks = steps(3, 2, 0, *[1] * rounds)
        odd = simulate({"memory": 3, "algorithm": "half", "ticks": ticks})["unit_cost"]
        even = simulate({"memory": 4, "algorithm": "half", "ticks": ticks})["unit_cost"]
        assert (odd, even, optimum(3, ticks)) == (2 * rounds + 4, 0, 2)


MEMORY, IDLE, LOW = 16, 10, 7
"""M1: 5M/8 tuples of a queue never served; the other swings between LOW and M."""


def busy_accesses(memory, rounds, *, told):
    """Accesses of buffered-head while queue 0 is idle and queue 1 goes up and down."""
    queues = SpillingQueues("buffered-head", SpillSettings(memory, queues=2))
    queues.set_idle(0, idle=told)
    queues.enter(0, IDLE)
    queues.enter(1, LOW)
    for _ in range(rounds):
        queues.enter(1, MEMORY - LOW)
        for _ in range(MEMORY - LOW):
            queues.bring(1)
            queues.consume(1)
    counted = queues.statistics()
    return counted.reads + counted.writes


def offline_accesses(rounds):
    """The same with M alone, knowing the future: the idle queue is written at once."""
    memory = QueueMemory(MEMORY, 2)
    memory.append(0, IDLE)
    memory.apply(Write(0, 0, IDLE))
    memory.append(1, LOW)
    for _ in range(rounds):
        memory.append(1, MEMORY - LOW)
        memory.consume(1, MEMORY - LOW)
    counted = memory.statistics()
    return counted.reads + counted.writes


def test_half_more_memory_does_not_bound_buffered_head_when_a_queue_is_never_served():
    """Theorem 4.5 (M1): with 3M/2 it moves in every swing; with M one write is enough."""
    costs = [busy_accesses(3 * MEMORY // 2, rounds, told=False) for rounds in (20, 40, 80)]
    assert costs == [40, 80, 160]
    assert [offline_accesses(rounds) for rounds in (20, 80)] == [1, 1]


def test_told_which_queue_is_idle_buffered_head_pays_once():
    assert [busy_accesses(3 * MEMORY // 2, rounds, told=True) for rounds in (20, 80)] == [1, 1]
