"""Topics and Delta tables that feeds read, as freshline status shows them."""

from __future__ import annotations

from typing import Any

from freshline.render.output import counted, moment
from freshline.runtime.status.source_status import SourceStatus
from freshline.runtime.status.status import WarehouseStatus
from freshline.runtime.status.topic_status import TopicStatus
from freshline.times import brief_s


def topic_record(item: TopicStatus) -> dict[str, Any]:
    """One table's topic as JSON."""
    return {
        "feed": item.feed,
        "table": item.table,
        "topic": item.topic,
        "state": item.state,
        "since": moment(item.since_s),
        "error": item.error,
        "ends": {str(partition): end for partition, end in item.ends.items()},
        "lag_records": item.lag_offsets,
        "lag_s": None if item.lag_s is None else round(item.lag_s, 6),
        "lost_records": item.lost_offsets,
    }


def source_record(item: SourceStatus) -> dict[str, Any]:
    """One base table's source as JSON."""
    return {
        "feed": item.feed,
        "table": item.table,
        "source": item.source,
        "state": item.state,
        "since": moment(item.since_s),
        "error": item.error,
        "version": item.version,
        "lag_versions": item.lag_versions,
        "lag_s": None if item.lag_s is None else round(item.lag_s, 6),
    }


def topic_remarks(found: WarehouseStatus) -> list[str]:
    """Each topic, a line or two."""
    lines = []
    for item in found.topics:
        if item.state == "new":
            continue
        loaded = f"all that was seen of topic {item.topic} is in {item.table}"
        lines.append(_remark(item, item.lag_offsets, "record", loaded))
        if item.lost_offsets:
            lost = counted(item.lost_offsets, "record")
            lines.append(
                f"feed {item.feed}: {lost} of topic {item.topic} were gone before they were"
                f" loaded into {item.table}"
            )
    return lines


def source_remarks(found: WarehouseStatus) -> list[str]:
    """Each Delta table that a feed reads, a line."""
    return [
        _remark(
            item,
            item.lag_versions,
            "version",
            f"version {item.version} of {item.source} is in {item.table}",
        )
        for item in found.sources
        if item.state != "new"
    ]


def _remark(item: TopicStatus | SourceStatus, lag: int, unit: str, loaded: str) -> str:
    """One line; ``loaded`` is said where nothing is left to load."""
    text = f"feed {item.feed}: "
    if item.error is not None:
        text += f"{item.error}; "
    if not lag:
        return text + loaded
    behind = "" if item.lag_s is None else f", {brief_s(item.lag_s)} behind"
    return f"{text}{counted(lag, unit)} to load into {item.table}{behind}"
