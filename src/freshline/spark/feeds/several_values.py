"""Json files with more than one value on a line: Spark reads the first and drops the others.

Amazon's Firehose writes records one after the other without a line break. Values with a comma
between them are found where no bracket is before it: so stand those of an array.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import BinaryIO

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention

from freshline.project.sections.reader_options import is_read_as_whole, option
from freshline.spark.feeds.reader import FeedReader
from freshline.spark.feeds.search import BLOCK_BYTES, first_line, searched, wrong_files

_PAIR = r"\}[ \t]*,[ \t]*\{"
_FLAT_PAIR = rf"^[^\[]*?{_PAIR}"
"""Two objects with a comma between them, and no bracket before it: so they are in no array."""

_SUSPECT = rf"[}}\]][^,}}\]\r\n]|[^}}\]\s]\s*$|{_FLAT_PAIR}"
"""Of a line that may have something after its first value: within a text it means nothing."""

SEVERAL = r"[}\]]\s*[^,}\]\s]|^[^\[]*?\}\s*,\s*\{"
"""Of a text that may have something after its first value, on whatever line."""

_after_a_value = [re.compile(rb"\}[^,}\]\r\n]"), re.compile(rb"\][^,}\]\r\n]")]
"""Each begins with one letter, for which Python searches ten times as fast as for one of two."""

_suspect = re.compile(_SUSPECT.encode())
_pair = re.compile(_PAIR.encode())
_decoder = json.JSONDecoder(object_pairs_hook=lambda _: None)
"""Keeps no objects: those of a file that is one array would take ten times its size."""
_QUOTES, _OPENING, _CLOSING = ("'", '"'), ("{", "["), ("}", "]")
_signs = re.compile(r"\\.|[\"'{}\[\]]", re.DOTALL)
_of_spark_alone = re.compile(r"[:,\[]\s*[+-]?INF\b|[{:,\[]\s*'")
"""What Spark's reader takes and Python's does not: texts in single quotes, an infinite number."""


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
    is_unknown = option(feed.options, "lineSep", "encoding", "charset") is not None
    if feed.kind != "files" or feed.format != "json" or is_unknown:
        return []
    whole, loose = is_read_as_whole(feed.options), _is_loose(feed.options)

    def in_file(file: BinaryIO) -> str | None:
        if whole:
            return _reason("it", whole=True) if _has_more(file.read(), loose=loose) else None
        line = first_of_several(file, loose=loose)
        return None if line is None else _reason(f"line {line}", whole=False)

    def by_spark(elsewhere: Sequence[str]) -> dict[str, str]:
        texts = session.read.text([reader.path(name) for name in elsewhere], wholetext=whole)
        suspect = _is_not_one(F.col("value")) if whole else F.col("value").rlike(_SUSPECT)
        wrong = wrong_files(
            reader, texts, suspect, lambda text: _has_more(text.encode(), loose=loose)
        )
        return dict.fromkeys(wrong, _reason("it" if whole else "a line", whole=whole))

    return searched(reader, names, in_file, by_spark)


def first_of_several(
    file: BinaryIO, block_bytes: int = BLOCK_BYTES, *, loose: bool = False
) -> int | None:
    """The first line, counted from 1, with something after its first value; None: there is none.

    Args:
        file: Opened at its beginning.
        block_bytes: As of :func:`.first_line`.
        loose: The feed's options have Spark take more than json.
    """
    return first_line(
        file,
        _is_suspect,
        lambda line: _suspect.search(line) is not None and _has_more(line, loose=loose),
        block_bytes,
    )


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


def _has_more(line: bytes, *, loose: bool) -> bool:
    text = line.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    try:
        _, end = _decoder.raw_decode(text)
    except ValueError:
        if not (loose or _of_spark_alone.search(text)):
            return False
        end = _end_of_first(text)
    except RecursionError:  # nobody can tell; Spark reads about as deep as this
        return True
    # Where an array is written line by line, a line ends with a comma, and the last with a bracket.
    return bool(text[end:].strip(" \t\r\n,]}"))


def _is_not_one(text: Column) -> Column:
    """Whether a text is not surely one value: a large file is not brought here to be looked at.

    In an array, two values are two elements, or no json.
    """
    array = F.from_json(F.concat(F.lit("["), text, F.lit("]")), "ARRAY<STRING>")
    return ~F.coalesce(F.size(array) == 1, F.lit(False))


def _end_of_first(text: str) -> int:
    """Behind the first object or array, by brackets and quotes alone; behind all where none ends.

    Args:
        text: Without anything before its first value.
    """
    depth, quote = 0, ""
    for found in _signs.finditer(text) if text.startswith(("{", "[")) else ():
        sign = found[0]
        if quote:
            quote = "" if sign == quote else quote
        elif sign in _QUOTES:
            quote = sign
        elif sign in _OPENING:
            depth += 1
        elif sign in _CLOSING:
            depth -= 1
            if not depth:
                return found.end()
    return len(text)


def _is_loose(options: Mapping[str, str]) -> bool:
    """Whether Spark is to take what is no json: names without quotes, numbers like 007."""
    return any(
        name.lower().startswith("allow") and told.lower() == "true"
        for name, told in options.items()
    )


def _reason(where: str, *, whole: bool) -> str:
    rule = "a file of multiLine has one" if whole else "each has to be on a line of its own"
    return f"{where} has more than one JSON value: {rule}, or Spark leaves out all but the first"
