"""Whether the versions that a view was made of are still those that their tables have.

A table that was put back from a copy makes the same versions again, of other rows. Its identity
is the same, so a version is known by the mark of its commit, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from freshline.delta.log import commit_mark
from freshline.project.model import Project

KEY = "commits"
"""Of a commit's metadata: the marks of the commits that made the versions that it names."""


def marks_of(project: Project, versions: Mapping[str, int]) -> dict[str, str]:
    """The marks of versions of the project's tables, as far as their logs tell.

    Raises:
        PlatformError: A log cannot be read.
    """
    return marks_at(
        {name: (project.table_path(name), version) for name, version in versions.items()}
    )


def marks_at(tables: Mapping[str, tuple[str, int]]) -> dict[str, str]:
    """The marks of versions of any tables, given by path and version, as far as their logs tell.

    Raises:
        PlatformError: A log cannot be read.
    """
    found = {name: commit_mark(path, version) for name, (path, version) in tables.items()}
    return {name: mark for name, mark in found.items() if mark is not None}


def put_back(project: Project, metadata: Mapping[str, Any]) -> list[str]:
    """The project's tables that have another version under the number that a view's commit names.

    Args:
        project: Of the view.
        metadata: The commit's.

    Raises:
        PlatformError: A log cannot be read.
    """
    known: Mapping[str, str] = metadata.get(KEY, {})
    pins: Mapping[str, int] = metadata.get("parents", {})
    own = {table.name for table in project.tables}
    now = marks_of(project, {name: pins[name] for name in known if name in own})
    return [name for name, mark in now.items() if mark != known[name]]


def is_another_history(metadata: Mapping[str, Any], name: str, version: int, mark: str) -> bool:
    """Whether a static table has another version under the number that a view's commit names.

    Args:
        metadata: The commit's.
        name: As the query names the table.
        version, mark: The table's newest.
    """
    known: Mapping[str, str] = metadata.get(KEY, {})
    return metadata.get("parents", {}).get(name) == version and known.get(name, mark) != mark
