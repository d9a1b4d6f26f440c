"""The tables and views that a script makes, and what it says about the types of their columns."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from freshline.importing.scopes import Parts, Scope

_NAME = "freshline_name"


def made_in(statement: exp.Expr | None) -> exp.Table | None:
    """The name of the table or view that a statement makes; None: it makes none."""
    if not isinstance(statement, exp.Create) or statement.kind not in {"TABLE", "VIEW"}:
        return None
    made = statement.this
    table = made.this if isinstance(made, exp.Schema) else made
    return table if isinstance(table, exp.Table) and table.name else None


def with_public(statement: exp.Expr) -> None:
    """Puts in the schema of names with two dots: ``shop..orders`` is in PUBLIC."""
    for table in statement.find_all(exp.Table):
        if table.args.get("catalog") is not None and table.name and not table.db:
            table.set("db", exp.to_identifier("public"))


def say_names(statement: exp.Expr | None, scope: Scope) -> None:
    """Notes for each name of a table in a statement what it means there.

    Args:
        statement: It is changed.
        scope: What short names belong to where it stands.
    """
    made = made_in(statement)
    if statement is None or made is None:
        return
    properties = statement.args.get("properties")
    dynamic = properties is not None and properties.find(exp.DynamicProperty) is not None
    own = scope.of(_parts(made), dynamic=dynamic)
    for table in statement.find_all(exp.Table):
        at = scope if table is made else own
        table.meta[_NAME] = tuple(part.lower() for part in at.full(_parts(table)))


class Tables:
    """What the statements of a script make, by name.

    A name may leave out parts that no USE says. Where it can then be several tables, none is
    found: nothing is known about the types of its columns.

    Attributes:
        made: Their statements, by the parts of the name in lower case.
    """

    def __init__(self, statements: Iterable[exp.Create] = ()) -> None:
        self.made: dict[Parts, exp.Create] = {}
        for statement in statements:
            if (table := made_in(statement)) is not None:
                self.made.setdefault(name_of(table), statement)

    def made_by(self, table: exp.Table) -> exp.Create | None:
        """The one statement that makes a table; None: there is none, or several could."""
        name = name_of(table)
        if name in self.made:
            return self.made[name]
        found = [
            statement
            for parts, statement in self.made.items()
            if parts[-len(name) :] == name or name[-len(parts) :] == parts
        ]
        return found[0] if len(found) == 1 else None


def name_of(table: exp.Table) -> Parts:
    """The whole name of what a name in a statement means, as far as it is known; in lower case."""
    return table.meta.get(_NAME) or tuple(part.lower() for part in _parts(table))


def _parts(table: exp.Table) -> Parts:
    return tuple(part.name for part in table.parts)
