"""A view that was found wrong, as an audit leaves it, and a storage that does not tell of it."""

from __future__ import annotations

import threading

import pytest

from freshline.core.errors import PlatformError
from freshline.delta.log import last_commit
from freshline.executor.distrust import WrongView, distrust, distrusted_views, keep_evidence
from freshline.executor.verified import WRONG, DifferingRow, VersionCheck
from freshline.executor.verified import Difference as Differing
from freshline.project.definition import definition_of
from freshline.project.model import Project
from freshline.runtime.status import trusted


def found_wrong(project: Project, name: str, value: object = 3) -> tuple[int, str]:
    """What an audit does with a version that does not equal its query: version and evidence."""
    commit = last_commit(project.table_path(name))
    assert commit is not None
    version = commit.version
    rows = (DifferingRow({"n": 2}, -1), DifferingRow({"n": value}, 1), DifferingRow({"n": 4}, 1))
    check = VersionCheck(
        name, version, WRONG, strategy="group-merge", difference=Differing(1, 2, rows=rows),
        query="SELECT 1", plan="a plan",
    )  # fmt: skip
    evidence = keep_evidence(project, check, 1e9)
    distrust(project, check, definition_of(project.table(name)), 1e9, evidence)
    return version, str(evidence)


def storage_away(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """An event that takes the storage away from whoever reads the status while it is set."""
    away = threading.Event()

    def views(project: Project) -> dict[str, WrongView]:
        if away.is_set():
            raise PlatformError("storage-unreachable", "it cannot be reached")
        return distrusted_views(project)

    monkeypatch.setattr(trusted, "distrusted_views", views)
    return away
