"""What each algorithm moves, access by access."""

from __future__ import annotations

import pytest

from freshline.core.errors import InternalError, UserError
from freshline.queues.algorithm import algorithm_names
from freshline.queues.memory import QueueMemory
from freshline.queues.moves import Read, Write
from freshline.queues.settings import SpillSettings
from freshline.queues.spilling import SpillingQueues


def trace(algorithm, settings, happening):
    """Moves of 'a3' (three enter queue 0), 'b1' (one enters queue 1), '-a2' (two are consumed)."""
    queues = SpillingQueues(algorithm, settings)
    moved = []
    for word in happening.split():
        queue, units = "ab".index(word.lstrip("-")[0]), int(word.lstrip("-")[1:])
        moves = []
        if word.startswith("-"):
            for _ in range(units):
                moves += queues.bring(queue) + queues.consume(queue)
        else:
            moves = queues.enter(queue, units)
        queues.check_invariants()
        moved.append(" ".join(shown(move) for move in moves))
    return moved


def shown(move):
    """'>a4-8': units 4 to 7 of queue 0 to disk; '<': back."""
    return f"{'<' if isinstance(move, Read) else '>'}{'ab'[move.queue]}{move.start}-{move.stop}"


def test_the_folder_holds_the_family():
    assert algorithm_names() == (
        "buffered-head",
        "buffered-head-lazy",
        "greedy",
        "greedy-chunk",
        "half",
        "half-lazy",
        "hybrid",
        "lru",
    )


def test_half_writes_half_reads_half_and_starts_over():
    assert trace("half", SpillSettings(8), "a8 a1 a3 -a3 -a1 a3 a1 -a4 -a4 -a4 a8 a1") == [
        "",
        ">a4-8",
        ">a8-12",
        "",
        "<a4-8",
        "",
        ">a12-16",
        "<a8-12",
        "<a12-16",
        "",
        "",
        ">a20-24",
    ]


def test_half_lazy_writes_the_whole_tail_when_memory_is_full_or_a_read_does_not_fit():
    full = trace("half-lazy", SpillSettings(8), "a9 a3 a1 -a3 a3 -a1")
    assert full == [">a4-8", "", ">a8-12", "", "", "<a4-8"]
    unfit = trace("half-lazy", SpillSettings(8), "a9 -a3 a4 -a1")
    assert unfit == [">a4-8", "", "", ">a8-13 <a4-8"]


def test_greedy_moves_single_tuples():
    assert trace("greedy", SpillSettings(3), "a4 a1 -a3") == [">a2-3", ">a3-4", "<a2-3"]


def test_greedy_chunk_keeps_the_heads_block_and_the_incomplete_one():
    moved = trace("greedy-chunk", SpillSettings(6, c0=2, c1=1), "a6 -a1 a2 a1 -a1 -a1 -a1 -a1")
    assert moved == ["", "", ">a4-6", "", "", "", "", "<a4-6"]


def test_hybrid_is_half_or_greedy_chunk_by_the_cost_of_an_access():
    half = trace("half", SpillSettings(8), "a16 -a16")
    chunk = trace("greedy-chunk", SpillSettings(8, c0=3, c1=1), "a16 -a16")
    assert trace("hybrid", SpillSettings(8), "a16 -a16") == half
    assert trace("hybrid", SpillSettings(8, c0=4, c1=1), "a16 -a16") == half
    assert trace("hybrid", SpillSettings(8, c0=3, c1=1), "a16 -a16") == chunk != half


def test_buffered_head_writes_from_the_largest_queue_outside_its_head():
    moved = trace("buffered-head", SpillSettings(8, queues=2), "a4 b4 a1 b1 a2 -a2 -a1 -b2 -b1")
    assert moved == ["", "", ">a2-4", "", ">b3-5", "", "<a2-4", "", ""]


def test_buffered_head_makes_one_write_of_two_runs_where_tuples_are_not_neighbours():
    moved = trace("buffered-head", SpillSettings(8, queues=2), "a9 b1 b1")
    assert moved == [">a6-8", "", ">a8-9 >a5-6"]


def test_buffered_head_lazy_writes_all_outside_the_head():
    moved = trace("buffered-head-lazy", SpillSettings(8, queues=2), "a8 a1 -a2 -a1")
    assert moved == ["", ">a2-8", "", "<a2-4"]


def test_lru_writes_what_is_needed_next_and_writes_it_again():
    moved = trace("lru", SpillSettings(4), "a5 -a1 -a1 -a1 -a1 -a1")
    assert moved == [">a0-2", ">a2-4 <a0-2", "", "<a2-4", "", ""]
    assert trace("lru", SpillSettings(4), "a6 -a1 a2") == [">a0-2", ">a2-4 <a0-2", ">a4-6"]


def test_idle_queues_spill_first():
    settings = SpillSettings(16, queues=2)
    for idle, first in [(False, Write(1, 6, 10)), (True, Write(0, 4, 6))]:
        queues = SpillingQueues("buffered-head", settings)
        queues.set_idle(0, idle=idle)
        assert queues.enter(0, 6) + queues.enter(1, 11) == [first]


def test_an_unknown_algorithm_is_refused():
    with pytest.raises(UserError) as caught:
        SpillingQueues("fifo", SpillSettings(8))
    assert caught.value.render() == (
        "[unknown-queue-algorithm] there is no queue algorithm 'fifo'; known: buffered-head,"
        " buffered-head-lazy, greedy, greedy-chunk, half, half-lazy, hybrid, lru."
        " Correct the name."
    )


def test_memory_refuses_every_step_that_breaks_the_model():
    memory = QueueMemory(4, 1)
    memory.append(0, 4)
    with pytest.raises(InternalError, match="1 units into 0 of 4"):
        memory.append(0, 1)
    with pytest.raises(InternalError, match="not all of it is in memory"):
        memory.apply(Write(0, 3, 5))
    memory.apply(Write(0, 0, 2))
    with pytest.raises(InternalError, match="not all of it is in memory"):
        memory.apply(Write(0, 1, 3))
    with pytest.raises(InternalError, match="cannot remove"):
        memory.apply(Read(0, 1, 3))
    with pytest.raises(InternalError, match="1 units are not in memory"):
        memory.consume(0, 1)
    memory.apply(Read(0, 0, 2))
    memory.apply(Write(0, 1, 3))
    assert memory.statistics().rewritten == 1
    memory.check_invariants()
