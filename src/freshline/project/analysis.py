"""What a query's syntax tree tells before Spark is asked: row-wise or not, output columns."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from freshline.core.errors import Place, UserError
from freshline.project.model import TableDef
from freshline.project.names import correction, listed
from freshline.sql.text.outputs import output_columns
from freshline.sql.text.rowwise import row_wise
from freshline.sql.text.statements import Statement


def analyse(table: TableDef, statement: Statement, errors: list[UserError]) -> TableDef:
    """Checks one table; returns it with ``analysed`` as it came out.

    Args:
        statement: The one that defines it, for the lines of what it names.
    """
    if table.kind == "base" and len(table.feed_spans) == 1:
        verdict = row_wise(table.query)
        if verdict.fault is not None:
            errors.append(not_row_wise(table, verdict.fault))
        table = replace(table, analysed=verdict.analysed)
    columns = output_columns(table.query)
    if columns is not None:
        _check_columns(table, statement, columns, errors)
    return table


def not_row_wise(table: TableDef, fault: str) -> UserError:
    """The error of a base table some of whose rows are not made from one record each."""
    return UserError(
        "not-row-wise",
        f"the query of the base table {table.name} is not row-wise: {fault}",
        where=table.query_place,
        rule="each record of the feed makes its rows by itself",
        next_step="Keep the records here and do the rest in a materialized view.",
    )


def _check_columns(
    table: TableDef, statement: Statement, columns: tuple[str, ...], errors: list[UserError]
) -> None:
    lower = Counter(column.lower() for column in columns)
    for column in dict.fromkeys(column for column in columns if lower[column.lower()] > 1):
        errors.append(
            UserError(
                "duplicate-column",
                f"the query of table {table.name} gives the column {column} twice",
                where=table.query_place,
                rule="a table's columns have different names, compared without case",
                next_step="Give one of them another name with AS.",
            )
        )
        break
    wanted = [
        (f"'{each.key}'", each.value, each.line)
        for each in statement.properties
        if each.key == "freshline.time" and each.value == table.time_column
    ]
    wanted += [
        ("PARTITIONED BY", column, statement.partitioned_line) for column in table.partitioned_by
    ]
    for what, column, line in wanted:
        if column.lower() not in lower:
            errors.append(
                UserError(
                    "unknown-column",
                    f"{what} of table {table.name} names the column '{column}'",
                    where=Place(table.place.file, line),
                    rule=f"its query gives {listed(columns)}",
                    next_step=correction(column, columns, "Name a column of the query."),
                )
            )
