"""The demo's feeds as Kafka topics: declared, filled, and read again by another client.

confluent-kafka stands on librdkafka: what it counts and reads is a second opinion on what
freshline reads with the JVM's client.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import duckdb
import yaml
from confluent_kafka import Consumer, Producer, TopicPartition

from demo import schedule
from demo.broker import Broker
from demo.commits import Commit
from demo.kafka_jars import source_jars
from demo.places import DemoError, Places

_PARTITIONS = 2
_KEYS = {"orders": "o_orderkey", "lineitem": "l_orderkey"}
_LINEITEM = (
    "l_orderkey BIGINT, l_partkey BIGINT, l_suppkey BIGINT, l_linenumber INT,"
    " l_quantity DECIMAL(15,2), l_extendedprice DECIMAL(15,2), l_discount DECIMAL(15,2),"
    " l_tax DECIMAL(15,2), l_returnflag STRING, l_linestatus STRING, l_shipdate DATE,"
    " l_commitdate DATE, l_receiptdate DATE, l_shipinstruct STRING, l_shipmode STRING,"
    " l_comment STRING"
)
_PATIENCE_S = 30.0


def declare(places: Places, broker: Broker) -> None:
    """Make the topics, and the project's feeds of kind kafka."""
    path = places.project / "freshline.yml"
    settings = yaml.safe_load(path.read_text())
    settings["configuration"]["spark.jars"] = ",".join(map(str, source_jars()))
    for name, feed in settings["feeds"].items():
        topic = name.removesuffix("_feed")
        broker.make_topic(topic, _PARTITIONS)
        settings["feeds"][name] = {
            "kind": "kafka",
            "servers": broker.servers,
            "topic": topic,
            "format": "json",
            "schema": feed.get("schema", _LINEITEM),
        }
    path.write_text(yaml.safe_dump(settings, sort_keys=False))


class Sender:
    """Sends staged files, a record a row.

    Args:
        servers: Of the brokers.
    """

    def __init__(self, servers: str) -> None:
        self._producer = Producer(
            {"bootstrap.servers": servers, "linger.ms": 5, "enable.idempotence": True}
        )

    def send(self, places: Places, each: schedule.Release, start_s: float) -> None:
        """Send the rows of one file, stamped with when it was due.

        Raises:
            DemoError: The brokers have not acknowledged them.
        """
        (staged,) = (places.staged / each.feed / f"slice={each.slice}").iterdir()
        stamp_ms = int((start_s + each.due_s) * 1000)
        for key, value in _records(staged, _KEYS[each.feed]):
            self._producer.produce(each.feed, value, key, timestamp=stamp_ms)
            self._producer.poll(0)
        if self._producer.flush(_PATIENCE_S):
            raise DemoError(f"the broker did not take all rows of {staged.name}")


def _records(staged: Path, key: str) -> Iterator[tuple[str, str]]:
    """Key and JSON of every row."""
    with duckdb.connect() as db:
        rows = (
            db.read_csv(str(staged), header=True)
            if staged.suffix == ".csv"
            else db.read_parquet(str(staged), hive_partitioning=False)
        )
        rows.create_view("staged")
        query = f"SELECT CAST({key} AS VARCHAR), CAST(to_json(staged) AS VARCHAR) FROM staged"
        yield from db.execute(query).fetchall()


def ends(servers: str, topic: str) -> dict[int, int]:
    """How many records each partition has."""
    consumer = _consumer(servers)
    try:
        return {
            partition: consumer.get_watermark_offsets(
                TopicPartition(topic, partition), timeout=_PATIENCE_S
            )[1]
            for partition in range(_PARTITIONS)
        }
    finally:
        consumer.close()


def fault(log: Sequence[Commit], ends: Mapping[int, int]) -> str | None:
    """What is wrong with the offsets of a table's commits; None where each stands there once."""
    for partition, end in sorted(ends.items()):
        pairs = sorted(
            pair
            for commit in log
            for pair in _pairs(commit.offsets.get(partition, ()))
            if pair[0] < pair[1]
        )
        at = 0
        for start, to in pairs:
            if start != at:
                what = "are in two commits" if start < at else "are in no commit"
                return f"offsets {min(start, at)} to {max(start, at) - 1} of {partition} {what}"
            at = to
        if at != end:
            return f"offsets {at} to {end - 1} of partition {partition} are in no commit"
    return None


def save(servers: str, topic: str, ends: Mapping[int, int], folder: Path) -> Path:
    """Write every record of a topic into one file of JSON lines; its path.

    Raises:
        DemoError: The brokers do not give them all.
    """
    folder.mkdir(exist_ok=True)
    path = folder / f"{topic}.json"
    consumer = _consumer(servers)
    consumer.assign([TopicPartition(topic, partition, 0) for partition in ends])
    left = sum(ends.values())
    try:
        with path.open("wb") as lines:
            while left:
                messages = consumer.consume(1000, _PATIENCE_S)
                if not messages:
                    raise DemoError(f"{left} records of topic {topic} cannot be read")
                for message in messages:
                    lines.write((message.value() or b"") + b"\n")
                left -= len(messages)
    finally:
        consumer.close()
    return path


def _pairs(offsets: Sequence[int]) -> list[tuple[int, int]]:
    return list(zip(offsets[::2], offsets[1::2], strict=True))


def _consumer(servers: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "demo-check",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
        }
    )
