"""Which files of an update cannot be read, or only as something else than what is written."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from freshline.executor.records import UnreadableFilesError
from freshline.project.sections.reader_options import csv_signs
from freshline.spark.engine.errors import (
    SparkError,
    condition,
    has_lost_executors,
    is_denied,
    is_of_the_platform,
    message,
    one_line,
)
from freshline.spark.engine.process import is_stopped
from freshline.spark.feeds.cut_values import cut_values
from freshline.spark.feeds.misfits import separator_meant
from freshline.spark.feeds.parquet_columns import NANOSECONDS, inferred_otherwise, other_meanings
from freshline.spark.feeds.reader import FeedReader
from freshline.spark.feeds.search import opened
from freshline.spark.feeds.several_values import several_values

_HEADER = re.compile(
    r"CSV header.*?\bHeader(?: length)?: (.*?),?\s+[Ss]chema(?: size)?: (.*?)"
    r"\s+(?:Expected|CSV file)",
    re.DOTALL,
)
_FIRST = "its first line"
_LONGEST_HEADER_BYTES = 100_000
_PLAIN = {
    "PATH_NOT_FOUND": "it is no longer there",
    "FAILED_READ_FILE.FILE_NOT_EXIST": "it is no longer there",
}
_DENIED = "the store does not give it out"
_KILLS = "executors were lost each time that it was read"
_COLON = (
    "a part of its name has both a colon and one of \\ * ? [ ] { } or a comma, which Hadoop cannot"
    " read: rename it"
)


def unreadable_files(
    session: SparkSession, reader: FeedReader, names: Sequence[str], schema: StructType | None
) -> list[tuple[str, str]]:
    """The files among ``names`` that cannot be read alone, each with a reason in one line.

    Halves that can be read as a whole are not divided further, so that one bad file among a
    thousand costs some twenty reads.

    Args:
        session: Any session.
        reader: Of the feed.
        names: Files of the feed.
        schema: The feed's; None: each file is read with its own.

    Returns:
        None of them where the store, the network, the machine or Spark failed meanwhile. None of
        those that are there where the store holds all of them back, or all cost executors:
        credentials that have expired are no file's fault, nor is a cluster that takes its machines
        back.
    """
    told = reader.unreadable(session, names)
    if told is not None:
        return told
    faults: list[tuple[str, str]] = []
    alive = []
    for name in names:
        fault = _obvious_fault(reader, name)
        if fault:
            faults.append((name, fault))
        else:
            alive.append(name)
    doubtful = set[str]()
    waiting = [alive] if alive else []
    while waiting:
        group = waiting.pop()
        try:
            fault = _fault(session, reader, group, schema)
        except SparkError:
            return []
        if fault and len(group) == 1:
            doubtful.update(group if fault.startswith((_DENIED, _KILLS)) else [])
            meant = _separator_meant(reader, group[0], schema) if fault.startswith(_FIRST) else None
            faults.append((group[0], f"{fault}; {meant}" if meant else fault))
        elif fault:
            middle = len(group) // 2
            waiting += [group[middle:], group[:middle]]
    if len(doubtful) == len(alive):
        faults = [each for each in faults if each[0] not in doubtful]
    order = {name: position for position, name in enumerate(names)}
    return sorted(faults, key=lambda named: order[named[0]])


def refuse(table: str, reader: FeedReader, faults: Sequence[tuple[str, str]] | None) -> None:
    """Raise if files of the feed cannot be loaded as they are.

    Args:
        table: That is loaded.
        reader: Of its feed.
        faults: Names, each with the reason.

    Raises:
        UnreadableFilesError: There are some.
    """
    if faults:
        raise UnreadableFilesError(table, faults, where=reader.feed.place)


def misread_files(
    session: SparkSession, reader: FeedReader, names: Sequence[str], schema: StructType
) -> list[tuple[str, str]]:
    """The files that Spark would read as other than what is written, each with the reason.

    Args:
        session: The update's own.
        reader: Of the feed.
        names: Files of the feed.
        schema: The feed's.

    Raises:
        OSError: A file cannot be read.
        SparkError: A file that is not on this machine cannot be read.
    """
    before = reader.stands(names)
    return (
        several_values(session, reader, names)
        or cut_values(session, reader, names)
        or other_meanings(reader, names, schema, otherwise=inferred_otherwise(session, reader.feed))
        or moved_files(reader, names, before)  # what was looked at is not what will be read
    )


def moved_files(
    reader: FeedReader, names: Sequence[str], as_read: Mapping[str, tuple[int, float]]
) -> list[tuple[str, str]]:
    """The files that changed while they were read, each with the reason.

    One that is gone was read, else Spark would have failed.

    Args:
        reader: Of the feed.
        names: Files of the feed.
        as_read: What :meth:`.FeedReader.stands` said before.
    """
    now = reader.stands(names)
    return [
        (name, "it changed while it was read") for name in now if as_read.get(name) != now[name]
    ]


def no_files(reader: FeedReader, names: Sequence[str]) -> list[tuple[str, str]]:
    """The names of what is no file, each with the reason: reading a pipe may wait for ever.

    Listings leave such names out, but a journal of before may have one.
    """
    if reader.feed.kind == "kafka" or "://" in reader.feed.path:
        return []
    paths = ((name, Path(reader.feed.path, name)) for name in names)
    return [
        (name, "it is a pipe, a socket or a device, and no file")
        for name, path in paths
        if path.exists() and not (path.is_file() or path.is_dir())
    ]


def empty_parquet(reader: FeedReader, name: str) -> bool:
    """Whether it is a Parquet file of no bytes: Spark reads it as no rows, but it is broken.

    An interrupted producer leaves such a file; taking it for loaded would lose its rows.
    """
    path = _local(reader, name)
    if reader.feed.format != "parquet" or path is None:
        return False
    try:
        return path.stat().st_size == 0
    except OSError:
        return False


def _obvious_fault(reader: FeedReader, name: str) -> str | None:
    path = _local(reader, name)
    if path is None:
        return None
    if not path.exists():
        return "it is no longer there"
    if path.is_dir():
        return "it is a folder"
    if not os.access(path, os.R_OK):  # Hadoop says of it that it is not there
        return "its permissions do not let freshline read it"
    return "it is empty, which no Parquet file is" if empty_parquet(reader, name) else None


def _local(reader: FeedReader, name: str) -> Path | None:
    folder = reader.feed.path
    return Path(folder) / name if folder.startswith("/") else None


def _fault(
    session: SparkSession, reader: FeedReader, names: Sequence[str], schema: StructType | None
) -> str | None:
    """Why these files cannot be read in one go; None where they can.

    Raises:
        SparkError: No file is to blame.
    """
    try:
        columns = schema if schema is not None else reader.schema(session, names)
        reader.read(session, names, columns).write.format("noop").mode("overwrite").save()
    except SparkError as error:
        if has_lost_executors(error) and not is_stopped(session):
            return _KILLS
        if is_of_the_platform(error) or is_stopped(session):
            raise
        name = condition(error)
        if "://" in reader.feed.path and is_denied(error):
            return f"{_DENIED}: {one_line(error)}"
        if "Relative path in absolute URI" in message(error):
            return _COLON
        if schema is not None and len(names) == 1:
            otherwise = inferred_otherwise(session, reader.feed)
            told = other_meanings(reader, names, schema, failed=True, otherwise=otherwise)
            if told:
                return told[0][1]
        if "TIMESTAMP(NANOS" in message(error):
            return f"it has {NANOSECONDS}"
        return (
            _PLAIN.get(name)
            or _header_fault(message(error))
            or (f"{one_line(error)} ({name})" if name else one_line(error))
        )
    return None


def _separator_meant(reader: FeedReader, name: str, schema: StructType | None) -> str | None:
    """What to set where a file's header has the schema's columns, parted by another sign."""
    path = _local(reader, name)
    if path is None or schema is None:
        return None
    try:
        with opened(path) as file:
            line = file.readline(_LONGEST_HEADER_BYTES).decode("utf-8", "replace").rstrip()
    except (OSError, EOFError, zlib.error):
        return None
    return separator_meant(line, len(schema), csv_signs(reader.feed.options)[0])


def _header_fault(text: str) -> str | None:
    """What is wrong with a csv file's header, from Spark's message; None: something else is."""
    found = _HEADER.search(text)
    if found is None:
        return None
    return (
        f"{_FIRST} is to be a header with the schema's columns ({found[2]}), and has"
        f" {found[1]}: correct the file or the feed's `schema:`, or set the feed's `options:"
        ' {enforceSchema: "true"}`, which takes columns by place, whatever the header says'
    )
