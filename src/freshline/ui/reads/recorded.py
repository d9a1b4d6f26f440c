"""How the tables stood at the end of a recorded run: its updates say it, whatever came after."""

from __future__ import annotations

from dataclasses import replace

from freshline.runtime.journal.store import Journal
from freshline.runtime.journal.strategies import NO_UPKEEP
from freshline.runtime.status.run import RunStatus
from freshline.runtime.status.status import LastUpdate, TableStatus, WarehouseStatus


def as_of(found: WarehouseStatus, journal: Journal, run: int) -> WarehouseStatus:
    """``found``, with the tables as run ``run`` left them; the journal ends with that run.

    What arrived and was not loaded, failures and quarantine are kept for now alone: nothing is said
    of them.
    """
    tables = tuple(_as_of(each, journal, found.now_s) for each in found.tables)
    return replace(
        found,
        run=run_as_of(found.run, journal, run),
        tables=tables,
        feeds=(),
        topics=(),
        sources=(),
        watched={},
        note=f"run {run}, recorded",
    )


def run_as_of(found: RunStatus, journal: Journal, run: int) -> RunStatus:
    """Run ``run`` itself, which has ended."""
    row = journal.row("SELECT * FROM runs WHERE id=?", (run,))
    assert row is not None, "the run was there when the page was started"
    return replace(
        found,
        running=False,
        pid=row["pid"],
        since_s=row["started_s"],
        ready_s=row["ready_s"],
        stopped_s=row["stopped_s"],
    )


def _as_of(item: TableStatus, journal: Journal, now_s: float) -> TableStatus:
    row = journal.row(
        f"SELECT * FROM updates WHERE table_name=? AND state='done' AND {NO_UPKEEP}"
        " ORDER BY id DESC LIMIT 1",
        (item.name,),
    )
    fresh_s = None if row is None else row["to_s"]
    stale_s = None if fresh_s is None else max(0.0, now_s - fresh_s)
    lag_s = item.target_lag_s
    last = None
    if row is not None:
        last = LastUpdate(
            row["number"], row["finish_s"], row["seconds"], row["rows"], row["rejected_rows"],
            row["strategy"], row["reason"], row["version"],
        )  # fmt: skip
    return replace(
        item,
        state="new" if fresh_s is None else "fresh",
        freshness_s=fresh_s,
        staleness_s=stale_s,
        within_target=None if lag_s is None or stale_s is None else stale_s <= lag_s,
        pending_files=None,
        pending_s=None,
        troubles=(),
        last_update=last,
        failures=0,
        error=None,
        wrong=None,
        rebuilt=True,
        track=None,
        next="the run has ended",
        updates=0 if row is None else row["number"],
    )
