"""One real broker for all tests of this folder; without its jars they are skipped."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from demo.broker import Broker
from demo.kafka_jars import MISSING, broker_jars, source_jars
from tests.spark.kafka.shop import TopicShop


@pytest.fixture(scope="session")
def broker(tmp_path_factory) -> Iterator[Broker]:
    if not (broker_jars() and source_jars()):
        pytest.skip(MISSING)
    with Broker(tmp_path_factory.mktemp("kafka")) as running:
        yield running


@pytest.fixture
def shop(broker, spark, tmp_path, request) -> TopicShop:
    topic = "".join(sign if sign.isalnum() else "-" for sign in request.node.name)[:100]
    return TopicShop(tmp_path, broker, spark, topic)
