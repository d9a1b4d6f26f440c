"""Delta tables that feeds read, as freshline status shows them."""

from __future__ import annotations

from typing import Any

from freshline.cli.render.output import counted, moment
from freshline.runtime.status.source_status import SourceStatus
from freshline.runtime.status.status import WarehouseStatus
from freshline.times import brief_s


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


def source_remarks(found: WarehouseStatus) -> list[str]:
    """Each source, a line."""
    lines = []
    for item in found.sources:
        if item.state == "new":
            continue
        text = f"feed {item.feed}: "
        if item.error is not None:
            text += f"{item.error}; "
        if item.lag_versions:
            behind = "" if item.lag_s is None else f", {brief_s(item.lag_s)} behind"
            text += f"{counted(item.lag_versions, 'version')} to load into {item.table}{behind}"
        else:
            text += f"version {item.version} of {item.source} is in {item.table}"
        lines.append(text)
    return lines
