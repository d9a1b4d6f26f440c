"""Csv files with a quoted value that Spark cuts: one that goes on in the next line, or has a NUL.

Where a feed reads line by line, Spark closes such a value at the end of its line and loads the row,
cut. And it leaves NUL characters out of quoted values, of numbers too.
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
    is_read_as_whole,
    option,
)
from freshline.spark.feeds.reader import FeedReader
from freshline.spark.feeds.search import BLOCK_BYTES, first_line, searched, wrong_files

_BACKSLASH = "\\"
_NUL = "\0"
_BLANKS = frozenset(" \t")
_BYTES = "latin-1"
"""Keeps every byte, of an encoding that only Spark knows: signs of ASCII are found in it."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a csv line separates and quotes its values.

    Attributes:
        separator: Between two values.
        quote: Before and after a quoted one.
        escape: Before a quote within a quoted value; to Spark NUL where the feed says that there is
            none.
        comment: What a line without values begins with; empty: none does.
        is_told: The feed itself says how quotes are written. Else rows of a writer that puts a
            backslash before them are rejected one by one, so none of its lines is open.
        feeds_alone: Lines end with a line feed, and with nothing else.
        skips_blanks: A value begins behind the blanks that stand before it.
        encoding: Of the file.
    """

    separator: str = ","
    quote: str = '"'
    escape: str = '"'
    comment: str = ""
    is_told: bool = True
    feeds_alone: bool = False
    skips_blanks: bool = False
    encoding: str = "utf-8"

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Dialect | None:
        """That of a feed's options; None: its lines are not told by quotes, or not known."""
        feeds_alone = option(options, "lineSep") == "\n" and not is_read_as_whole(options)
        if has_wide_characters(options) or not (feeds_alone or has_plain_lines(options)):
            return None
        separator, quote, escape = csv_signs(options)
        separator, escape = separator.replace("\\t", "\t"), escape or _NUL
        encoding = _encoding(options, separator + quote + escape)
        if encoding is None or not separator or len(quote) != 1 or len(escape) != 1:
            return None
        is_told = option(options, "escape", "quote") is not None
        comment = option(options, "comment") or ""
        skips_blanks = (option(options, "ignoreLeadingWhiteSpace") or "").lower() == "true"
        return cls(separator, quote, escape, comment, is_told, feeds_alone, skips_blanks, encoding)

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

    def has_nul(self, line: str) -> bool:
        """Whether a quoted value of the line, whose values all end in it, has a NUL."""
        if _NUL not in line or self.quote not in line:
            return False
        quoted, at = _quoted(self.quote, self.escape), 0
        while at >= 0:
            at = self._begin(line, at)
            value = quoted.match(line, at)
            if value is not None:
                if _NUL in value[0]:
                    return True
                at = value.end()
            at = line.find(self.separator, at)
            at += len(self.separator) if at >= 0 else 0
        return False

    def _begin(self, line: str, at: int) -> int:
        """Where a value begins whose place begins at ``at``."""
        while self.skips_blanks and line[at : at + 1] in _BLANKS - {self.separator}:
            at += 1
        return at

    def _is_open(self, line: str, escape: str) -> bool:
        quoted, at = _quoted(self.quote, escape), 0
        while True:
            at = self._begin(line, at)
            if line.startswith(self.quote, at):
                value = quoted.match(line, at)
                if value is None:
                    return True
                at = value.end()
            at = line.find(self.separator, at)
            if at < 0:
                return False
            at += len(self.separator)


def _encoding(options: Mapping[str, str], signs: str) -> str | None:
    """The encoding of a feed's files as Python knows it; None: it does not have these signs."""
    encoding = option(options, "encoding", "charset") or "utf-8"
    try:
        signs.encode(encoding)
    except UnicodeError:
        return None
    except LookupError:
        return _BYTES if signs.isascii() else None
    return encoding


@cache
def _quoted(quote: str, escape: str) -> re.Pattern[str]:
    """A quoted value, to its last quote."""
    return re.compile(_value(quote, escape), re.DOTALL)


def _value(quote: str, escape: str) -> str:
    """Of a quoted value: atomic, so that Java needs no stack for a long one."""
    quote, escape = re.escape(quote), re.escape(escape).replace(_NUL, r"\x00")
    if quote == escape:
        return f"{quote}[^{quote}]*+(?>(?:{quote}{quote}[^{quote}]*+)*){quote}"
    inside = f"[^{quote}{escape}]*+"
    return f"{quote}{inside}(?>(?:{escape}.{inside})*){quote}"


def cut_values(
    session: SparkSession, reader: FeedReader, names: Sequence[str]
) -> list[tuple[str, str]]:
    """The files of a csv feed in which a value has a line break or a NUL, with the reason.

    Args:
        session: The update's own.
        reader: Of the feed.
        names: Files of the feed.

    Raises:
        OSError: A file cannot be read.
        SparkError: A file that is not on this machine cannot be read.
    """
    feed = reader.feed
    if feed.format != "csv" or feed.kind != "files":
        return []
    dialect = Dialect.of(feed.options)
    if dialect is None:
        return _with_nul(session, reader, names) if is_read_as_whole(feed.options) else []

    def in_file(file: BinaryIO) -> str | None:
        line = first_open(file, dialect)
        if line is not None:
            return _reason(f"line {line}")
        file.seek(0)
        line = first_with_nul(file, dialect)
        return None if line is None else _nul_reason(f"line {line}")

    def by_spark(elsewhere: Sequence[str]) -> dict[str, str]:
        ends = "\n" if dialect.feeds_alone else None
        lines = session.read.text([reader.path(name) for name in elsewhere], lineSep=ends)
        value, quote = F.col("value"), F.lit(dialect.quote)
        odd = (F.length(value) - F.length(F.replace(value, quote, F.lit("")))) % 2 == 1
        if dialect.escape != dialect.quote:
            odd |= value.contains(dialect.escape + dialect.quote)
        nul = dict.fromkeys(
            wrong_files(reader, lines, value.contains(_NUL), dialect.has_nul), _nul_reason("a line")
        )
        return nul | dict.fromkeys(
            wrong_files(reader, lines, odd, dialect.is_open), _reason("a line")
        )

    return searched(reader, names, in_file, by_spark)


def _with_nul(
    session: SparkSession, reader: FeedReader, names: Sequence[str]
) -> list[tuple[str, str]]:
    """Those of files read as a whole that have quotes and a NUL, wherever it stands."""
    quote = csv_signs(reader.feed.options)[1]
    if has_wide_characters(reader.feed.options) or len(quote) != 1:
        return []

    def in_file(file: BinaryIO) -> str | None:
        text = file.read()
        return _nul_reason("it") if b"\0" in text and quote.encode() in text else None

    def by_spark(elsewhere: Sequence[str]) -> dict[str, str]:
        lines = session.read.text([reader.path(name) for name in elsewhere])
        value = F.col("value")
        wrong = wrong_files(reader, lines, value.contains(_NUL), lambda _: True)
        if wrong:  # each line with a quote comes here, of files that hardly anybody has
            wrong &= wrong_files(reader, lines, value.contains(quote), lambda _: True)
        return dict.fromkeys(wrong, _nul_reason("it"))

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
        lambda line: dialect.is_open(line.decode(dialect.encoding, "replace")),
        block_bytes,
        feeds_alone=dialect.feeds_alone,
    )


def first_with_nul(file: BinaryIO, dialect: Dialect, block_bytes: int = BLOCK_BYTES) -> int | None:
    """The first line, counted from 1, with a quoted value that has a NUL; None: none.

    Args:
        file, dialect, block_bytes: As of :func:`first_open`.
    """
    return first_line(
        file,
        lambda block: b"\0" in block,
        lambda line: dialect.has_nul(line.decode(dialect.encoding, "replace")),
        block_bytes,
        feeds_alone=dialect.feeds_alone,
    )


def _is_suspect(block: bytes, dialect: Dialect) -> bool:
    """Whether a value may be open: between a line's quotes, taken by pairs, no line ends."""
    quote = dialect.quote.encode(dialect.encoding)
    if quote not in block:
        return False
    escape = dialect.escape.encode(dialect.encoding)
    if len(quote) > 1 or (escape != quote and escape + quote in block):
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


def _nul_reason(where: str) -> str:
    return f"{where} has a quoted value with a NUL, which Spark would leave out: correct the file"
