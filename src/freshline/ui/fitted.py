"""Answers cut to size: none is larger than its limit, however large the project is.

Views bound what they list. This is for what no view foresees: a thousand quarantined files, a
query of a megabyte. The largest list or text is cut until all of it fits, and ``cut`` names what
was. A list that is answered in pages (beside the address ``next``) keeps its length: what it
holds is cut.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_ROOM_BYTES = 3_000
"""Left for ``cut`` itself."""

_MOST_NAMED = 20
_MANY_KEYS = 50
"""So many keys are a table of things rather than a record."""

_Part = tuple[Any, Any, str, int]
"""What holds it, its key there, its path, and its size in bytes."""


def encoded(record: Mapping[str, Any]) -> bytes:
    """A JSON object as it is sent; floats that JSON does not have are the caller's mistake."""
    text = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")  # half a character, as JSON writes it


def fitted(record: Mapping[str, Any], most_bytes: int) -> bytes:
    """The object as it is sent, in at most ``most_bytes``.

    Args:
        record: Left as it is.
        most_bytes: At least ten thousand.
    """
    content = encoded(record)
    if len(content) <= most_bytes:
        return content
    shrunk: dict[str, Any] = json.loads(content)
    told = shrunk.get("cut")  # a view may have left something out itself
    cut: dict[str, None] = dict.fromkeys(told if isinstance(told, list) else ())
    following = shrunk.get("next", "")  # of a table a text of that name is no address
    is_paged = following is None or str(following).startswith("/")
    while (excess_bytes := len(encoded(shrunk)) - (most_bytes - _ROOM_BYTES)) > 0:
        parts = _parts(shrunk)
        if not parts:
            break  # keys alone: no project makes so many of them
        paged = [part for part in parts if not (is_paged and part[0] is shrunk)]
        largest_bytes = max(part[3] for part in paged or parts)
        for holder, key, path, size_bytes in paged or parts:
            if size_bytes * 2 > largest_bytes:
                share = max(0.5, 0.98 * (1.0 - excess_bytes / size_bytes))
                holder[key] = _first(holder[key], share)
                cut[path] = None
    shrunk["cut"] = [path[:100] for path in list(cut)[:_MOST_NAMED]]
    return encoded(shrunk)


def _first(value: Any, share: float) -> Any:
    """Its first part; always less than all."""
    most = int(len(value) * share)
    return dict(list(value.items())[:most]) if isinstance(value, dict) else value[:most]


def _parts(holder: dict[str, Any]) -> list[_Part]:
    """Lists, texts and tables that can be cut."""
    found: list[_Part] = []
    _size_bytes(holder, "", found)
    return found


def _size_bytes(value: Any, path: str, found: list[_Part]) -> int:
    """The size of a value, in one pass over it; what can be cut in it is added to ``found``."""
    if not isinstance(value, list | dict):
        return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace"))
    total_bytes = 2
    keyed = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in keyed:
        within = path if isinstance(value, list) else f"{path}.{key}".lstrip(".")
        size_bytes = _size_bytes(each, within, found)
        total_bytes += size_bytes + 1
        if isinstance(value, dict):
            total_bytes += len(json.dumps(key)) + 1
        least = _MANY_KEYS if isinstance(each, dict) else 1
        if isinstance(each, str | list | dict) and len(each) > least:
            found.append((value, key, within, size_bytes))
    return total_bytes
