"""A pipeline's directory read into a project, every error in it found in one go.

A freshline.yml beside the specification that names no ``libraries`` holds the settings that a
pipeline has no words for: feeds, tracks, alerts, and the properties of tables under ``tables:``.
"""

from __future__ import annotations

import dataclasses
import os
import time
from pathlib import Path

from freshline.core.errors import Place, UserError
from freshline.importing.pipelines.definitions import Definitions
from freshline.importing.pipelines.graph import Properties, joined
from freshline.importing.pipelines.python import add_python
from freshline.importing.pipelines.python_source import refused
from freshline.importing.pipelines.spec import Spec, read_spec
from freshline.importing.pipelines.statements import read_sql
from freshline.project import load as plain
from freshline.project.load import (
    KEYS,
    PROJECT_FILE,
    Parts,
    assembled,
    find_project,
    specification,
)
from freshline.project.model import CatalogSettings, Project
from freshline.project.properties import PREFIX
from freshline.project.sections import feeds as feeds_
from freshline.project.sections.libraries import Library
from freshline.project.windows import SESSION_ZONE
from freshline.project.yaml.file import YamlFile
from freshline.project.yaml.section import Section
from freshline.sql.text.statements import Property

_OF_SPEC = ("name", "libraries")
"""Keys of freshline.yml that a pipeline's specification has instead."""


def collect(
    start: Path, project_dir: Path | None = None, *, analyse: bool = True
) -> tuple[Project | None, list[UserError]]:
    """The project or pipeline in or above ``start``, or the errors in it, by the order of files.

    Args:
        start: Where the search upwards begins.
        project_dir: The directory itself or its specification, when the user named it.
        analyse: As in :func:`freshline.project.load.load_project`.
    """
    named = specification(project_dir)
    try:
        root = find_project(start, project_dir)
        file = _settings(root, named)
    except UserError as error:
        return None, [error]
    if file is None:
        return plain.collect(root, root, analyse=analyse)
    return _pipeline(root, file, named, analyse=analyse)


def _settings(root: Path, named: Path | None) -> YamlFile | None:
    """freshline.yml as the settings of a pipeline; None where it is a project by itself.

    Raises:
        UserError: It cannot be read.
    """
    path = root / PROJECT_FILE
    if not plain.pipeline_files(root, named):
        return None
    if not path.is_file():
        return YamlFile(path, shown_as=PROJECT_FILE, text="")
    file = YamlFile(path, shown_as=PROJECT_FILE)
    is_project = named is None and isinstance(file.data, dict) and "libraries" in file.data
    return None if is_project else file


def _pipeline(
    root: Path, file: YamlFile, named: Path | None, *, analyse: bool
) -> tuple[Project | None, list[UserError]]:
    errors: list[UserError] = []
    top = Section(file, (), PROJECT_FILE, errors)
    spec = read_spec(root, errors, named)
    if spec is None:
        return None, errors
    top.only(*(key for key in (*KEYS, "tables") if key not in _OF_SPEC))
    feeds, feed_names = feeds_.read_feeds(top.sub("feeds", "feeds"), root)
    found = Definitions(errors=errors, configuration={**spec.configuration, **_own(file)})
    _read_files(spec, root, found)
    storage = top.text("storage")
    place = spec.storage if storage is None else feeds_.storage_place(storage, root)
    library = Library([], set(), [], [])
    parts = Parts(spec.name, root, place, feeds, feed_names, library, spec.configuration)
    if any(path.suffix == ".py" for path in spec.files):
        bare = Section(file, (), PROJECT_FILE, [])
        stub, _ = assembled(bare, parts, analyse=analyse) if not errors else (None, [])
        if stub is not None:
            stub = dataclasses.replace(stub, sql_files=spec.files)
            feeds = feeds | add_python(stub, spec, found, with_spark=analyse)
        if errors:
            # What Python defines is not known, so whoever reads it would be told the wrong thing.
            return None, errors
    library = joined(found, feeds, [*feed_names, *feeds], _properties(top))
    feeds = feeds | found.feeds
    library.files.extend(spec.files)
    if not spec.files:
        library.warnings.append(f"{spec.file}: its libraries name no file")
    names = tuple(dict.fromkeys([*feed_names, *feeds]))
    parts = dataclasses.replace(parts, feeds=feeds, feed_names=names, library=library)
    project, errors = assembled(top, parts, analyse=analyse)
    if project is None:
        return None, errors
    names_in = project.catalog
    if names_in is None and spec.has_database:
        # Spark would register them there, too.
        names_in = CatalogSettings(spec.scope.database, spec.scope.catalog)
    warnings = (*project.warnings, *_zone_of_the_machine(project, spec))
    return dataclasses.replace(
        project, catalog=names_in, specification=named, warnings=warnings
    ), errors


def _zone_of_the_machine(project: Project, spec: Spec) -> list[str]:
    """That dates and hours are those of UTC here, where Spark takes the machine's time zone."""
    told = all(
        SESSION_ZONE in {**project.configuration, **table.settings}
        for table in (*project.tables, *project.reports)
    )
    if told or not (time.timezone or time.daylight):
        return []
    warning = (
        f"{spec.file}: configuration has no {SESSION_ZONE}, so dates and hours are those of UTC"
        " here; spark-pipelines takes this machine's time zone, which is another one. Set it to"
        " the zone that is meant"
    )
    return [warning]


def _own(file: YamlFile) -> dict[str, str]:
    """``configuration:`` of freshline.yml, whose faults are told where it is read for all."""
    return Section(file, (), PROJECT_FILE, []).configuration()


def _read_files(spec: Spec, root: Path, found: Definitions) -> None:
    for path in spec.files:
        file = os.path.relpath(path, root)
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            found.errors.append(
                UserError(
                    "unreadable-file",
                    f"the file cannot be read: {reason}",
                    where=Place(file),
                    next_step="Check its permissions and encoding.",
                )
            )
            continue
        if path.suffix == ".py":
            found.errors += refused(text, file)
        else:
            read_sql(text, file, spec.scope, found)


def _properties(top: Section) -> Properties:
    """``tables:`` of freshline.yml: the properties of tables, without their common beginning."""
    section = top.sub("tables", "tables")
    properties: dict[str, tuple[Property, ...]] = {}
    for name in section.data if section is not None else ():
        assert section is not None
        if name.lower() in properties:
            section.fault(
                "duplicate-name",
                f"tables has {name} twice, in upper and in lower case",
                key=name,
                rule="names are compared without case",
                next_step="Put the properties under one of them.",
            )
        sub = section.sub(name, f"table {name} in tables")
        texts = section.texts(name)
        properties[name.lower()] = tuple(
            Property(
                key if key.startswith(PREFIX) else PREFIX + key,
                value,
                (sub.place(key).line if sub is not None else None) or 1,
                PROJECT_FILE,
            )
            for key, value in texts.items()
        )
    return properties
