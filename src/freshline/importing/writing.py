"""The files of the new project: written to a folder of their own only once they load."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from freshline.core.errors import PlatformError, UserError, UserErrors
from freshline.importing.assembly import Assembly, assemble
from freshline.importing.checks import TakenCheck, taken_checks
from freshline.importing.items import Found, Table
from freshline.importing.page import page
from freshline.project.load import PROJECT_FILE, collect
from freshline.project.model import Project
from freshline.project.yaml.file import written
from freshline.sql.text.reads import quoted, string_literal


@dataclass(frozen=True, slots=True)
class Judgement:
    """What an analysis of the new project's queries found.

    Attributes:
        refused: Why, by the table's file in the project.
        notes: What was not analysed, a sentence each.
    """

    refused: Mapping[str, str]
    notes: tuple[str, ...]


Judge = Callable[[Project], Judgement]

PAGE = "IMPORTED.md"
APPENDIX = "not_translated.sql"


@dataclass(frozen=True, slots=True)
class Written:
    """What an import left on the disk.

    Attributes:
        checks: What became of each test.
        files: Relative to the project's folder.
    """

    assembly: Assembly
    checks: tuple[TakenCheck, ...]
    files: tuple[str, ...]


def write(found: Found, into: Path, judge: Judge | None = None) -> Written:
    """Writes the project that ``found`` makes; every table in it loads.

    A table whose statement breaks a rule of freshline is left out with the rule, and the rest
    is put together again without it. So is one that ``judge`` refuses.

    Args:
        found: What the importer found.
        into: The project's folder.
        judge: Analyses the queries of the new project.

    Raises:
        UserErrors: No table can be taken: the reason of each (``not-taken``).
        UserError: The folder is in use (``not-empty``), or a feed is wrong.
        PlatformError: The folder cannot be written.
    """
    if into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise UserError(
            "not-empty",
            f"{into} exists and is not an empty directory",
            rule="the new project gets a directory of its own",
            next_step="Name another one with --into DIR.",
        )
    assembly, files, warnings, refused = _loadable(found, judge)
    checks = taken_checks(found.checks, found.items, assembly)
    files[PAGE] = page(found, assembly, checks, warnings)
    appendix = (found.appendix or "") + "".join(
        commented(f"{item.key}: {refused[item.key]}", item.query or "")
        for item in found.items
        if item.key in refused
    )
    if appendix:
        files[APPENDIX] = appendix
    try:
        _save(files, into)
    except OSError as error:
        raise PlatformError(
            "cannot-write",
            f"cannot write {error.filename or into}: {error.strerror}",
            next_step="Check the disk and the permissions.",
        ) from error
    return Written(assembly, checks, tuple(files))


def commented(reason: str, text: str) -> str:
    """A statement as a comment under the reason why it was not taken."""
    lines = [f"-- {reason}", *(f"--   {line}" for line in text.splitlines())]
    return "\n" + "\n".join(lines) + "\n"


def _loadable(
    found: Found, judge: Judge | None
) -> tuple[Assembly, dict[str, str], tuple[str, ...], dict[str, str]]:
    """The assembly without the tables that do not load, its files, warnings, and what was refused.

    What was refused is by key, with the judge's reason.
    """
    faults: dict[str, str] = {}
    refused: dict[str, str] = {}
    while True:
        assembly = assemble(found.items, faults)
        if not assembly.tables:
            raise UserErrors(_nothing(found, assembly))
        files = _files(found, assembly)
        with tempfile.TemporaryDirectory(prefix="freshline-import-") as folder:
            _save(files, Path(folder))
            project, errors = collect(Path(folder), Path(folder))
        keys = {_file(table): table.item.key for table in assembly.tables}
        if project is not None:
            judgement = None if judge is None else judge(_with_columns(project, assembly))
            if judgement is None or not judgement.refused:
                notes = judgement.notes if judgement is not None else ()
                return assembly, files, (*project.warnings, *notes), refused
            told = {keys[file]: why for file, why in judgement.refused.items()}
            refused |= told
            faults |= told
            continue
        wrong = {
            keys[error.where.file]: f"{error.what}; {error.rule}"
            for error in reversed(errors)
            if error.where is not None and error.where.file in keys
        }
        if not wrong:
            raise UserErrors(errors)
        faults |= wrong


def _with_columns(project: Project, assembly: Assembly) -> Project:
    """The project with the columns that the other tool declares for what feeds bring."""
    schemas = {table.feed: table.item.schema for table in assembly.tables if table.feed}
    feeds = {
        name: dataclasses.replace(feed, schema=feed.schema or schemas.get(name))
        for name, feed in project.feeds.items()
    }
    return dataclasses.replace(project, feeds=feeds)


def _nothing(found: Found, assembly: Assembly) -> list[UserError]:
    """Why nothing can be taken: the reason of each item that was not."""
    errors = [
        UserError(
            "not-taken",
            f"{outcome.item.key}: {outcome.left_out[0]}",
            rule="",
            next_step="",
        )
        for outcome in assembly.outcomes
        if not outcome.taken and outcome.left_out and outcome.became == "not taken"
    ]
    return [
        UserError(
            "nothing-taken",
            f"no table of the {found.origin} can be imported",
            rule="a table is kept fresh where it is computed from a feed",
            next_step=" ".join(found.notes)
            or (
                "Correct what the messages below name, and import again."
                if errors
                else "Name a file with statements that make tables."
            ),
        ),
        *errors,
    ]


def _files(found: Found, assembly: Assembly) -> dict[str, str]:
    feeds = {table.feed: dict(table.item.feed or {}) for table in assembly.tables if table.feed}
    top: dict[str, object] = {
        "name": found.name,
        "storage": "warehouse",
        "libraries": [{"glob": {"include": "tables/**/*.sql"}}],
        "scheduler": {"policy": "whittle"},  # as `freshline init` writes it
    }
    if found.configuration:
        top["configuration"] = dict(found.configuration)
    if feeds:
        top["feeds"] = feeds
    checks: dict[str, list[dict[str, object]]] = {}
    for each in taken_checks(found.checks, found.items, assembly):
        if each.table is not None and each.entry is not None:
            checks.setdefault(each.table, []).append(dict(each.entry))
    if checks:
        top["checks"] = checks
    text = written(top)
    files = {
        PROJECT_FILE: f"# Imported from the {found.origin}; {PAGE} says what became of it.\n{text}"
    }
    for table in assembly.tables:
        files[_file(table)] = _statement(table)
    return files


def _file(table: Table) -> str:
    return f"tables/{table.name}.sql"


def _statement(table: Table) -> str:
    item = table.item
    kind = "STREAMING TABLE" if table.feed is not None else "MATERIALIZED VIEW"
    lines = [f"CREATE {kind} {quoted(table.name)}{_columns(table)}"]
    if item.comment:
        lines.append(f"  COMMENT {string_literal(item.comment)}")
    if item.partitioned_by:
        columns = ", ".join(quoted(column) for column in item.partitioned_by)
        lines.append(f"  PARTITIONED BY ({columns})")
    if item.properties:
        lines.append(f"  TBLPROPERTIES ({_properties(item.properties)})")
    lines.append(f"AS\n{table.query};\n")
    return "\n".join(lines)


def _columns(table: Table) -> str:
    """The column list: the columns that have a comment."""
    if not table.columns:
        return ""
    listed = [f"{quoted(name)} COMMENT {string_literal(text)}" for name, text in table.columns]
    return " (\n    " + ",\n    ".join(listed) + "\n  )"


def _properties(properties: Mapping[str, str]) -> str:
    return ", ".join(
        f"{string_literal(key)} = {string_literal(value)}" for key, value in properties.items()
    )


def _save(files: Mapping[str, str], folder: Path) -> None:
    for place, text in files.items():
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
