"""What ``readStream`` was asked for, as a feed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from freshline.core.errors import Place, UserError
from freshline.project.model import Feed, KafkaSource, Project
from freshline.project.sections.feeds import resolved
from freshline.spark.pipelines.current import Stream

_FILES = ("parquet", "csv", "json")
_LEFT_OUT = frozenset(
    {
        "maxfilespertrigger", "maxbytespertrigger", "latestfirst", "maxfileage", "filenameonly",
        "maxcachedfiles", "discardcachedinputratio", "allowoverwritedfiles",
    }
)  # fmt: skip
"""Which files are loaded when is the scheduler's to choose."""
_PATTERN = re.compile(r"[*?\[\]{}]")
KAFKA_SCHEMA = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP,"
    " timestampType INT"
)
"""The columns that Spark's source for Kafka gives."""


def feed_for(
    stream: Stream, view: str, project: Project, known: Mapping[str, Feed], place: Place
) -> Feed:
    """The feed that a stream is; one that freshline.yml declares under its name goes before.

    Args:
        stream: What was asked for.
        view: Of whose function; the feed's name is made of it.
        project: Its feeds and root.
        known: The feeds of other functions.
        place: Of the function.

    Raises:
        UserError: It is none that can be loaded.
    """
    name = f"{view}_feed"
    for feed in project.feeds.values():
        if feed.name.lower() == name.lower():
            return feed
    if stream.format not in _FILES:
        raise _refused(
            f"a stream of format {stream.format} is not taken",
            f"streams from outside are files of {', '.join(_FILES)}",
            place,
            f"Declare the feed {name} in a freshline.yml beside the pipeline, or load the data"
            " into files.",
        )
    if not stream.path:
        raise _refused("a stream of files has no path", "it is load(path)", place, "Give it.")
    options = {key: value for key, value in stream.options.items() if key.lower() not in _LEFT_OUT}
    if any(key.lower() == "cleansource" for key in options):
        raise _refused(
            "a stream of files removes them (cleanSource)",
            "a feed's files stay as they are",
            place,
            "Take the option out.",
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
    if folder.is_dir() and any("=" in each.name for each in folder.iterdir() if each.is_dir()):
        raise _refused(
            f"the folder {stream.path} is partitioned",
            "columns that only the names of folders tell are not read",
            place,
            "Write the columns into the files.",
        )
    if stream.schema is None and stream.format != "parquet":
        raise _refused(
            f"a stream of {stream.format} has no schema",
            "files of that format do not carry their types",
            place,
            "Give it with .schema(...).",
        )
    for other in known.values():
        same = (other.path, other.format, dict(other.options), other.schema)
        if same == (path, stream.format, options, stream.schema):
            return other
    return Feed(name, "files", path, stream.format, options, stream.schema, None, None, place)


def kafka_source(stream: Stream) -> KafkaSource | None:
    """Servers and topic of a stream of Kafka; None where it names no single topic."""
    options = {key.lower(): value for key, value in stream.options.items()}
    servers, topic = options.get("kafka.bootstrap.servers"), options.get("subscribe")
    if not servers or not topic or "," in topic:
        return None
    starting = options.get("startingoffsets", "latest")
    return KafkaSource(servers, topic, starting, None)


def _refused(what: str, rule: str, place: Place, next_step: str) -> UserError:
    return UserError("stream-refused", what, where=place, rule=rule, next_step=next_step)
