"""Killed anywhere, without its journal, or both: each record is in the table exactly once."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.spark.kafka.shop import TopicShop
from tests.spark.proof.support import Child
from tests.support.share import share

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.timeout(900)]

FAILPOINTS = ("files.after_journal", "base.after_data", "base.before_commit", "base.after_commit")
TRIED = share(FAILPOINTS, part=1)


@pytest.fixture(scope="module")
def deaths(broker, spark, tmp_path_factory) -> Iterator[dict[str, Future[tuple[TopicShop, int]]]]:
    """Per failpoint a shop whose child died there, two at a time."""

    def die(failpoint: str) -> tuple[TopicShop, int]:
        name = failpoint.replace(".", "-").replace("_", "-")
        shop = TopicShop(tmp_path_factory.mktemp("death"), broker, spark, f"orders-{name}")
        broker.make_topic(shop.topic, 2)
        shop.send(30)
        shop.send(20, partition=1)
        with Child(shop, "--until-idle", failpoint=failpoint) as child:
            return shop, child.wait()

    with ThreadPoolExecutor(2) as pool:
        yield {failpoint: pool.submit(die, failpoint) for failpoint in TRIED}


@pytest.mark.proof
@pytest.mark.parametrize("failpoint", TRIED)
def test_a_kill_loses_nothing_and_doubles_nothing(failpoint, deaths):
    shop, status = deaths[failpoint].result()
    assert status == -signal.SIGKILL, (shop.root / "child.log").read_text()
    shop.send(10, partition=1)
    if failpoint == "base.after_commit":
        shop.lose_journal()
    shop.load()
    assert shop.ids() == shop.written
    assert joined(shop.offsets()) == {"0": 30, "1": 30}


def test_a_lost_journal_is_rebuilt_from_the_commits(shop):
    shop.broker.make_topic(shop.topic, 2)
    shop.send(5)
    shop.load()
    shop.send(5, partition=1)
    shop.load()
    shop.lose_journal()
    shop.send(3)
    shop.load()
    assert shop.ids() == shop.written
    assert shop.offsets() == [
        {"0": [0, 5], "1": [0, 0]},
        {"1": [0, 5]},
        {"0": [5, 8]},
    ]


def test_where_a_table_began_is_in_its_first_commit(shop):
    shop.broker.make_topic(shop.topic, 1)
    shop.send(4)
    shop.declare(starting="latest")
    shop.load()
    shop.send(2)
    shop.lose_journal()
    shop.load()
    assert shop.ids() == [4, 5]
    assert shop.offsets() == [{"0": [4, 4]}, {"0": [4, 6]}]


def test_a_table_may_begin_at_a_moment(shop):
    shop.broker.make_topic(shop.topic, 1)
    shop.send(5)
    shop.declare(starting="2026-01-01T00:00:03Z")
    shop.load()
    assert shop.ids() == [3, 4]
    (topic,) = shop.status().topics
    assert (topic.state, topic.lag_offsets, topic.lag_s, topic.lost_offsets) == ("read", 0, 0.0, 0)


def joined(offsets: list[dict[str, list[int]]]) -> dict[str, int]:
    """Where each partition's ranges end; each must begin where the one before it ended."""
    ends: dict[str, int] = {}
    for each in offsets:
        for partition, (start, to) in each.items():
            assert start == ends.get(partition, 0)
            ends[partition] = to
    return ends
