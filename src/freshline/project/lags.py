"""The target lag of each table."""

from __future__ import annotations

from freshline.project.model import Project


def target_lags(project: Project) -> dict[str, float]:
    """The lag that each table is asked for; DOWNSTREAM is the least of its children's."""
    lags: dict[str, float] = {}
    for table in reversed(project.tables):
        if table.target_lag_s is not None:
            lags[table.name] = table.target_lag_s
        elif table.target_downstream:
            of_children = [
                lags[child.name] for child in project.children(table.name) if child.name in lags
            ]
            if of_children:
                lags[table.name] = min(of_children)
    return lags
