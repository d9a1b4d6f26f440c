"""States of views that no update goes on from: removed, on a disk or in an object store."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from pathlib import Path

from freshline.core.errors import PlatformError
from freshline.delta.log import local_log
from freshline.delta.stores import arrow_store
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
        Their names.

    Raises:
        PlatformError: The storage does not answer.
    """
    return _Folders(f"{project.own_path}/state/{view}").remove_all_but(
        kept, now_s - project.maintenance.retention_s
    )


def remove_of_others(project: Project, now_s: float) -> list[str]:
    """Remove the states of views that the project does not have and nobody wrote lately.

    Args:
        project: Which has the storage to itself.
        now_s: Wall-clock seconds since the epoch.

    Returns:
        Names of the views.

    Raises:
        PlatformError: The storage does not answer.
    """
    names = {each.name for each in (*project.tables, *project.reports)}
    return _Folders(f"{project.own_path}/state").remove_all_but(
        names, now_s - project.maintenance.retention_s
    )


class _Folders:
    """The folders beside each other in one place."""

    def __init__(self, place: str) -> None:
        self._place = place
        log = local_log(place)
        self._local = None if log is None else log.parent

    def remove_all_but(self, kept: Collection[str], since_s: float) -> list[str]:
        """Remove those that are not ``kept`` and have no file written since a moment."""
        try:
            if self._local is not None:
                return self._removed_here(self._local, kept, since_s)
            return self._removed_there(kept, since_s)
        except OSError as error:
            raise PlatformError(
                "storage-unreachable",
                f"states of views at {self._place} cannot be removed: {error}",
                next_step="Check that the storage answers and that it may be written.",
            ) from error

    def _removed_here(self, place: Path, kept: Collection[str], since_s: float) -> list[str]:
        removed = []
        for folder in sorted(place.iterdir()) if place.is_dir() else ():
            if folder.name not in kept and _written_s(folder) < since_s:
                shutil.rmtree(folder, ignore_errors=True)
                removed.append(folder.name)
        return removed

    def _removed_there(self, kept: Collection[str], since_s: float) -> list[str]:
        from pyarrow import fs

        system, base = arrow_store(self._place)
        removed = []
        for folder in system.get_file_info(fs.FileSelector(base, allow_not_found=True)):
            if folder.type != fs.FileType.Directory or folder.base_name in kept:
                continue
            files = system.get_file_info(fs.FileSelector(folder.path, recursive=True))
            written_s = max((each.mtime_ns or 0) / 1e9 for each in files) if files else 0.0
            if written_s < since_s:
                system.delete_dir(folder.path)
                removed.append(folder.base_name)
        return sorted(removed)


def _written_s(folder: Path) -> float:
    """When something was last added in a folder or a folder of it."""
    folders = [folder, *(each for each in folder.rglob("*") if each.is_dir())]
    return max(each.stat().st_mtime for each in folders)
