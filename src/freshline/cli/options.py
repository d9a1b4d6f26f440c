"""Options and arguments that many commands share, and how they find their project."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Annotated

import typer

from freshline.core.errors import FreshlineError, PlatformError, UserError, UserErrors
from freshline.delta.stores import use
from freshline.project.load import collect as collect_plain
from freshline.project.load import find_project, pipeline_files, specification
from freshline.project.model import Project
from freshline.project.yaml.durations import RULE, duration_s
from freshline.render.output import shortened

_WRONG_PATHS = frozenset(
    {errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENAMETOOLONG}
)

ProjectDir = Annotated[
    Path | None,
    typer.Option(
        "--project",
        metavar="DIR",
        help="Directory of freshline.yml or spark-pipeline.yml, or a pipeline's specification;"
        " by default, the nearest one upwards from here.",
        show_default=False,
    ),
]
Spec = Annotated[
    Path | None,
    typer.Option(
        "--spec",
        metavar="FILE",
        help="A pipeline's specification, by any name; as `--project FILE`.",
        show_default=False,
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on standard output, nothing else.")
]


def table_names(context: typer.Context, incomplete: str) -> list[str]:
    """The project's tables and reports that begin so, for a shell; none where it has errors."""
    try:
        found = opened(context.params.get("project"))
    except (FreshlineError, OSError):
        return []
    names = [table.name for table in (*found.tables, *found.reports)]
    return [name for name in names if name.startswith(incomplete)]


def table_lists(context: typer.Context, incomplete: str) -> list[str]:
    """The same for names with commas between them: the last one is completed."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in table_names(context, last)]


TableNames = Annotated[
    list[str],
    typer.Argument(metavar="TABLE...", help="Tables of the project.", autocompletion=table_names),
]


def duration_of(option: str, text: str, *, zero: bool = False) -> float:
    """Seconds of an option's duration.

    Args:
        option: Its name.
        text: Its value.
        zero: It may be none.

    Raises:
        UserError: It is no duration.
    """
    if zero and text.strip() in ("0", "0s"):
        return 0.0
    try:
        return duration_s(text)
    except ValueError as error:
        raise UserError(
            "bad-duration", f"{option}: {error}", rule=RULE, next_step="Correct it."
        ) from error


def named(project: Path | None, spec: Path | None) -> Path | None:
    """What ``--project`` or ``--spec`` names.

    Raises:
        UserError: Both are given.
    """
    if project is not None and spec is not None:
        raise UserError(
            "conflicting-options",
            "--spec and --project are both given",
            rule="a pipeline is in the directory of its specification",
            next_step="Leave one of them out.",
        )
    return project or spec


def opened(directory: Path | None, *, analyse: bool = False) -> Project:
    """The project that a command is about.

    Args:
        directory: What ``--project`` said.
        analyse: Also judge the queries' syntax trees; only worth its third of a second
            where updates will be run.

    Raises:
        UserErrors: There is none, or something in it is wrong.
        PlatformError: The disk does not say.
    """
    project, errors = collected(directory, analyse=analyse)
    if project is None:
        raise UserErrors(errors)
    use(project.configuration)
    return project


def is_in_project() -> bool:
    """Whether the working directory, or one above it, is a project's."""
    try:
        find_project(Path.cwd(), None)
    except (UserError, OSError):
        return False
    return True


def collected(
    directory: Path | None, *, analyse: bool = True
) -> tuple[Project | None, list[UserError]]:
    """The same, with what is wrong as a list; no project when there are errors.

    Raises:
        PlatformError: The disk does not say.
    """
    try:
        root = find_project(Path.cwd(), directory)
        spec = specification(directory)
    except UserError as error:
        return None, [error]
    except OSError as error:
        where = "the working directory" if directory is None else shortened(str(directory), 80)
        if error.errno not in _WRONG_PATHS:
            raise PlatformError(
                "project-unreadable",
                f"the disk does not say whether {where} has a project: {error.strerror}",
                next_step="Look at the disk, then try again.",
            ) from error
        return None, [
            UserError(
                "no-project",
                f"no project can be looked for in {where}: {error.strerror}",
                rule="a project's directory exists, may be read, and has a path of at most 4,095"
                " bytes with names of at most 255",
                next_step="Correct the path, or who may read it.",
            )
        ]
    if pipeline_files(root, spec):
        from freshline.importing.pipelines.load import collect  # most projects are none

        return collect(root, spec or root, analyse=analyse)
    return collect_plain(root, root, analyse=analyse)
