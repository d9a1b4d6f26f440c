"""``freshline run``: keep the warehouse fresh until somebody stops it."""

from __future__ import annotations

import dataclasses
from enum import StrEnum
from typing import Annotated

import typer

from freshline.cli.options import AsJson, ProjectDir, Spec, duration_of, named, opened, table_lists
from freshline.core.errors import UserError
from freshline.project.model import Project
from freshline.runtime.subset import named_tables

Lists = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TABLE,...",
        help="Update only these tables, their parents first, then exit.",
        autocompletion=table_lists,
        show_default=False,
    ),
]
FullLists = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TABLE,...",
        help="The same, but rebuild these tables from all their data.",
        autocompletion=table_lists,
        show_default=False,
    ),
]


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
    *,
    until_idle: Annotated[
        bool,
        typer.Option(
            "--until-idle",
            help="Exit once all data that has arrived has reached every table that can be updated.",
        ),
    ] = False,
    grace: Annotated[
        str,
        typer.Option(
            metavar="DURATION", help="How long running updates may take to finish after a stop."
        ),
    ] = "30s",
    log_format: Annotated[
        LogFormat | None,
        typer.Option(
            "--log-format",
            help="Format of the log on standard error; by default, lines of text, or a live table"
            " on a terminal.",
            show_default=False,
        ),
    ] = None,
    log_level: Annotated[
        LogLevel, typer.Option("--log-level", help="The lowest level that is logged.")
    ] = LogLevel.INFO,
    standby: Annotated[
        bool,
        typer.Option(
            "--standby",
            help="Wait while another process runs the warehouse, and take over when it ends or"
            " does not renew its lease for 15 s.",
        ),
    ] = False,
    refresh: Lists = None,
    full_refresh: FullLists = None,
    full_refresh_all: Annotated[
        bool,
        typer.Option(
            "--full-refresh-all", help="Rebuild every table from all its data, then exit."
        ),
    ] = False,
    project: ProjectDir = None,
    spec: Spec = None,
    as_json: AsJson = False,
) -> int:
    """Load what arrives and keep every table fresh, until SIGINT or SIGTERM."""
    from freshline.cli.running import Log, run_warehouse
    from freshline.runtime.options import RunOptions

    if full_refresh_all and (refresh or full_refresh):
        raise UserError(
            "conflicting-options",
            "--full-refresh-all does not go with --refresh or --full-refresh",
            rule="it rebuilds every table",
            next_step="Leave one of them out.",
        )
    options = RunOptions(
        until_idle=until_idle, grace_s=duration_of("--grace", grace, zero=True), standby=standby
    )
    found = opened(named(project, spec), analyse=True)
    if refresh or full_refresh or full_refresh_all:
        rebuilt = _tables(found, full_refresh, "--full-refresh")
        wanted = (*_tables(found, refresh, "--refresh"), *rebuilt)
        if full_refresh_all:
            wanted = rebuilt = tuple(table.name for table in found.tables)
        options = dataclasses.replace(
            options, until_idle=True, refresh=tuple(dict.fromkeys(wanted)), rebuilt=rebuilt
        )
    log = Log(log_format.value if log_format else None, log_level.value)
    return run_warehouse(found, options, as_json=as_json, log=log)


def _tables(project: Project, lists: list[str] | None, option: str) -> tuple[str, ...]:
    """The tables in comma-separated lists; of ``catalog.schema.table`` the last part counts.

    Raises:
        UserError: The option is given and names none, or one that is no table.
    """
    names = [name.strip() for each in lists or () for name in each.split(",") if name.strip()]
    if lists and not names:
        raise UserError(
            "bad-option",
            f"{option} names no table",
            rule="it is one table or more, separated by commas",
            next_step="Name some, or leave it out: then every table is kept fresh.",
        )
    last = (name if project.has_table(name) else name.split(".")[-1] for name in names)
    return named_tables(project, last)
