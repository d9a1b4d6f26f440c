"""The tables and views that a script makes, and what it says about the types of their columns."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

Parts = tuple[str, ...]


class Tables:
    """What the statements of a script make, by name.

    A name may leave out parts. Where it can then be several tables, none is found: nothing is
    known about the types of its columns.

    Attributes:
        made: Their statements, by the parts of the name in lower case.
    """

    def __init__(self, statements: Iterable[exp.Create] = ()) -> None:
        self.made: dict[Parts, exp.Create] = {}
        for statement in statements:
            made = statement.this
            table = made.this if isinstance(made, exp.Schema) else made
            if isinstance(table, exp.Table):
                self.made.setdefault(_parts(table), statement)

    def made_by(self, table: exp.Table) -> exp.Create | None:
        """The one statement that makes a table; None: there is none, or several could."""
        name = _parts(table)
        if name in self.made:
            return self.made[name]
        found = [
            statement
            for parts, statement in self.made.items()
            if parts[-len(name) :] == name or name[-len(parts) :] == parts
        ]
        return found[0] if len(found) == 1 else None


def _parts(table: exp.Table) -> Parts:
    return tuple(part.name.lower() for part in table.parts)
