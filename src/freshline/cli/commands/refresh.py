"""``freshline refresh``: an update now, by the running warehouse or by this process."""

from __future__ import annotations

from typing import Annotated

import typer

from freshline.cli.answers import tell
from freshline.cli.options import AsJson, ProjectDir, TableNames, opened
from freshline.runtime.requests.client import ask, running_process
from freshline.runtime.subset import named_tables


def refresh(
    tables: TableNames,
    full: Annotated[
        bool, typer.Option("--full", help="Rebuild the tables from all their data.")
    ] = False,
    project: ProjectDir = None,
    as_json: AsJson = False,
) -> int:
    """Update tables now, their parents first."""
    found = opened(project)
    names = named_tables(found, tables)
    if running_process(found) is not None:
        return tell(ask(found, "refresh", names, "full" if full else ""), as_json=as_json)
    from freshline.cli.running import run_warehouse
    from freshline.runtime.options import RunOptions

    options = RunOptions(until_idle=True, refresh=names, rebuilt=names if full else ())
    return run_warehouse(opened(project, analyse=True), options, as_json=as_json)
