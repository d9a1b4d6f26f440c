"""Options and arguments that many commands share, and how they find their project."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from freshline.project.load import load_project
from freshline.project.model import Project

ProjectDir = Annotated[
    Path | None,
    typer.Option(
        "--project",
        metavar="DIR",
        help="Directory of freshline.yml; without it, the nearest one upwards from here.",
        show_default=False,
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on standard output, nothing else.")
]
TableNames = Annotated[list[str], typer.Argument(metavar="TABLE...", help="Tables of the project.")]


def opened(directory: Path | None, *, analyse: bool = False) -> Project:
    """The project that a command is about.

    Args:
        directory: What ``--project`` said.
        analyse: Also judge the queries' syntax trees; only worth its third of a second
            where updates will be run.

    Raises:
        UserErrors: There is none, or something in it is wrong.
    """
    return load_project(Path.cwd(), directory, analyse=analyse)
