"""``/v1/status``: what ``freshline status --json`` prints, in pages of at most 200 kB.

``next`` is the address of the following page; it is null on the last one. Of a project whose tables
fit into one page the object is that of the command. Other lists have at most fifty entries; ``cut``
names those that have more.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from starlette.requests import Request

from freshline.render.push_status import pushed_record
from freshline.render.status import status_record
from freshline.runtime.lease.leader import leader_look, leader_record
from freshline.ui.address import served_at
from freshline.ui.answers import MOST_BYTES
from freshline.ui.reads.reading import Reader

_TABLES_BYTES = MOST_BYTES - 60_000
"""Left for the other keys: they are cut to what fits into the rest."""

_LISTS = ("backfills", "reports", "topics", "sources", "feeds")
_MOST_LISTED = 50


def asked(_: Reader, request: Request) -> str:
    """The table behind which the page begins; empty: the first one."""
    return request.query_params.get("after", "")


def answer(reader: Reader, after: str) -> dict[str, Any]:
    """The page of tables behind ``after``."""
    look = leader_look(reader.project)  # beside the other look at a storage that may hang
    found = reader.status(account=True)
    record = status_record(found) | {
        "server": {"url": served_at(reader.project)},
        "leader": leader_record(reader.project, look),
    }
    pushed = pushed_record(reader.project)
    if pushed is not None:
        record["ingest"] = pushed
    cut = [key for key in _LISTS if len(record[key]) > _MOST_LISTED]
    for key in cut:
        record[key] = record[key][:_MOST_LISTED]
    if cut:
        record["cut"] = cut
    tables = record["tables"]
    names = [each["name"] for each in tables]
    tables = tables[names.index(after) + 1 if after in names else 0 :]
    kept: list[dict[str, Any]] = []
    size_bytes = 0
    for each in tables:
        size_bytes += len(json.dumps(each, ensure_ascii=False).encode()) + 1
        if kept and size_bytes > _TABLES_BYTES:
            break
        kept.append(each)
    record["tables"] = kept
    record["tables_total"] = len(names)
    more = len(kept) < len(tables)
    record["next"] = f"/v1/status?after={quote(kept[-1]['name'], safe='')}" if more else None
    return record
