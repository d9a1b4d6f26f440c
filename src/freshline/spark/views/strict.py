"""A view that must be incremental is refused where its query allows only the full computation."""

from __future__ import annotations

from freshline.core.errors import UserError
from freshline.delta.log import CommitRecord
from freshline.project.model import TableDef
from freshline.sql.query.records import ViewPlan
from freshline.sql.strategy import BY_COST, PARENT_REWROTE, strategy


def not_incremental(table: TableDef, plan: ViewPlan, *, rewrote: bool = False) -> UserError | None:
    """What is wrong where a strict view has no incremental way; None for any other view.

    Args:
        table: A view.
        plan: How it can be maintained.
        rewrote: A parent replaces rows at every update.
    """
    if table.refresh != "incremental_strict":
        return None
    way = strategy(table, plan, rewrote=rewrote)
    if way.name != "full":
        return None
    return UserError(
        "not-incremental",
        f"view {table.name} has 'freshline.refresh' = 'incremental_strict', but can only"
        f" be {way.reason}",
        where=table.query_place,
        rule=way.code,
        next_step="Change the query, or use 'incremental' or 'auto'.",
    )


def replaces_rows(commit: CommitRecord | None) -> bool:
    """Whether a view's commit is of a kind that replaces rows at every update of the view.

    Not those in full for a reason that passes, such as a first build or that it was asked for:
    of such a view the next commit may append. Reasons that lie in the query are in capitals.
    """
    if commit is None or "emitted_us" in commit.metadata:  # shown once, when complete
        return False
    way = str(commit.metadata.get("strategy", ""))
    code = str(commit.metadata.get("reason", ""))
    if way == "full":
        return code.isupper() or code in ("configured", PARENT_REWROTE, *BY_COST)
    return way.startswith(("bucket-", "group-", "key-"))
