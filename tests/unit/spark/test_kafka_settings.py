"""Kafka's package comes with a kafka feed, unless the user names the one to take."""

from __future__ import annotations

from pathlib import Path

from freshline.core.errors import Place
from freshline.project.model import Feed, KafkaSource, Project
from freshline.spark.engine.jars import DELTA_PACKAGE, KAFKA_PACKAGE
from freshline.spark.engine.session import settings
from freshline.spark.feeds.kafka_client import client_settings


def feed(**options: str) -> Feed:
    source = KafkaSource("h:1,h:2", "orders", "earliest", None)
    place = Place("freshline.yml", 3)
    given = {name.replace("__", "."): value for name, value in options.items()}
    return Feed("f", "kafka", "", "json", given, "id INT", None, None, place, source)


def project(tmp_path: Path, feeds: dict[str, Feed], configuration=(), packages=()) -> Project:
    ivy = {"spark.jars.ivy": str(tmp_path / "ivy"), **dict(configuration)}
    return Project(
        "p", tmp_path, str(tmp_path / "w"), (), feeds, ivy, spark_packages=tuple(packages)
    )


def test_the_package_comes_with_the_first_kafka_feed(tmp_path):
    assert settings(project(tmp_path, {}))["spark.jars.packages"] == DELTA_PACKAGE
    chosen = settings(project(tmp_path, {"f": feed()}))
    assert chosen["spark.jars.packages"] == f"{DELTA_PACKAGE},{KAFKA_PACKAGE}"


def test_a_package_or_jar_that_the_user_names_is_taken_instead(tmp_path):
    own = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.1"
    named = settings(project(tmp_path, {"f": feed()}, packages=[own]))
    assert named["spark.jars.packages"] == f"{DELTA_PACKAGE},{own}"
    jar = {"spark.jars": "/jars/spark-sql-kafka-0-10_2.13-4.2.0.jar"}
    by_path = settings(project(tmp_path, {"f": feed()}, jar))
    assert by_path["spark.jars.packages"] == DELTA_PACKAGE
    assert by_path["spark.jars"] == jar["spark.jars"]


def test_the_client_gets_the_feeds_kafka_options_and_reads_what_is_committed():
    options = {"kafka__security__protocol": "SSL", "sep": ";", "minPartitions": "4"}
    assert client_settings(feed(**options)) == {
        "bootstrap.servers": "h:1,h:2",
        "isolation.level": "read_committed",
        "security.protocol": "SSL",
    }
    uncommitted = client_settings(feed(kafka__isolation__level="read_uncommitted"))
    assert uncommitted["isolation.level"] == "read_uncommitted"
