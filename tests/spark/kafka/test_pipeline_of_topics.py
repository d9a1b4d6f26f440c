"""A pipeline's stream of Kafka is a feed: the topic's records as they are, each once."""

from __future__ import annotations

import pytest

from tests.spark.proof.support import run_here
from tests.support.pipelines import Pipeline

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

PYTHON = """\
from pyspark import pipelines as dp


@dp.table
def raw():
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", "{servers}")
    rows = reader.option("subscribe", "{topic}").option("startingOffsets", "earliest").load()
    return rows.selectExpr("CAST(value AS STRING) AS text", "CAST(key AS STRING) AS key", "topic",
                           "partition", "offset", "timestampType", "timestamp")
"""


def test_the_records_of_a_topic_are_loaded_as_they_are(broker, shop, spark, tmp_path, monkeypatch):
    monkeypatch.setattr("freshline.spark.engine.session.start_session", lambda _, **__: spark)
    root = tmp_path / "pipeline"
    root.mkdir()
    (root / "spark-pipeline.yml").write_text(
        "name: topics\nstorage: kept\nlibraries: [{glob: {include: a.py}}]\n"
    )
    (root / "freshline.yml").write_text("maintenance: {trials: false}\n")
    text = PYTHON.replace("{servers}", broker.servers).replace("{topic}", shop.topic)
    (root / "a.py").write_text(text)
    broker.make_topic(shop.topic, 2)
    shop.send(2)
    pipeline = Pipeline(root)
    run_here(pipeline, spark)
    shop.send(1, partition=1)
    run_here(pipeline, spark)
    rows = spark.read.format("delta").load(pipeline.project.table_path("raw")).collect()
    assert sorted(tuple(row)[:6] for row in rows) == [
        ('{"id": 0}', "k", shop.topic, 0, 0, 0),
        ('{"id": 1}', "k", shop.topic, 0, 1, 0),
        ('{"id": 2}', "k", shop.topic, 1, 0, 0),
    ]
    feed = pipeline.project.feeds["raw_feed"]
    assert (feed.kind, feed.format, feed.options) == ("kafka", "raw", {})
