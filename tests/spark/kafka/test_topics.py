"""Topics as they are: they grow, have gaps, forget, vanish and come again."""

from __future__ import annotations

import json
import time

import pytest
from confluent_kafka import Consumer, TopicPartition

from freshline.core.errors import PlatformError
from freshline.project.load import load_project
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.runtime.metrics.exposition import RunMetrics
from freshline.runtime.requests.handler import carry_out_offline
from freshline.spark.feeds.kafka_client import JvmTopic
from tests.spark.kafka.shop import ALL, BASE_S

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.timeout(600)]


def test_a_new_partition_is_read_from_its_first_record(shop):
    shop.broker.make_topic(shop.topic, 1)
    shop.send(3)
    shop.declare(starting="latest")
    shop.load()
    shop.broker.grow_topic(shop.topic, 2)
    shop.send(2, partition=1)
    shop.load()
    assert shop.ids() == [3, 4]
    assert shop.offsets() == [{"0": [3, 3]}, {"1": [0, 2]}]


def test_transactions_count_when_they_are_committed(shop):
    shop.broker.make_topic(shop.topic, 1)
    producer = shop.broker.producer(transactional_id=shop.topic)
    producer.init_transactions()
    producer.begin_transaction()
    shop.put(producer, json.dumps({"id": -1}))
    producer.flush()
    producer.abort_transaction()
    shop.load()
    assert shop.offsets() == []  # the record and the mark of the abort bring no time
    shop.send(3, transactional_id=shop.topic)
    shop.load()
    assert shop.ids() == [0, 1, 2]
    assert shop.offsets() == [{"0": [0, 6]}]
    assert shop.status().tables[0].freshness_s == BASE_S + 2


def test_an_open_transaction_is_waited_for(shop):
    shop.broker.make_topic(shop.topic, 1)
    producer = shop.broker.producer(transactional_id=shop.topic)
    producer.init_transactions()
    shop.send(2)
    producer.begin_transaction()
    shop.put(producer, json.dumps({"id": 2}))
    producer.flush()
    shop.load()
    assert shop.ids() == [0, 1]
    producer.commit_transaction()
    shop.load()
    assert shop.ids() == [0, 1, 2]


def test_a_table_is_no_fresher_than_what_an_open_transaction_holds_back(shop):
    """Others write behind it, without transactions: their records are safe, and cannot be read."""
    shop.broker.make_topic(shop.topic, 2)
    shop.send(2)
    producer = shop.broker.producer(transactional_id=shop.topic)
    producer.init_transactions()
    producer.begin_transaction()
    shop.put(producer, json.dumps({"id": shop.next_id}))
    producer.flush()
    shop.next_id += 1
    shop.send(1)
    shop.next_id = 100
    shop.send(1, partition=1)
    shop.load()
    assert shop.ids() == [0, 1, 100]
    assert shop.status().tables[0].freshness_s == BASE_S + 2 - 0.001
    producer.commit_transaction()
    shop.load()
    assert shop.ids() == [0, 1, 2, 3, 100]


def test_what_open_transactions_hold_back_is_read_in_a_poll(shop, spark, monkeypatch):
    """Of each partition the first record, and of one that is not read in time an older one."""
    shop.broker.make_topic(shop.topic, 8)
    for partition in range(8):
        shop.send(1, partition=partition)
    producer = shop.broker.producer(transactional_id=shop.topic)
    producer.init_transactions()
    shop.declare()
    polls: list[object] = []
    topic = JvmTopic(spark, load_project(shop.root).feeds["orders_feed"])
    made = topic._new_consumer
    monkeypatch.setattr(topic, "_new_consumer", lambda more: Counted(made(more), polls))
    look = topic.look()
    assert {each.held_s for each in look.partitions.values()} == {None}
    for first in (8, 32):
        producer.begin_transaction()
        for partition in range(8):
            for _ in range(3):
                shop.put(producer, json.dumps({"id": shop.next_id}), partition)
                shop.next_id += 1
        producer.flush()
        look = topic.look()
        held = [look.partitions[p].held_s for p in range(8)]
        assert held == [BASE_S + first + 3 * p for p in range(8)]
        if first == 8:
            producer.commit_transaction()
    assert len(polls) <= 6
    assert topic.oldest_s(look) == BASE_S
    late = JvmTopic(spark, load_project(shop.root).feeds["orders_feed"])
    monkeypatch.setattr(late, "_first_stamps", lambda asked: {p: BASE_S for p in asked if p == 3})
    look = late.look()
    held = [look.partitions[p].held_s for p in range(8)]
    assert held == [BASE_S + (p if p != 3 else 0) for p in range(8)]
    producer.commit_transaction()


class Counted:
    """A consumer whose polls are counted."""

    def __init__(self, consumer, polls):
        self._consumer = consumer
        self._polls = polls

    def poll(self, wait):
        self._polls.append(wait)
        return self._consumer.poll(wait)

    def __getattr__(self, name):
        return getattr(self._consumer, name)


def test_compacted_records_leave_gaps(shop):
    settings = {"cleanup_policy": "compact", "segment_ms": "100", "max_compaction_lag_ms": "100"}
    shop.broker.make_topic(shop.topic, 1, min_cleanable_dirty_ratio="0.001", **settings)
    producer = shop.broker.producer()
    for shop.next_id in range(20):
        shop.put(producer, json.dumps({"id": shop.next_id}), key=f"k{shop.next_id % 2}")
    producer.flush()
    while len(readable(shop)) > 4:  # segments are closed by what comes behind them
        time.sleep(0.2)
        shop.next_id += 1
        shop.put(producer, json.dumps({"id": shop.next_id}), key="k0")
        producer.flush()
    there = readable(shop)
    shop.load()
    ids = shop.ids()
    assert set(ids) <= {value for _, value in there} | set(range(shop.next_id + 1))
    assert len(ids) == len(set(ids)) < shop.next_id
    assert ids[-1] == shop.next_id
    assert shop.offsets() == [{"0": [0, shop.next_id + 1]}]


def readable(shop):
    """Offset and id of every record that can still be read."""
    consumer = Consumer(
        {"bootstrap.servers": shop.broker.servers, "group.id": "look", "enable.partition.eof": True}
    )
    consumer.assign([TopicPartition(shop.topic, 0, 0)])
    found: list[tuple[int | None, int]] = []
    while True:
        message = consumer.poll(10.0)
        assert message is not None
        if message.error() is not None:  # the end
            consumer.close()
            return found
        found.append((message.offset(), json.loads(message.value() or b"")["id"]))


def delete_before(shop, offset):
    admin = shop.broker.admin()
    (done,) = admin.delete_records([TopicPartition(shop.topic, 0, offset)]).values()
    done.result()


def test_what_retention_removed_is_said_and_counted(shop):
    shop.broker.make_topic(shop.topic, 1)
    shop.send(5)
    shop.load()
    shop.send(10)
    delete_before(shop, 9)
    said = (
        f"table orders has lost offsets 5 to 8 of partition 0 of topic {shop.topic}: the topic's"
        " retention removed up to 4 records before they were loaded; the feed goes on from offset 9"
    )
    assert said in shop.load().notices
    assert shop.ids() == [0, 1, 2, 3, 4, 9, 10, 11, 12, 13, 14]
    assert shop.status().topics[0].lost_offsets == 4
    assert shop.load().notices == []
    shop.lose_journal()
    assert said in shop.load().notices  # the commits tell it
    assert shop.status().topics[0].lost_offsets == 4
    assert len(shop.ids()) == 11


def pause(shop, kind):
    journal = Journal(journal_path(shop.project), create=False)
    carry_out_offline(journal, kind, "orders", 0.0)
    journal.close()


def test_retention_may_pass_a_range_that_was_seen(shop):
    shop.broker.make_topic(shop.topic, 1)
    shop.send(2)
    shop.load()
    pause(shop, "pause")
    shop.send(6)
    _, left = shop.run()
    (topic,) = shop.status().topics
    assert (left, topic.lag_offsets, topic.lag_s) == (1, 6, 6.0)
    scraped, _ = RunMetrics(shop.project, time.time).scraped("")
    assert 'freshline_feed_lag_records{feed="orders_feed"} 6.0' in scraped.decode().splitlines()
    delete_before(shop, 5)
    pause(shop, "resume")
    seen, left = shop.run()
    assert left == 0, (seen.failed, seen.notices)
    assert shop.ids() == [0, 1, 5, 6, 7]
    assert any("lost offsets 2 to 4 of partition 0" in notice for notice in seen.notices)
    assert shop.status().topics[0].lost_offsets == 3


def test_a_topic_that_is_deleted_is_missing_and_one_made_again_is_another(shop):
    shop.broker.make_topic(shop.topic, 1)
    shop.send(3)
    shop.load()
    pause(shop, "pause")
    shop.send(2)
    shop.run()
    shop.broker.delete_topic(shop.topic)
    seen, left = shop.run()
    (topic,) = shop.status().topics
    assert (left, topic.state) == (1, "missing")
    assert topic.error == f"topic {shop.topic} of feed orders_feed is not there"
    assert any("[topic-missing]" in notice for notice in seen.notices)
    shop.broker.make_topic(shop.topic, 1)
    shop.send(7)
    shop.declare(more="    on_new_topic: read\n")
    pause(shop, "resume")
    seen, left = shop.run()
    assert left == 0, (seen.failed, seen.notices)
    assert (
        f"feed orders_feed: topic {shop.topic} was deleted and created again; it is read from its"
        " first offset on"
    ) in seen.notices
    assert shop.ids() == [0, 1, 2, *range(5, 12)]
    (topic,) = shop.status().topics
    assert (topic.state, topic.lag_offsets, topic.lost_offsets) == ("read", 0, 2)


def test_records_that_do_not_fit_are_rejected_with_partition_and_offset(shop):
    shop.broker.make_topic(shop.topic, 2)
    producer = shop.broker.producer()
    for value in ('{"id": 1}', '{"id": "x"}', "{", None, '{"name": "n"}'):
        shop.put(producer, value, partition=1)
    producer.flush()
    shop.load()
    assert shop.ids() == [1]
    rejected = [(r["file"], r["line"], r["reason"], r["record"]) for r in shop.rows(REJECTED)]
    assert sorted(rejected) == [
        ("1", 1, 'column id: "x" is no BIGINT', '{"id": "x"}'),
        (
            "1",
            2,
            f"it is no JSON: Expecting property name enclosed in double quotes: {AT}",
            "{",
        ),
        ("1", 3, "it has no value", ""),
        ("1", 4, "column id is null where the schema says NOT NULL", '{"name":"n"}'),
    ]


REJECTED = "orders__rejected"
AT = "line 1 column 2 (char 1)"


def test_csv_and_where_records_come_from(shop):
    shop.broker.make_topic(shop.topic, 1)
    producer = shop.broker.producer()
    for value in ("1;one", "2;two", "3"):
        shop.put(producer, value, key=f"k{value[0]}")
    producer.flush()
    query = "SELECT name, string(_kafka.key) AS k, _kafka.offset AS at FROM STREAM orders_feed"
    options = '    format: csv\n    options: {sep: ";"}\n'
    shop.declare(sql=f"CREATE STREAMING TABLE orders AS {query};\n", more=options)
    shop.load()
    assert sorted(shop.rows(), key=lambda row: row["at"]) == [
        {"name": "one", "k": "k1", "at": 0},
        {"name": "two", "k": "k2", "at": 1},
    ]
    (rejected,) = shop.rows(REJECTED)
    assert (rejected["line"], rejected["record"]) == (2, "3")


def test_two_tables_of_one_topic_have_each_record_once(shop):
    shop.broker.make_topic(shop.topic, 1)
    shop.send(3)
    shop.load()
    shop.declare(sql=ALL + ALL.replace("orders ", "more "))
    shop.send(2)
    shop.load()
    assert shop.ids() == [0, 1, 2, 3, 4]
    assert sorted(row["id"] for row in shop.rows("more")) == [0, 1, 2, 3, 4]


def test_brokers_that_do_not_answer_are_the_platforms_fault(shop, spark):
    quick = "    options: {kafka.default.api.timeout.ms: 300, kafka.request.timeout.ms: 200}\n"
    shop.declare(more=quick)
    text = (shop.root / "freshline.yml").read_text()
    (shop.root / "freshline.yml").write_text(text.replace(shop.broker.servers, "127.0.0.1:9"))
    topic = JvmTopic(spark, load_project(shop.root).feeds["orders_feed"])
    with pytest.raises(PlatformError, match="cannot be read: Timed out"):
        topic.look()
