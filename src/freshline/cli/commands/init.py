"""``freshline init``: a small project that runs as it is."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated

import typer

from freshline.cli.options import AsJson
from freshline.core.errors import PlatformError, UserError
from freshline.project.load import (
    PROJECT_FILE,
    PROJECT_NAME,
    PROJECT_NAME_RULE,
    load_project,
)
from freshline.project.yaml.file import YamlFile
from freshline.render.output import print_json

_NAME_IN_SAMPLE = "name: sample"


def init(
    name: Annotated[Path, typer.Argument(metavar="NAME", help="The new directory.")],
    project: Annotated[
        Path | None,
        typer.Option(
            "--project",
            metavar="DIR",
            help="The directory that NAME is relative to; by default, this one.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a small project that runs as it is, with a generator of feed files."""
    if project is not None:
        name = project / name
    project_name = _checked(name.absolute().name)
    written = []
    try:
        if name.exists() and (not name.is_dir() or any(name.iterdir())):
            raise UserError(
                "not-empty",
                f"{name} exists and is not an empty directory",
                rule="a new project gets a directory of its own",
                next_step="Choose another name.",
            )
        for place, text in _sample():
            target = name / place
            target.parent.mkdir(parents=True, exist_ok=True)
            if place == PROJECT_FILE:
                text = text.replace(_NAME_IN_SAMPLE, _name_line(project_name))  # noqa: PLW2901
            target.write_text(text, encoding="utf-8")
            written.append(place)
    except OSError as error:
        raise PlatformError(
            "cannot-write",
            f"cannot write {error.filename or name}: {error.strerror}",
            next_step="Check the disk and the permissions.",
        ) from error
    load_project(name, name)  # what we hand out is right, or we say so here
    if as_json:
        print_json({"project": project_name, "directory": str(name), "files": written})
        return
    print(f"{name} is a project with {len(written)} files. Next:")
    print(f"  cd {shlex.quote(str(name))}")
    print("  python generate.py --files 20 --at-once")
    print("  freshline run --until-idle")
    print("  freshline status")


def _checked(name: str) -> str:
    if PROJECT_NAME.match(name):
        return name
    raise UserError(
        "bad-name",
        f"'{name}' cannot name a project",
        rule=PROJECT_NAME_RULE,
        next_step="Choose another name.",
    )


def _name_line(name: str) -> str:
    """The name in YAML: in quotes where it would be a number, a date, true or nothing."""
    line = f"name: {name}"
    is_text = YamlFile(Path(PROJECT_FILE), text=line).data == {"name": name}
    return line if is_text else f'name: "{name}"'


def _sample() -> Iterator[tuple[str, str]]:
    """The files of the sample: place and text, in a fixed order."""
    yield from _files(resources.files("freshline.cli") / "sample", "")


def _files(folder: Traversable, prefix: str) -> Iterator[tuple[str, str]]:
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        if item.name.startswith("__"):
            continue
        if item.is_dir():
            yield from _files(item, f"{prefix}{item.name}/")
        else:
            yield prefix + item.name, item.read_text(encoding="utf-8")
