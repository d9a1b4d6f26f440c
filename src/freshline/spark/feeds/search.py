"""Files of a feed searched for what Spark would misread, before it reads them.

Files on this machine are searched without Spark, all others by one job of it.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, cast

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention

from freshline.project.sections.reader_options import is_read_as_whole
from freshline.spark.feeds.reader import FeedReader

_ELSE_PACKED = frozenset({".zst", ".zstd", ".deflate", ".snappy", ".lz4"})
"""Endings of files that Spark unpacks."""

_STRANGE: Mapping[re.Pattern[bytes], str] = {
    re.compile(rb"\x1f\x8b"): "it is packed with gzip: give it a name that ends in .gz",
    re.compile(rb"BZh[1-9]1AY&SY"): "it is packed with bzip2: give it a name that ends in .bz2",
    re.compile(rb"\x28\xb5\x2f\xfd"): "it is packed with zstd: give it a name that ends in .zst",
    re.compile(rb"\xfd7zXZ\x00"): "it is packed with xz, which Spark cannot unpack: unpack it",
    re.compile(
        rb"PK\x03\x04"
    ): "it is a ZIP archive, as an Excel workbook is: save its table as csv",
    re.compile(rb"PAR1\x15"): "it is a Parquet file",
    re.compile(rb'(\xef\xbb\xbf)?"?(?i:sep)=.?"?[\r\n]'): (
        "its first line tells Excel the separator: remove it"
    ),
}
"""What a file is that begins so: its pieces would be rejected as rows, or loaded."""

_WIDE = re.compile(rb"\xff\xfe|\xfe\xff")
"""Read as a whole, Spark takes such a file for what it is."""
_WIDE_REASON = (
    'it is text in UTF-16: set the feed\'s `options: {encoding: UTF-16, multiLine: "true"}`, or'
    " write it as UTF-8"
)
_BEGIN_BYTES = 16
_LINE_END = re.compile(rb"\r\n|\n|\r")
_LINE_FEED = re.compile(rb"\n")
BLOCK_BYTES = 2**24


def opened(path: Path) -> BinaryIO:
    """A file's bytes; those of a .gz or .bz2 file unpacked.

    Raises:
        OSError: It cannot be opened.
    """
    suffix = path.suffix.lower()
    if suffix == ".gz":
        return cast("BinaryIO", gzip.open(path, "rb"))
    return cast("BinaryIO", bz2.open(path, "rb")) if suffix == ".bz2" else path.open("rb")


def searched(
    reader: FeedReader,
    names: Sequence[str],
    in_file: Callable[[BinaryIO], str | None],
    by_spark: Callable[[Sequence[str]], dict[str, str]],
) -> list[tuple[str, str]]:
    """The files in which something is found, with the reason.

    Args:
        reader: Of the feed.
        names: Files of the feed.
        in_file: Searches one file that is open at its beginning.
        by_spark: Searches the files that Python cannot open.

    Raises:
        OSError: A file cannot be read.
        SparkError: A file that is not on this machine cannot be read.
    """
    found: dict[str, str] = {}
    elsewhere = []
    for name in names:
        path = Path(reader.feed.path) / name
        if not reader.feed.path.startswith("/") or path.suffix.lower() in _ELSE_PACKED:
            elsewhere.append(name)
            continue
        try:
            with opened(path) as file:
                why = _strange(reader, file) or in_file(file)
        except (EOFError, zlib.error, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            why = f"it cannot be unpacked: {error}"  # of some Spark would read a part, or nothing
        if why is not None:
            found[name] = why
    if elsewhere:
        found |= by_spark(elsewhere)
    return [(name, found[name]) for name in names if name in found]


def _strange(reader: FeedReader, file: BinaryIO) -> str | None:
    """Why a file is no text of lines; it is open at its beginning, and stays so."""
    begin = file.read(_BEGIN_BYTES)
    file.seek(0)
    if _WIDE.match(begin) and not is_read_as_whole(reader.feed.options):
        return _WIDE_REASON
    return next((why for mark, why in _STRANGE.items() if mark.match(begin)), None)


def first_line(
    file: BinaryIO,
    is_suspect: Callable[[bytes], bool],
    is_wrong: Callable[[bytes], bool],
    block_bytes: int,
    *,
    feeds_alone: bool = False,
) -> int | None:
    """The first line, counted from 1, that is wrong; None: there is none.

    Args:
        file: Opened at its beginning.
        is_suspect: Whether a line of some lines may be wrong.
        is_wrong: Whether a line is, without its end.
        block_bytes: So much is looked at as a whole; only what is suspect line by line.
        feeds_alone: Lines end with a line feed, and with nothing else.
    """
    if file.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:  # which Spark leaves out
        file.seek(0)
    ends, before = _LINE_FEED if feeds_alone else _LINE_END, 0
    while block := file.read(block_bytes) + file.readline():
        if is_suspect(block):
            for number, line in enumerate(ends.split(block), start=before + 1):
                if is_wrong(line):
                    return number
        before += block.count(b"\n")
    return None


def wrong_files(
    reader: FeedReader, texts: DataFrame, suspect: Column, is_wrong: Callable[[str], bool]
) -> set[str]:
    """The files that have a wrong text.

    Args:
        reader: Of the feed.
        texts: As Spark's reader of texts gives them.
        suspect: Which of them to bring here.
        is_wrong: Whether one of those is wrong.
    """
    path = reader.shown_file(F.col("_metadata.file_path"))
    found: set[str] = set()
    for row in texts.filter(suspect).select(path.alias("file"), "value").toLocalIterator():
        if row.file not in found and is_wrong(row.value):
            found.add(row.file)
    return found
