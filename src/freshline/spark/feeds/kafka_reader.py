"""Reading exactly the chosen offsets of a topic, and finding records that do not fit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import reduce
from itertools import zip_longest
from operator import or_
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from freshline.core.errors import PlatformError
from freshline.executor.offsets import Span, commit_fields, joined, parsed
from freshline.executor.topic import Topic, TopicMissingError, gone
from freshline.project.model import Feed, KafkaSource, Project
from freshline.project.sections.reader_options import as_feeds_are_read, csv_signs, option
from freshline.spark.engine.errors import SparkError, one_line
from freshline.spark.feeds.cut_values import Dialect
from freshline.spark.feeds.exact import (
    LONG_NUMBER,
    TEXT_TYPES,
    ExactColumns,
    HugeNumbers,
)
from freshline.spark.feeds.kafka_client import JvmTopic, client_settings
from freshline.spark.feeds.reader import CORRUPT, SOURCE, FeedReader
from freshline.spark.feeds.several_values import SEVERAL
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

_TEXT, _NO_TEXT = "_freshline_text", "_freshline_no_text"
"""A value as text, and whether its bytes are none."""
_WRONG = "_freshline_wrong"
"""Whether a record does not fit, as far as its text tells."""
_NO_PATH = frozenset("'?\\")
"""Signs that a path in json cannot have."""

_WRITING = r"\\+(?:u[0-9a-fA-F]{4}|[bfnrt])?|[^0-9A-Za-z.,:\[\]{}-]"
"""Of json what its writer may choose, and no sign of a number: escapes, quotes, blanks."""

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

    def __init__(self, project: Project, feed: Feed, topic: Topic | None = None) -> None:
        super().__init__(project, feed)
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
        records = self._of_topic(session, names)
        source = F.struct("key", "partition", "offset", "timestamp", "headers").cast(SOURCE_TYPE)
        if self.feed.format == RAW:
            found = records.withColumn("topic", F.lit(self._topic))
            columns = [F.col(each.name).cast(each.dataType).alias(each.name) for each in schema]
            corrupt = F.lit(None).cast("string").alias(CORRUPT)
            return found.select(*columns, corrupt, source.alias(SOURCE))
        exact = ExactColumns(schema, self.feed.format, self._parsing, keeps_numbers=False)
        whole = StructType([*exact.wide, StructField(CORRUPT, StringType())])
        # Not by decode(), to which bytes that are no text are an error.
        text = F.col("value").cast("string")
        options = as_feeds_are_read(self.feed.format, self._parsing) | {
            "mode": "PERMISSIVE",
            "columnNameOfCorruptRecord": CORRUPT,
        }
        is_csv = self.feed.format == "csv"
        parse = F.from_csv if is_csv else F.from_json
        # from_csv takes a line end behind a record for a part of its last value.
        record = F.rtrim(text, F.lit("\r\n")) if is_csv else text
        if not is_csv and (huge := HugeNumbers.of(schema)) is not None:
            # Its parser would compute all digits of a number that no DECIMAL has.
            record = F.when(~huge.are_among(text), text)
        ddl = ", ".join(f"{backquoted(f.name)} {_ddl(f.dataType)}" for f in whole)
        found = records.select(
            parse(record, ddl, options).alias("parsed"),
            F.make_valid_utf8(text).alias(_TEXT),
            (~F.is_valid_utf8(text)).alias(_NO_TEXT),
            source.alias(SOURCE),
        )
        # A record without a value (a tombstone), or of blanks alone, is parsed to nothing.
        nothing = F.col(_TEXT).isNull() | (F.trim(_TEXT) == "") | F.col("parsed").isNull()
        corrupt = F.when(nothing, F.coalesce(_TEXT, F.lit(""))).otherwise(
            F.col(f"parsed.{backquoted(CORRUPT)}")
        )
        columns = [F.col(f"parsed.{backquoted(f.name)}").alias(f.name) for f in exact.wide]
        flat = found.select(*columns, corrupt.alias(CORRUPT), _TEXT, _NO_TEXT, SOURCE)
        wrong = [F.col(_NO_TEXT), self._has_more_than_one(F.col(_TEXT), options)]
        if is_csv:
            wrong.append(_may_lose_a_nul(F.col(_TEXT), csv_signs(self._parsing)[1]))
        else:
            texts = [f.name for f in schema if isinstance(f.dataType, TEXT_TYPES)]
            wrong += [_is_written_shorter(F.col(backquoted(name))) for name in texts]
            if option(self._parsing, "locale") is None:
                decimals = [f.name for f in schema if isinstance(f.dataType, DecimalType)]
                wrong += [_has_comma(name) for name in decimals if not _NO_PATH & set(name)]
        judged = flat.withColumn(_WRONG, F.coalesce(reduce(or_, wrong), F.lit(False)))
        return exact.marked(judged, CORRUPT, record=_TEXT, wrong=_WRONG, more=[SOURCE])

    def _has_more_than_one(self, text: Column, options: dict[str, str]) -> Column:
        """Whether a value holds several records: Spark would read only the first."""
        if self.feed.format == "csv":
            of_files = ("multiline", "linesep", "encoding", "charset")
            told = {k: v for k, v in self._parsing.items() if k.lower() not in of_files}
            dialect = Dialect.of(told)
            if dialect is None:
                # Without quotes a line break ends a record; from_csv takes it for one of a value.
                return F.rtrim(text, F.lit("\r\n")).rlike(r"[\r\n]")
            may_be = text.contains(dialect.quote) | text.rlike(r"[\r\n]")
            return may_be & ~text.rlike(dialect.record)
        # Judged by Spark's own reader: in an array, two records are two elements, or no json.
        array = F.from_json(F.concat(F.lit("["), text, F.lit("]")), "ARRAY<STRING>", options)
        may_be = text.rlike(SEVERAL)
        return may_be & ~F.coalesce(F.size(array) == 1, F.lit(False))

    def origin(self, records: DataFrame) -> tuple[Column, Column]:
        """Partition and offset of each record."""
        source = records[SOURCE]
        return source["partition"].cast("string"), source["offset"]

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


def _ddl(kind: DataType) -> str:
    """A type as SQL has it; its own text has names in it as they are, like ``user-agent``."""
    if isinstance(kind, StructType):
        fields = (f"{backquoted(each.name)}: {_ddl(each.dataType)}" for each in kind)
        return f"struct<{', '.join(fields)}>"
    if isinstance(kind, ArrayType):
        return f"array<{_ddl(kind.elementType)}>"
    if isinstance(kind, MapType):
        return f"map<{_ddl(kind.keyType)}, {_ddl(kind.valueType)}>"
    return kind.simpleString()


def _is_written_shorter(value: Column) -> Column:
    """Whether a text is not what stands in its record, but json that lost digits of a number.

    Into a STRING column from_json writes an object or a number again, numbers as doubles: what is
    too large for these as "Infinity", in quotes, and what is too small as 0.0.
    """
    text = F.col(_TEXT)
    is_json = value.rlike(r'^(?:[\[{0-9-]|"-?Infinity"$)') & (
        value.rlike(r"(?:[0-9]\.?){15,}|[0-9]E|Infinity")
        | value.rlike(r"\b0\.0\b") & text.rlike("[eE]-[0-9]{3}|0{300}")
    )
    record, kept = _without_writing(text), _without_writing(value)
    # With what stands around it: a number that lost its last digits is in the longer one, too.
    ends = [record.contains(F.concat(F.lit(":"), kept, F.lit(end))) for end in (",", "}")]
    return text.rlike(LONG_NUMBER) & F.coalesce(is_json & ~reduce(or_, ends), F.lit(False))


def _without_writing(json_text: Column) -> Column:
    """Json without what one writer writes and another does not: blanks, quotes, escapes.

    Json as a text, with its quotes escaped, is then the same as that which it holds.
    """
    return F.regexp_replace(json_text, F.lit(_WRITING), F.lit(""))


def _may_lose_a_nul(text: Column, quote: str) -> Column:
    """Whether a csv record has a NUL and quotes: of quoted values from_csv leaves it out."""
    return text.contains("\0") & text.contains(quote)


def _has_comma(column: str) -> Column:
    """Whether a text in a DECIMAL column has a comma, which from_json leaves out."""
    text = F.col(_TEXT)
    may_be = text.rlike(r'"\s*:\s*"[-+0-9.]*,[-+0-9.,]*"')
    found = F.get_json_object(text, f"$['{column}']")
    return may_be & F.coalesce(found.contains(","), F.lit(False))
