"""Ranges of a topic's offsets, under names that the scheduler takes for files.

What a look at a topic finds new is one range for each partition. Everything behind knows it by
its name alone: the core, the journal, pending work, replay. A name starts with the topic's id,
so that a topic made anew under an old name cannot be taken for what was loaded before:

    kN3vYtPMQzaA_8hFbqf0rw/0:120-180,1:55-90        from (included) to (excluded)

Pure, and importable without Spark.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from freshline.core.errors import InternalError

Span = tuple[int, int]
"""Offsets of one partition: from (included) to (excluded)."""

_NAME = re.compile(r"([\w-]+)/(\d+:\d+-\d+(?:,\d+:\d+-\d+)*)\Z")
_SPAN = re.compile(r"(\d+):(\d+)-(\d+)")


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """A span of offsets for each of some partitions of a topic.

    Attributes:
        topic_id: Of the topic; a topic deleted and made again has another one.
        spans: By partition. An empty one says that the feed knows the partition up to there.
    """

    topic_id: str
    spans: Mapping[int, Span]

    @property
    def name(self) -> str:
        """What the core and the journal call it; :func:`parsed` reads it."""
        spans = (f"{p}:{a}-{b}" for p, (a, b) in sorted(self.spans.items()))
        return f"{self.topic_id}/{','.join(spans)}"

    @property
    def size_offsets(self) -> int:
        """How many offsets; of records there may be fewer (compaction, transactions)."""
        return sum(to - start for start, to in self.spans.values())


def is_range(name: str) -> bool:
    """Whether it names a range; a table that read files before has names of those, too."""
    return _NAME.match(name) is not None


def parsed(name: str) -> OffsetRange:
    """The range of that name.

    Raises:
        InternalError: It is no name of a range.
    """
    found = _NAME.match(name)
    if found is None:
        raise InternalError("no-offset-range", f"'{name}' names no range of offsets")
    spans = {int(p): (int(a), int(b)) for p, a, b in _SPAN.findall(found[2])}
    return OffsetRange(found[1], spans)


def joined(ranges: Iterable[OffsetRange]) -> dict[int, list[Span]]:
    """The spans of each partition, those that meet made one, in the order of offsets.

    An empty span is left where its partition has no other.
    """
    by_partition: dict[int, list[Span]] = {}
    for each in ranges:
        for partition, span in each.spans.items():
            by_partition.setdefault(partition, []).append(span)
    result: dict[int, list[Span]] = {}
    for partition, spans in sorted(by_partition.items()):
        whole: list[Span] = []
        for start, to in sorted(span for span in spans if span[0] < span[1]):
            if whole and start <= whole[-1][1]:
                whole[-1] = (whole[-1][0], max(to, whole[-1][1]))
            else:
                whole.append((start, to))
        result[partition] = whole or [max(spans)]
    return result


def joined_names(names: Iterable[str]) -> list[str]:
    """Names of as few ranges as cover the same offsets of the same topics and no others."""
    by_topic: dict[str, list[OffsetRange]] = {}
    for each in map(parsed, names):
        by_topic.setdefault(each.topic_id, []).append(each)
    found = []
    for topic_id, ranges in by_topic.items():
        spans = joined(ranges)
        for layer in zip_longest(*spans.values()):
            whole = {p: span for p, span in zip(spans, layer, strict=True) if span is not None}
            found.append(OffsetRange(topic_id, whole).name)
    return found


def commit_fields(names: Sequence[str]) -> dict[str, Any]:
    """What a commit says of the ranges that it loaded.

    ``offsets`` has ``[from, to]`` for each partition; where what was loaded does not meet
    (a range between was waiting for its retry), further pairs follow. ``ranges`` are the
    names, without the topic's id.
    """
    ranges = [parsed(name) for name in names]
    offsets = {
        str(partition): [offset for span in spans for offset in span]
        for partition, spans in joined(ranges).items()
    }
    fields: dict[str, Any] = {"offsets": offsets}
    if ranges:
        fields["topic"] = ranges[0].topic_id
        fields["ranges"] = [name.partition("/")[2] for name in names]
    return fields


def names_in(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """The names that :func:`commit_fields` was made of."""
    topic_id = fields.get("topic", "")
    return tuple(f"{topic_id}/{spans}" for spans in fields.get("ranges", ()))


@dataclass(slots=True)
class Coverage:
    """The offsets of one topic that a table has been told of: disjoint spans, ascending."""

    spans: dict[int, list[Span]] = field(default_factory=dict)

    def __contains__(self, partition: int) -> bool:
        return partition in self.spans

    def floor(self, partition: int) -> int:
        """The first offset that was ever told of a partition."""
        return self.spans[partition][0][0]

    def top(self, partition: int) -> int:
        """Behind the last offset that was told; 0 for a partition never seen."""
        return self.spans[partition][-1][1] if partition in self.spans else 0

    def add(self, told: OffsetRange) -> None:
        """Told, in whatever order; offsets told before stay so."""
        for partition, span in told.spans.items():
            kept = self.spans.setdefault(partition, [])
            low = bisect_left(kept, span[0], key=lambda each: each[1])
            start, to = span
            high = low
            while high < len(kept) and kept[high][0] <= to:
                start, to = min(start, kept[high][0]), max(to, kept[high][1])
                high += 1
            kept[low:high] = [(start, to)]

    def remove(self, gone: OffsetRange) -> None:
        """Not told any more: what of it is still there is told again.

        The partition stays known, and with it where the feed began to read it.
        """
        for partition, (start, to) in gone.spans.items():
            if partition not in self.spans or start >= to:
                continue
            floor = self.floor(partition)
            rest = [
                piece
                for low, high in self.spans[partition]
                for piece in ((low, min(high, start)), (max(low, to), high))
                if piece[0] < piece[1]
            ]
            if not rest or rest[0][0] > floor:
                rest.insert(0, (floor, floor))
            self.spans[partition] = rest

    def meets(self, asked: OffsetRange) -> bool:
        """Whether an offset of a range was told."""
        return any(
            low < to and start < high
            for partition, (start, to) in asked.spans.items()
            if start < to
            for low, high in self.spans.get(partition, ())
        )

    def gaps(self, partition: int, start: int, to: int) -> Iterator[Span]:
        """The spans within [start, to) that were not told, ascending."""
        for low, high in self.spans.get(partition, ()):
            if low >= to:
                break
            if low > start:
                yield start, low
            start = max(start, high)
        if start < to:
            yield start, to


def sliced(spans: Mapping[int, Span], most: int) -> list[dict[int, Span]]:
    """Cut spans into pieces of about ``most`` offsets, oldest first.

    Each piece has its share of every partition, so that pieces follow each other in time.
    The first has every partition, empty ones too, and the first offset of each; together they
    are ``spans``.
    """
    total = sum(to - start for start, to in spans.values())
    count = max(1, -(-total // most))
    pieces = []
    for index in range(count):
        piece = {}
        for partition, (start, to) in spans.items():
            low = to - (to - start) * (count - index) // count
            high = to - (to - start) * (count - index - 1) // count
            if low < high or index == 0:
                piece[partition] = (low, high)
        if piece:
            pieces.append(piece)
    return pieces
