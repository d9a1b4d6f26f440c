"""Statements turned into tables: names, what each query reads, and what it may read."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from freshline.core.errors import Place, UserError
from freshline.project.model import StaticRead, TableDef
from freshline.project.names import correction, listed, name_fault, nearest
from freshline.project.properties import check_properties
from freshline.project.sections.feeds import resolved
from freshline.project.sections.libraries import Found, Library
from freshline.sql.text.reads import Read, reads_of
from freshline.sql.text.tokens import SqlTextError, tokens

PATH_FORMATS = frozenset({"avro", "csv", "delta", "json", "orc", "parquet", "text"})
"""With one of these in front a static table is read by its path."""


@dataclass(frozen=True, slots=True)
class _Names:
    """Everything that has a name, by its name in lower case."""

    tables: dict[str, Found]
    feeds: dict[str, str]
    declared: set[str]
    lone_views: bool = False

    def table(self, name: str) -> str:
        return self.tables[name.lower()].statement.name

    def listed_tables(self) -> str:
        return listed(found.statement.name for found in self.tables.values())


def read_tables(
    library: Library, feeds: tuple[str, ...], root: Path, errors: list[UserError]
) -> list[TableDef]:
    """The tables in the order of their statements; those with wrong reads as far as known.

    Args:
        feeds: Names of all feeds, right or not.
    """
    names = _names(library, feeds, errors)
    return [_table(found, names, root, errors) for found in names.tables.values()]


def _names(library: Library, feeds: tuple[str, ...], errors: list[UserError]) -> _Names:
    by_lower = {feed.lower(): feed for feed in feeds}
    names = _Names({}, by_lower, library.declared, library.lone_views)
    for found in library.statements:
        name = found.statement.name
        where = Place(found.file, found.statement.name_line)
        rule = name_fault(name)
        if rule is not None:
            errors.append(
                UserError(
                    "bad-name",
                    f"'{name}' cannot name a table",
                    where=where,
                    rule=rule,
                    next_step="Rename the table.",
                )
            )
        if name.lower() in names.feeds:
            errors.append(
                UserError(
                    "duplicate-name",
                    f"table {name} has the name of a feed",
                    where=where,
                    rule="a name is given once, to a table or a feed, without regard to case",
                    next_step="Rename one of them.",
                )
            )
        if name.lower() in names.tables:
            first = names.tables[name.lower()]
            errors.append(
                UserError(
                    "duplicate-name",
                    f"table {name} is defined twice",
                    where=where,
                    rule=f"table {first.statement.name} is already defined at {first.place}",
                    next_step="Rename or remove one of them.",
                )
            )
        else:
            names.tables[name.lower()] = found
    return names


def _table(found: Found, names: _Names, root: Path, errors: list[UserError]) -> TableDef:
    statement = found.statement
    wishes = check_properties(statement, found.file, errors)
    reads = _reads(found, errors)
    check = _base_reads if statement.kind == "base" else _derived_reads
    if reads is not None and not found.programs:
        check(found, reads, names, errors)
    streams = [read for read in reads or () if read.stream]
    parents = dict.fromkeys(
        names.table(read.parts[0])
        for read in reads or ()
        if not read.stream and len(read.parts) == 1 and read.parts[0].lower() in names.tables
    )
    feed = names.feeds.get(streams[0].name.lower()) if streams else None
    if found.programs:
        parents = _given_parents(found, names, errors)
        feed = names.feeds.get(found.feed.lower()) if found.feed is not None else None
    return TableDef(
        name=statement.name,
        kind=statement.kind,
        query=statement.query,
        query_place=found.in_query(1),
        place=found.place,
        priority=wishes.priority,
        target_lag_s=wishes.target_lag_s,
        target_downstream=wishes.target_downstream,
        time_column=wishes.time_column,
        refresh=wishes.refresh,
        catch_up=wishes.catch_up,
        emit=wishes.emit,
        period_s=wishes.period_s,
        feed=feed,
        feed_spans=tuple((read.start, read.end) for read in streams),
        parents=tuple(parents),
        statics=_statics(found, reads or (), root),
        partitioned_by=statement.partitioned_by,
        comment=statement.comment,
        columns=statement.columns,
        properties={each.key: each.value for each in statement.properties},
        report=wishes.report,
        settings=found.settings,
        programs=found.programs,
        former=found.former if statement.kind == "base" else (),
    )


def _given_parents(found: Found, names: _Names, errors: list[UserError]) -> dict[str, None]:
    """The tables that a query with views of its session reads."""
    errors += [
        UserError(
            "unknown-table",
            f"{found.statement.name} reads the unknown table '{name}'",
            where=found.in_query(1),
            rule=f"the tables are {names.listed_tables()}",
            next_step=correction(name, names.tables, "Correct the name."),
        )
        for name in found.parents
        if name.lower() not in names.tables and name.lower() not in names.declared
    ]
    return dict.fromkeys(
        names.table(name) for name in found.parents if name.lower() in names.tables
    )


def _reads(found: Found, errors: list[UserError]) -> tuple[Read, ...] | None:
    try:
        return reads_of(found.statement.query)
    except SqlTextError as error:
        errors.append(
            UserError(
                "bad-sql",
                f"query of table {found.statement.name}: {error.what}",
                where=found.in_query(error.line),
                rule="a query only reads, parentheses are closed, and table names are written out",
                next_step="Correct the query.",
            )
        )
        return None


def _base_reads(
    found: Found, reads: tuple[Read, ...], names: _Names, errors: list[UserError]
) -> None:
    name = found.statement.name
    streams = [read for read in reads if read.stream]
    for read in streams:
        _check_feed(found, read, names, errors)
    if len(streams) != 1:
        where = _place(found, streams[1]) if streams else found.place
        count = f"reads STREAM {len(streams)} times" if streams else "reads no STREAM"
        errors.append(
            UserError(
                "one-feed",
                f"the base table {name} {count}",
                where=where,
                rule="a streaming table reads exactly one feed, as STREAM name, once",
                next_step=(
                    "Make a base table for each feed and join them in a materialized view."
                    if streams
                    else _meant(found, names) or "Read a feed, or make it a MATERIALIZED VIEW."
                ),
            )
        )
    for read in reads:
        if read.stream or len(read.parts) > 1:
            continue
        if read.parts[0].lower() in names.tables:
            errors.append(
                UserError(
                    "base-reads-table",
                    f"the base table {name} reads table {names.table(read.parts[0])}",
                    where=_place(found, read),
                    rule="beside its feed a base table reads tables of another storage only",
                    next_step="Join the two in a materialized view.",
                )
            )
        else:
            _check_unknown(found, read, names, errors)


def _derived_reads(
    found: Found, reads: tuple[Read, ...], names: _Names, errors: list[UserError]
) -> None:
    name = found.statement.name
    own = 0
    for read in reads:
        if read.stream:
            errors.append(
                UserError(
                    "view-reads-feed",
                    f"view {name} reads STREAM {read.name}",
                    where=_place(found, read),
                    rule="only a streaming table reads a feed",
                    next_step="Read a base table over the feed, or make it a STREAMING TABLE.",
                )
            )
            own += 1
        elif len(read.parts) == 1:
            own += 1
            if read.parts[0].lower() in names.tables:
                _check_time_travel(found, read, errors)
            else:
                _check_unknown(found, read, names, errors)
    if own == 0 and not names.lone_views:
        errors.append(
            UserError(
                "view-without-source",
                f"view {name} reads no table of this project",
                where=found.place,
                rule="a view is brought up to date when a table that it reads has news",
                next_step=_meant(found, names)
                or "Read a table of the project, or make it a plain table elsewhere.",
            )
        )


def _meant(found: Found, names: _Names) -> str:
    """What was probably meant by a query that reads nothing: ``FORM orders``; or nothing."""
    of_query = tokens(found.statement.query)
    words = [each for each in of_query if each.text != "(" and not each.is_word("STREAM")]
    for before, word in pairwise(words):
        is_known = word.name.lower() in names.tables or word.name.lower() in names.feeds
        is_slip = before.kind == "word" and not before.is_word("FROM")
        if is_known and is_slip and nearest(before.text, ("FROM",)):
            line = found.in_query(before.line).line
            return f"Line {line} has {before.text} {word.text}: did you mean FROM?"
    return ""


def _check_feed(found: Found, read: Read, names: _Names, errors: list[UserError]) -> None:
    if read.name.lower() in names.feeds:
        return
    next_step = correction(read.name, names.feeds.values(), "Declare the feed in freshline.yml.")
    if read.name.lower() in names.tables:
        next_step = f"{read.name} is a table: read it in a materialized view, without STREAM."
    errors.append(
        UserError(
            "unknown-feed",
            f"the base table {found.statement.name} reads the unknown feed '{read.name}'",
            where=_place(found, read),
            rule=f"the feeds are {listed(names.feeds.values())}",
            next_step=next_step,
        )
    )


def _check_unknown(found: Found, read: Read, names: _Names, errors: list[UserError]) -> None:
    """An error for a name of one part that is no table of the project."""
    name = read.parts[0]
    if name.lower() in names.declared:
        return  # its statement is wrong and has an error of its own
    kind = "the base table" if found.statement.kind == "base" else "view"
    if name.lower() in names.feeds:
        errors.append(
            UserError(
                "feed-without-stream",
                f"{kind} {found.statement.name} reads feed {name} as if it were a table",
                where=_place(found, read),
                rule=f"only a streaming table reads a feed, as STREAM {name}",
                next_step="Write STREAM in front of it, or read a base table over the feed.",
            )
        )
        return
    known = [each.statement.name for each in names.tables.values()]
    close = correction(name, known, "").strip()
    qualified = f"A table of the session's catalog is read by its full name, like default.{name}."
    errors.append(
        UserError(
            "unknown-table",
            f"{kind} {found.statement.name} reads the unknown table '{name}'",
            where=_place(found, read),
            rule=f"the tables are {names.listed_tables()}",
            next_step=f"{close} {qualified}".strip(),
        )
    )


def _check_time_travel(found: Found, read: Read, errors: list[UserError]) -> None:
    if read.time_travel:
        errors.append(
            UserError(
                "time-travel",
                f"view {found.statement.name} reads an old version of table {read.name}",
                where=_place(found, read),
                rule="each update pins the versions that it reads and records them",
                next_step="Read the table without VERSION or TIMESTAMP AS OF.",
            )
        )


def _statics(found: Found, reads: tuple[Read, ...], root: Path) -> tuple[StaticRead, ...]:
    """The tables of other storages that a query reads, or a view that its session needs."""
    every = {each.name: each for each in statics_of(reads, root)}
    for program in found.programs:
        query = program.query or f"SELECT * FROM {', '.join(program.outside) or 'nothing'}"
        for each in statics_of(reads_of(query), root):
            fixed = program.outside.get(each.name, each.time_travel)
            known = every.get(each.name)
            every[each.name] = dataclasses.replace(
                each,
                spans=() if known is None else known.spans,
                time_travel=fixed and (known is None or known.time_travel),
            )
    return tuple(every.values())


def statics_of(reads: tuple[Read, ...], root: Path) -> tuple[StaticRead, ...]:
    """The tables of other storages that a query reads."""
    by_name: dict[str, list[Read]] = {}
    for read in reads:
        if not read.stream and len(read.parts) > 1:
            by_name.setdefault(read.name, []).append(read)
    found = []
    for name, mentions in by_name.items():
        first, *rest = mentions[0].parts
        by_path = first.lower() in PATH_FORMATS and len(rest) == 1 and _is_path(rest[0], root)
        found.append(
            StaticRead(
                name,
                first.lower() if by_path else None,
                resolved(rest[0], root) if by_path else None,
                tuple((read.start, read.end) for read in mentions),
                all(read.time_travel for read in mentions),
            )
        )
    return tuple(found)


def _is_path(name: str, root: Path) -> bool:
    """Whether ``format.`name` `` means data at a path; else it is a table of schema ``format``.

    A name without a slash could be either: it is a path where the project has such a folder.
    """
    return "/" in name or (root / name).exists()


def _place(found: Found, read: Read) -> Place:
    return found.in_query(read.line)
