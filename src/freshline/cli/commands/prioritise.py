"""``freshline prioritise``: another priority for a table while the warehouse runs."""

from __future__ import annotations

from typing import Annotated

import typer

from freshline.cli.answers import tell
from freshline.cli.options import AsJson, ProjectDir, opened, table_names
from freshline.core.errors import UserError
from freshline.project.yaml.numbers import PRIORITY_RULE, priority_in
from freshline.runtime.requests.client import ask, must_run
from freshline.runtime.subset import named_tables


def prioritise(
    table: Annotated[
        str,
        typer.Argument(metavar="TABLE", help="A table of the project.", autocompletion=table_names),
    ],
    given: Annotated[str, typer.Argument(metavar="N", help="Greater than 0.")],
    project: ProjectDir = None,
    as_json: AsJson = False,
) -> int:
    """Give a table another priority until the running warehouse ends."""
    found = opened(project)
    names = named_tables(found, [table])
    priority = priority_in(given)
    if priority is None:
        raise UserError(
            "bad-priority",
            f"{given} is no priority",
            rule=PRIORITY_RULE,
            next_step="Give such a number; `freshline pause` stops a table's updates.",
        )
    must_run(
        found,
        "a priority given here holds until the run ends",
        f"Write 'freshline.priority' = '{priority:g}' into the TBLPROPERTIES of {names[0]}.",
    )
    return tell(ask(found, "prioritise", names, repr(priority)), as_json=as_json)
