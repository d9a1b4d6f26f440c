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
    SNOWFLAKE = "snowflake"


def import_(
    tool: Annotated[Tool, typer.Argument(help="Whose project it is.")],
    source: Annotated[
        Path,
        typer.Argument(
            metavar="DIR|FILE", help="dbt: the compiled project. snowflake: a SQL file."
        ),
    ],
    into: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The new directory; without it `freshline` in DIR, or FILE without its suffix.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a dbt project or Snowflake's dynamic tables as a freshline project."""
    from freshline.importing.writing import PAGE, write

    if tool is Tool.DBT:
        from freshline.importing.dbt.project import read_dbt

        found = read_dbt(source)
        folder = into or source / "freshline"
    else:
        from freshline.importing.snowflake.script import read_snowflake

        found = read_snowflake(source)
        folder = into or source.with_suffix("")
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
