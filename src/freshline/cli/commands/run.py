"""``freshline run``: keep the warehouse fresh until somebody stops it."""

from __future__ import annotations

from typing import Annotated

import typer

from freshline.cli.options import AsJson, ProjectDir, opened
from freshline.core.errors import UserError
from freshline.project.yaml.durations import RULE, duration_s


def run(
    until_idle: Annotated[
        bool,
        typer.Option(
            "--until-idle",
            help="End when every file that is there now is in every table that can be"
            " brought up to date.",
        ),
    ] = False,
    grace: Annotated[
        str,
        typer.Option(metavar="DURATION", help="How long running updates may go on after a stop."),
    ] = "30s",
    project: ProjectDir = None,
    as_json: AsJson = False,
) -> int:
    """Load what arrives and keep every table fresh, until SIGINT or SIGTERM."""
    from freshline.cli.running import run_warehouse
    from freshline.runtime.warehouse import RunOptions

    options = RunOptions(until_idle=until_idle, grace_s=grace_s(grace))
    return run_warehouse(opened(project, analyse=True), options, as_json=as_json)


def grace_s(text: str) -> float:
    """The duration of ``--grace``, which may be none.

    Raises:
        UserError: It is no duration.
    """
    if text.strip() in ("0", "0s"):
        return 0.0
    try:
        return duration_s(text)
    except ValueError as error:
        raise UserError("bad-duration", f"--grace: {error}", rule=RULE) from error
