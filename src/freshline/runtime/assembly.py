"""From a project to the core's tables and scheduler."""

from __future__ import annotations

from freshline.core.assembly import make_warehouse_scheduler
from freshline.core.model import TableSpec
from freshline.core.scheduler import Scheduler
from freshline.project.model import Project
from freshline.runtime.journal.store import Journal

FIRST_PERIOD_S = 60.0
"""Taken for a feed without a declared period until one is learned."""

FIRST_COST_S = 1.0
"""What an update is expected to take before the first one ended: a small commit's time."""


def specs_for(project: Project, journal: Journal | None) -> list[TableSpec]:
    """The project's tables as the core sees them, with what former runs learned, if any ran."""
    learned = "SELECT name, period_s, alpha_s, beta FROM tables"
    known = () if journal is None else journal.rows(learned)
    rows = {row["name"]: row for row in known}
    specs = []
    for table in project.tables:
        period_s = table.period_s
        row = rows.get(table.name)
        if table.feed is not None:
            feed = project.feeds[table.feed]
            period_s = feed.period_s or (row["period_s"] if row else None) or FIRST_PERIOD_S
        elif not table.parents:
            period_s = table.period_s or FIRST_PERIOD_S
        # Partitions are laid over these, before the first instant tells what is restored.
        alpha_s, beta = (row["alpha_s"], row["beta"]) if row else (None, None)
        specs.append(
            TableSpec(
                name=table.name,
                sources=table.parents,
                period_s=period_s,
                priority=table.priority,
                alpha_s=FIRST_COST_S if alpha_s is None else alpha_s,
                beta=beta or 0.0,
                target_lag_s=table.target_lag_s,
                target_downstream=table.target_downstream,
                newest_first=table.catch_up == "newest",
            )
        )
    return specs


def scheduler_for(project: Project, specs: list[TableSpec], start_s: float) -> Scheduler:
    """The core for a run of ``project``: it learns costs and explains its choices.

    Raises:
        UserError: The policy's settings do not fit the tables.
    """
    chosen = project.scheduler
    return make_warehouse_scheduler(specs, tracks=chosen.tracks, settings=chosen, start_s=start_s)
