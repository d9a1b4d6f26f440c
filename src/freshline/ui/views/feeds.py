"""``/v1/ui/feeds``: what arrives, what is missing, what could not be read."""

from __future__ import annotations

from typing import Any

from freshline.render.followed import source_record, topic_record
from freshline.render.output import shortened
from freshline.render.push_status import pushed_record
from freshline.render.watched import feed_record
from freshline.runtime.status.status import TableStatus
from freshline.runtime.status.watched import read_gaps
from freshline.ui.reads.reading import Reader

_MOST = 300
_MOST_FILES = 20
_MOST_GAPS = 10


def answer(reader: Reader, _: None) -> dict[str, Any]:
    """Every feed with the tables that read it; quarantined files by name, up to 20 a table.

    ``gaps`` are the newest ten silences of a feed that have ended, as pairs of moments; the one
    that goes on is ``out_since``.
    """
    project = reader.project
    found = reader.status()
    with reader.journal() as journal:
        gaps = {} if journal is None else read_gaps(journal, reader.clock(), _MOST_GAPS)
    known = {each.name: each for each in found.feeds}
    pushed = pushed_record(project) or {}
    topics: dict[str, list[dict[str, Any]]] = {}
    for topic in found.topics:
        topics.setdefault(topic.feed, []).append(topic_record(topic))
    sources: dict[str, list[dict[str, Any]]] = {}
    for source in found.sources:
        sources.setdefault(source.feed, []).append(source_record(source))
    items: dict[str, list[TableStatus]] = {}
    feed_of = {table.name: table.feed for table in project.tables if table.feed is not None}
    for item in found.tables:
        if item.name in feed_of:
            items.setdefault(feed_of[item.name], []).append(item)
    feeds = []
    for feed in list(project.feeds.values())[:_MOST]:
        status = known.get(feed.name)
        record: dict[str, Any] = {"name": feed.name, "last_file": None, "out_since": None}
        if status is not None:
            record = feed_record(status, running=found.run.running)
        readers = []
        for item in items.get(feed.name, []):
            bad = [each for each in item.troubles if each.state == "quarantined"]
            readers.append(
                {
                    "table": item.name,
                    "pending_files": item.pending_files,
                    "rejected_rows": item.rejected_rows,
                    "quarantined": len(bad),
                    "files": [
                        {
                            "file": shortened(each.name, 200),
                            "reason": shortened(each.reason, 300),
                        }
                        for each in bad[:_MOST_FILES]
                    ],
                }
            )
        feeds.append(
            {
                **record,
                "kind": feed.kind,
                "period_s": record.get("period_s") or feed.period_s,
                "gaps": gaps.get(feed.name, []),
                "tables": readers,
                "topics": topics.get(feed.name, []),
                "sources": sources.get(feed.name, []),
                "push": pushed.get("feeds", {}).get(feed.name),
            }
        )
    return {
        "at_s": found.now_s,
        "running": found.run.running,
        "feeds": feeds,
        "total": len(project.feeds),
    }
