"""``freshline accept``: a base table is loaded on from what others made of it."""

from __future__ import annotations

from freshline.cli.asking import ask, tell
from freshline.cli.options import AsJson, ProjectDir, TableNames, opened
from freshline.runtime.subset import named_tables


def accept(tables: TableNames, project: ProjectDir = None, as_json: AsJson = False) -> int:
    """Go on from what base tables have now, after others changed them or a feed has moved."""
    found = opened(project)
    return tell(ask(found, "accept", named_tables(found, tables)), as_json=as_json)
