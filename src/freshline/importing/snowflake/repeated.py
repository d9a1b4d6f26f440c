"""Statements that make a table of one name: one replaces the other, or case tells them apart."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

Name = tuple[str, ...]
_USE = re.compile(r"\s*USE\s", re.IGNORECASE)


def repeated(
    statements: Sequence[exp.Expr | None], texts: Sequence[str]
) -> tuple[set[int], dict[int, str]]:
    """Which statements a later one replaces, and why those are wrong that case alone tells apart.

    Args:
        statements: Of a script, as far as they are understood.
        texts: Of the same.

    Returns:
        Both by the statements' places.
    """
    replaced: set[int] = set()
    faults: dict[int, str] = {}
    known: dict[Name, list[tuple[int, Name]]] = {}
    for at, (statement, text) in enumerate(zip(statements, texts, strict=True)):
        if _USE.match(text):
            known.clear()  # the same short name is another table from here on
        name = _meant(statement)
        if name is None or not isinstance(statement, exp.Create):
            continue
        same = known.setdefault(tuple(part.lower() for part in name), [])
        for before, other in same:
            if other != name:
                told = f"its name and {'.'.join(other)} differ by case alone: rename one of them"
                faults[at] = told
                faults.setdefault(before, told.replace(".".join(other), ".".join(name)))
            elif statement.args.get("replace"):
                replaced.add(before)
        same.append((at, name))
    return replaced, faults


def _meant(statement: exp.Expr | None) -> Name | None:
    """The name of what a statement makes; without quotes it is in capitals."""
    made = statement.this if isinstance(statement, exp.Create) else None
    table = made.this if isinstance(made, exp.Schema) else made
    if not isinstance(table, exp.Table) or not table.name:
        return None
    return tuple(
        part.name if part.args.get("quoted") else part.name.upper() for part in table.parts
    )
