"""What is new in a topic, for one table: ranges of offsets that were not announced yet.

A range stands for a file: it is told once, remembered by its name, and loaded whole. What was
told is known from the journal, and after its loss from the commits, so a position needs no
consumer group. Offsets that are gone before they were told, or between two commits, are lost:
that is said, and counted.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import zip_longest

from freshline.core.errors import FreshlineError, PlatformError
from freshline.executor.offsets import Coverage, OffsetRange, Span, parsed, sliced
from freshline.executor.records import FeedFile
from freshline.executor.topic import NO_ID, Topic, TopicLook, gone
from freshline.project.model import Feed, KafkaSource

MOST_OFFSETS = 1_000_000
"""Of one range: an update of more would hold its track for minutes and fail as a whole."""

_BEFORE_S = 0.001
"""Kafka's timestamps count milliseconds."""


@dataclass(frozen=True, slots=True)
class TopicNews:
    """What one look at a topic found.

    Attributes:
        look: The topic as it was.
        files: New ranges, oldest first, as files for the core.
        lost: Ranges that were there once, or must have been, and cannot be read any more.
        notices: What people should hear, a sentence each.
    """

    look: TopicLook
    files: list[FeedFile] = field(default_factory=list)
    lost: list[OffsetRange] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    @property
    def id(self) -> str:
        """The topic's id."""
        return self.look.topic_id

    @property
    def newest_s(self) -> float | None:
        """The greatest timestamp of its records."""
        return self.look.newest_s

    @property
    def ends(self) -> dict[str, int]:
        """Behind the last offset of each partition."""
        return {str(p): each.end for p, each in sorted(self.look.partitions.items())}

    @property
    def lost_names(self) -> list[str]:
        """The names of the ranges that are lost."""
        return [each.name for each in self.lost]


def refuse_another(feed: Feed, told: Mapping[str, Coverage], look: TopicLook) -> None:
    """Stop where going on could read records twice, or skip some.

    Args:
        feed: Of kind kafka.
        told: What a table was told of, by the topic's id; nothing at its first start.
        look: The topic now.

    Raises:
        PlatformError: It cannot be told from others (``topic-without-id``), is another one
            (``topic-replaced``), or ends before what was read (``topic-cut-back``).
    """
    assert isinstance(feed.settings, KafkaSource)
    topic, choice = feed.settings.topic, "`on_new_topic: read`"
    if look.topic_id == NO_ID:
        raise PlatformError(
            "topic-without-id",
            f"the brokers of feed {feed.name} give topic {topic} no id",
            where=feed.place,
            rule="without one, freshline cannot notice that a topic was deleted and created again",
            next_step=f"Use brokers of Kafka 2.8 or newer, or {choice} if nobody deletes and"
            " re-creates the topic.",
        )
    look = as_known(feed, told, look)
    if told and look.topic_id not in told:
        raise PlatformError(
            "topic-replaced",
            f"topic {topic} of feed {feed.name} is not the one that was read before",
            where=feed.place,
            rule="a mirror of the old one has the same records at other offsets",
            next_step="Go back to the old one. Where the records are new ones,"
            f" {choice} reads it from its first offset.",
        )
    known = told.get(look.topic_id)
    for partition, there in sorted(look.partitions.items()) if known is not None else ():
        assert known is not None
        if there.end < known.top(partition):
            raise PlatformError(
                "topic-cut-back",
                f"partition {partition} of topic {topic} of feed {feed.name} ends at offset"
                f" {there.end}, although it was read up to {known.top(partition)}",
                where=feed.place,
                rule="the brokers have lost records, or are other ones with the same topic's id",
                next_step="Restore the topic. Where what was read is to stay,"
                f" {choice} goes on behind it.",
            )


def as_known(feed: Feed, told: Mapping[str, Coverage], look: TopicLook) -> TopicLook:
    """A look, under the id by which a table knows the topic.

    Brokers before Kafka 2.8 give no id. When they are upgraded, it is the same topic that has one
    then, and while that goes on, each look may ask another broker. Were it taken for a new topic,
    all of it would be read again. Where it was made again, its end tells, as among brokers that
    give no ids at all.

    Args:
        feed: Of kind kafka.
        told: What a table was told of, by the topic's id.
        look: The topic now.

    Raises:
        PlatformError: It has no id now, and the table has read several topics of the name
            (``topic-without-id``).
    """
    if NO_ID not in (look.topic_id, *told):
        return look
    if len(told) == 1:
        return replace(look, topic_id=next(iter(told)))
    if told and look.topic_id == NO_ID:
        assert isinstance(feed.settings, KafkaSource)
        raise PlatformError(
            "topic-without-id",
            f"the brokers of feed {feed.name} give topic {feed.settings.topic} no id",
            where=feed.place,
            rule=f"a table has read {len(told)} topics of this name, and which of them it is cannot"
            " be told",
            next_step="Use brokers of Kafka 2.8 or newer; while they are upgraded, wait.",
        )
    return look


class TopicListing:
    """One table's view of its feed's topic.

    Args:
        feed: Of kind kafka.
        table: The table that reads it; another one has a listing of its own.
        topic: To look at.
        known: Names of the ranges that the table was told of, lost ones included.
        newest_s: The greatest timestamp among them; None before the first.
        vanished: Names of ranges that it was told of and could not read.
    """

    def __init__(
        self,
        feed: Feed,
        table: str,
        topic: Topic,
        known: Iterable[str] = (),
        newest_s: float | None = None,
        vanished: Iterable[str] = (),
    ) -> None:
        assert isinstance(feed.settings, KafkaSource)
        self.feed = feed
        self.table = table
        self._source = feed.settings
        starting = feed.settings.starting
        self._since_s = (
            None
            if starting in ("latest", "earliest")
            else datetime.fromisoformat(starting).timestamp()
        )
        self._topic = topic
        self._told: dict[str, Coverage] = {}
        self._forgotten: deque[OffsetRange] = deque()
        self._lock = threading.Lock()
        self._newest_s = newest_s
        self._capped_s: float | None = None
        """What would have been claimed, but for an open transaction: once that has ended, it is."""
        self._floors: dict[int, int] = {}
        self._cut_back: dict[int, int] = {}
        # First of all: what was left of them may have been told again, under names of its own.
        for each in map(parsed, vanished):
            self._tell(each)
            self._told[each.topic_id].remove(each)
        for name in known:
            self._tell(parsed(name))

    def forget(self, name: str) -> None:
        """A range could not be read: the next look tells again what of it is still there.

        A look that goes on is not waited for: it may wait for the brokers.
        """
        self._forgotten.append(parsed(name))

    def exists(self, name: str) -> bool:
        """Whether all of a range can still be read; asks the brokers.

        Where they do not answer it counts as there: it is tried again.
        """
        try:
            look = self._topic.look()
        except FreshlineError as error:
            return error.code != "topic-missing"
        return gone(name, look) is None

    def news(self, now_s: float) -> TopicNews:
        """Look at the topic.

        Raises:
            PlatformError: The brokers do not answer, or the topic is not there, or is refused.
        """
        look = self._topic.look()
        with self._lock:
            return self._news(look, now_s)

    def _news(self, look: TopicLook, now_s: float) -> TopicNews:
        while self._forgotten:
            forgotten = self._forgotten.popleft()
            if forgotten.topic_id in self._told:
                self._told[forgotten.topic_id].remove(forgotten)
        if self._source.on_new_topic == "refuse":
            refuse_another(self.feed, self._told, look)
        look = as_known(self.feed, self._told, look)
        news = TopicNews(look)
        begins = not self._told
        unknown = look.topic_id not in self._told
        if begins and self._since_s is not None and now_s < self._since_s:
            return news  # where that moment lies, nobody can tell before it comes
        if unknown and not begins:
            news.notices.append(
                f"feed {self.feed.name}: topic {self._source.topic} was deleted and created again;"
                " it is read from its first offset on"
            )
        told = self._told.get(look.topic_id, Coverage())
        floors = self._starting(look) if begins else {}
        left: dict[int, list[Span]] = {}
        for partition, there in sorted(look.partitions.items()):
            floor = told.floor(partition) if partition in told else floors.get(partition, 0)
            gaps = list(told.gaps(partition, floor, there.end))
            lost = [(low, min(high, there.earliest)) for low, high in gaps if low < there.earliest]
            news.lost.extend(OffsetRange(look.topic_id, {partition: span}) for span in lost)
            left[partition] = [
                (max(low, there.earliest), high) for low, high in gaps if high > there.earliest
            ]
            self._look_for_a_cut(partition, told.top(partition), there.end, news)
        anything = any(left.values()) or news.lost
        waits = begins and self._source.starting == "earliest"
        if unknown and (anything or not waits):
            # Where a table began must stand in its first commit, of empty partitions too.
            for partition, there in look.partitions.items():
                if not left[partition]:
                    at = max(floors.get(partition, 0), there.earliest)
                    left[partition] = [(at, at)]
        self._said_lost(news)
        self._ranges(look, left, news, now_s)
        for each in news.lost:
            self._tell(each)
        return news

    def _starting(self, look: TopicLook) -> dict[int, int]:
        """Where the first update begins in each partition."""
        starting = self._source.starting
        for partition, there in look.partitions.items():
            if partition in self._floors:
                continue  # the first look of this run decides
            self._floors[partition] = there.end if starting == "latest" else there.earliest
        if self._since_s is not None:
            self._floors = self._topic.offsets_since(self._since_s, look)
        return self._floors

    def _ranges(
        self, look: TopicLook, left: dict[int, list[Span]], news: TopicNews, now_s: float
    ) -> None:
        """Put what is left into ranges that are not too large, and stamp them."""
        pieces: list[OffsetRange] = []
        for layer in zip_longest(*left.values()):
            spans = {p: span for p, span in zip(left, layer, strict=True) if span is not None}
            pieces += [OffsetRange(look.topic_id, each) for each in sliced(spans, MOST_OFFSETS)]
        stamps = self._stamps(pieces, look)
        from_the_first = not self._told and self._source.starting == "earliest"
        if from_the_first and all(stamp_s is None for stamp_s in stamps):
            return  # nothing but aborted transactions: the first record will tell a time
        # A range without records brings no freshness of its own: that of the one before it,
        # or, at the very first, no later one than any record has.
        known_s = self._newest_s
        told_s = [each for each in stamps if each is not None]
        if known_s is None and told_s and stamps[0] is None:
            oldest_s = self._topic.oldest_s(look)
            known_s = min(told_s if oldest_s is None else [oldest_s, *told_s])
        # What an open transaction holds back comes later, and may be older than all of this:
        # nothing newer is claimed, except what was before.
        held_s = [each.held_s for each in look.partitions.values() if each.held_s is not None]
        most_s = min(held_s, default=math.inf) - _BEFORE_S
        if self._newest_s is not None:
            most_s = max(most_s, self._newest_s)
        if pieces and self._capped_s is not None:
            stamps[-1] = max(each for each in (stamps[-1], self._capped_s) if each is not None)
        for piece, stamp_s in zip(pieces, stamps, strict=True):
            if stamp_s is not None:
                known_s = stamp_s
            wanted_s = now_s if known_s is None else known_s
            at_s = round(min(most_s, wanted_s), 6)
            self._capped_s = wanted_s if wanted_s > most_s else None
            news.files.append(FeedFile(piece.name, 0, at_s, at_s))
            self._newest_s = at_s if self._newest_s is None else max(at_s, self._newest_s)
            self._tell(piece)

    def _stamps(self, pieces: Sequence[OffsetRange], look: TopicLook) -> list[float | None]:
        """To which time each of the pieces brings the table; None where it brings no freshness.

        The last one brings it to the greatest timestamp of all their records. What goes on in a
        partition behind another one is not older than its last record there, where timestamps do
        not go back: of these last records the oldest counts.

        The broker tells the greatest of a whole partition and its offset. Where that lies
        outside, the last record's is taken: the greatest, where timestamps do not go back.
        So it is where that is the last offset: the mark that ends a transaction has a
        timestamp too, the broker's, and is no record.
        """
        ends = {p: to for each in pieces for p, (start, to) in each.spans.items() if start < to}
        at: dict[int, int] = {}
        reached: dict[int, float] = {}
        greatest: float | None = None
        stamps: list[float | None] = []
        for piece in pieces:
            for partition, (start, to) in piece.spans.items():
                if start == to:
                    continue
                there, at[partition] = look.partitions[partition], to
                found = []
                if there.newest_offset is not None and start <= there.newest_offset < to - 1:
                    found.append(there.newest_s)
                if not found or to < ends[partition]:
                    last_s = self._topic.last_record_s(partition, start, to)
                    found.append(last_s)
                    if last_s is not None:
                        reached[partition] = last_s
                told_s = [each for each in (*found, greatest) if each is not None]
                greatest = max(told_s, default=None)
            going_on = [p for p, end in ends.items() if at.get(p) != end]
            if not going_on:
                stamps.append(greatest)
            elif all(p in reached for p in going_on):
                stamps.append(min(reached[p] for p in going_on))
            else:
                stamps.append(None)
        return stamps

    def _tell(self, told: OffsetRange) -> None:
        self._told.setdefault(told.topic_id, Coverage()).add(told)

    def _look_for_a_cut(self, partition: int, top: int, end: int, news: TopicNews) -> None:
        if end >= top:
            self._cut_back.pop(partition, None)
        elif self._cut_back.get(partition) != end:
            self._cut_back[partition] = end
            news.notices.append(
                f"feed {self.feed.name}: partition {partition} of topic {self._source.topic} ends"
                f" at offset {end}, although it was read up to {top}: the brokers have lost"
                f" records; new ones are read from offset {top} on"
            )

    def _said_lost(self, news: TopicNews) -> None:
        for each in news.lost:
            ((partition, (start, to)),) = each.spans.items()
            news.notices.append(
                f"table {self.table} has lost offsets {start} to {to - 1} of partition {partition}"
                f" of topic {self._source.topic}: the topic's retention removed up to"
                f" {to - start} records before they were loaded; the feed goes on from offset {to}"
            )
