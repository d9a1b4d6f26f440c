"""``freshline plan``: into which batches to cut one report with a deadline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from freshline.cli.options import ProjectDir
from freshline.project.yaml.file import YamlFile
from freshline.render.output import print_json
from freshline.sim.reports import plan_file, render_plan


def plan(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The report, YAML or JSON.")],
    # Not ``as_json``: nothing may be on standard output when the file is wrong.
    json_out: Annotated[
        bool, typer.Option("--json", help="Print one JSON object on standard output.")
    ] = False,
    project: ProjectDir = None,  # noqa: ARG001 - every command takes it; FILE needs no project
) -> None:
    """Plan the batches of one report so that it meets its deadline at the least cost."""
    record = plan_file(YamlFile(file, shown_as=str(file)))
    if json_out:
        print_json(record)
    else:
        print(render_plan(record))
