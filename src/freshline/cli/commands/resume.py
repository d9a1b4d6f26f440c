"""``freshline resume``: updates of paused tables go on."""

from __future__ import annotations

from freshline.cli.asking import ask, tell
from freshline.cli.options import AsJson, ProjectDir, TableNames, opened
from freshline.runtime.subset import named_tables


def resume(tables: TableNames, project: ProjectDir = None, as_json: AsJson = False) -> int:
    """Let updates of paused tables start again, and those that wait for a retry at once."""
    found = opened(project)
    return tell(ask(found, "resume", named_tables(found, tables)), as_json=as_json)
