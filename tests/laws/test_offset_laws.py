"""Ranges of offsets: names read back, coverage against plain sets, slices that fit together."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from freshline.delta.metadata import loaded_names
from freshline.executor.offsets import (
    Coverage,
    OffsetRange,
    commit_fields,
    joined,
    names_in,
    parsed,
    sliced,
)

PARTITIONS = st.integers(0, 3)


def spans(most: int = 40) -> st.SearchStrategy[tuple[int, int]]:
    ends = st.integers(0, most)
    return st.tuples(ends, ends).map(lambda two: (min(two), max(two)))


RANGES = st.dictionaries(PARTITIONS, spans(), min_size=1).map(lambda s: OffsetRange("t-_1", s))


def offsets(ranges: list[OffsetRange]) -> set[tuple[int, int]]:
    return {
        (partition, offset)
        for each in ranges
        for partition, (start, to) in each.spans.items()
        for offset in range(start, to)
    }


@given(RANGES)
def test_a_name_reads_back(each):
    assert parsed(each.name) == each
    assert parsed(each.name).name == each.name


@settings(max_examples=200)
@given(st.lists(RANGES, max_size=8))
def test_what_a_commit_says_is_what_it_loaded(ranges):
    names = [each.name for each in ranges]
    fields = commit_fields(names)
    assert names_in(fields) == loaded_names(fields) == tuple(names)
    said = {
        (int(partition), offset)
        for partition, pairs in fields["offsets"].items()
        for start, to in zip(pairs[::2], pairs[1::2], strict=True)
        for offset in range(start, to)
    }
    assert said == offsets(ranges)
    for whole in joined(ranges).values():
        assert all(one[1] < two[0] for one, two in itertools.pairwise(whole))


@settings(max_examples=200)
@given(st.lists(st.tuples(st.booleans(), RANGES), max_size=12), spans())
def test_coverage_is_a_set_of_offsets(steps, window):
    coverage, told = Coverage(), set()
    seen: set[int] = set()
    floors: dict[int, int] = {}
    for is_told, each in steps:
        if is_told:
            coverage.add(each)
            told |= offsets([each])
            for partition, (start, _) in each.spans.items():
                seen.add(partition)
                floors[partition] = min(start, floors.get(partition, start))
        else:
            coverage.remove(each)
            told -= offsets([each])
    for partition in range(4):
        assert (partition in coverage) == (partition in seen)
        if partition in seen:  # where a feed began to read is never forgotten
            assert coverage.floor(partition) == floors[partition]
        missing = {
            offset for start, to in coverage.gaps(partition, *window) for offset in range(start, to)
        }
        assert missing == {o for o in range(*window) if (partition, o) not in told}


@settings(max_examples=200)
@given(st.dictionaries(PARTITIONS, spans(), min_size=1), st.integers(1, 30))
def test_slices_are_the_whole_in_order(whole, most):
    pieces = sliced(whole, most)
    assert set(pieces[0]) == set(whole)
    for partition, (start, to) in whole.items():
        at = start
        for piece in pieces:
            if partition in piece:
                assert piece[partition][0] == at
                at = piece[partition][1]
        assert at == to
    for piece in pieces:
        assert sum(to - start for start, to in piece.values()) <= most + len(whole)
