"""What must hold of the spilling algorithms on every input: the model's rules, the paper's claims.

The naive simulation and the exhaustive optimum stand beside the queues' unit tests.
"""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from freshline.queues.algorithm import algorithm_names
from freshline.queues.moves import Write
from freshline.queues.settings import SpillSettings
from freshline.queues.spilling import SpillingQueues
from tests.support.queue_naive import Naive
from tests.support.queue_optimum import optimum
from tests.support.queue_playing import simulate

EVERY = algorithm_names()
MANY_QUEUES = ("buffered-head", "buffered-head-lazy", "lru")
ACYCLIC = tuple(name for name in EVERY if name != "lru")


@st.composite
def scenarios(draw, names=EVERY):
    """A right scenario of any of the algorithms."""
    name = draw(st.sampled_from(names))
    queues = draw(st.integers(1, 4)) if name in MANY_QUEUES else 1
    memory = draw(st.integers(max(2, 2 * queues), 20))
    c0, c1 = draw(st.integers(0, 12)), draw(st.integers(0, 3))
    if name == "greedy-chunk":
        c1 = max(c1, 1)
        c0 = min(c0, c1 * (memory // 2))
    tick = st.lists(st.sampled_from([0, 0, 0, 1, 2, 3, 9]), min_size=queues, max_size=queues)
    ticks = draw(st.lists(tick, max_size=25))
    served = st.lists(
        st.one_of(st.none(), st.integers(0, queues - 1)),
        min_size=len(ticks),
        max_size=len(ticks) + 10,
    )
    block = st.one_of(st.none(), st.integers(1, (memory - 1) // queues))
    return {
        "memory": memory,
        "queues": queues,
        "algorithm": name,
        "cost": {"c0": c0, "c1": c1},
        "block": draw(block) if name.startswith("buffered-head") else None,
        "consume": draw(st.one_of(st.just("round-robin"), served)),
        "drain": draw(st.booleans()),
        "ticks": ticks,
    }


@given(scenarios())
def test_the_product_agrees_with_the_contract_played_tuple_by_tuple(scenario):
    naive = Naive(
        memory=scenario["memory"],
        queues=scenario["queues"],
        algorithm=scenario["algorithm"],
        c0=scenario["cost"]["c0"],
        c1=scenario["cost"]["c1"],
        block=scenario["block"],
    )
    assert simulate(scenario) == naive.play(
        scenario["ticks"], scenario["consume"], scenario["drain"]
    )


class Carrier:
    """Carries the moves out on real payloads, as the gateway does, and checks each."""

    def __init__(self, algorithm, settings):
        self.queues = SpillingQueues(algorithm, settings)
        self.limit = settings.memory
        self.items: list[deque] = [deque() for _ in range(settings.queues)]
        self.disk = {}
        self.held = {}
        self.next_unit = [0] * settings.queues

    def enter(self, queue, units, *, whole):
        start = self.next_unit[queue]
        moves = self.queues.enter_item(queue, units) if whole else self.queues.enter(queue, units)
        for begin in [start] if whole else range(start, start + units):
            size = units if whole else 1
            self.items[queue].append((queue, begin, begin + size))
            self.held[(queue, begin, begin + size)] = f"payload {queue} {begin}"
        self.next_unit[queue] += units
        self.carry_out(moves, settled=not moves)

    def consume(self, queue):
        if self.items[queue]:
            self.carry_out(self.queues.bring(queue))
            item = self.items[queue].popleft()
            assert self.held.pop(item) == f"payload {queue} {item[1]}"
            self.carry_out(self.queues.consume(queue, item[2] - item[1]))

    def carry_out(self, moves, *, settled=True):
        for move in moves:
            source, target = (
                (self.held, self.disk) if isinstance(move, Write) else (self.disk, self.held)
            )
            inside = [
                item
                for item in source
                if item[0] == move.queue and move.start <= item[1] and item[2] <= move.stop
            ]
            assert sum(stop - start for _, start, stop in inside) == move.stop - move.start
            for item in inside:
                target[item] = source.pop(item)
            assert not settled or self.used() <= self.limit
        assert self.used() == self.queues.statistics().used <= self.limit
        self.queues.check_invariants()

    def used(self):
        return sum(stop - start for _, start, stop in self.held)


STEPS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=60)
"""Queue (modulo their number) and the units entering it; 0 units: one item is consumed."""


@given(scenarios(), STEPS)
def test_payloads_leave_in_the_order_they_came_and_memory_holds_at_most_m(scenario, steps):
    settings = SpillSettings(
        memory=scenario["memory"],
        queues=scenario["queues"],
        c0=scenario["cost"]["c0"],
        c1=scenario["cost"]["c1"],
        block=scenario["block"],
    )
    carrier = Carrier(scenario["algorithm"], settings)
    for number, units in steps:
        queue = number % settings.queues
        if units:
            carrier.enter(queue, units, whole=False)
        else:
            carrier.consume(queue)
    for queue in range(settings.queues):
        while carrier.items[queue]:
            carrier.consume(queue)
    counted = carrier.queues.statistics()
    assert counted.moved_in == counted.moved_out
    assert counted.peak_used <= settings.memory
    assert counted.acyclic or scenario["algorithm"] == "lru"


@given(
    st.sampled_from(["buffered-head", "buffered-head-lazy"]),
    st.integers(1, 3),
    st.integers(30, 60),
    STEPS,
    st.sets(st.integers(0, 2)),
)
def test_items_move_whole_in_order_and_at_most_once(name, queues, memory, steps, idle):
    settings = SpillSettings(memory=memory, queues=queues)
    carrier = Carrier(name, settings)
    for queue in range(queues):
        carrier.queues.set_idle(queue, idle=queue in idle)
    for number, size in steps:
        if size:
            largest = carrier.queues.largest_item
            carrier.enter(number % queues, max(1, largest * size // 9), whole=True)
        else:
            carrier.consume(number % queues)
    for queue in range(queues):
        while carrier.items[queue]:
            carrier.consume(queue)
    assert carrier.queues.statistics().rewritten == 0


@given(scenarios(), st.lists(st.tuples(st.integers(1, 12), st.integers(0, 6)), max_size=20))
def test_tuples_entering_together_are_tuples_entering_one_by_one(scenario, steps):
    settings = SpillSettings(
        scenario["memory"], 1, scenario["cost"]["c0"], scenario["cost"]["c1"], None
    )
    together = SpillingQueues(scenario["algorithm"], settings)
    singly = SpillingQueues(scenario["algorithm"], settings)
    for units, consumed in steps:
        assert together.enter(0, units) == [move for _ in range(units) for move in singly.enter(0)]
        for _ in range(min(consumed, together.length(0))):
            assert together.bring(0) == singly.bring(0)
            assert together.consume(0) == singly.consume(0)
        assert together.statistics() == singly.statistics()


@given(scenarios(ACYCLIC))
def test_no_tuple_is_written_twice(scenario):
    """Lemma 2.2, Theorems 3.2 and 4.1."""
    assert simulate(scenario)["acyclic"]


SMALL_TICKS = st.lists(st.sampled_from([0, 0, 1, 2, 3]), max_size=12).map(
    lambda arrivals: [[number] for number in arrivals]
)


def played(name, memory, ticks, queues=1, c0=1, c1=0):
    return simulate(
        {
            "memory": memory,
            "queues": queues,
            "algorithm": name,
            "ticks": ticks,
            "cost": {"c0": c0, "c1": c1},
        }
    )


@given(st.sampled_from([2, 4, 6]), SMALL_TICKS)
def test_half_costs_at_most_twice_the_optimum(memory, ticks):
    """Theorem 2.1, for a memory that has a half (odd ones: test_false_claims)."""
    assume(sum(map(sum, ticks)) <= 14)
    least = optimum(memory, ticks)
    assert least <= played("half", memory, ticks)["unit_cost"] <= 2 * least


@given(st.integers(2, 6), SMALL_TICKS)
def test_greedy_moves_the_fewest_tuples(memory, ticks):
    """Theorem 3.1: the optimum where only tuples cost."""
    assume(sum(map(sum, ticks)) <= 14)
    moved = played("greedy", memory, ticks, c0=0, c1=1)["extended_cost"]
    assert moved == optimum(memory, ticks, c0=0, c1=1)


@pytest.mark.parametrize("name", ["greedy-chunk", "hybrid"])
@given(memory=st.sampled_from([4, 6]), c0=st.integers(1, 8), ticks=SMALL_TICKS)
def test_chunks_cost_at_most_four_times_the_optimum(name, memory, c0, ticks):
    """Theorems 3.2, 3.3 and Corollary 3.1, in extended cost."""
    assume(sum(map(sum, ticks)) <= 14)
    c0 = min(c0, memory // 2) if name == "greedy-chunk" else c0
    least = optimum(memory, ticks, c0=c0, c1=1)
    assert least <= played(name, memory, ticks, c0=c0, c1=1)["extended_cost"] <= 4 * least


@given(st.integers(1, 2), st.integers(4, 7), st.lists(st.integers(0, 3), max_size=12))
def test_buffered_head_in_rounds_costs_at_most_2n_times_the_optimum(queues, memory, choices):
    """Theorem 4.2, at its rate: at most M/2n tuples a tick."""
    rate = memory // (2 * queues)
    ticks = [
        [
            rate if choice % 2 == 1 and choice // 2 % queues == queue else 0
            for queue in range(queues)
        ]
        for choice in choices
    ]
    assume(sum(map(sum, ticks)) <= 13)
    least = optimum(memory, ticks, queues=queues)
    cost = played("buffered-head", memory, ticks, queues=queues)["unit_cost"]
    assert least <= cost <= 2 * queues * least
