"""The JSON object that every commit of ours carries as Delta's userMetadata.

The keys are a promise to readers of the tables; written and read here only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from freshline.executor.offsets import names_in
from freshline.executor.records import UpdateRequest
from freshline.times import rfc3339

FORMAT = 1

COMPACT = "compact"
"""Strategy of a commit that changed no row: one that put files together, or a fence."""

BACKFILL = "backfill"
"""Strategy of a commit that loaded or computed a range again."""

_OF_ONE_UPDATE = (
    *("full", "range", "corrected", "ranges", "expected_s", "rewritten"),
    *("replaced", "after"),
)
"""Keys that say what one update did; not true of the next commit."""

_NOTHING_LOADED: tuple[tuple[str, Any], ...] = (("files", []), ("offsets", {}))


def encode(
    request: UpdateRequest,
    *,
    table: str,
    files: Sequence[str] | Mapping[str, Any] | None,
    parents: Mapping[str, int],
    strategy: str,
    rows: int,
    more: Mapping[str, Any] | None = None,
) -> str:
    """The metadata of one commit.

    Args:
        request: The update that the commit belongs to.
        table: Whose commit it is: the request's table, or its table of rejected rows.
        files: Names relative to the feed, or the fields that say which offsets of a topic;
            None for derived tables, which have neither.
        parents: Version of every Delta table that was read, by the name the query uses.
        strategy: How the rows were computed.
        rows: Rows that the commit writes.
        more: Further keys, most of views: ``reason`` (why that strategy, its code), ``read``
            (change rows read), ``settings`` (of the session, where results depend on them),
            ``ids`` (what Delta tells the tables read from others by), ``commits`` (the marks of
            the parents' versions, :mod:`freshline.delta.histories`),
            ``columns`` (of base tables: with which columns a feed was read that declares none),
            ``id`` and ``after`` (of base tables: what Delta tells the table from others by, and
            the version before this one),
            ``state`` (versions of the tables that merging needs), ``emitted_us``,
            ``emitted_by`` and ``corrected`` (of final emission), ``changes`` (rows of the
            change feed), ``plan`` (by which its rows were made from changes; None: by none),
            ``costs`` (what updates took before this one) and ``expected_s`` (what this one should
            take, by strategy).
    """
    fields: dict[str, Any] = {
        "freshline": FORMAT,
        "table": table,
        "update": request.number,
        "from": rfc3339(request.from_s),
        "to": rfc3339(request.to_s),
    }
    if isinstance(files, Mapping):
        fields |= files
    elif files is not None:
        fields["files"] = list(files)
    fields |= {"parents": dict(parents), "strategy": strategy, "rows": rows}
    fields |= more or {}
    if request.definition:
        fields["definition"] = request.definition
    if request.feed_path:
        fields["feed_path"] = request.feed_path
    if request.full and files is not None:
        fields["full"] = True  # the files loaded before are no longer in the table
    return json.dumps(fields, ensure_ascii=False)


def carried_on(last: Mapping[str, Any], number: int, reason: str) -> dict[str, Any]:
    """The last commit's metadata as that of a commit that changes no row.

    Args:
        last: The fields of the table's last commit.
        number: The update that makes the commit.
        reason: Why, as a code.
    """
    fields = {key: value for key, value in last.items() if key not in _OF_ONE_UPDATE}
    fields |= {"update": number, "from": last["to"]}
    fields |= {key: empty for key, empty in _NOTHING_LOADED if key in fields}
    fields |= {"strategy": COMPACT, "rows": 0, "reason": reason}
    if "read" in fields:
        fields["read"] = 0
    return fields


def loaded_names(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """The files or ranges of offsets that a commit loaded, by the names of :class:`FeedFile`."""
    return tuple(fields["files"]) if "files" in fields else names_in(fields)


def decode(text: str | None) -> dict[str, Any] | None:
    """The fields of a commit of ours, or None where the text is not ours.

    A foreign text may be anything; ours is a JSON object with ``"freshline": 1``.
    """
    if not text or not text.lstrip().startswith("{"):
        return None
    try:
        fields = json.loads(text)
    except ValueError:
        return None
    if not isinstance(fields, dict) or fields.get("freshline") != FORMAT:
        return None
    return fields
