"""Whether an incremental model keeps rows or values that its query does not give again.

A column that says when dbt loaded a row (``current_timestamp() AS loaded_at``) is told, and no
more: the rows are the query's all the same. Where the clock decides which rows there are, or a
row's identity is chance, only dbt's table has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from freshline.importing.dbt.manifest import Manifest, depends, mapping
from freshline.sql.text.functions import AGGREGATES, is_call, volatile_call
from freshline.sql.text.tokens import SqlTextError, Token, tokens

_CASTS = frozenset({"cast", "as", "date", "timestamp", "timestamp_ntz", "to_date", "to_timestamp"})
_MORE_THAN_ROWS = ("UNION", "INTERSECT", "EXCEPT", "MINUS", "DISTINCT", "GROUP", "HAVING", "LIMIT")


def lost_history(node: Mapping[str, Any], manifest: Manifest) -> str | None:
    """Why an incremental model has rows that its query does not give again, or None."""
    left, seen = [("", node)], set[str]()
    while left:
        key, each = left.pop(0)
        try:
            found = tokens(str(each.get("compiled_code") or ""))
        except SqlTextError:
            found = []  # it is refused for that
        call = volatile_call(found if key else _without(found, _times(found)))
        if call is not None:
            place = f" in {key}" if key else ""
            return (
                f"it asks {'the clock' if call[1] == 'clock' else 'chance'}"
                f" ({call[0].text}{place}): its rows are those of the times when dbt added them,"
                " and its query gives other ones in their place"
            )
        for parent in depends(each):
            of = manifest.nodes.get(parent, {})
            if parent not in seen and mapping(of.get("config")).get("materialized") == "view":
                seen.add(parent)
                left.append((parent, of))
    return None


def load_times(query: str) -> list[str]:
    """The columns of a query that are the time at which it runs, in all rows."""
    try:
        return [item[-1].name for item in _times(tokens(query))]
    except SqlTextError:
        return []


def _times(found: list[Token]) -> list[list[Token]]:
    """The columns, with their names, of a query that keeps rows as they are; else none."""
    depth, outer = 0, list[Token]()
    for token in found:
        depth -= token.is_symbol(")")
        if depth == 0:
            outer.append(token)
        depth += token.is_symbol("(")
    selects = [token for token in outer if token.is_word("SELECT")]
    froms = [token for token in outer if token.is_word("FROM")]
    if len(selects) != 1 or not froms or any(token.is_word(*_MORE_THAN_ROWS) for token in outer):
        return []
    columns = found[found.index(selects[0]) + 1 : found.index(froms[0])]
    if any(is_call(columns, at) and columns[at].text.lower() in AGGREGATES
           for at in range(len(columns))):  # fmt: skip
        return []
    return [item for item in _items(columns) if _is_time(item)]


def _items(columns: list[Token]) -> list[list[Token]]:
    items, depth = [list[Token]()], 0
    for token in columns:
        depth += token.is_symbol("(") - token.is_symbol(")")
        if token.is_symbol(",") and depth == 0:
            items.append([])
        else:
            items[-1].append(token)
    return items


def _is_time(item: list[Token]) -> bool:
    """Whether a column is a call of the clock, maybe cast, and has a name."""
    call = volatile_call(item)
    if call is None or call[1] != "clock" or len(item) < 2 or not item[-1].is_name:  # noqa: PLR2004 - a call and a name
        return False
    others = [
        token
        for token in item[:-1]
        if token.kind != "symbol" and token is not call[0] and token.text.lower() not in _CASTS
    ]
    return not others


def _without(found: list[Token], items: list[list[Token]]) -> list[Token]:
    left_out = {token.start for item in items for token in item}
    return [token for token in found if token.start not in left_out]
