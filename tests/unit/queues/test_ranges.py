"""A set of ranges against a plain set of numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshline.core.errors import InternalError
from freshline.queues.ranges import RangeSet

SPANS = st.tuples(st.integers(0, 20), st.integers(1, 6)).map(lambda p: range(p[0], p[0] + p[1]))


def runs(numbers):
    """Sorted runs of neighbours."""
    starts = [number for number in sorted(numbers) if number - 1 not in numbers]
    stops = [number + 1 for number in sorted(numbers) if number + 1 not in numbers]
    return list(zip(starts, stops, strict=True))


@given(st.lists(st.tuples(st.booleans(), SPANS)), SPANS)
def test_it_holds_what_a_set_would(changes, asked):
    ranges = RangeSet()
    numbers: set[int] = set()
    for adding, span in changes:
        if adding and numbers.isdisjoint(span):
            ranges.add(span.start, span.stop)
            numbers |= set(span)
        elif not adding and numbers.issuperset(span):
            ranges.remove(span.start, span.stop)
            numbers -= set(span)
        assert list(ranges) == runs(numbers)
        assert ranges.size == len(numbers)
        assert bool(ranges) == bool(numbers)
    if numbers:
        assert (ranges.first, ranges.last) == (runs(numbers)[0], runs(numbers)[-1])
    assert ranges.overlaps(asked.start, asked.stop) == (not numbers.isdisjoint(asked))
    assert ranges.shared(asked.start, asked.stop) == len(numbers & set(asked))
    gaps = list(ranges.gaps_newest_first(asked.start, asked.stop))
    assert gaps == runs(set(asked) - numbers)[::-1]
    ranges.discard_below(asked.start)
    assert list(ranges) == runs({number for number in numbers if number >= asked.start})


def test_it_refuses_to_add_twice_or_remove_what_is_not_there():
    ranges = RangeSet()
    ranges.add(2, 5)
    for start, stop in [(4, 6), (0, 3), (2, 5), (7, 7)]:
        with pytest.raises(InternalError, match="cannot add"):
            ranges.add(start, stop)
    for start, stop in [(4, 6), (0, 3), (5, 6), (3, 3)]:
        with pytest.raises(InternalError, match="cannot remove"):
            ranges.remove(start, stop)
    assert list(ranges) == [(2, 5)]
