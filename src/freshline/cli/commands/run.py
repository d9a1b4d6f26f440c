"""``freshline run``: keep the warehouse fresh until somebody stops it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from freshline.cli.options import AsJson, ProjectDir, opened
from freshline.core.errors import UserError
from freshline.project.yaml.durations import RULE, duration_s


class LogFormat(StrEnum):
    """What ``--log-format`` takes."""

    TEXT = "text"
    JSON = "json"


class LogLevel(StrEnum):
    """What ``--log-level`` takes."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


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
    log_format: Annotated[
        LogFormat | None,
        typer.Option(
            "--log-format",
            help="How what happens is told on standard error; without it lines of text, or a"
            " live table on a terminal.",
            show_default=False,
        ),
    ] = None,
    log_level: Annotated[
        LogLevel, typer.Option("--log-level", help="The least level that is told.")
    ] = LogLevel.INFO,
    standby: Annotated[
        bool,
        typer.Option(
            "--standby",
            help="Wait while another process runs the warehouse, and take over when it ends or"
            " does not renew its lease for 15 s.",
        ),
    ] = False,
    project: ProjectDir = None,
    as_json: AsJson = False,
) -> int:
    """Load what arrives and keep every table fresh, until SIGINT or SIGTERM."""
    from freshline.cli.running import Log, run_warehouse
    from freshline.runtime.options import RunOptions

    options = RunOptions(until_idle=until_idle, grace_s=grace_s(grace), standby=standby)
    found = opened(project, analyse=True)
    log = Log(log_format.value if log_format else None, log_level.value)
    return run_warehouse(found, options, as_json=as_json, log=log)


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
