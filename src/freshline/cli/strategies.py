"""How tables were kept up to date, as ``freshline status`` tells it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from freshline.cli.output import counted, moment
from freshline.runtime.status import LastUpdate, WarehouseStatus
from freshline.runtime.strategies import StrategyUse


def strategies_record(uses: Sequence[StrategyUse]) -> dict[str, Any]:
    """What is added to a table's JSON: every strategy used, and what nobody asked for."""
    unasked = [use for use in uses if use.unasked]
    return {
        "strategies": [
            {
                "strategy": use.strategy,
                "code": use.code,
                "updates": use.updates,
                "rows": use.rows,
                "read_rows": use.read_rows,
                "seconds": round(use.seconds, 6),
                "last": moment(use.last_s),
            }
            for use in uses
        ],
        "unasked_full": {
            "updates": sum(use.updates for use in unasked),
            "codes": {use.code: use.updates for use in unasked},
            "reason": unasked[0].reason if unasked else None,
        },
    }


def last_use(last: LastUpdate, uses: Sequence[StrategyUse]) -> dict[str, Any]:
    """What is added to the JSON of a table's last update."""
    use = next((use for use in uses if use.last_number == last.number), None)
    return {
        "code": None if use is None else use.code,
        "read_rows": None if use is None else use.last_read_rows,
    }


def strategies_remarks(found: WarehouseStatus) -> list[str]:
    """Full refreshes that nobody asked for, a line for each view that had some."""
    lines = []
    for table in found.tables:
        unasked = [use for use in found.uses(table.name) if use.unasked]
        if unasked:
            times = counted(sum(use.updates for use in unasked), "full refresh", "full refreshes")
            why = ", ".join(f"{use.code}: {use.updates}" for use in unasked)
            lines.append(
                f"{table.name}: {times} that nobody asked for ({why}); last {unasked[0].reason}"
            )
    return lines
