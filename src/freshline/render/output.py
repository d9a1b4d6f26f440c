"""How values are printed: JSON for programs; times, amounts and tables for people."""

from __future__ import annotations

import codecs
import json
import sys
from typing import TYPE_CHECKING, Any

from freshline.times import datetime_of, rfc3339

if TYPE_CHECKING:
    from rich.console import Console

_PIPE_COLUMNS = 160
"""Width where there is no terminal to ask: nobody wants tables wrapped in a log."""


def print_json(record: dict[str, Any]) -> None:
    """One JSON object on standard output: indented for eyes, on one line for programs."""
    indent = 2 if sys.stdout.isatty() else None
    text = json_text(record, sys.stdout.encoding, indent=indent, allow_nan=False)
    print(text, flush=True)


def json_text(record: dict[str, Any], encoding: str | None, **form: Any) -> str:
    """A record as JSON, which is UTF-8: in any other encoding letters beyond ASCII are escaped.

    Args:
        record: What is told.
        encoding: Of the stream; None: UTF-8.
        form: As ``json.dumps`` takes it.
    """
    if codecs.lookup(encoding or "utf-8").name != "utf-8":
        return json.dumps(record, **form)
    text = json.dumps(record, ensure_ascii=False, **form)
    try:
        text.encode()
    except UnicodeEncodeError:  # a path is not UTF-8
        return json.dumps(record, **form)
    return text


def moment(seconds: float | None) -> str | None:
    """A time for JSON: RFC 3339 in UTC, or null."""
    return None if seconds is None else rfc3339(seconds)


def clock(seconds: float, now_s: float | None = None) -> str:
    """A time for people, in UTC: the day is left out where it is that of ``now_s``."""
    then = datetime_of(seconds)
    if now_s is not None and then.date() == datetime_of(now_s).date():
        return f"{then:%H:%M:%S}"
    return then.replace(tzinfo=None).isoformat(" ", "seconds")


def counted(number: int, one: str, many: str | None = None) -> str:
    """``1 file``, ``1,200 files``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def shortened(text: str, most: int) -> str:
    """The text in at most so many characters; what is cut ends behind a word, with an ellipsis."""
    if len(text) <= most:
        return text
    start = text[: most - 1]
    if not text[most - 1].isspace():
        # Only a word of half the text, like a path, is cut within.
        end = start.rfind(" ")
        start = start[:end] if end >= most // 2 else start
    return f"{start.rstrip(' ,;:')}…"


def percent(share: float) -> str:
    """A share for people; 100 % only where nothing is missing."""
    shown = f"{100.0 * share:.1f} %"
    return "99.9 %" if shown == "100.0 %" and share < 1.0 - 1e-9 else shown


def console(*, stderr: bool = False) -> Console:
    """Where tables are printed. Square brackets, of an error's text say, are no markup."""
    from rich import console as rich_console  # a tenth of a second, only for eyes

    class Console(rich_console.Console):
        def on_broken_pipe(self) -> None:
            raise  # noqa: PLE0704 - whoever reads it has enough; rich would exit with 1

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _PIPE_COLUMNS
    return Console(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)
