"""Csv files with a quoted value that goes on in the next line, where a feed reads line by line.

Spark closes such a value at the end of its line and loads the row, cut.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import BinaryIO

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention

from freshline.project.sections.reader_options import (
    csv_signs,
    has_plain_lines,
    has_wide_characters,
    option,
)
from freshline.spark.feeds.reader import FeedReader
from freshline.spark.feeds.search import BLOCK_BYTES, first_line, searched, wrong_files

_BACKSLASH = "\\"
_BYTES = "latin-1"
"""Keeps every byte; quotes and separators are ASCII."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a csv line separates and quotes its values.

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
        if has_wide_characters(options) or not has_plain_lines(options):
            return None
        separator, quote, escape = csv_signs(options)
        separator = separator.replace("\\t", "\t")
        known = len(quote) == 1 and separator and (separator + quote + escape).isascii()
        if not known or len(escape) != 1:
            return None
        is_told = option(options, "escape", "quote") is not None
        return cls(separator, quote, escape, option(options, "comment") or "", is_told)

    @property
    def record(self) -> str:
        """A regular expression, for Java as for Python, of a text that is one whole record.

        Groups are atomic, not possessive: before 3.11.5 Python's ``(...)*+`` takes a part of what
        did not match (CPython issue 106052), and Debian 12 has 3.11.2.
        """
        separator, quote = re.escape(self.separator), re.escape(self.quote)
        plain = rf"(?>(?:(?!{separator})[^\r\n])*)"
        value = f"(?:{_value(self.quote, self.escape)}{plain}|(?!{quote}){plain})"
        return rf"(?s)^{value}(?>(?:{separator}{value})*)[\r\n]*+(?!.)"

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
    """Of a quoted value: atomic, so that Java needs no stack for a long one."""
    quote, escape = re.escape(quote), re.escape(escape)
    if quote == escape:
        return f"{quote}[^{quote}]*+(?>(?:{quote}{quote}[^{quote}]*+)*){quote}"
    inside = f"[^{quote}{escape}]*+"
    return f"{quote}{inside}(?>(?:{escape}.{inside})*){quote}"


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

    def in_file(file: BinaryIO) -> str | None:
        line = first_open(file, dialect)
        return None if line is None else _reason(f"line {line}")

    def by_spark(elsewhere: Sequence[str]) -> dict[str, str]:
        lines = session.read.text([reader.path(name) for name in elsewhere])
        value, quote = F.col("value"), F.lit(dialect.quote)
        odd = (F.length(value) - F.length(F.replace(value, quote, F.lit("")))) % 2 == 1
        if dialect.escape != dialect.quote:
            odd |= value.contains(dialect.escape + dialect.quote)
        return dict.fromkeys(wrong_files(reader, lines, odd, dialect.is_open), _reason("a line"))

    return searched(reader, names, in_file, by_spark)


def first_open(file: BinaryIO, dialect: Dialect, block_bytes: int = BLOCK_BYTES) -> int | None:
    """The first line, counted from 1, with a quoted value that does not end in it; None: none.

    Args:
        file: Opened at its beginning.
        dialect: Of the feed.
        block_bytes: As of :func:`.first_line`.
    """
    return first_line(
        file,
        lambda block: _is_suspect(block, dialect),
        lambda line: dialect.is_open(line.decode(_BYTES)),
        block_bytes,
    )


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
    return re.compile(rb"(?>(?:[^%b]*+%b[^%b\r\n]*+%b)*)[^%b]*+" % (q, q, q, q, q))


def _reason(where: str) -> str:
    return (
        f"{where} has a quoted value that does not end on it, and Spark would cut it there: set the"
        ' feed\'s `options: {multiLine: "true"}` where values have line breaks, or correct the line'
    )
