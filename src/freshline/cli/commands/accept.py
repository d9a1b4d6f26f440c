"""``freshline accept``: go on with a table from what others made of it, or in its place."""

from __future__ import annotations

from freshline.cli.answers import tell
from freshline.cli.options import AsJson, ProjectDir, TableNames, opened
from freshline.runtime.requests.client import ask
from freshline.runtime.subset import named_tables


def accept(tables: TableNames, project: ProjectDir = None, as_json: AsJson = False) -> int:
    """Accept tables as they are now: others changed them or are in their place, or a feed moved."""
    found = opened(project)
    return tell(ask(found, "accept", named_tables(found, tables)), as_json=as_json)
