"""``freshline import``: a project of another tool as a freshline project."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from freshline.cli.options import AsJson
from freshline.render.output import print_json


class Tool(StrEnum):
    """The tool that the project is for."""

    DBT = "dbt"
    SNOWFLAKE = "snowflake"
    DATABRICKS = "databricks"


def import_(
    tool: Annotated[Tool, typer.Argument(help="The tool that the project is for.")],
    source: Annotated[
        Path,
        typer.Argument(
            metavar="DIR|FILE",
            help="dbt: the compiled project. snowflake, databricks: a SQL file.",
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
    spark: Annotated[
        bool | None,
        typer.Option(
            "--spark/--no-spark",
            help="Have Spark analyse every query, and leave out what it refuses; by default, those"
            " of snowflake and databricks.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a dbt project, or statements of Snowflake or Databricks, as a freshline project."""
    from freshline.importing.writing import PAGE, write

    if tool is Tool.DBT:
        from freshline.importing.dbt.project import read_dbt

        found = read_dbt(source)
        folder = into or source / "freshline"
    else:
        if tool is Tool.SNOWFLAKE:
            from freshline.importing.snowflake.script import read_snowflake as read
        else:
            from freshline.importing.databricks.script import read_databricks as read
        found = read(source)
        folder = into or source.with_suffix("")
    judge = None
    if spark if spark is not None else tool is not Tool.DBT:
        from freshline.importing.analysed import by_spark

        judge = by_spark
    written = write(found, folder, judge)
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
    print(f"  cd {shlex.quote(str(folder))}")
    print("  freshline validate")
