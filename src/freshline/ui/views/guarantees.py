"""``/v1/ui/guarantees``: bounds of staleness, kept and broken, and what audits of views found."""

from __future__ import annotations

from typing import Any

from freshline.core.errors import UserError
from freshline.render.verified import audits_record, wrong_record
from freshline.runtime.status.guarantees import project_guarantees
from freshline.ui.reads.reading import Reader

_MOST = 300


def answer(reader: Reader, _: None) -> dict[str, Any]:
    """Each table's bounds with the worst that was seen, and the breaks counted by cause.

    ``why_not`` says what keeps the bounds from being computed; what runs have seen stands anyway.
    """
    project = reader.project
    record: dict[str, Any] = {}
    why_not = None
    try:
        record = project_guarantees(project).record()
    except UserError as error:
        why_not = error.render()
    found = reader.status()
    tables = []
    for item in found.tables[:_MOST]:
        seen = found.watched_table(item.name)
        tables.append(
            {
                "name": item.name,
                "dropped": item.state == "dropped",
                "mode": seen.mode,
                "bounds_s": dict(seen.bounds_s),
                "worst_s": dict(seen.worst_s),
                "broken": dict(seen.violations or {}),
                "last_broken": seen.last_violation,
                "audits": audits_record(found.uses(item.name)),
                "wrong": None
                if item.wrong is None
                else wrong_record(item.wrong, rebuilt=item.rebuilt),
                "bound": record.get("tables", {}).get(item.name),
            }
        )
    return {
        "at_s": found.now_s,
        "policy": project.scheduler.policy,
        "why_not": why_not,
        "schedulable": record.get("schedulable"),
        "utilisation": record.get("utilisation"),
        "tables": tables,
        "total": len(found.tables),
    }
