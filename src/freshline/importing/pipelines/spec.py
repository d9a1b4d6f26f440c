"""A pipeline's specification: spark-pipeline.yml, and the files that it names."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from freshline.core.errors import Place, UserError
from freshline.project.load import pipeline_files
from freshline.project.names import Scope
from freshline.project.sections.feeds import storage_place
from freshline.project.yaml.file import YamlFile
from freshline.project.yaml.section import Section

_KEYS = ("name", "storage", "catalog", "database", "schema", "configuration", "libraries")
_RULE = "libraries is a list of {glob: {include: path}}; a path is a file's, or a folder's with /**"


@dataclass(frozen=True, slots=True)
class Spec:
    """A specification.

    Attributes:
        file: Its name.
        storage: Where freshline keeps the tables: ``tables`` in the pipeline's own storage.
        scope: What short names belong to.
        has_database: Whether the specification names the scope's database.
        configuration: Spark settings.
        files: Of SQL and Python, in the order of the globs, each once.
    """

    file: str
    name: str
    storage: str
    scope: Scope
    configuration: Mapping[str, str]
    files: tuple[Path, ...]
    has_database: bool


def read_spec(root: Path, errors: list[UserError], named: Path | None = None) -> Spec | None:
    """The specification in a directory; None, with errors, where it cannot be read.

    Args:
        root: The directory.
        errors: Added to.
        named: The file that the user named, of any name.
    """
    paths = pipeline_files(root, named)
    if len(paths) > 1:
        errors.append(
            UserError(
                "two-pipelines",
                f"there are {paths[0].name} and {paths[1].name} in {root}",
                rule="a pipeline has one specification",
                next_step="Remove one of the two, or name one with --spec.",
            )
        )
        return None
    try:
        file = YamlFile(paths[0], shown_as=paths[0].name)
    except UserError as error:
        errors.append(error)
        return None
    before = len(errors)
    top = Section(file, (), file.shown_as, errors)
    top.only(*_KEYS)
    top.require("name", "storage")
    database = top.text("database") or top.text("schema")
    spec = Spec(
        file.shown_as,
        top.text("name") or "",
        f"{storage_place(top.text('storage') or '', root)}/tables",
        Scope(top.text("catalog") or "spark_catalog", database or "default"),
        top.configuration(),
        tuple(_files(top, root)),
        database is not None,
    )
    return spec if len(errors) == before else None


def _files(top: Section, root: Path) -> list[Path]:
    found: dict[Path, None] = {}
    entries = top.data.get("libraries") or []
    if not isinstance(entries, list):
        entries = [None]
    for index, entry in enumerate(entries):
        place = top.file.place(("libraries", index))
        named = entry.get("glob") if isinstance(entry, dict) else None
        include = named.get("include") if isinstance(named, dict) else None
        if not isinstance(include, str) or not include or Path(include).is_absolute():
            _bad_glob(top.errors, place, f"entry {index + 1} of libraries is no relative glob")
            continue
        folder = include.removesuffix("/**")
        if glob.has_magic(folder):
            _bad_glob(top.errors, place, f"the glob {include} is none that pipelines have")
            continue
        pattern = f"{include}/*" if folder != include else include
        matched = sorted(
            path
            for path in root.glob(pattern)
            if path.is_file() and "__pycache__" not in path.parts
        )
        for path in matched:
            if path.suffix in (".py", ".sql"):
                found[path] = None
            else:
                top.errors.append(
                    UserError(
                        "unknown-file",
                        f"the glob {include} matches a file that is neither SQL nor Python",
                        where=Place(os.path.relpath(path, root)),
                        rule="a pipeline's definitions end in .sql or .py",
                        next_step="Move it out of the libraries.",
                    )
                )
    return list(found)


def _bad_glob(errors: list[UserError], place: Place, what: str) -> None:
    errors.append(
        UserError("bad-glob", what, where=place, rule=_RULE, next_step="Write it as in the rule.")
    )
