"""The feeds of freshline.yml: one reader per kind, every key checked."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit

from freshline.core.errors import Place
from freshline.project import ddl
from freshline.project.model import (
    DeltaSource,
    Feed,
    FeedKind,
    KafkaSource,
    PushSource,
    TimestampPattern,
)
from freshline.project.names import name_fault
from freshline.project.schema import RULE as SCHEMA_RULE
from freshline.project.schema import schema_columns
from freshline.project.sections.reader_options import (
    FLAGS,
    has_plain_lines,
    has_wide_characters,
    option,
    options_of,
    unknown_options,
)
from freshline.project.yaml.section import Section

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_TIMES = ("timestamp", "timestamp_ntz", "date")
_KINDS: tuple[FeedKind, ...] = ("files", "kafka", "push", "delta")
_SAMPLE = datetime(2024, 2, 29, 13, 14, 15)  # noqa: DTZ001 - only to try a format


def resolved(path: str, root: Path) -> str:
    """An absolute path (relative ones start at ``root``), or a URI as it is.

    One slash is right in a URI of this machine, too: ``file:/data/in``.
    """
    if path.startswith("file:/") and not path.startswith("file://"):
        path = path.removeprefix("file:")
    return path if is_uri(path) else str((root / path).absolute())


def storage_place(text: str, root: Path) -> str:
    """Where a storage is: an absolute path, also where it is said as ``file:///...``, or a URI.

    As a path it has its journal and lock beside the tables, so that projects which share it meet.
    """
    split = urlsplit(text)
    here = split.scheme == "file" and not split.netloc
    return resolved(unquote(split.path) if here else text, root).rstrip("/")


def read_feeds(section: Section | None, root: Path) -> tuple[dict[str, Feed], tuple[str, ...]]:
    """All feeds that are right, and the names of all, right or not."""
    feeds: dict[str, Feed] = {}
    if section is None:
        return feeds, ()
    lower: dict[str, str] = {}
    for name in section.data:
        rule = name_fault(name)
        if rule is not None:
            section.fault(
                "bad-name",
                f"'{name}' cannot name a feed",
                key=name,
                rule=rule,
                next_step="Rename the feed.",
            )
        if name.lower() in lower:
            section.fault(
                "duplicate-name",
                f"feeds {lower[name.lower()]} and {name} have the same name",
                key=name,
                rule="names are compared without case",
                next_step="Rename one of them.",
            )
        lower.setdefault(name.lower(), name)
        sub = section.sub(name, f"feed {name}")
        if sub is None:
            section.fault(
                "missing-key",
                f"feed {name} is empty",
                key=name,
                rule="the key kind is required",
                next_step="Add kind: files and a path: to it.",
            )
            continue
        feed = _read_feed(sub, name, root)
        if feed is not None:
            feeds[name] = feed
    return feeds, tuple(section.data)


def _read_feed(section: Section, name: str, root: Path) -> Feed | None:
    before = len(section.errors)
    section.require("kind")
    if len(section.errors) > before:
        return None
    kind = section.choice("kind", _KINDS, "")
    read = {"files": _files, "kafka": _kafka, "push": _push, "delta": _delta}.get(kind)
    if read is None:
        return None
    feed = read(section, name, root)
    return feed if len(section.errors) == before else None


def _files(section: Section, name: str, root: Path) -> Feed:
    section.only("kind", "path", "format", "options", "schema", "timestamp", "period", "settle")
    section.require("path", "format")
    format_ = section.choice("format", ("parquet", "csv", "json"), "")
    if format_ in {"csv", "json"}:
        _require_schema(section, f"{format_} files do not carry their types")
    schema, _ = _schema(section)
    return Feed(
        name,
        "files",
        resolved(section.text("path") or "", root),
        format_,
        _options_of_files(section, format_),
        schema,
        _timestamp(section, name),
        section.duration_s("period"),
        section.place(),
        settle_s=section.duration_s("settle"),
    )


def _options_of_files(section: Section, format_: str) -> dict[str, str]:
    """Spark's reader passes over names that it does not know.

    And its csv reader takes lines apart before it knows that a character has two bytes.
    """
    options = options_of(section)
    for name, value in options.items():
        if name.lower() in FLAGS and value.lower() not in ("true", "false") and "${" not in value:
            section.fault(
                "bad-option",
                f"the option {name} of {section.what} is '{value}'",
                key="options",
                rule="it is true or false",
                next_step="Correct the value.",
            )
    for name, meant in unknown_options(format_, options):
        section.fault(
            "bad-option",
            f"the options of {section.what} have {name}",
            key="options",
            rule=f"Spark's reader of {format_} files has no option of that name",
            next_step=f"Did you mean {meant}?" if meant else "Remove it, or correct its name.",
        )
    if format_ == "csv" and has_wide_characters(options) and has_plain_lines(options):
        encoding = str(option(options, "encoding", "charset"))
        section.fault(
            "bad-option",
            f"the options of {section.what} have the encoding {encoding.upper()} without multiLine",
            key="options",
            rule="Spark reads csv files of that encoding as a whole, or misreads their line ends",
            next_step='Add multiLine: "true" to the options.',
        )
    return options


def _kafka(section: Section, name: str, _root: Path) -> Feed:
    section.only(
        "kind", "servers", "topic", "format", "schema", "starting", "options", "time", "period",
        "on_new_topic",
    )  # fmt: skip
    section.require("servers", "topic")
    _require_schema(section, "records of a topic do not carry their types")
    schema, columns = _schema(section)
    if "_kafka" in (column.lower() for column in columns):
        section.fault(
            "bad-schema",
            f"schema of {section.what} has a column named _kafka",
            key="schema",
            rule="that is the column that says where a record comes from",
            next_step="Leave it out; a query can read _kafka.offset without it.",
        )
    return Feed(
        name,
        "kafka",
        "",
        section.choice("format", ("json", "csv"), "json"),
        _topic_options(section),
        schema,
        None,
        section.duration_s("period"),
        section.place(),
        KafkaSource(
            section.text("servers") or "",
            section.text("topic") or "",
            _starting(section),
            _time(section, columns),
            section.choice("on_new_topic", ("refuse", "read"), "refuse"),
        ),
    )


def _delta(section: Section, name: str, root: Path) -> Feed:
    section.only("kind", "path", "table", "period", "on_new_table")
    path, table = section.text("path"), section.text("table")
    if (path is None) == (table is None):
        section.fault(
            "bad-value" if path is not None else "missing-key",
            f"{section.what} has {'a path and a table' if path else 'neither path nor table'}",
            key=None if path is None else "table",
            rule="a feed of kind delta reads one Delta table: by its path, or by its name",
            next_step="Give one of `path:` and `table:`.",
        )
    if table is not None and not is_session_table(table):
        section.fault(
            "bad-value",
            f"table of {section.what} is '{table}'",
            key="table",
            rule="it is a name in the session's catalog, like db.orders or spark_catalog.db.orders",
            next_step="Name the database and the table, or give the table's `path:`.",
        )
    source = DeltaSource(table, section.choice("on_new_table", ("refuse", "reload"), "refuse"))
    place, period_s = section.place(), section.duration_s("period")
    folder = "" if path is None else resolved(path, root)
    return Feed(name, "delta", folder, "delta", {}, None, None, period_s, place, source)


def delta_feed(name: str, place: Place, *, path: str = "", table: str | None = None) -> Feed:
    """The feed that a query or a function streams: a Delta table by its path, or by its name."""
    source = DeltaSource(table)
    return Feed(name, "delta", path, "delta", {}, None, None, None, place, source)


def is_uri(path: str) -> bool:
    """Whether a path has a scheme, like ``s3a://bucket/key``."""
    return _URI.match(path) is not None


def is_session_table(name: str) -> bool:
    """Whether a feed can read a table of this name: ``db.t``, or ``spark_catalog.db.t``."""
    return _TABLE_NAME.fullmatch(name) is not None


def without_catalog(name: str) -> str:
    """The name of such a table as ``db.t``, so that both spellings are one feed."""
    return _CATALOG.sub("", name)


_PART = r"(?:\w+|`[^`]+`)"
_CATALOG = re.compile(rf"\A(?i:`?spark_catalog`?)\.(?={_PART}\.{_PART}\Z)")
_TABLE_NAME = re.compile(rf"(?:(?i:`?spark_catalog`?)\.)?{_PART}\.{_PART}")

_OFFSETS = {
    "startingoffsets", "endingoffsets", "startingtimestamp", "endingtimestamp", "assign",
    "startingoffsetsbytimestamp", "endingoffsetsbytimestamp", "subscribe", "subscribepattern",
    "failondataloss", "includeheaders", "maxoffsetspertrigger", "minoffsetspertrigger", "mode",
    "columnnameofcorruptrecord", "kafka.bootstrap.servers",
}  # fmt: skip
"""Which offsets are read, and what becomes of what does not fit, is not the reader's to say."""


def _topic_options(section: Section) -> dict[str, str]:
    options = options_of(section)
    for name in options:
        if name.lower() in _OFFSETS:
            section.fault(
                "bad-option",
                f"the options of {section.what} have {name}",
                key="options",
                rule="freshline chooses the offsets of each update and loses no record",
                next_step="Remove it; `servers:`, `topic:` and `starting:` say where to read.",
            )
    return options


def _starting(section: Section) -> str:
    """A word, or a moment as YAML or a text has it; without a zone it is UTC."""
    value = section.data.get("starting", "earliest")
    if value in ("earliest", "latest"):
        return str(value)
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError:
        section.fault(
            "bad-value",
            f"starting of {section.what} is '{value}'",
            key="starting",
            rule="it is earliest, latest or a moment like 2026-01-31T12:00:00Z",
            next_step="Use one of them.",
        )
        return "earliest"
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC).isoformat()


def _push(section: Section, name: str, _root: Path) -> Feed:
    section.only("kind", "schema", "time", "quota", "period")
    _require_schema(section, "each pushed record is checked against it")
    schema, columns = _schema(section)
    time = _time(section, columns)
    if schema is not None:
        _check_pushable(section, schema, time)
    return Feed(
        name,
        "push",
        "",
        "json",
        {},
        schema,
        None,
        section.duration_s("period"),
        section.place(),
        PushSource(time, section.size_bytes("quota")),
    )


def _check_pushable(section: Section, schema: str, time: str | None) -> None:
    """Each record is checked by us, so we have to know what its types mean."""
    try:
        columns = ddl.columns(schema)
    except ValueError as error:
        section.fault(
            "bad-schema",
            f"schema of {section.what}: {error}",
            key="schema",
            rule=ddl.RULE,
            next_step="Correct the schema.",
        )
        return
    for column in columns:
        if column.name == time and column.type.kind not in _TIMES:
            section.fault(
                "bad-time",
                f"time of {section.what} names the column {time}, which is {column.type.name}",
                key="time",
                rule="it gives landed files their time, so it is a TIMESTAMP or a DATE",
                next_step="Name such a column, or leave time out: then it is the time of arrival.",
            )


def _require_schema(section: Section, why: str) -> None:
    if section.data.get("schema") is None:
        section.fault(
            "missing-schema",
            f"{section.what} has no schema",
            rule=why,
            next_step="Add schema: with the columns and their types, like 'id BIGINT'.",
        )


def _schema(section: Section) -> tuple[str | None, tuple[str, ...]]:
    """The schema as written, and its columns."""
    schema = section.text("schema")
    if schema is None:
        return None, ()
    try:
        return schema, schema_columns(schema)
    except ValueError as error:
        section.fault(
            "bad-schema",
            f"schema of {section.what}: {error}",
            key="schema",
            rule=SCHEMA_RULE,
            next_step="Correct the schema.",
        )
        return None, ()


def _time(section: Section, columns: tuple[str, ...]) -> str | None:
    time = section.text("time")
    if time is None or not columns:
        return None
    by_lower = {column.lower(): column for column in columns}
    if time.lower() not in by_lower:
        section.fault(
            "unknown-column",
            f"time of {section.what} names the column {time}",
            key="time",
            rule=f"the schema has {', '.join(columns)}",
            next_step="Name a column of the schema.",
        )
        return None
    return by_lower[time.lower()]


def _timestamp(section: Section, name: str) -> TimestampPattern | None:
    sub = section.sub("timestamp", f"timestamp of feed {name}")
    if sub is None:
        return None
    sub.only("pattern", "format")
    sub.require("pattern", "format")
    pattern = _pattern(sub, sub.text("pattern"))
    format_ = _format(sub, sub.text("format"))
    return TimestampPattern(pattern, format_) if pattern and format_ else None


def _pattern(section: Section, text: str | None) -> re.Pattern[str] | None:
    if text is None:
        return None
    try:
        pattern = re.compile(text)
        if pattern.groups == 1:
            return pattern
        fault = f"it has {pattern.groups} groups"
    except re.error as error:
        fault = str(error)
    section.fault(
        "bad-pattern",
        f"pattern '{text}' of {section.what}: {fault}",
        key="pattern",
        rule="it is a regular expression with one group, which holds the timestamp",
        next_step="Put parentheses around the timestamp and nothing else.",
    )
    return None


def _format(section: Section, text: str | None) -> str | None:
    """A format that reads back what it writes, to the day at least: %I alone is half a day off."""
    if text is None:
        return None
    try:
        sample = datetime.strptime(_SAMPLE.strftime(text), text)  # noqa: DTZ007 - a trial
        fault = None if sample.date() == _SAMPLE.date() else "it does not contain the whole date"
        parts = zip(sample.timetuple()[3:6], _SAMPLE.timetuple()[3:6], strict=True)
        if fault is None and any(part not in (0, meant) for part, meant in parts):
            fault = f"it reads {_SAMPLE:%H:%M:%S} back as {sample:%H:%M:%S}"
    except (ValueError, re.error):
        fault = "it cannot read what it writes"
    if fault is None:
        return text
    section.fault(
        "bad-timestamp-format",
        f"format '{text}' of {section.what}: {fault}",
        key="format",
        rule="it is of strptime's directives, like %Y%m%dT%H%M%S",
        next_step="Correct the format.",
    )
    return None


def unread_feeds(feeds: dict[str, Feed], read: set[str]) -> list[str]:
    """A warning for each feed that no table reads."""
    return [
        f"{feed.place}: no table reads feed {feed.name}"
        for feed in feeds.values()
        if feed.name not in read
    ]


def absent_folders(feeds: Mapping[str, Feed]) -> list[str]:
    """A sentence for each feed of files whose folder on this machine is not there.

    That is no error, since a producer may make it with its first file. What cannot be looked at
    counts as absent; its listing says why.
    """
    found = []
    for feed in feeds.values():
        if feed.kind == "files" and "://" not in feed.path and not os.path.isdir(feed.path):  # noqa: PTH112
            fault = "is no folder" if os.path.exists(feed.path) else "does not exist"  # noqa: PTH110
            pattern = ", a feed being a folder and no pattern" if set("*?") & set(feed.path) else ""
            found.append(
                f"{feed.place}: {feed.path} of feed {feed.name} {fault}{pattern}:"
                " nothing arrives from it"
            )
    return found
