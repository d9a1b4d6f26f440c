"""How far each table is behind the Delta table that its feed reads, from the journal alone."""

from __future__ import annotations

import json
from dataclasses import dataclass

from freshline.project.model import DeltaSource, Feed, Project
from freshline.runtime.journal.store import Journal, Row


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """A Delta table as one base table reads it.

    Attributes:
        feed: The feed's name.
        table: The base table.
        source: The Delta table, as the feed names it.
        state: read, refused (another table, or another history, is in its place), unreachable
            (it cannot be read), missing (there is no such table) or new (no run has looked yet).
        since_s: Since when that is so.
        error: Why it is not read; None where it is.
        version: The newest that was seen; None before the first look.
        lag_versions: Versions that changed rows, were seen, and are in no commit.
        lag_s: How far the base table's freshness is behind the newest version that was seen; 0
            where nothing is left to load, None before the first load.
    """

    feed: str
    table: str
    source: str
    state: str
    since_s: float | None
    error: str | None
    version: int | None
    lag_versions: int
    lag_s: float | None


def read_sources(project: Project, journal: Journal) -> tuple[SourceStatus, ...]:
    """Every table that reads a Delta table, in the project's order."""
    rows = {row["table_name"]: row for row in journal.rows_if_there("SELECT * FROM topics")}
    found = []
    for table in project.tables:
        feed = project.feeds.get(table.feed or "")
        if feed is not None and isinstance(feed.settings, DeltaSource):
            found.append(_status(journal, feed, table.name, rows.get(table.name)))
    return tuple(found)


def _status(journal: Journal, feed: Feed, table: str, row: Row | None) -> SourceStatus:
    assert isinstance(feed.settings, DeltaSource)
    source = feed.settings.table or feed.path
    if row is None or row["state"] is None:
        return SourceStatus(feed.name, table, source, "new", None, None, None, 0, None)
    waiting = journal.row(
        "SELECT count(*) AS n, max(timestamp_s) AS newest_s FROM files WHERE table_name=?"
        " AND state IN ('pending','retrying','quarantined')",
        (table,),
    )
    kept = journal.row("SELECT freshness_s, version FROM tables WHERE name=?", (table,))
    lag = int(waiting["n"]) if waiting else 0
    lag_s: float | None = 0.0
    if lag:
        lag_s = None
        if kept is not None and kept["version"] is not None and row["newest_s"] is not None:
            lag_s = max(0.0, row["newest_s"] - (kept["freshness_s"] or 0.0))
    version = json.loads(row["ends"] or "{}").get("version")
    return SourceStatus(
        feed.name, table, source, row["state"], row["since_s"], row["error"], version, lag, lag_s
    )
