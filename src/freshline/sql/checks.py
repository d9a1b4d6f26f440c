"""The query of a check of a table's rows: it returns the rows that are wrong.

NULL is never a duplicate, an unaccepted value or a lost reference, as in dbt: not_null is the check
for that.
"""

from __future__ import annotations

from freshline.project.model import DataCheck
from freshline.sql.text.reads import quoted, string_literal


def wrong_rows(check: DataCheck, table: str) -> str:
    """The query, over the table's own name.

    unique and accepted_values give a row for each value with the number of its rows, the others
    the rows themselves.

    Args:
        table: The name of the table that the check is of.
    """
    rows = quoted(table)
    if check.where is not None:
        rows = f"(SELECT * FROM {rows} WHERE\n{check.where}\n) AS {rows}"
    columns = [f"(\n{column}\n)" for column in check.columns]
    if check.kind == "not_null":
        return f"SELECT * FROM {rows} WHERE {columns[0]} IS NULL"
    named = ", ".join(f"{column} AS value_{at}" for at, column in enumerate(columns, 1))
    values = [f"value_{at}" for at in range(1, len(columns) + 1)]
    given = " AND ".join(f"{value} IS NOT NULL" for value in values)
    inner = f"(SELECT {named} FROM {rows})"
    if check.kind == "unique":
        listed = ", ".join(values)
        return (
            f"SELECT {listed}, count(*) AS times FROM {inner} WHERE {given}"
            f" GROUP BY {listed} HAVING count(*) > 1"
        )
    if check.kind == "accepted_values":
        accepted = ", ".join(map(_literal, check.values))
        return (
            f"SELECT value_1, count(*) AS times FROM {inner}"
            f" WHERE value_1 NOT IN ({accepted}) GROUP BY value_1"
        )
    assert check.to is not None
    parent = f"(SELECT (\n{check.field}\n) AS parent FROM {parent_name(check)})"
    return (
        f"SELECT child.value_1 FROM {inner} AS child LEFT ANTI JOIN {parent}"
        f" ON child.value_1 = parent WHERE {given}"
    )


def parent_name(check: DataCheck) -> str:
    """The name of the table that a check of references reads besides its own."""
    to = check.to or ""
    return to if "." in to else quoted(to)


def _literal(value: object) -> str:
    if isinstance(value, str):
        return string_literal(value)
    return str(value).upper() if isinstance(value, bool) else repr(value)
