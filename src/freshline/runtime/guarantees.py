"""What can be promised of a project, from the costs that its runs have learned."""

from __future__ import annotations

from dataclasses import replace

from freshline.core.aus.assessment import Assessment, assessed
from freshline.core.aus.guarantee import graph_of
from freshline.core.errors import UserError
from freshline.core.model import TableSpec
from freshline.project.model import Project
from freshline.runtime.assembly import specs_for
from freshline.runtime.journal import Journal
from freshline.runtime.places import journal_path


def project_guarantees(project: Project, *, outage_s: float | None = None) -> Assessment:
    """Judge a project's tables by the rules of aus, with the mean costs learned so far.

    Args:
        project: Its tables, tracks, and how recovery periods are chosen.
        outage_s: Length of the outage that base tables shall recover from; None: none.

    Raises:
        UserError: Some table was never updated, so nothing is known of its costs.
        PlatformError: The journal is there and cannot be opened.
    """
    return assessed(
        graph_of(_measured(project)),
        tracks=project.scheduler.tracks,
        recovery=project.scheduler.recovery,
        outage_s=outage_s,
    )


def _measured(project: Project) -> list[TableSpec]:
    path = journal_path(project)
    if not path.exists():
        raise _not_measured([table.name for table in project.tables])
    journal = Journal(path, create=False)
    try:
        costs = {
            row["name"]: (row["alpha_s"], row["beta"])
            for row in journal.rows(
                "SELECT name, alpha_s, beta FROM tables"
                " WHERE updates>0 AND dropped=0 AND alpha_s IS NOT NULL"
            )
        }
        specs = specs_for(project, journal)
    finally:
        journal.close()
    missing = [spec.name for spec in specs if spec.name not in costs]
    if missing:
        raise _not_measured(missing)
    return [replace(spec, alpha_s=costs[spec.name][0], beta=costs[spec.name][1]) for spec in specs]


def _not_measured(names: list[str]) -> UserError:
    return UserError(
        "not-measured",
        f"nothing is known yet of what updates cost of {', '.join(names)}",
        rule="guarantees count with the costs that runs have measured",
        next_step="Run the project until each table was updated, or give a scenario's file.",
    )
