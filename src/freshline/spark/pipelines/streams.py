"""What ``readStream`` was asked for, as a feed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from freshline.core.errors import Place, UserError
from freshline.project.model import Feed, KafkaSource, Project
from freshline.project.names import Scope, correction
from freshline.project.sections.feeds import delta_feed, is_session_table, resolved
from freshline.project.sections.reader_options import NOT_ROWS, as_spark_reads
from freshline.spark.feeds.kafka_reader import RAW
from freshline.spark.pipelines.call import Stream, refuse_options
from freshline.sql.text.tokens import name_parts

_FILES = ("parquet", "csv", "json")
_UNFIT = frozenset({"cleansource", "pathglobfilter", "modifiedbefore", "modifiedafter"})
_PATTERN = re.compile(r"[*?\[\]{}]")
_KAFKA_SCHEMA = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP,"
    " timestampType INT"
)
"""The columns that Spark's source for Kafka gives."""
_HEADERS = ", headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
_STARTING = ("earliest", "latest")
_MOMENTS = frozenset({"startingtimestamp", "startingoffsetsbytimestamp"})
"""Where a stream starts; for Spark they go before startingOffsets."""
_OURS = frozenset(
    {
        "kafka.bootstrap.servers", "subscribe", "startingoffsets", "failondataloss",
        "includeheaders", "maxoffsetspertrigger", "minoffsetspertrigger", "maxtriggerdelay",
    }
)  # fmt: skip


def feed_for(
    stream: Stream,
    view: str,
    project: Project,
    known: Mapping[str, Feed],
    place: Place,
    own: Mapping[tuple[str, ...], str] | None = None,
) -> Feed:
    """The feed that a stream is; one that freshline.yml declares under its name goes before.

    Args:
        stream: What was asked for.
        view: Of whose function; the feed's name is made of it.
        project: Its feeds and root.
        known: The feeds of other functions.
        place: Of the function.
        own: Datasets of the pipeline by catalog, schema and name in lower case.

    Raises:
        UserError: It is none that can be loaded.
    """
    name = f"{view}_feed"
    for feed in project.feeds.values():
        if feed.name.lower() == name.lower():
            return feed
    taken, first, number = {each.lower() for each in known}, name, 2
    while name.lower() in taken:  # what is streamed twice keeps its name all the same
        name, number = f"{first}_{number}", number + 1
    if stream.format == "kafka":
        return _topic(stream, name, known, place)
    if stream.format == "delta":
        _refuse_own(stream, own or {}, place)
        return _delta(stream, name, project, known, place)
    if stream.format not in _FILES:
        raise _refused(
            f"a stream of format {stream.format} is not taken",
            f"streams from outside are files of {', '.join(_FILES)}, Delta tables, and topics of"
            " Kafka",
            place,
            f"Declare the feed {name} in a freshline.yml beside the pipeline, or load the data"
            " into files.",
        )
    return _folder(stream, name, project, known, place)


def _folder(
    stream: Stream, name: str, project: Project, known: Mapping[str, Feed], place: Place
) -> Feed:
    """A folder of files."""
    if not stream.path:
        raise _refused("a stream of files has no path", "it is load(path)", place, "Give it.")
    options = {key: value for key, value in stream.options.items() if key.lower() not in NOT_ROWS}
    for key in options:
        if key.lower() in _UNFIT:
            raise _refused(
                f"a stream of files has the option {key}",
                "every complete file of the folder is loaded, and stays as it is",
                place,
                "Remove the option.",
            )
    path = resolved(stream.path.removeprefix("file://"), project.root).rstrip("/")
    if _PATTERN.search(path):
        raise _refused(
            f"a stream reads the pattern {stream.path}",
            "a feed is a folder, of which every complete file is loaded",
            place,
            "Name the folder.",
        )
    folder = Path(path)
    whole = {key.lower(): value.lower() for key, value in options.items()}
    if whole.get("recursivefilelookup") != "true" and _has_folders(folder):
        raise _refused(
            f"the folder {stream.path} has folders in it",
            "Spark leaves them out or takes their names for columns, and a feed loads all files",
            place,
            "Take a folder without others, or set recursiveFileLookup.",
        )
    if stream.schema is None and stream.format != "parquet":
        raise _refused(
            f"a stream of {stream.format} has no schema",
            "files of that format do not carry their types",
            place,
            "Give it with .schema(...).",
        )
    if not {"recursivefilelookup", "basepath"} & whole.keys():
        options["recursiveFileLookup"] = "false"  # files in folders that come later are set aside
    options = as_spark_reads(stream.format, options)
    for other in known.values():
        same = (other.path, other.format, dict(other.options), other.schema)
        if same == (path, stream.format, options, stream.schema):
            return other
    return Feed(name, "files", path, stream.format, options, stream.schema, None, None, place)


def _delta(
    stream: Stream, name: str, project: Project, known: Mapping[str, Feed], place: Place
) -> Feed:
    """A Delta table that another program writes."""
    refuse_options(stream.options, place)
    if stream.table is not None and not is_session_table(stream.table):
        raise _refused(
            f"a stream reads the table {stream.table}",
            "a table outside the pipeline is named by its schema in spark_catalog",
            place,
            "Load the table by its path: .format('delta').load(path).",
        )
    if not (stream.table or stream.path):
        raise _refused("a stream of Delta has no path", "it is load(path)", place, "Give it.")
    path = (stream.path or "").removeprefix("file://")
    path = resolved(path, project.root).rstrip("/") if path else ""
    feed = delta_feed(name, place, path=path, table=stream.table)
    same = (each for each in known.values() if (each.path, each.settings) == (path, feed.settings))
    return next(same, feed)


def _refuse_own(stream: Stream, own: Mapping[tuple[str, ...], str], place: Place) -> None:
    """Raise where a schema that the pipeline fills has no such dataset: a slip, as in SQL."""
    parts = tuple(part.lower() for part in name_parts(stream.table or ""))
    schema = (Scope().catalog, *parts[:-1])[-2:]
    if len(parts) < 2 or schema not in {key[:-1] for key in own}:  # noqa: PLR2004 - schema, name
        return
    raise UserError(
        "unknown-stream",
        f"readStream.table('{stream.table}') names no dataset of the pipeline",
        where=place,
        rule=f"the pipeline fills the schema {parts[-2]}: what is in it is its own",
        next_step=correction(parts[-1], own.values(), "Correct the name."),
    )


def _has_folders(folder: Path) -> bool:
    if not folder.is_dir():
        return False
    return any(each.is_dir() and each.name[0] not in "_." for each in folder.iterdir())


def _topic(stream: Stream, name: str, known: Mapping[str, Feed], place: Place) -> Feed:
    """A topic, whose records stay as they are."""
    given = {key.lower(): value for key, value in stream.options.items()}
    servers, topic = given.get("kafka.bootstrap.servers"), given.get("subscribe", "")
    if not servers or not topic or "," in topic:
        raise _refused(
            "a stream of Kafka names no single topic",
            "it has kafka.bootstrap.servers, and one topic under subscribe",
            place,
            "Make a table for each topic.",
        )
    for key in stream.options:
        if key.lower() in _MOMENTS:
            raise _refused(
                f"a stream of Kafka has the option {key}",
                f"it starts at one of {', '.join(_STARTING)}",
                place,
                "Set startingOffsets to one of them, and leave out older records by their"
                " timestamp.",
            )
    starting = given.get("startingoffsets", "latest").strip()
    if starting not in _STARTING:
        raise _refused(
            f"a stream of Kafka starts at {starting}",
            f"it starts at one of {', '.join(_STARTING)}",
            place,
            "Use one of them; what is loaded is not loaded again.",
        )
    options = {key: value for key, value in stream.options.items() if key.lower() not in _OURS}
    schema = _KAFKA_SCHEMA
    if given.get("includeheaders", "false").lower() == "true":
        schema += _HEADERS
    source = KafkaSource(servers, topic, starting, None)
    for other in known.values():
        if (other.settings, dict(other.options), other.schema) == (source, options, schema):
            return other
    return Feed(name, "kafka", "", RAW, options, schema, None, None, place, source)


def _refused(what: str, rule: str, place: Place, next_step: str) -> UserError:
    return UserError("stream-refused", what, where=place, rule=rule, next_step=next_step)
