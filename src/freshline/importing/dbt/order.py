"""A model's query with its columns in the order that they have in dbt's table.

Queries that read a table by `SELECT *` and by position depend on it: dbt puts the columns of a
contract in the order of the contract, and Spark those that partition a table at its end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from freshline.importing.inlining import without_end
from freshline.sql.text.outputs import output_columns
from freshline.sql.text.reads import quoted_column
from freshline.sql.text.tokens import SqlTextError

_KEEP_ORDER = frozenset({"delta", "iceberg"})
"""Formats of tables whose partition columns stay where they are."""


def in_order(
    query: str, node: Mapping[str, Any], partitioned_by: Sequence[str], adapter: str
) -> str:
    """The query of a model that is a table.

    Args:
        query: As it was compiled.
        node: Of the manifest.
        partitioned_by: The columns that partition the table.
        adapter: dbt's.
    """
    config = node.get("config") or {}
    agreed = (config.get("contract") or {}).get("enforced")
    format_ = str(config.get("file_format") or ("" if adapter == "spark" else "delta")).lower()
    last = [each.strip("`") for each in partitioned_by if format_ not in _KEEP_ORDER]
    if not agreed and not last:
        return query
    try:
        inner = without_end(query)
    except (SqlTextError, ValueError):
        return query  # it is refused for that
    given = list(output_columns(inner) or ())
    wanted = list(node.get("columns") or ()) if agreed else given
    if wanted:
        ends = [each.lower() for each in last]
        wanted = [each for each in wanted if each.lower() not in ends] + last
    if wanted and [each.lower() for each in wanted] == [each.lower() for each in given]:
        return query
    chosen = ", ".join(map(quoted_column, wanted or last))
    if not wanted:
        chosen = f"* EXCEPT ({chosen}), {chosen}"
    return f"SELECT {chosen} FROM (\n{inner}\n) AS model_subq"
