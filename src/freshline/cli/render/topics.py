"""Topics, as freshline status shows them."""

from __future__ import annotations

from typing import Any

from freshline.cli.render.output import counted, moment
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


def topic_remarks(found: WarehouseStatus) -> list[str]:
    """Each topic, a line or two."""
    lines = []
    for item in found.topics:
        if item.state == "new":
            continue
        text = f"feed {item.feed}: "
        if item.error is not None:
            text += f"{item.error}; "
        if item.lag_offsets:
            behind = "" if item.lag_s is None else f", {brief_s(item.lag_s)} behind"
            text += f"{counted(item.lag_offsets, 'record')} to load into {item.table}{behind}"
        else:
            text += f"all that was seen of topic {item.topic} is in {item.table}"
        lines.append(text)
        if item.lost_offsets:
            lost = counted(item.lost_offsets, "record")
            lines.append(
                f"feed {item.feed}: {lost} of topic {item.topic} were gone before they were"
                f" loaded into {item.table}"
            )
    return lines
