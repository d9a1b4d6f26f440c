"""Json files with more than one value on a line: Spark reads the first and drops the others.

Amazon's Firehose writes records one after the other without a line break. Looked for without Spark
in local files, and by one job in others. Values with a comma between them are found where no
bracket is before it: so stand those of an array.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention

from freshline.spark.feeds.packed import can_open, opened
from freshline.spark.feeds.reader import FeedReader

_PAIR = r"\}[ \t]*,[ \t]*\{"
_FLAT_PAIR = rf"^[^\[]*?{_PAIR}"
"""Two objects with a comma between them, and no bracket before it: so they are in no array."""

_SUSPECT = rf"[}}\]][^,}}\]\r\n]|[^}}\]\s]\s*$|{_FLAT_PAIR}"
"""Of a line that may have something after its first value: within a text it means nothing."""

SEVERAL = r"[}\]]\s*[^,}\]\s]|^[^\[]*?\}\s*,\s*\{"
"""Of a text that may have something after its first value, on whatever line."""

_after_a_value = [re.compile(rb"\}[^,}\]\r\n]"), re.compile(rb"\][^,}\]\r\n]")]
"""Each begins with one letter, for which Python searches ten times as fast as for one of two."""

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BLOCK_BYTES = 2**24

_suspect = re.compile(_SUSPECT.encode())
_pair = re.compile(_PAIR.encode())
_decoder = json.JSONDecoder()


def several_values(
    session: SparkSession, reader: FeedReader, names: Sequence[str]
) -> list[tuple[str, str]]:
    """The files of a json feed that have more than one value on a line, with the reason.

    A line that is no json at all is none of them: its row is rejected.

    Args:
        session: The update's own.
        reader: Of the feed.
        names: Files of the feed.

    Raises:
        OSError: A file cannot be read.
        SparkError: A file that is not on this machine cannot be read.
    """
    feed = reader.feed
    options = {name.lower(): value.lower() for name, value in feed.options.items()}
    unknown = {"linesep", "encoding", "charset"} & options.keys()
    if feed.kind != "files" or feed.format != "json" or unknown:
        return []
    whole = options.get("multiline") == "true"
    found = []
    elsewhere = []
    for name in names:
        path = Path(feed.path) / name
        if not feed.path.startswith("/") or not can_open(path):
            elsewhere.append(name)
            continue
        with opened(path) as file:
            line = first_of_several(file) if not whole else 1 if _has_more(file.read()) else None
        if line is not None:
            found.append((name, _reason(line, whole=whole)))
    return found + (_elsewhere(session, reader, elsewhere, whole=whole) if elsewhere else [])


def first_of_several(file: BinaryIO, block_bytes: int = _BLOCK_BYTES) -> int | None:
    """The first line, counted from 1, with something after its first value; None: there is none.

    Args:
        file: Opened at its beginning.
        block_bytes: So much is looked at as a whole; only what is suspect line by line.
    """
    before = 0
    while block := file.read(block_bytes) + file.readline():
        if _is_suspect(block):
            for number, line in enumerate(_LINE_END.split(block), start=before + 1):
                if _suspect.search(line) is not None and _has_more(line):
                    return number
        before += block.count(b"\n")
    return None


def _is_suspect(block: bytes) -> bool:
    """Whether a line can have more than one value: bytes are searched, not line by line."""
    if any(each.search(block) for each in _after_a_value):
        return True
    lines = block.count(b"\n")
    ended = (
        block.count(b"}\n") + block.count(b"]\n") + block.count(b"}\r\n") + block.count(b"]\r\n")
    )
    if lines != ended or not block.endswith((b"}", b"]", b"\n")):
        return True
    return _has_flat_pair(block)


def _has_flat_pair(block: bytes) -> bool:
    at = 0
    while (pair := _pair.search(block, at)) is not None:
        begin = block.rfind(b"\n", 0, pair.start()) + 1
        if block.find(b"[", begin, pair.start()) < 0:
            return True
        at = block.find(b"\n", pair.end())
        if at < 0:
            return False
    return False


def _has_more(line: bytes) -> bool:
    text = line.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    try:
        _, end = _decoder.raw_decode(text)
    except ValueError:
        return False
    # Where an array is written line by line, a line ends with a comma, and the last with a bracket.
    return bool(text[end:].strip(" \t\r\n,]}"))


def _elsewhere(
    session: SparkSession, reader: FeedReader, names: Sequence[str], *, whole: bool
) -> list[tuple[str, str]]:
    lines = session.read.text([reader.path(name) for name in names], wholetext=whole)
    path = reader.shown_file(F.col("_metadata.file_path"))
    suspects = lines if whole else lines.filter(F.col("value").rlike(_SUSPECT))
    found: dict[str, str] = {}
    for row in suspects.select(path.alias("file"), "value").toLocalIterator():
        if row.file not in found and _has_more(row.value.encode()):
            found[row.file] = _reason(None, whole=whole)
    return [(name, found[name]) for name in names if name in found]


def _reason(line: int | None, *, whole: bool) -> str:
    where = "it" if whole else "a line" if line is None else f"line {line}"
    rule = "a file of multiLine has one" if whole else "each has to be on a line of its own"
    return f"{where} has more than one JSON value: {rule}, or Spark leaves out all but the first"
