"""The project's SQL files as DuckDB understands them, read with sqlglot alone.

freshline has no part in this: what it made of the files is what is to be checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import sqlglot
from sqlglot import exp


@dataclass(frozen=True, slots=True)
class Query:
    """One statement of the project.

    Attributes:
        table: The table that it defines.
        base: Whether it reads a feed.
        reads: What it reads, by the names in the query: a feed, tables, ``delta.`path` ``.
        duckdb: The query in DuckDB's SQL; what it reads has the names of ``reads``.
        priority: As declared.
        target: The target_lag as written, or a dash.
    """

    table: str
    base: bool
    reads: tuple[str, ...]
    duckdb: str
    priority: float
    target: str


def read_queries(folder: Path) -> list[Query]:
    """All statements of the SQL files in ``folder``, in order of files, then statements."""
    statements = [
        statement
        for path in sorted(folder.glob("**/*.sql"))
        for statement in sqlglot.parse(path.read_text(), read="databricks")
    ]
    return [_query(each) for each in statements if isinstance(each, exp.Create)]


def _query(statement: exp.Create) -> Query:
    query = statement.expression
    base = False
    for stream in list(query.find_all(exp.Stream)):
        base = True
        stream.replace(stream.this)
    reads: dict[str, None] = {}
    for table in list(query.find_all(exp.Table)):
        name = f"{table.db}.`{table.name}`" if table.db else table.name
        reads[name] = None
        alias = table.alias or table.name
        table.replace(exp.table_(exp.to_identifier(name, quoted=True), alias=alias))
    properties = {
        each.name: each.args["value"].name
        for each in statement.find_all(exp.Property)
        if "value" in each.args
    }
    return Query(
        table=statement.this.name,
        base=base,
        reads=tuple(reads),
        duckdb=query.sql("duckdb"),
        priority=float(properties.get("freshline.priority", "1")),
        target=properties.get("freshline.target_lag", "-"),
    )


def duckdb_columns(schema: str) -> dict[str, str]:
    """A feed's schema (Spark's DDL) as DuckDB's types, by column."""
    table = sqlglot.parse_one(f"CREATE TABLE feed ({schema})", read="spark")
    return {
        column.name: column.args["kind"].sql("duckdb") for column in table.find_all(exp.ColumnDef)
    }
