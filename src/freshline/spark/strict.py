"""A view that must be incremental is refused where its query allows only the full computation."""

from __future__ import annotations

from freshline.core.errors import UserError
from freshline.project.model import TableDef
from freshline.sql.maintenance import ViewPlan
from freshline.sql.strategy import strategy


def not_incremental(table: TableDef, plan: ViewPlan) -> UserError | None:
    """What is wrong where a strict view has no incremental way; None for any other view.

    Args:
        table: A view.
        plan: How it can be maintained.
    """
    if table.refresh != "incremental_strict":
        return None
    way = strategy(table, plan)
    if way.name != "full":
        return None
    return UserError(
        "not-incremental",
        f"view {table.name} has 'freshline.refresh' = 'incremental_strict', but can only"
        f" be {way.reason}",
        where=table.query_place,
        rule=way.code,
        next_step="Change the query, or take 'incremental' or 'auto'.",
    )
