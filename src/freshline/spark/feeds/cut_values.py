"""Csv files with a quoted value that goes on in the next line, where a feed reads line by line.

Spark closes such a value at the end of its line and loads the row, cut. Looked for without Spark
in local files, and by one job in others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import BinaryIO

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention

from freshline.spark.feeds.packed import can_open, opened
from freshline.spark.feeds.reader import DEFAULTS, FeedReader

_BACKSLASH = "\\"
_LINE_END = re.compile(r"\r\n|\n|\r")
_BLOCK_BYTES = 2**24
_BYTES = "latin-1"
"""Keeps every byte; quotes and separators are ASCII."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How values are told from one another.

    Attributes:
        separator: Between two values.
        quote: Before and after a quoted one.
        escape: Before a quote within a quoted value.
        comment: What a line without values begins with; empty: none does.
        is_told: The feed itself says how quotes are written. Else rows of a writer that puts a
            backslash before them are rejected one by one, so none of its lines is open.
    """

    separator: str = ","
    quote: str = '"'
    escape: str = '"'
    comment: str = ""
    is_told: bool = True

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Dialect | None:
        """That of a feed's options; None: its lines are not told by quotes, or not known."""
        lowered = {name.lower(): value for name, value in options.items()}
        if lowered.get("multiline", "").lower() == "true" or "linesep" in lowered:
            return None
        if re.match("utf-?(16|32)", lowered.get("encoding", lowered.get("charset", "")).lower()):
            return None
        separator = lowered.get("sep", lowered.get("delimiter", ",")).replace("\\t", "\t")
        quote = lowered.get("quote", '"')
        escape = lowered.get("escape", DEFAULTS["csv"]["escape"])
        known = len(quote) == 1 and separator and (separator + quote + escape).isascii()
        if not known or len(escape) != 1:
            return None
        is_told = bool({"escape", "quote"} & lowered.keys())
        return cls(separator, quote, escape, lowered.get("comment", ""), is_told)

    @property
    def record(self) -> str:
        """A regular expression, for Java as for Python, of a text that is one whole record."""
        separator, quote = re.escape(self.separator), re.escape(self.quote)
        plain = rf"(?:(?!{separator})[^\r\n])*+"
        value = f"(?:{_value(self.quote, self.escape)}{plain}|(?!{quote}){plain})"
        return rf"(?s)^{value}(?:{separator}{value})*+[\r\n]*+(?!.)"

    def is_open(self, line: str) -> bool:
        """Whether a quoted value of the line does not end in it."""
        if self.comment and line.startswith(self.comment):
            return False
        if self.quote not in line or not self._is_open(line, self.escape):
            return False
        return self.is_told or self._is_open(line, _BACKSLASH)

    def _is_open(self, line: str, escape: str) -> bool:
        quoted, at = _quoted(self.quote, escape), 0
        while True:
            if line.startswith(self.quote, at):
                value = quoted.match(line, at)
                if value is None:
                    return True
                at = value.end()
            at = line.find(self.separator, at)
            if at < 0:
                return False
            at += len(self.separator)


@cache
def _quoted(quote: str, escape: str) -> re.Pattern[str]:
    """A quoted value, to its last quote."""
    return re.compile(_value(quote, escape), re.DOTALL)


def _value(quote: str, escape: str) -> str:
    """Of a quoted value: possessive, so that Java needs no stack for a long one."""
    quote, escape = re.escape(quote), re.escape(escape)
    if quote == escape:
        return f"{quote}[^{quote}]*+(?:{quote}{quote}[^{quote}]*+)*+{quote}"
    inside = f"[^{quote}{escape}]*+"
    return f"{quote}{inside}(?:{escape}.{inside})*+{quote}"


def cut_values(
    session: SparkSession, reader: FeedReader, names: Sequence[str]
) -> list[tuple[str, str]]:
    """The files of a csv feed in which a value has a line break, with the reason.

    Args:
        session: The update's own.
        reader: Of the feed.
        names: Files of the feed.

    Raises:
        OSError: A file cannot be read.
        SparkError: A file that is not on this machine cannot be read.
    """
    feed = reader.feed
    dialect = Dialect.of(feed.options) if feed.format == "csv" and feed.kind == "files" else None
    if dialect is None:
        return []
    found = []
    elsewhere = []
    for name in names:
        path = Path(feed.path) / name
        if not feed.path.startswith("/") or not can_open(path):
            elsewhere.append(name)
            continue
        with opened(path) as file:
            line = first_open(file, dialect)
        if line is not None:
            found.append((name, _reason(f"line {line}")))
    if elsewhere:
        found += _by_spark(session, reader, elsewhere, dialect)
    return found


def first_open(file: BinaryIO, dialect: Dialect, block_bytes: int = _BLOCK_BYTES) -> int | None:
    """The first line, counted from 1, with a quoted value that does not end in it; None: none.

    Args:
        file: Opened at its beginning.
        dialect: Of the feed.
        block_bytes: So much is looked at as a whole; only what is suspect line by line.
    """
    before = 0
    while block := file.read(block_bytes) + file.readline():
        if _is_suspect(block, dialect):
            lines = _LINE_END.split(block.decode(_BYTES))
            for number, line in enumerate(lines, start=before + 1):
                if dialect.is_open(line):
                    return number
        before += block.count(b"\n")
    return None


def _is_suspect(block: bytes, dialect: Dialect) -> bool:
    """Whether a value may be open: between a line's quotes, taken by pairs, no line ends."""
    quote = dialect.quote.encode()
    if quote not in block:
        return False
    if dialect.escape != dialect.quote and (dialect.escape.encode() + quote) in block:
        return True
    return _balanced(quote).fullmatch(block) is None


@cache
def _balanced(quote: bytes) -> re.Pattern[bytes]:
    q = re.escape(quote)
    return re.compile(rb"(?:[^%b]*+%b[^%b\r\n]*+%b)*+[^%b]*+" % (q, q, q, q, q))


def _by_spark(
    session: SparkSession, reader: FeedReader, names: Sequence[str], dialect: Dialect
) -> list[tuple[str, str]]:
    lines = session.read.text([reader.path(name) for name in names])
    value, quote = F.col("value"), F.lit(dialect.quote)
    odd = (F.length(value) - F.length(F.replace(value, quote, F.lit("")))) % 2 == 1
    if dialect.escape != dialect.quote:
        odd |= value.contains(dialect.escape + dialect.quote)
    path = reader.shown_file(F.col("_metadata.file_path"))
    found: dict[str, str] = {}
    for row in lines.filter(odd).select(path.alias("file"), "value").toLocalIterator():
        if row.file not in found and dialect.is_open(row.value):
            found[row.file] = _reason("a line")
    return [(name, found[name]) for name in names if name in found]


def _reason(where: str) -> str:
    return (
        f"{where} has a quoted value that does not end on it, and Spark would cut it there: set the"
        ' feed\'s `options: {multiLine: "true"}` where values have line breaks, or correct the line'
    )
