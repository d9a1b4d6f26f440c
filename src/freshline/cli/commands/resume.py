"""``freshline resume``: update paused tables again."""

from __future__ import annotations

from freshline.cli.answers import tell
from freshline.cli.options import AsJson, ProjectDir, TableNames, opened
from freshline.runtime.requests.client import ask
from freshline.runtime.subset import named_tables


def resume(tables: TableNames, project: ProjectDir = None, as_json: AsJson = False) -> int:
    """Resume paused tables; those that wait for a retry are tried at once."""
    found = opened(project)
    return tell(ask(found, "resume", named_tables(found, tables)), as_json=as_json)
