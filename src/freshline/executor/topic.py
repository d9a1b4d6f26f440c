"""What the runtime knows of a topic, and asks of it; importable without Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from freshline.core.errors import Place, PlatformError
from freshline.executor.offsets import parsed

NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
"""The id that brokers without topic ids give to every topic: all bits 0."""


@dataclass(frozen=True, slots=True)
class PartitionLook:
    """One partition at one moment.

    Attributes:
        earliest: The first offset that can still be read.
        end: Behind the last one; with read_committed, where no transaction is open below.
        newest_offset, newest_s: Offset and timestamp of the record with the greatest
            timestamp; None where there is no record, or the broker cannot tell.
        held_s: The timestamp of the first record that an open transaction holds back, its own or
            one behind it, or an older one of the partition where that could not be read in time;
            None where there is none, or it is read too.
    """

    earliest: int
    end: int
    newest_offset: int | None = None
    newest_s: float | None = None
    held_s: float | None = None


@dataclass(frozen=True, slots=True)
class TopicLook:
    """A topic at one moment; ``topic_id`` changes when it is deleted and made again."""

    topic_id: str
    partitions: Mapping[int, PartitionLook]

    @property
    def newest_s(self) -> float | None:
        """The greatest timestamp of all records."""
        stamps = [each.newest_s for each in self.partitions.values() if each.newest_s is not None]
        return max(stamps, default=None)


def gone(name: str, look: TopicLook) -> str | None:
    """Why a range cannot be read from a topic that stands so; None where it can."""
    asked = parsed(name)
    # Brokers may begin to give ids, and while they are upgraded, they answer by turns.
    if asked.topic_id != look.topic_id and NO_ID not in (asked.topic_id, look.topic_id):
        return "the topic was deleted; it is another one now"
    for partition, (start, to) in asked.spans.items():
        if start == to:
            continue
        there = look.partitions.get(partition)
        if there is None:
            return f"partition {partition} is gone"
        if start < there.earliest:
            upto = min(to, there.earliest)
            return f"offsets {start} to {upto - 1} of partition {partition} are gone"
        if to > there.end:
            return f"partition {partition} ends at {there.end}, it was cut back"
    return None


class Topic(Protocol):
    """One topic on its brokers."""

    def look(self) -> TopicLook:
        """How the topic stands now; safe to call from several threads.

        Raises:
            TopicMissingError: There is no such topic.
            PlatformError: The brokers do not answer, or refuse.
        """
        ...

    def offsets_since(self, at_s: float, look: TopicLook) -> dict[int, int]:
        """Of each partition the first offset whose timestamp is at least ``at_s``, or its end.

        Raises:
            PlatformError: As for ``look``.
        """
        ...

    def oldest_s(self, look: TopicLook) -> float | None:
        """The least timestamp among the first records of the partitions; None without records.

        Raises:
            PlatformError: As for ``look``.
        """
        ...

    def last_record_s(self, partition: int, start: int, to: int) -> float | None:
        """The timestamp of the last record before ``to``; None where none stands near it.

        Raises:
            PlatformError: As for ``look``.
        """
        ...


@runtime_checkable
class HasTopics(Protocol):
    """An executor that can look at the topics of its project's feeds."""

    def topic(self, feed: str) -> Topic:
        """The topic of a feed of kind kafka."""
        ...


class TopicMissingError(PlatformError):
    """The brokers answer, and there is no such topic."""

    def __init__(self, feed: str, topic: str, *, where: Place | None = None) -> None:
        super().__init__(
            "topic-missing",
            f"topic {topic} of feed {feed} is not there",
            where=where,
            rule="freshline makes no topics",
            next_step="Make the topic, or correct its name; it is looked for again.",
        )
