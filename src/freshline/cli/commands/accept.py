"""``freshline accept``: go on loading a base table from what others made of it."""

from __future__ import annotations

from freshline.cli.answers import tell
from freshline.cli.options import AsJson, ProjectDir, TableNames, opened
from freshline.runtime.requests.client import ask
from freshline.runtime.subset import named_tables


def accept(tables: TableNames, project: ProjectDir = None, as_json: AsJson = False) -> int:
    """Accept base tables as they are now, after others changed them or their feed moved."""
    found = opened(project)
    return tell(ask(found, "accept", named_tables(found, tables)), as_json=as_json)
