"""How tables were kept up to date, as freshline status shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from freshline.render.output import counted, moment
from freshline.render.trials import trial_record, trial_remarks
from freshline.runtime.journal.strategies import Corrections, StrategyUse
from freshline.runtime.status.status import LastUpdate, WarehouseStatus


def strategies_record(found: WarehouseStatus, table: str) -> dict[str, Any]:
    """What is added to a table's JSON: every strategy used, and what nobody asked for."""
    uses, corrected = found.uses(table), found.corrections.get(table)
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
        "states_built": _states_built(uses),
        "trial": None if table not in found.trials else trial_record(found.trials[table]),
        "corrected": {
            "updates": 0 if corrected is None else corrected.updates,
            "rows": 0 if corrected is None else corrected.rows,
            "last": None if corrected is None else moment(corrected.last_s),
        },
    }


def last_use(last: LastUpdate, uses: Sequence[StrategyUse]) -> dict[str, Any]:
    """What is added to the JSON of a table's last update."""
    use = use_of(last, uses)
    return {
        "code": None if use is None else use.code,
        "read_rows": None if use is None else use.last_read_rows,
    }


def use_of(last: LastUpdate, uses: Sequence[StrategyUse]) -> StrategyUse | None:
    """The strategy of a table's last update; None: the journal does not know it."""
    return next((use for use in uses if use.last_number == last.number), None)


def strategies_remarks(found: WarehouseStatus) -> list[str]:
    """What updates did that people may not expect of them, a line for each view and kind."""
    return [
        line
        for table in found.tables
        for line in (
            *_remarks(table.name, found.uses(table.name), found.corrections.get(table.name)),
            *trial_remarks(table.name, found.trials.get(table.name)),
        )
    ]


def _remarks(
    name: str, uses: Sequence[StrategyUse], corrected: Corrections | None
) -> Iterator[str]:
    unasked = [use for use in uses if use.unasked]
    if unasked:
        times = counted(sum(use.updates for use in unasked), "full refresh", "full refreshes")
        why = ", ".join(f"{use.code}: {use.updates}" for use in unasked)
        yield f"{name}: {times} that nobody asked for ({why}); last {unasked[0].reason}"
    built = _states_built(uses)
    if built:
        yield f"{name}: {counted(built, 'update')} read all rows to build the state for merging"
    if corrected is not None:
        rows, times = counted(corrected.rows, "row"), counted(corrected.updates, "update")
        yield f"{name}: late rows corrected {rows} of buckets shown as complete, in {times}"


def _states_built(uses: Sequence[StrategyUse]) -> int:
    """Updates that read everything though they count as incremental."""
    return sum(use.updates for use in uses if use.built_state)
