"""What tells a version of a table from another one of its number, for Delta's own snapshots."""

from __future__ import annotations

from typing import Any

from freshline.delta.log import commit_mark


def mark_of(snapshot: Any, version: int | None = None) -> str | None:
    """The mark of a version's commit (:func:`.commit_mark`); None: the log does not tell.

    Args:
        snapshot: Of the table.
        version: None: the snapshot's own.
    """
    path = str(snapshot.deltaLog().dataPath().toString())
    return commit_mark(path, int(snapshot.version()) if version is None else version)
