"""Feeds that are where the project itself writes, or write into what it keeps."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from urllib.parse import unquote

from freshline.core.errors import UserError
from freshline.project.model import Feed, TableDef
from freshline.project.names import rejected_name

_HERE = re.compile("file:(//)?(?=/)")
"""How a URI of this machine begins."""


def own_sources(feeds: Mapping[str, Feed], storage: str) -> list[UserError]:
    """An error for each feed that reads the project's own storage, maybe what it fills itself."""
    return [
        UserError(
            "source-is-own",
            f"feed {feed.name} reads a table in this project's own storage",
            where=feed.place,
            rule="a table of the project is read by its name, without STREAM",
            next_step="Read it in a materialized view: SELECT ... FROM its name.",
        )
        for feed in feeds.values()
        if feed.kind == "delta" and is_within(feed.path, storage)
    ]


def storage_in_feeds(feeds: Mapping[str, Feed], storage: str) -> list[UserError]:
    """An error for each feed of files whose folder has the project's storage in it."""
    return [
        UserError(
            "storage-in-feed",
            f"the storage lies in the folder of feed {feed.name}",
            where=feed.place,
            rule="every file below a feed's folder is data of the feed",
            next_step="Move one of the two elsewhere.",
        )
        for feed in feeds.values()
        if feed.kind == "files" and is_within(storage, feed.path)
    ]


def feeds_in_tables(
    feeds: Mapping[str, Feed], tables: Iterable[TableDef], storage: str
) -> list[UserError]:
    """An error for each feed whose files are in a folder that the project cleans up.

    VACUUM removes from a table's folder whatever Delta does not know and is older than what is
    kept: files that wait, were quarantined, or were copied with their old times.

    Args:
        feeds: Pushed ones as they are landed.
        tables: All tables and reports.
        storage: Where they are.
    """
    folders: dict[str, str] = {}
    for table in tables:
        folders[f"{storage}/{table.name}"] = f"table {table.name}"
        rejected = f"{storage}/{rejected_name(table.name)}"
        folders[rejected] = f"the rejected rows of {table.name}"
    own = {f"{storage}/_freshline": "what freshline keeps for itself"}
    return [
        UserError(
            "feed-in-table",
            f"the folder of feed {feed.name} lies in that of {what}",
            where=feed.place,
            rule="files there that freshline does not know are removed once they are old",
            next_step="Move the feed's files elsewhere (pushed ones: by `ingest.folder`).",
        )
        for feed in feeds.values()
        if feed.kind in ("files", "push")
        for folder, what in (folders if feed.kind == "push" else folders | own).items()
        if is_within(feed.path, folder)
    ]


def is_within(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies in it; links are not followed."""
    return f"{_plain(path)}/".startswith(f"{_plain(folder)}/")


def _plain(path: str) -> str:
    """Without ``..`` and the like, where it is of this machine; in URIs these may be names."""
    here = _HERE.match(path)
    path = path if here is None else unquote(path[here.end() :])
    return (os.path.normpath(path) if path.startswith("/") else path).rstrip("/")
