"""A view that was found wrong, as an audit leaves it."""

from __future__ import annotations

from freshline.delta.log import last_commit
from freshline.executor.distrust import distrust, keep_evidence
from freshline.executor.verified import WRONG, DifferingRow, VersionCheck
from freshline.executor.verified import Difference as Differing
from freshline.project.definition import definition_of
from freshline.project.model import Project


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
