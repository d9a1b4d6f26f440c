"""``/v1/tables/NAME/updates?from=&to=``: a table's updates as ``story --json`` tells them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from starlette.requests import Request

from freshline.render.story import chapter_record
from freshline.runtime.status.story import chapter_of
from freshline.ui.answers import MOST_BYTES, Problem
from freshline.ui.reads.reading import Reader
from freshline.ui.reads.updates import behind_id, first_id
from freshline.ui.reads.window import AskedWindow, asked_window
from freshline.ui.views.table import known_name

_MOST = 50
_LAST = 10**18
_DIGITS = 18
_Asked = tuple[str, AskedWindow | None, int, int]


def asked(reader: Reader, request: Request) -> _Asked:
    """Table, window (None: whenever), and the ids that a page ends before and begins with."""
    name = known_name(reader.project, request.path_params["name"])
    said = request.query_params
    window = asked_window(said) if {"from", "to", "last"} & set(said) else None
    return name, window, whole(said, "before", _LAST), whole(said, "since", 0)


def whole(parameters: Mapping[str, str], name: str, default: int) -> int:
    """A whole number of a request.

    Raises:
        Problem: 400.
    """
    text = parameters.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        raise Problem(400, "bad-request", f"{name} is a whole number")
    return int(text)


def answer(reader: Reader, asked_for: _Asked) -> dict[str, Any]:
    """The newest of them first, up to 50 a page; ``next`` is the address of the older ones."""
    name, asked_window_, before, since = asked_for
    base = reader.project.table(name).kind == "base"
    now_s = reader.clock()
    window = None if asked_window_ is None else asked_window_.at(now_s)
    told: list[dict[str, Any]] = []
    following: str | None = None
    size_bytes = 0
    with reader.journal() as journal:
        if journal is None:
            return {"table": name, "updates": [], "next": None}
        first = since if window is None else first_id(journal, window.from_s)
        behind = _LAST if window is None else behind_id(journal, window.to_s, now_s)
        rows = journal.rows(
            "SELECT * FROM updates WHERE table_name=? AND id>=? AND id<? ORDER BY id DESC LIMIT ?",
            (name, first, min(behind, before), _MOST + 1),
        )
        for row in rows:
            record = chapter_record(chapter_of(journal, row, base=base, meanwhile=False))
            del record["meanwhile"]  # the update's own address tells it
            record["id"] = row["id"]
            size_bytes += len(json.dumps(record, ensure_ascii=False).encode())
            if len(told) == _MOST or (told and size_bytes > MOST_BYTES - 2_000):
                following = _address(name, row["id"] + 1, first)
                break
            told.append(record)
    return {"table": name, "updates": told, "next": following}


def _address(name: str, before: int, first: int) -> str:
    """Of the updates before one; ``first`` is carried along as the oldest that are wanted."""
    since = f"&since={first}" if first else ""
    return f"/v1/tables/{quote(name, safe='')}/updates?before={before}{since}"
