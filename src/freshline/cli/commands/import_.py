"""``freshline import``: a project of another tool as a freshline project."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from freshline.cli.options import AsJson
from freshline.cli.render.output import print_json


class Tool(StrEnum):
    """Whose project it is."""

    DBT = "dbt"


def import_(
    tool: Annotated[Tool, typer.Argument(help="Whose project it is.")],  # noqa: ARG001 - one so far
    source: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="The compiled dbt project."),
    ],
    into: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The new directory; without it `freshline` in the old one.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a dbt project as a freshline project."""
    from freshline.importing.dbt.project import read_dbt
    from freshline.importing.writing import PAGE, write

    found = read_dbt(source)
    folder = into or source / "freshline"
    written = write(found, folder)
    outcomes = written.assembly.outcomes
    if as_json:
        print_json(
            {
                "project": found.name,
                "directory": str(folder),
                "files": list(written.files),
                "models": [
                    {
                        "name": outcome.item.key,
                        "kind": outcome.item.kind,
                        "became": outcome.became,
                        "changed": list(outcome.changed),
                        "not_taken": list(outcome.left_out),
                    }
                    for outcome in outcomes
                ],
            }
        )
        return
    refused = [outcome for outcome in outcomes if outcome.became == "not taken"]
    print(f"{folder} has {len(written.assembly.tables)} tables of the {found.origin}.")
    for outcome in refused:
        print(f"  not taken: {outcome.item.key}: {outcome.left_out[0]}")
    print(f"{folder / PAGE} says what became of each. Next:")
    print(f"  cd {folder}")
    print("  freshline validate")
