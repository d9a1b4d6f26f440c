"""The SQL files of a project, and the statements in them."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

from freshline.core.errors import Place, UserError
from freshline.project.model import Program
from freshline.project.yaml.section import Section
from freshline.sql.text.statements import Statement, StatementError, read_statement, split
from freshline.sql.text.tokens import SqlTextError, tokens

_RULE = "libraries is a list of {glob: {include: pattern}}"
_DECLARED = re.compile(
    r"\b(?:STREAMING\s+TABLE|MATERIALIZED\s+VIEW)\s+(?:IF\s+NOT\s+EXISTS\s+)?`?(\w+)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Found:
    """A statement and the file it stands in (relative to the project).

    Attributes:
        query_file: Where its query stands when that is another file.
        settings: Spark settings that hold for its query alone.
        programs: Views that its query needs in the session; then ``parents`` and ``feed`` say
            what it reads, since its text does not.
        former: As in :class:`freshline.project.model.TableDef`.
    """

    statement: Statement
    file: str
    query_file: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    programs: tuple[Program, ...] = ()
    parents: tuple[str, ...] = ()
    feed: str | None = None
    former: tuple[str, ...] = ()

    @property
    def place(self) -> Place:
        """Where the statement starts."""
        return Place(self.file, self.statement.line)

    def in_query(self, line: int) -> Place:
        """Where a line of the query stands; the query's first is 1."""
        return Place(self.query_file or self.file, self.statement.query_line + line - 1)


@dataclass(slots=True)
class Library:
    """All that the SQL files hold.

    Attributes:
        statements: Those that could be read, in the order of files and in them.
        declared: Names in statements that could not: readers of such a table need no error.
        files: Every file.
        warnings: Files without a statement, and what no glob reaches.
        lone_views: A view may read no table of the project.
    """

    statements: list[Found]
    declared: set[str]
    files: list[Path]
    warnings: list[str]
    lone_views: bool = False


def read_libraries(top: Section, root: Path, storage: str) -> Library:
    """Reads every file that the globs name; faults go to the section's errors.

    Args:
        top: freshline.yml.
        root: Its directory.
        storage: The project's; no files are looked for in it to warn of.
    """
    library = Library([], set(), [], [])
    patterns = _patterns(top)
    misnamed: list[Path] = []
    for pattern, place in patterns:
        named = _named(pattern, place, root, top.errors)
        for path in named:
            if path.suffix != ".sql":
                misnamed.append(path)
            elif path not in library.files:
                library.files.append(path)
    if not top.errors:
        links = [link for each, _ in patterns for link in _linked_folders(root, storage, each)]
        library.warnings += _passed_over(misnamed, links, root, library.files)
    for path in library.files:
        _read_file(path, os.path.relpath(path, root), library, top.errors)
    return library


def shown_files(library: Library, root: Path) -> list[str]:
    """The files as messages name them."""
    return [os.path.relpath(path, root) for path in library.files]


def _patterns(top: Section) -> list[tuple[str, Place]]:
    entries = top.data.get("libraries")
    if entries is None:
        return []
    found: list[tuple[str, Place]] = []
    if not isinstance(entries, list) or not entries:
        top.fault(
            "bad-value",
            "libraries is no list of globs",
            key="libraries",
            rule=_RULE,
            next_step="Write it as in the rule.",
        )
        return found
    for index, entry in enumerate(entries):
        glob = entry.get("glob") if isinstance(entry, dict) else None
        include = glob.get("include") if isinstance(glob, dict) else None
        place = top.file.place(("libraries", index))
        exact = isinstance(entry, dict) and isinstance(glob, dict) and len(entry) == len(glob) == 1
        if exact and isinstance(include, str) and include:
            found.append((include, place))
        else:
            top.errors.append(
                UserError(
                    "bad-value",
                    f"entry {index + 1} of libraries is no glob",
                    where=place,
                    rule=_RULE,
                    next_step="Write it as in the rule.",
                )
            )
    return found


def _named(pattern: str, place: Place, root: Path, errors: list[UserError]) -> list[Path]:
    """The files of a glob that end in .sql, or that seem to: in .SQL."""
    if Path(pattern).is_absolute():
        errors.append(
            UserError(
                "bad-glob",
                f"the glob {pattern} is an absolute path",
                where=place,
                rule="globs start at the directory of freshline.yml",
                next_step="Make it relative.",
            )
        )
        return []
    wide = f"{pattern}/*" if pattern.endswith("**") else pattern
    denied = _denied_folder(root, wide)
    if denied is not None:
        errors.append(
            UserError(
                "unreadable-file",
                f"the glob {pattern} cannot be followed: {os.path.relpath(denied.filename, root)}:"
                f" {denied.strerror}",
                where=place,
                rule="a table whose file is not found would be none of the project",
                next_step="Check the folder's permissions.",
            )
        )
        return []
    try:
        named = sorted(
            p
            for p in _globbed(root, wide)
            if p.suffix.lower() == ".sql" and (p.is_file() or _is_dangling(p))
        )
    except ValueError as error:
        errors.append(
            UserError(
                "bad-glob",
                f"the glob {pattern} cannot be read: {str(error)[:1].lower()}{str(error)[1:]}",
                where=place,
                rule="** matches any directories and is a path component of its own",
                next_step="Correct the glob.",
            )
        )
        return []
    if not any(p.suffix == ".sql" for p in named):
        errors.append(
            UserError(
                "empty-glob",
                f"the glob {pattern} matches no .sql file",
                where=place,
                rule="globs start at the directory of freshline.yml",
                next_step="Correct the glob, or write the first table.",
            )
        )
    return named


def _globbed(root: Path, pattern: str) -> Iterator[Path]:
    """What a glob matches: Python's own fails at ``./``, which is the directory itself."""
    return root.glob(pattern) if Path(pattern).parts else iter([root])


def _passed_over(
    misnamed: list[Path], links: list[Path], root: Path, files: list[Path]
) -> list[str]:
    """What looks as if globs named it and is not read, a sentence each."""
    told = [
        f"{os.path.relpath(path, root)}: it is not read, since its name ends in {path.suffix}:"
        " rename it to .sql"
        for path in misnamed
        if path.exists()
    ]
    told += [
        f"{os.path.relpath(link, root)}: ** does not follow this link to a folder: add a glob"
        f" for what is in it, {os.path.relpath(link, root)}/*.sql"
        for link in links
        if not any(path.is_relative_to(link) for path in files)
    ]
    return list(dict.fromkeys(told))


def _linked_folders(root: Path, storage: str, pattern: str) -> list[Path]:
    """Links to folders with SQL files, below what ``**`` stands for in a glob.

    Every load looks for them: so not among tables or in folders of other programs, and not below
    what a link leads to, which may be a disk.
    """
    before, wild, _ = pattern.partition("**")
    if not wild:
        return []
    links: list[Path] = []
    tables = f"{os.path.abspath(storage)}/"  # noqa: PTH100
    said = Path(before).parts
    for base in _globbed(root, before):
        reached = base.relative_to(root).parts
        if any(name != part and name[0] in "._" for name, part in zip(reached, said, strict=True)):
            continue  # behind a wildcard
        for folder, names, _ in os.walk(base):
            here = os.path.abspath(folder)  # noqa: PTH100 - without .., as the storage
            names[:] = [
                name
                for name in sorted(names)
                if name[0] not in "._" and not f"{here}/{name}/".startswith(tables)
            ]
            links += [each for name in names if (each := Path(folder, name)).is_symlink()]
    return [each for each in links if any(each.glob("*.sql"))]


def _denied_folder(root: Path, pattern: str) -> OSError | None:
    """Why a folder that a glob leads to cannot be listed: Python's glob passes over it.

    Behind a wildcard, names that begin with _ or a point are no folders of tables, as Spark has it.
    """
    folders = Path(pattern).parts[:-1]
    fixed = [*takewhile(lambda part: not set(part) & set("*?["), folders)]
    base, levels = root.joinpath(*fixed), len(folders) - len(fixed)
    denied: list[OSError] = []
    for folder, names, _ in os.walk(base, onerror=denied.append):
        level = len(Path(folder).relative_to(base).parts)
        goes_on = "**" in folders or level < levels
        names[:] = [name for name in names if goes_on and name[0] not in "._"]
        if not os.access(folder, os.X_OK):
            denied.append(PermissionError(errno.EACCES, os.strerror(errno.EACCES), folder))
    return next((each for each in denied if isinstance(each, PermissionError)), None)


def _is_dangling(path: Path) -> bool:
    """Whether it is a link to nothing: its table is missing, so reading it has to say so.

    Editors lock a file by such a link with a point in front.
    """
    return not path.name.startswith(".") and path.is_symlink() and not path.exists()


def unclosed(error: SqlTextError, file: str) -> UserError:
    """A file of SQL that cannot be cut into statements."""
    return UserError(
        "bad-sql",
        error.what,
        where=Place(file, error.line),
        rule="strings, backquoted names and comments end where they are closed",
        next_step="Close it; nothing else in this file was checked.",
    )


def _read_file(path: Path, file: str, library: Library, errors: list[UserError]) -> None:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        errors.append(
            UserError(
                "unreadable-file",
                f"the file cannot be read: {reason}",
                where=Place(file),
                next_step="Check its permissions and encoding.",
            )
        )
        return
    try:
        statements = split(tokens(text))
    except SqlTextError as error:
        library.declared.update(name.lower() for name in _DECLARED.findall(text))
        errors.append(unclosed(error, file))
        return
    if not statements:
        library.warnings.append(f"{file}: there is no statement in this file")
    for statement in statements:
        try:
            library.statements.append(Found(read_statement(text, statement), file))
        except StatementError as error:
            if error.name is not None:
                library.declared.add(error.name.lower())
            errors.append(
                UserError(
                    error.code,
                    error.what,
                    where=Place(file, error.line),
                    rule=error.rule,
                    next_step=error.next_step,
                )
            )
