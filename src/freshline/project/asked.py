"""A submitted report: a query over the project's tables, from a file of its own."""

from __future__ import annotations

from collections.abc import Iterable

from freshline.core.errors import Place, UserError
from freshline.project.model import Project, TableDef
from freshline.project.names import correction, listed, name_fault
from freshline.project.tables import statics_of
from freshline.sql.text.reads import reads_of
from freshline.sql.text.tokens import SqlTextError


def arrival_faults(report: str, parents: Iterable[TableDef], where: Place) -> list[UserError]:
    """Of the tables that a report reads, an error for each whose rows nobody can give a window.

    Without an event time a row is of the window in which it arrived. Updates tell that as long
    as files are loaded in their order, which a table that loads the newest first does not do.
    """
    return [
        UserError(
            "newest-first-report",
            f"the report {report} reads {parent.name} by arrival, and that loads the newest files "
            "first",
            where=where,
            rule="rows without an event time are of the window in which they arrived, so their "
            "files must be loaded in order",
            next_step=f"Name the event-time column of {parent.name} with 'freshline.time', or "
            "remove its 'freshline.catch_up'.",
        )
        for parent in parents
        if parent.kind == "base" and parent.catch_up == "newest" and parent.time_column is None
    ]


def asked_table(project: Project, name: str, query: str, where: Place) -> TableDef:
    """The definition of the table that holds the report's result.

    Args:
        name: Of the report; its result is the Delta table STORAGE/name.
        query: Its text.
        where: Where that stands.

    Raises:
        UserError: The name is taken or cannot name a table, the query cannot be read, or it
            reads what the project has not got.
    """
    rule = name_fault(name)
    if rule is not None:
        raise UserError(
            "bad-name", f"'{name}' cannot name a report", where=where, rule=rule,
            next_step="Give it another one with --name.",
        )  # fmt: skip
    taken = [table.name for table in (*project.tables, *project.reports)]
    if name.lower() in (each.lower() for each in taken):
        raise UserError(
            "duplicate-name", f"project {project.name} has a table {name} already", where=where,
            rule="the result of a report is a table of its own",
            next_step="Give the report another name with --name.",
        )  # fmt: skip
    query = query.strip().removesuffix(";").rstrip()
    try:
        reads = reads_of(query)
    except SqlTextError as error:
        raise UserError(
            "bad-sql", f"query of the report {name}: {error.what}",
            where=Place(where.file, (where.line or 1) + error.line - 1),
            next_step="Correct the query.",
        ) from error  # fmt: skip
    known = {table.name.lower(): table.name for table in project.tables}
    parents: dict[str, None] = {}
    for read in reads:
        if len(read.parts) > 1 and not read.stream:
            continue
        if read.stream or read.parts[0].lower() not in known:
            raise UserError(
                "unknown-table", f"the report {name} reads the unknown table '{read.name}'",
                where=Place(where.file, (where.line or 1) + read.line - 1),
                rule=f"the tables are {listed(known.values())}",
                next_step=correction(read.name, known.values(), "Use one of these names."),
            )  # fmt: skip
        parents[known[read.parts[0].lower()]] = None
    faults = arrival_faults(name, (project.table(each) for each in parents), where)
    if faults:
        raise faults[0]
    if not parents:
        raise UserError(
            "report-without-source", f"the report {name} reads no table of this project",
            where=where, rule="its window is that of the streams that it reads",
            next_step="Read a base table of the project.",
        )  # fmt: skip
    return TableDef(
        name=name,
        kind="derived",
        query=query,
        query_place=where,
        place=where,
        parents=tuple(parents),
        statics=statics_of(reads, project.root),
    )
