"""When a run that was asked to end when idle has nothing left to do."""

from __future__ import annotations

from collections.abc import Callable

from freshline.core.scheduler import Scheduler


def has_work(scheduler: Scheduler, given_up: Callable[[str], bool]) -> bool:
    """Whether a table or background work can still go on.

    Args:
        scheduler: Looked at, never changed.
        given_up: Whether a table failed so often that nobody should wait for it.
    """
    background = scheduler.background
    if background is not None and any(
        not table.paused and not given_up(table.name) for table in background.pending
    ):
        return True
    return any(
        table.known
        and table.has_news
        and not table.paused
        and not scheduler.blocked(table)
        and not given_up(table.name)
        for table in scheduler.tables
    )


def late_tables(scheduler: Scheduler) -> set[str]:
    """The tables that have news, or older files, which they could not take."""
    return {
        table.name for table in scheduler.tables if table.known and (table.has_news or table.gap)
    }
