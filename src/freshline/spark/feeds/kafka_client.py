"""Asking Kafka's brokers through the JVM's own client, the one with which Spark reads.

One client, and so one set of settings, credentials and versions: whatever connects Spark to the
brokers (`kafka.security.protocol` and so on) connects this.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from freshline.core.errors import PlatformError, UserError
from freshline.executor.topic import PartitionLook, TopicLook, TopicMissingError
from freshline.project.model import Feed, KafkaSource
from freshline.spark.engine.jvm import named

_ADMIN = "org.apache.kafka.clients.admin"
_PATIENCE_MS = 10_000
_POLL_MS = 2_000
_PEEK_MS = 1_000
_PEEKED_BYTES = 65_536
_STEPS = (1, 4, 16, 64, 256, 1024, 4096)
_BYTES = "org.apache.kafka.common.serialization.ByteArrayDeserializer"

T = TypeVar("T")

READ_COMMITTED = "read_committed"
READ_UNCOMMITTED = "read_uncommitted"


def client_settings(feed: Feed) -> dict[str, str]:
    """The settings of Kafka's own client: the feed's options that start with ``kafka.``.

    Records of transactions that were aborted are no data: unless the feed says otherwise,
    only committed ones are read.
    """
    source = feed.settings
    assert isinstance(source, KafkaSource)
    given = {
        key.removeprefix("kafka."): value
        for key, value in feed.options.items()
        if key.startswith("kafka.")
    }
    return {"isolation.level": READ_COMMITTED, "bootstrap.servers": source.servers} | given


class JvmTopic:
    """One feed's topic; see :class:`freshline.executor.topic.Topic`.

    Connects when it is first asked. Admin clients may be shared by threads, consumers may
    not: they are made only where a record has to be read for its timestamp.

    Args:
        session: Whose JVM has Kafka's classes.
        feed: A feed of kind kafka.
    """

    def __init__(self, session: SparkSession, feed: Feed) -> None:
        assert isinstance(feed.settings, KafkaSource)
        self._session = session
        self._feed = feed
        self._topic = feed.settings.topic
        self._settings = client_settings(feed)
        self._admin: Any = None
        self._consumer: Any = None
        self._peeking: Any = None
        """A consumer that reads what open transactions hold back."""
        self._held: dict[tuple[str, int], tuple[int, float]] = {}
        """Of each partition that had such: its end, and the timestamp of the record there.

        Where that could not be read, the end is -1 and the timestamp the partition's oldest.
        """
        self._lock = threading.RLock()
        self._newest: dict[tuple[str, int], tuple[int, int | None, float | None]] = {}
        self._tells_newest = True

    def look(self) -> TopicLook:
        """How the topic stands now.

        Raises:
            TopicMissingError: There is no such topic.
            PlatformError: The brokers do not answer, or refuse.
        """
        with self._lock:
            return self._asked(self._look)

    def offsets_since(self, at_s: float, look: TopicLook) -> dict[int, int]:
        """Of each partition the first offset whose timestamp is at least ``at_s``, or its end.

        Raises:
            PlatformError: The brokers do not answer, or refuse.
        """
        with self._lock:
            spec = self._class(f"{_ADMIN}.OffsetSpec.forTimestamp")(int(at_s * 1000))
            found = self._asked(lambda: self._listed(dict.fromkeys(look.partitions, spec)))
        return {
            partition: found[partition][0] if found[partition][0] >= 0 else each.end
            for partition, each in look.partitions.items()
        }

    def oldest_s(self, look: TopicLook) -> float | None:
        """The least timestamp among the first records of the partitions; None without records.

        Raises:
            PlatformError: The brokers do not answer, or refuse.
        """
        with self._lock:
            oldest = self._asked(lambda: self._listed_oldest(list(look.partitions)))
        return min(oldest.values(), default=None)

    def last_record_s(self, partition: int, start: int, to: int) -> float | None:
        """The timestamp of the last record before ``to``; None where none stands near it.

        Marks of transactions and what compaction removed are passed over, backwards in
        growing steps: at most some thousand offsets.

        Raises:
            PlatformError: The brokers do not answer, or refuse.
        """
        with self._lock:
            return self._asked(lambda: self._read_stamp(partition, start, to))

    # ---- the admin client ----

    def _look(self) -> TopicLook:
        described = self._client().describeTopics([self._topic]).allTopicNames().get()
        description = described[self._topic]
        topic_id = description.topicId().toString()
        partitions = [int(each.partition()) for each in description.partitions()]
        specs = f"{_ADMIN}.OffsetSpec"
        earliest = self._listed(dict.fromkeys(partitions, self._class(f"{specs}.earliest")()))
        # Before the ends: else a record that comes between the two would seem to be held back.
        written = self._written(partitions)
        ends = self._listed(dict.fromkeys(partitions, self._class(f"{specs}.latest")()))
        held = self._held_back(topic_id, written, ends)
        moved = [
            partition
            for partition in partitions
            if self._newest.get((topic_id, partition), (0,))[0] != ends[partition][0]
        ]
        newest = self._listed_newest(moved)
        for partition in moved:
            offset, stamp_ms = newest.get(partition, (-1, -1))
            told = offset >= 0 and stamp_ms >= 0
            known = (offset, stamp_ms / 1000.0) if told else (None, None)
            self._newest[topic_id, partition] = (ends[partition][0], *known)
        return TopicLook(
            topic_id,
            {
                partition: PartitionLook(
                    earliest[partition][0],
                    ends[partition][0],
                    *self._newest.get((topic_id, partition), (0, None, None))[1:],
                    held_s=held.get(partition),
                )
                for partition in partitions
            },
        )

    def _written(self, partitions: list[int]) -> dict[int, tuple[int, int]]:
        """Behind the last record of each partition, readable or not; nothing where all are."""
        if self._settings["isolation.level"].lower() != READ_COMMITTED:
            return {}
        latest = self._class(f"{_ADMIN}.OffsetSpec.latest")()
        return self._listed(dict.fromkeys(partitions, latest), READ_UNCOMMITTED)

    def _held_back(
        self,
        topic_id: str,
        written: Mapping[int, tuple[int, int]],
        ends: Mapping[int, tuple[int, int]],
    ) -> dict[int, float]:
        """The timestamp of the first record that cannot be read yet, where there is one.

        Where it is not read in time, an older one: of the record at which the partition ended
        before, else of its first one. What is held back is not older than these.
        """
        held = {
            partition: ends[partition][0]
            for partition, (end, _) in written.items()
            if end > ends[partition][0]
        }
        known = {key[1]: each for key, each in self._held.items() if key[0] == topic_id}
        asked = {p: end for p, end in held.items() if p not in known or known[p][0] != end}
        if asked:
            found = self._first_stamps(asked)
            known |= {partition: (asked[partition], at_s) for partition, at_s in found.items()}
        untold = [partition for partition in held if partition not in known]
        if untold:
            oldest = self._listed_oldest(untold)
            known |= {partition: (-1, at_s) for partition, at_s in oldest.items()}
        self._held = {(topic_id, partition): each for partition, each in known.items()}
        return {partition: known[partition][1] for partition in held if partition in known}

    def _listed_oldest(self, partitions: list[int]) -> dict[int, float]:
        """The timestamp of each partition's first record that has one, readable or not."""
        spec = self._class(f"{_ADMIN}.OffsetSpec.forTimestamp")(0)
        found = self._listed(dict.fromkeys(partitions, spec), READ_UNCOMMITTED)
        return {p: stamp_ms / 1000.0 for p, (_, stamp_ms) in found.items() if stamp_ms >= 0}

    def _listed_newest(self, partitions: list[int]) -> dict[int, tuple[int, int]]:
        """Offset and timestamp of the newest record; nothing from brokers older than 3.0."""
        if not partitions or not self._tells_newest:
            return {}
        spec = self._class(f"{_ADMIN}.OffsetSpec.maxTimestamp")()
        try:
            return self._listed(dict.fromkeys(partitions, spec))
        except Py4JJavaError as error:
            if "UnsupportedVersion" not in _root(error).getClass().getName():
                raise
            self._tells_newest = False
            return {}

    def _listed(
        self, specs: Mapping[int, Any], isolation: str | None = None
    ) -> dict[int, tuple[int, int]]:
        """Offset and timestamp (milliseconds) of each partition, as the specs ask."""
        asked = self._class("java.util.HashMap")()
        for partition, spec in specs.items():
            asked.put(self._partition(partition), spec)
        level = self._class("org.apache.kafka.common.IsolationLevel.valueOf")(
            (isolation or self._settings["isolation.level"]).upper()
        )
        options = self._class(f"{_ADMIN}.ListOffsetsOptions")(level)
        found = self._client().listOffsets(asked, options).all().get()
        answers = {}
        for key in found:
            info = found[key]
            answers[int(key.partition())] = (int(info.offset()), int(info.timestamp()))
        return answers

    def _client(self) -> Any:
        if self._admin is None:
            self._admin = self._class(f"{_ADMIN}.AdminClient.create")(self._map({}))
        return self._admin

    # ---- the consumer ----

    def _read_stamp(self, partition: int, start: int, to: int) -> float | None:
        if self._consumer is None:
            self._consumer = self._new_consumer({})
        key = self._partition(partition)
        self._consumer.assign([key])
        wait = self._class("java.time.Duration.ofMillis")(_POLL_MS)
        for step in _STEPS:
            offset = max(start, to - step)
            self._consumer.seek(key, offset)
            stamp_ms = -1
            end_s = time.monotonic() + _POLL_MS / 1000.0
            while int(self._consumer.position(key)) < to and time.monotonic() < end_s:
                records = self._consumer.poll(wait).iterator()
                while records.hasNext():
                    record = records.next()
                    if int(record.offset()) < to:
                        stamp_ms = max(stamp_ms, int(record.timestamp()))
            if stamp_ms >= 0:
                return stamp_ms / 1000.0
            if offset == start:
                break
        return None

    def _first_stamps(self, offsets: Mapping[int, int]) -> dict[int, float]:
        """The timestamp of the first record of each partition from an offset on.

        One poll takes whatever the brokers have sent. A look waits for a moment only: partitions
        that are not answered by then are left out, as are records without a timestamp.
        """
        if self._peeking is None:
            self._peeking = self._new_consumer(
                {
                    "isolation.level": READ_UNCOMMITTED,
                    "max.poll.records": "100000",
                    "max.partition.fetch.bytes": str(_PEEKED_BYTES),
                    "fetch.max.wait.ms": "100",
                }
            )
        end_s = time.monotonic() + _PEEK_MS / 1000.0
        waiting = {partition: self._partition(partition) for partition in offsets}
        self._peeking.assign(list(waiting.values()))
        self._peeking.resume(list(waiting.values()))  # what stays assigned stays paused
        for partition, offset in offsets.items():
            self._peeking.seek(waiting[partition], offset)
        found: dict[int, float] = {}
        while waiting and (left_ms := int((end_s - time.monotonic()) * 1000)) > 0:
            polled = self._peeking.poll(self._class("java.time.Duration.ofMillis")(left_ms))
            if polled.isEmpty():
                continue
            answered = {p: polled.records(key) for p, key in waiting.items()}
            answered = {p: records for p, records in answered.items() if not records.isEmpty()}
            for partition, records in answered.items():
                found[partition] = int(records.get(0).timestamp()) / 1000.0
            self._peeking.pause([waiting.pop(partition) for partition in answered])
        return {partition: at_s for partition, at_s in found.items() if at_s >= 0}

    def _new_consumer(self, more: Mapping[str, str]) -> Any:
        settings = {
            "key.deserializer": _BYTES,
            "value.deserializer": _BYTES,
            "enable.auto.commit": "false",
            "allow.auto.create.topics": "false",
            "auto.offset.reset": "none",
        }
        consumer = self._class("org.apache.kafka.clients.consumer.KafkaConsumer")
        return consumer(self._map(settings | dict(more)))

    # ---- common ----

    def _asked(self, ask: Callable[[], T]) -> T:
        """What ``ask`` returns; what the brokers answer otherwise as one of our errors."""
        try:
            return ask()
        except Py4JJavaError as error:
            cause = _root(error)
            kind = cause.getClass().getSimpleName()
            if kind == "UnknownTopicOrPartitionException":
                raise TopicMissingError(
                    self._feed.name, self._topic, where=self._feed.place
                ) from error
            raise self._refused(f"{cause.getMessage() or kind}") from error
        except Py4JError as error:
            raise self._refused("Spark's process does not answer") from error

    def _refused(self, why: str) -> PlatformError:
        return PlatformError(
            "brokers",
            f"topic {self._topic} of feed {self._feed.name} cannot be read:"
            f" {why.strip().rstrip('.')}",
            where=self._feed.place,
            next_step="It is tried again; look at `servers:`, the network and the permissions.",
        )

    def _class(self, name: str) -> Any:
        found = named(self._session, name)
        if type(found).__name__ == "JavaPackage":
            raise UserError(
                "no-kafka-classes",
                f"feed {self._feed.name} needs Spark's classes for Kafka, which are not there",
                where=self._feed.place,
                rule="freshline adds the package spark-sql-kafka-0-10 unless spark.jars or"
                " spark.jars.packages name one",
                next_step="Name all of its jars, Kafka's client among them.",
            )
        return found

    def _partition(self, partition: int) -> Any:
        return self._class("org.apache.kafka.common.TopicPartition")(self._topic, partition)

    def _map(self, more: Mapping[str, str]) -> Any:
        settings = {
            "request.timeout.ms": str(_PATIENCE_MS // 2),
            "default.api.timeout.ms": str(_PATIENCE_MS),
        }
        entries = self._class("java.util.HashMap")()
        for key, value in (settings | self._settings | dict(more)).items():
            entries.put(key, value)
        return entries


def _root(error: Py4JJavaError) -> Any:
    """The exception that Kafka's client threw, out of those wrapped around it."""
    cause = error.java_exception
    while cause.getCause() is not None and "kafka.common.errors" not in cause.getClass().getName():
        cause = cause.getCause()
    return cause
