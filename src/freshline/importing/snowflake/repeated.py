"""Statements that make a table of one name: one replaces the other, or case tells them apart."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from freshline.importing.snowflake.tables import made_in, name_of

Name = tuple[str, ...]


def repeated(statements: Sequence[exp.Expr | None]) -> tuple[set[int], dict[int, str]]:
    """Which statements a later one replaces, and why those are wrong that case alone tells apart.

    Args:
        statements: Of a script, as far as they are understood, with whole names.

    Returns:
        Both by the statements' places.
    """
    replaced: set[int] = set()
    faults: dict[int, str] = {}
    known: dict[Name, list[tuple[int, Name]]] = {}
    for at, statement in enumerate(statements):
        made = made_in(statement)
        if statement is None or made is None:
            continue
        name = tuple(
            part.name if part.args.get("quoted") else part.name.upper() for part in made.parts
        )
        same = known.setdefault(name_of(made), [])
        for before, other in same:
            size = min(len(name), len(other))  # either may leave out what USE says
            if other[-size:] != name[-size:]:
                told = f"its name and {'.'.join(other)} differ by case alone: rename one of them"
                faults[at] = told
                faults.setdefault(before, told.replace(".".join(other), ".".join(name)))
            elif statement.args.get("replace"):
                replaced.add(before)
        same.append((at, name))
    return replaced, faults
