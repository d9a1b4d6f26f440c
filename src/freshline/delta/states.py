"""States of a view that its updates no longer go on from: removed, on this machine's disks."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from pathlib import Path

from freshline.delta.log import local_log
from freshline.project.model import Project


def remove_given_up(project: Project, view: str, kept: Collection[str], now_s: float) -> list[str]:
    """Remove the states that a view's last commit does not name and nobody wrote lately.

    Only while no update of the view runs. Without its state a view is computed in full once.

    Args:
        project: Of the view.
        view: Its name.
        kept: States that its last commit names.
        now_s: Wall-clock seconds since the epoch.

    Returns:
        Their names. At a URI none: there they stay.
    """
    log = local_log(f"{project.own_path}/state/{view}")
    if log is None or not log.parent.is_dir():
        return []
    since_s = now_s - project.maintenance.retention_s
    removed = []
    for folder in sorted(log.parent.iterdir()):
        if folder.name not in kept and _written_s(folder) < since_s:
            shutil.rmtree(folder, ignore_errors=True)
            removed.append(folder.name)
    return removed


def _written_s(folder: Path) -> float:
    """When something was written last into a state."""
    places = (folder, folder / "_delta_log")
    return max((each.stat().st_mtime for each in places if each.is_dir()), default=0.0)
