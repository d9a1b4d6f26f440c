"""Reading exactly the chosen offsets of a topic, and finding records that do not fit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention
from pyspark.sql.types import StringType, StructField, StructType

from freshline.core.errors import PlatformError
from freshline.executor.offsets import Span, commit_fields, joined, parsed
from freshline.executor.topic import Topic, TopicMissingError, gone
from freshline.project.model import Feed, KafkaSource, Project
from freshline.project.sections.feeds import with_defaults
from freshline.spark.engine.errors import SparkError, one_line
from freshline.spark.feeds.kafka_client import JvmTopic, client_settings
from freshline.spark.feeds.reader import CORRUPT, DEFAULTS, SOURCE, FeedReader
from freshline.sql.text.reads import backquoted

SOURCE_TYPE = (
    "STRUCT<key: BINARY, partition: INT, offset: BIGINT, timestamp: TIMESTAMP,"
    " headers: ARRAY<STRUCT<key: STRING, value: BINARY>>>"
)
"""Of the column ``_kafka``, which a query may name."""

RAW = "raw"
"""The format of a feed whose records are those of the topic as they are, keys and values in bytes:
what a pipeline's ``readStream.format("kafka")`` gives."""

OF_THE_SOURCE = frozenset(
    {"minpartitions", "maxrecordsperpartition", "groupidprefix", "kafkaconsumer.polltimeoutms"}
)
"""Options of Spark's source; of the others, ``kafka.*`` is the client's, the rest the parser's."""


_NO_RECORDS = f"""
SELECT s.key, CAST(NULL AS BINARY) AS value, s.partition, s.offset, s.timestamp, s.headers,
  CAST(NULL AS INT) AS timestampType
FROM (SELECT CAST(NULL AS {SOURCE_TYPE}) AS s) WHERE false"""


class TopicReader(FeedReader):
    """Reads ranges of a topic; they stand where a :class:`FeedReader` has files.

    Args:
        project: Whose feed it is.
        feed: A feed of kind kafka; its schema is that of the records' values.
        topic: To look at it; without one by a client of its own.
    """

    def __init__(
        self, project: Project, feed: Feed, topic: Topic | None = None, *, record: bool = True
    ) -> None:
        super().__init__(project, feed, record=record)
        assert isinstance(feed.settings, KafkaSource)
        self._topic = feed.settings.topic
        self._looked_at = topic
        self._parsing = {
            key: value
            for key, value in feed.options.items()
            if not key.startswith("kafka.") and key.lower() not in OF_THE_SOURCE
        }

    def visible(self, schema: StructType) -> StructType:
        """What a query may name: the columns, and where each record comes from."""
        source = StructType.fromDDL(f"`{SOURCE}` {SOURCE_TYPE}")
        assert isinstance(source, StructType)
        return StructType([*schema.fields, *source.fields])

    def loads(self, names: Sequence[str]) -> dict[str, Any]:
        """What a commit says of the ranges that it loaded."""
        return commit_fields(names)

    def read(self, session: SparkSession, names: Sequence[str], schema: StructType) -> DataFrame:
        """All records of the ranges, those that do not fit included.

        Returns:
            The schema's columns, :data:`CORRUPT` and :data:`SOURCE`.
        """
        fields = [StructField(f.name, f.dataType, True, f.metadata) for f in schema.fields]
        whole = StructType([*fields, StructField(CORRUPT, StringType())])
        records = self._of_topic(session, names)
        source = F.struct("key", "partition", "offset", "timestamp", "headers").cast(SOURCE_TYPE)
        if self.feed.format == RAW:
            found = records.withColumn("topic", F.lit(self._topic))
            columns = [F.col(each.name).cast(each.dataType).alias(each.name) for each in fields]
            corrupt = F.lit(None).cast("string").alias(CORRUPT)
            return found.select(*columns, corrupt, source.alias(SOURCE))
        text = F.decode("value", "UTF-8")
        options = with_defaults(self._parsing, DEFAULTS.get(self.feed.format, {})) | {
            "mode": "PERMISSIVE",
            "columnNameOfCorruptRecord": CORRUPT,
        }
        parse = F.from_csv if self.feed.format == "csv" else F.from_json
        ddl = ", ".join(f"{backquoted(f.name)} {f.dataType.simpleString()}" for f in whole)
        found = records.select(
            parse(text, ddl, options).alias("parsed"),
            text.alias("text"),
            source.alias(SOURCE),
        )
        columns = [F.col(f"parsed.{backquoted(f.name)}").alias(f.name) for f in fields]
        # A record without a value (a tombstone), or of blanks alone, is parsed to nothing.
        nothing = F.col("text").isNull() | (F.trim("text") == "") | F.col("parsed").isNull()
        corrupt = F.when(nothing, F.coalesce("text", F.lit(""))).otherwise(
            F.col(f"parsed.{backquoted(CORRUPT)}")
        )
        return found.select(*columns, corrupt.alias(CORRUPT), SOURCE)

    def origin(self) -> tuple[Column, Column]:
        """Partition and offset of each record."""
        return F.col(f"{SOURCE}.partition").cast("string"), F.col(f"{SOURCE}.offset")

    def shown_file(self, path: Column) -> Column:
        """The partition as it is."""
        return path

    def unreadable(
        self, session: SparkSession, names: Sequence[str]
    ) -> list[tuple[str, str]] | None:
        """Ranges of which offsets are gone, each with the reason; the others can be read.

        Asked before and after ranges are read: Spark itself looks only at offsets, and a
        topic deleted and made again has them too.

        Raises:
            PlatformError: The brokers do not answer.
        """
        topic = self._looked_at or JvmTopic(session, self.feed)
        try:
            look = topic.look()
        except TopicMissingError as error:
            return [(name, error.what) for name in names]
        found = ((name, gone(name, look)) for name in names)
        return [(name, why) for name, why in found if why is not None]

    # ---- Spark's source ----

    def _of_topic(self, session: SparkSession, names: Sequence[str]) -> DataFrame:
        """The topic's own records. One read holds one span of each partition."""
        spans = {
            partition: [span for span in each if span[0] < span[1]]
            for partition, each in joined(parsed(name) for name in names).items()
        }
        reads = [
            self._one_read(
                session,
                {p: span for p, span in zip(spans, layer, strict=True) if span is not None},
            )
            for layer in zip_longest(*spans.values())
        ]
        if not reads:
            return session.sql(_NO_RECORDS)
        frame = reads[0]
        for more in reads[1:]:
            frame = frame.unionByName(more)
        return frame

    def _one_read(self, session: SparkSession, spans: dict[int, Span]) -> DataFrame:
        client = {f"kafka.{key}": value for key, value in client_settings(self.feed).items()}
        of_source = {k: v for k, v in self.feed.options.items() if k.lower() in OF_THE_SOURCE}
        asked = {
            "assign": {self._topic: sorted(spans)},
            "startingOffsets": {self._topic: {str(p): span[0] for p, span in spans.items()}},
            "endingOffsets": {self._topic: {str(p): span[1] for p, span in spans.items()}},
        }
        reader = session.read.format("kafka").options(**client, **of_source)
        for name, value in asked.items():
            reader = reader.option(name, json.dumps(value))
        # Offsets that are gone are an error, never silently left out.
        reader = reader.option("failOnDataLoss", "true").option("includeHeaders", "true")
        try:
            return reader.load().select(
                "key", "value", "partition", "offset", "timestamp", "headers", "timestampType"
            )
        except SparkError as error:
            if "Failed to find data source: kafka" in str(error) or "DATA_SOURCE" in str(error):
                raise PlatformError(
                    "no-kafka-classes",
                    f"Spark cannot read topic {self._topic}: {one_line(error)}",
                    where=self.feed.place,
                    next_step="Look at spark.jars and spark.jars.packages.",
                ) from error
            raise
