"""``freshline pause``: stop updating some tables."""

from __future__ import annotations

from freshline.cli.answers import tell
from freshline.cli.options import AsJson, ProjectDir, TableNames, opened
from freshline.runtime.requests.client import ask
from freshline.runtime.subset import named_tables


def pause(tables: TableNames, project: ProjectDir = None, as_json: AsJson = False) -> int:
    """Start no update of these tables until they are resumed."""
    found = opened(project)
    return tell(ask(found, "pause", named_tables(found, tables)), as_json=as_json)
