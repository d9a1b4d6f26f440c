"""Whether two relations hold the same rows, each as often."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import duckdb

TOLERANCE = 1e-9
"""Of floating-point columns, relative and absolute: sums depend on the order of the rows."""
_INEXACT = ("DOUBLE", "FLOAT")


def difference(db: duckdb.DuckDBPyConnection, actual: str, expected: str) -> str | None:
    """What differs between two relations, or None.

    Args:
        db: Knows both.
        actual: SQL of a query: what is there.
        expected: SQL of a query: what should be there.

    Returns:
        One line: the columns, the counts or the first rows that differ.
    """
    columns = _columns(db, actual)
    wanted = _columns(db, expected)
    if list(columns) != list(wanted):
        return f"it has the columns {', '.join(columns)}, its query {', '.join(wanted)}"
    if any(kind in _INEXACT for kind in (*columns.values(), *wanted.values())):
        return _nearly(db, actual, expected, wanted)
    too_many = _only_in(db, actual, expected)
    missing = _only_in(db, expected, actual)
    if not too_many and not missing:
        return None
    return f"{_rows('too many', too_many)}; {_rows('missing', missing)}"


def _columns(db: duckdb.DuckDBPyConnection, query: str) -> dict[str, str]:
    described = db.execute(f"DESCRIBE {query}").fetchall()
    return {str(row[0]): str(row[1]) for row in described}


def _only_in(db: duckdb.DuckDBPyConnection, one: str, other: str) -> list[tuple[Any, ...]]:
    left = f"(FROM ({one})) EXCEPT ALL (FROM ({other}))"
    return db.execute(f"FROM ({left}) ORDER BY ALL").fetchall()


def _nearly(
    db: duckdb.DuckDBPyConnection, actual: str, expected: str, columns: dict[str, str]
) -> str | None:
    """Rows paired in the order of their exact columns, floating-point ones compared nearly."""
    inexact = [kind in _INEXACT for kind in columns.values()]
    places = sorted(range(len(inexact)), key=inexact.__getitem__)
    order = ", ".join(str(place + 1) for place in places)
    one, other = (
        # The other's types count, too, as they do in a set operation: a date is its midnight.
        db.execute(
            f"FROM ((FROM ({query})) UNION ALL (FROM ({types}) LIMIT 0)) ORDER BY {order}"
        ).fetchall()
        for query, types in ((actual, expected), (expected, actual))
    )
    if len(one) != len(other):
        return f"it has {len(one)} rows, its query {len(other)}"
    for left, right in zip(one, other, strict=True):
        if not _same(left, right):
            return f"row {left} should be {right}"
    return None


def _same(left: Sequence[Any], right: Sequence[Any]) -> bool:
    return all(
        one == other
        or (
            isinstance(one, float)
            and isinstance(other, float)
            and (
                math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
                or (math.isnan(one) and math.isnan(other))
            )
        )
        for one, other in zip(left, right, strict=True)
    )


def _rows(what: str, rows: list[tuple[Any, ...]]) -> str:
    if not rows:
        return f"{what}: none"
    shown = ", ".join(str(row) for row in rows[:2])
    return f"{what}: {len(rows)} ({shown}{', ...' if len(rows) > 2 else ''})"
