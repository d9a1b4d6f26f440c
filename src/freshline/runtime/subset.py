"""A part of a project: some tables with all that they are made of."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from freshline.core.errors import UserError
from freshline.project.model import Project
from freshline.project.names import correction, listed


def named_tables(project: Project, names: Iterable[str]) -> tuple[str, ...]:
    """The names as the project writes them, each once.

    Raises:
        UserError: There is no such table (``unknown-table``), or it is a report (``a-report``).
    """
    known = [table.name for table in project.tables]
    found: dict[str, None] = {}
    for name in names:
        report = project.report(name)
        if report is not None:
            raise UserError(
                "a-report",
                f"{report.name} is a report, and no table that is kept fresh",
                rule="each window of it is made once, by its deadline",
                next_step=f"See `freshline report list` or `freshline report plan {report.name}`.",
            )
        if not project.has_table(name):
            raise UserError(
                "unknown-table",
                f"project {project.name} has no table '{name}'",
                rule=f"its tables are {listed(known)}",
                next_step=correction(name, known, "Use one of these names."),
            )
        found[project.table(name).name] = None
    return tuple(found)


def subset(project: Project, names: Iterable[str]) -> Project:
    """The project with the tables ``names`` and their ancestors alone.

    Raises:
        UserError: There is no such table (``unknown-table``).
    """
    wanted = set(named_tables(project, names))
    for table in reversed(project.tables):  # children before parents
        if table.name in wanted:
            wanted |= {project.table(parent).name for parent in table.parents}
    return dataclasses.replace(
        project, tables=tuple(table for table in project.tables if table.name in wanted)
    )
