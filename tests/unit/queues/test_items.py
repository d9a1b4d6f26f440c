"""Items of several units, as the gateway's requests of many bytes: moved and consumed whole."""

from __future__ import annotations

import pytest

from freshline.core.errors import InternalError
from freshline.queues.moves import Read, Write
from freshline.queues.settings import SpillSettings
from freshline.queues.spilling import SpillingQueues


def test_a_write_takes_whole_items_and_at_least_a_block():
    queues = SpillingQueues("buffered-head", SpillSettings(100, block=20))
    for size in (15, 30, 30, 15):
        assert queues.enter_item(0, size) == []
    assert queues.enter_item(0, 20) == [Write(0, 45, 90)]
    assert queues.statistics().used == 65


def test_an_item_that_reaches_beyond_the_head_is_not_protected():
    queues = SpillingQueues("buffered-head-lazy", SpillSettings(100, block=20))
    for size in (15, 30, 30):
        queues.enter_item(0, size)
    assert queues.enter_item(0, 80) == [Write(0, 15, 75)]


def test_a_read_brings_the_items_that_end_within_a_block_and_at_least_one():
    queues = SpillingQueues("buffered-head", SpillSettings(100, block=20))
    for size in (8, 8, 8, 50, 1):
        queues.restore_item(0, size)
    assert queues.statistics().writes == 0
    assert queues.bring(0) == [Read(0, 0, 16)]
    assert queues.bring(0) == []
    assert queues.consume(0, 8) == queues.consume(0, 8) == []
    assert queues.bring(0) == [Read(0, 16, 24)]
    queues.consume(0, 8)
    assert queues.bring(0) == [Read(0, 24, 74)]
    queues.consume(0, 50)
    assert (queues.length(0), queues.held(0), queues.ready(0)) == (1, 0, 0)
    assert queues.bring(0) == [Read(0, 74, 75)]


def test_an_item_larger_than_the_heads_leave_is_refused():
    queues = SpillingQueues("buffered-head", SpillSettings(100, queues=4))
    assert queues.largest_item == 52
    with pytest.raises(InternalError, match="an item of 53 units; at most 52 always fit"):
        queues.enter_item(0, 53)
    with pytest.raises(InternalError, match="at most 52 always fit"):
        queues.restore_item(0, 53)


def test_no_part_of_an_item_is_consumed():
    queues = SpillingQueues("buffered-head", SpillSettings(100))
    queues.enter_item(0, 10)
    queues.enter_item(0, 10)
    with pytest.raises(InternalError, match="15 units end inside an item"):
        queues.consume(0, 15)


def test_items_and_single_units_do_not_share_a_queue():
    queues = SpillingQueues("buffered-head", SpillSettings(100))
    queues.enter_item(0, 10)
    with pytest.raises(InternalError, match="queue 0 holds items, not single units"):
        queues.enter(0)
    other = SpillingQueues("buffered-head", SpillSettings(100))
    other.enter(0)
    with pytest.raises(InternalError, match="queue 0 holds single units, not items"):
        other.enter_item(0, 10)


@pytest.mark.parametrize("name", ["half", "half-lazy", "greedy", "hybrid", "lru"])
def test_algorithms_that_cut_items_refuse_them(name):
    with pytest.raises(InternalError, match="moves parts of items"):
        SpillingQueues(name, SpillSettings(100)).enter_item(0, 10)


def test_a_long_backlog_forgets_what_is_consumed():
    queues = SpillingQueues("buffered-head", SpillSettings(100, block=10))
    for _ in range(1000):
        queues.restore_item(0, 7)
    for left in range(1000, 0, -1):
        queues.bring(0)
        queues.consume(0, 7)
        assert queues.length(0) == 7 * (left - 1)
    queues.check_invariants()
    queues.enter(0, 5)  # an empty queue may change over to single units
    assert queues.ready(0) == 5
