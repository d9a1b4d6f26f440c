"""How far each table is behind its topic, from the journal alone, for ``freshline status``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from freshline.executor.offsets import is_range, parsed
from freshline.project.model import KafkaSource, Project
from freshline.runtime.journal.store import Journal, Row


@dataclass(frozen=True, slots=True)
class TopicStatus:
    """A topic as one table reads it.

    Attributes:
        feed: The feed's name.
        table: The table that reads it.
        topic: The topic's name.
        state: read, refused (it is another one, or lost records), unreachable (the brokers do not
            answer, or refuse), missing (there is no such topic) or new (no run has looked yet).
        since_s: Since when that is so.
        error: Why it is not read; None where it is.
        ends: Behind the last offset of each partition, as seen last.
        lag_offsets: Offsets that were seen and are in no commit; of records there may be fewer.
        lag_s: How far the table's freshness is behind the newest record that was seen, in
            seconds of the records' time; 0 where nothing is left to load, None before the
            first load.
        lost_offsets: Offsets that the topic had dropped before they were loaded.
    """

    feed: str
    table: str
    topic: str
    state: str
    since_s: float | None
    error: str | None
    ends: Mapping[int, int]
    lag_offsets: int
    lag_s: float | None
    lost_offsets: int


def read_topics(project: Project, journal: Journal) -> tuple[TopicStatus, ...]:
    """Every table that reads a topic, in the project's order."""
    rows = {row["table_name"]: row for row in journal.rows_if_there("SELECT * FROM topics")}
    found = []
    for table in project.tables:
        feed = project.feeds[table.feed] if table.feed is not None else None
        if feed is not None and isinstance(feed.settings, KafkaSource):
            row = rows.get(table.name)
            found.append(_status(journal, feed.name, table.name, feed.settings.topic, row))
    return tuple(found)


def _status(journal: Journal, feed: str, table: str, topic: str, row: Row | None) -> TopicStatus:
    if row is None or row["state"] is None:
        return TopicStatus(feed, table, topic, "new", None, None, {}, 0, None, 0)
    lag, lost = 0, 0
    for file in journal.each(
        "SELECT name, state FROM files WHERE table_name=?"
        " AND state IN ('pending','retrying','quarantined','vanished','lost')",
        (table,),
    ):
        if not is_range(file["name"]):
            continue  # of the feed that the table read before
        offsets = parsed(file["name"])
        if file["state"] not in ("vanished", "lost"):
            lag += offsets.size_offsets
        elif file["state"] == "lost" or offsets.topic_id != row["topic_id"]:
            # What vanished of the topic that is there was told again, or is lost by name.
            lost += offsets.size_offsets
    kept = journal.row("SELECT freshness_s, version FROM tables WHERE name=?", (table,))
    lag_s = None
    if not lag:
        lag_s = 0.0
    elif kept is not None and kept["version"] is not None and row["newest_s"] is not None:
        lag_s = max(0.0, row["newest_s"] - (kept["freshness_s"] or 0.0))
    return TopicStatus(
        feed,
        table,
        topic,
        row["state"],
        row["since_s"],
        row["error"],
        _ends(row),
        lag,
        lag_s,
        lost,
    )


def _ends(row: Row) -> dict[int, int]:
    """Of each partition; the journal may have a version of the Delta table that was read before."""
    ends = json.loads(row["ends"] or "{}")
    return {int(partition): end for partition, end in ends.items() if partition.isdigit()}
