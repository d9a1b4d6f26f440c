"""``STREAM read_files(...)`` in a query as a feed."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from freshline.importing.items import FEED_NAME
from freshline.project.sections.reader_options import as_spark_reads, unknown_options
from freshline.sql.text.reads import reads_of
from freshline.sql.text.tokens import SqlTextError, Token, closing, tokens

_FORMATS = ("csv", "json", "parquet")
_LEFT_OUT = frozenset({"maxfilespertrigger", "maxbytespertrigger"})
"""Which files are loaded when is the scheduler's to choose."""
_EXISTING = "includeexistingfiles"
_UNFIT = frozenset({"cleansource", "pathglobfilter", "modifiedbefore", "modifiedafter"})
"""A feed loads each file of its folder, once: one that is passed over would never be loaded."""


class NoFeedError(Exception):
    """A query that streams what no feed can be; the message is the reason."""


def feed_in(query: str) -> tuple[str, Mapping[str, Any] | None]:
    """The query with the feed's name for its ``STREAM read_files(...)``, and the feed's entry.

    Without one the query comes back as it is, and None.

    Raises:
        NoFeedError: The files cannot be a feed.
    """
    found = tokens(query)
    for at, token in enumerate(found[:-2]):
        wrapped = found[at + 1].is_symbol("(")
        name = at + 1 + wrapped
        if not token.is_word("STREAM") or name + 1 >= len(found):
            continue
        if not found[name].is_word("READ_FILES") or not found[name + 1].is_symbol("("):
            continue
        end = closing(found, name + 1)
        if end is None:
            raise NoFeedError("the parentheses of read_files are not closed")
        feed = _feed(found[name + 2 : end])
        last = end + wrapped
        text = query[: token.start] + f"STREAM {FEED_NAME}" + query[found[last].end :]
        if any(each.is_word("READ_FILES") for each in tokens(text)):
            raise NoFeedError("it reads files twice")
        _refuse_outside(text)
        return text, feed
    _refuse_outside(query)
    return query, None


def streams_files(query: str) -> bool:
    """Whether a query streams ``read_files``, whatever its options are."""
    words = [each.text.upper() for each in tokens(query) if not each.is_symbol("(")]
    return ("STREAM", "READ_FILES") in pairwise(words)


def _refuse_outside(query: str) -> None:
    found = tokens(query)
    outside = next((each for each, opens in pairwise(found) if _is_outside(each, opens)), None)
    function = _streamed_function(query) if outside is None else outside.text
    if function is not None:
        raise NoFeedError(
            f"it reads from outside by {function}: a feed's files are read by"
            " STREAM read_files('folder', format => 'json', schema => '...')"
        )


def _is_outside(token: Token, behind: Token) -> bool:
    return token.is_word("READ_FILES", "CLOUD_FILES", "READ_KAFKA") and behind.is_symbol("(")


def _streamed_function(query: str) -> str | None:
    """The function whose rows a query streams; None: it streams tables alone, or nothing."""
    try:
        reads = [read for read in reads_of(query) if read.stream]
    except SqlTextError:
        return None  # it is refused for that later
    for read in reads:
        opened = [each for each in tokens(query[read.start : read.end]) if each.is_symbol("(")]
        behind = tokens(query[read.end :])[:1]
        if len(opened) > 1 or (behind and behind[0].is_symbol("(")):
            return read.name
    return None


def _feed(arguments: list[Token]) -> Mapping[str, Any]:
    path: str | None = None
    named: dict[str, str] = {}
    at = 0
    while at < len(arguments):
        token = arguments[at]
        if token.kind == "string" and path is None:
            path = token.value
            at += 1
        elif token.is_name and [each.text for each in arguments[at + 1 : at + 3]] == ["=", ">"]:
            at = _value(arguments, at, at + 3, named)
        elif token.is_name and at + 1 < len(arguments) and arguments[at + 1].text == "=>":
            at = _value(arguments, at, at + 2, named)
        elif token.kind == "string":
            raise NoFeedError(f"read_files has {token.text} without a name: write format => 'json'")
        else:
            raise NoFeedError(f"read_files has {token.text}, which is no literal")
        if at < len(arguments) and not arguments[at].is_symbol(","):
            raise NoFeedError(f"read_files has {arguments[at].text}, which is no literal")
        at += 1
    return _entry(path, named)


def _value(arguments: list[Token], name: int, at: int, named: dict[str, str]) -> int:
    if at >= len(arguments) or arguments[at].kind not in ("string", "word"):
        raise NoFeedError(f"{arguments[name].text} of read_files is no literal")
    value = arguments[at]
    named[arguments[name].name.lower()] = value.value if value.kind == "string" else value.text
    return at + 1


def _entry(path: str | None, named: dict[str, str]) -> Mapping[str, Any]:
    format_ = named.pop("format", "").lower()
    schema = named.pop("schema", None)
    if not path:
        raise NoFeedError("read_files has no path")
    if any(sign in path for sign in "*?[{"):
        raise NoFeedError(f"read_files reads the pattern {path}: a feed is a folder")
    if format_ not in _FORMATS:
        what = f"the format {format_}" if format_ else "no format"
        raise NoFeedError(f"read_files has {what}: a feed's is one of {', '.join(_FORMATS)}")
    if schema is None and format_ != "parquet":
        raise NoFeedError(f"read_files of {format_} has no schema, which a feed needs")
    existing = named.pop(_EXISTING, "true")
    if existing.lower() != "true":
        raise NoFeedError(
            f"read_files has {_EXISTING} => {existing}, but a feed also loads the files that are"
            " in its folder already: take the option away if that is right, or give the new files"
            " a folder of their own"
        )
    given = {key: value for key, value in named.items() if key not in _LEFT_OUT}
    options = as_spark_reads(format_, given)
    if unfit := sorted(_UNFIT & given.keys()):
        raise NoFeedError(
            f"read_files has {unfit[0]}, but a feed loads every file of its folder: give these"
            " files a folder of their own"
        )
    strange = [name for name, _ in unknown_options(format_, options)]
    if strange:
        raise NoFeedError(f"read_files has {strange[0]}, which a feed does not know")
    entry: dict[str, Any] = {"kind": "files", "path": path.rstrip("/"), "format": format_}
    if schema is not None:
        entry["schema"] = schema
    if options:
        entry["options"] = options
    return entry
