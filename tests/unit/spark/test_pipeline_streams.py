"""What ``readStream`` was asked for, as a feed or as an error that says why not."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from freshline.core.errors import Place, UserError
from freshline.project.model import Feed, KafkaSource, Project
from freshline.spark.pipelines.call import Call, Stream
from freshline.spark.pipelines.streams import feed_for

PLACE = Place("t/a.py", 7)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project("shop", tmp_path, str(tmp_path / "kept"), (), {})


def test_a_folder_is_a_feed_without_the_options_that_are_the_schedulers(project, tmp_path):
    options = {"maxFilesPerTrigger": "1", "header": "true"}
    feed = feed_for(Stream("csv", "in", options, "id INT"), "orders", project, {}, PLACE)
    read = {
        "header": "true", "recursiveFileLookup": "false", "locale": "en-US",
        "enforceSchema": "true", "escape": "\\",
    }  # fmt: skip
    assert feed == Feed(
        "orders_feed", "files", str(tmp_path / "in"), "csv", read, "id INT", None,
        None, PLACE,
    )  # fmt: skip
    for start in ("file://", "file:"):
        again = Stream("csv", f"{start}{tmp_path}/in/", {"header": "true"}, "id INT")
        assert feed_for(again, "others", project, {"orders_feed": feed}, PLACE) is feed


def test_a_second_source_of_a_function_has_a_feed_of_its_own(project):
    known: dict[str, Feed] = {}
    for path, name in (("a", "orders_feed"), ("b", "orders_feed_2"), ("a", "orders_feed")):
        feed = feed_for(Stream("json", path, {}, "id INT"), "orders", project, known, PLACE)
        assert feed.name == name
        known[feed.name] = feed
    assert [Path(each.path).name for each in known.values()] == ["a", "b"]


def test_a_topic_is_a_feed_with_its_records_as_they_are(project):
    options = {
        "kafka.bootstrap.servers": "h:1", "subscribe": "clicks", "startingOffsets": "earliest",
        "kafka.security.protocol": "SSL", "includeHeaders": "true", "failOnDataLoss": "false",
    }  # fmt: skip
    feed = feed_for(Stream("kafka", None, options, None), "clicks", project, {}, PLACE)
    assert (feed.kind, feed.format, feed.options) == (
        "kafka", "raw", {"kafka.security.protocol": "SSL"},
    )  # fmt: skip
    assert feed.settings == KafkaSource("h:1", "clicks", "earliest", None)
    assert feed.schema == (
        "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP,"
        " timestampType INT, headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
    )


def test_what_freshline_yml_declares_under_the_name_goes_before(project, tmp_path):
    declared = Feed("Orders_feed", "files", "/x", "json", {}, "id INT", None, 60.0, PLACE)
    known = Project("shop", tmp_path, "kept", (), {"Orders_feed": declared})
    stream = Stream("rate", None, {}, None)
    assert feed_for(stream, "orders", known, {}, PLACE) is declared


@pytest.mark.parametrize(
    ("stream", "what"),
    [
        (Stream("rate", None, {}, None), "a stream of format rate is not taken"),
        (Stream("json", None, {}, "a INT"), "a stream of files has no path"),
        (Stream("json", "in", {}, None), "a stream of json has no schema"),
        (Stream("json", "in/*.json", {}, "a INT"), "a stream reads the pattern in/*.json"),
        (Stream("json", "parts", {}, "a INT"), "the folder parts has folders in it"),
        (
            Stream("json", "in", {"cleanSource": "delete"}, "a INT"),
            "a stream of files has the option cleanSource",
        ),
        (
            Stream("kafka", None, {"kafka.bootstrap.servers": "h", "subscribe": "a,b"}, None),
            "a stream of Kafka names no single topic",
        ),
        (
            Stream(
                "kafka",
                None,
                {"kafka.bootstrap.servers": "h", "subscribe": "a", "startingOffsets": '{"a": 1}'},
                None,
            ),
            'a stream of Kafka starts at {"a": 1}',
        ),
        (
            Stream(
                "kafka",
                None,
                {"kafka.bootstrap.servers": "h", "subscribe": "a", "startingTimestamp": "17"},
                None,
            ),
            "a stream of Kafka has the option startingTimestamp",
        ),
    ],
)
def test_what_cannot_be_a_feed_is_refused_at_its_line(project, tmp_path, stream, what):
    (tmp_path / "parts" / "day=1").mkdir(parents=True)
    with pytest.raises(UserError) as raised:
        feed_for(stream, "orders", project, {}, PLACE)
    assert (raised.value.what, raised.value.where) == (what, PLACE)


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("bronze.typo", True),
        ("spark_catalog.Bronze.typo", True),
        ("`bronze`.typo", True),
        ("lake.typo", False),
        ("typo.bronze", False),
    ],
)
def test_a_table_of_a_schema_that_the_pipeline_fills_is_its_own(project, name, refused):
    own: dict[tuple[str, ...], str] = {("spark_catalog", "bronze", "types"): "types"}
    stream = Stream("delta", None, {}, None, name)
    if not refused:
        assert feed_for(stream, "v", project, {}, PLACE, own).kind == "delta"
        return
    with pytest.raises(UserError) as error:
        feed_for(stream, "v", project, {}, PLACE, own)
    assert str(error.value) == (
        f"[unknown-stream] t/a.py:7: readStream.table('{name}') names no dataset of the pipeline;"
        f" the pipeline fills the schema bronze: what is in it is its own. Did you mean types?"
    )


@pytest.mark.parametrize("option", ["maxFilesPerTrigger", "skipChangeCommits"])
def test_options_of_a_stream_of_a_dataset_are_those_of_a_table_outside(option):
    shown = SimpleNamespace(table=lambda name: name)
    call: Any = Call(cast("Any", shown), lambda parts: parts[-1], lambda _: "")
    if option == "maxFilesPerTrigger":
        assert call.stream_of("a", {option: "1"}) == "a"
        return
    with pytest.raises(UserError, match="has the option skipChangeCommits"):
        call.stream_of("a", {option: "true"})
