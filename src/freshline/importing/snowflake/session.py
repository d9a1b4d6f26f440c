"""What ALTER SESSION, and CREATE or ALTER of a schema, say about the statements behind them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from sqlglot import exp

from freshline.importing.scopes import Parts, Scope, changed_schema

ZONE = "TIMEZONE"
_DECIDING = frozenset(
    {
        "TIMESTAMP_TYPE_MAPPING", "DATE_INPUT_FORMAT", "TIME_INPUT_FORMAT",
        "TIMESTAMP_INPUT_FORMAT", "DATE_OUTPUT_FORMAT", "TIME_OUTPUT_FORMAT",
        "TIMESTAMP_OUTPUT_FORMAT", "TIMESTAMP_NTZ_OUTPUT_FORMAT", "TIMESTAMP_LTZ_OUTPUT_FORMAT",
        "TIMESTAMP_TZ_OUTPUT_FORMAT", "TWO_DIGIT_CENTURY_START", "BINARY_INPUT_FORMAT",
        "BINARY_OUTPUT_FORMAT", "WEEK_START", "WEEK_OF_YEAR_POLICY",
        "QUOTED_IDENTIFIERS_IGNORE_CASE", "DEFAULT_NULL_ORDERING",
    }
)  # fmt: skip
"""Parameters with which the same statement makes another table."""
_COLLATION = re.compile(r"\bDEFAULT_DDL_COLLATION\s*=\s*'([^']*)'", re.IGNORECASE)
_NO_COLLATION = re.compile(r"\bUNSET\b.*\bDEFAULT_DDL_COLLATION\b", re.IGNORECASE | re.DOTALL)


def altered(statement: exp.Expr | None) -> dict[str, str | None]:
    """The parameters that an ALTER SESSION sets; None: it takes their value back."""
    if not isinstance(statement, exp.Alter) or str(statement.args.get("kind")) != "SESSION":
        return {}
    found: dict[str, str | None] = {}
    for item in statement.find_all(exp.SetItem):
        is_set = isinstance(item.this, exp.EQ)
        name = item.this.this.name if is_set else item.this.name
        found[name.upper()] = item.this.expression.name if is_set else None
    return found


def zone_of(statements: Iterable[exp.Expr | None]) -> str | None:
    """The time zone of the new project: the first that the script sets; None: it sets none."""
    zones = (altered(statement).get(ZONE) for statement in statements)
    return next((zone for zone in zones if zone), None)


def session_faults(statements: Iterable[exp.Expr | None], zone: str | None) -> Iterator[str | None]:
    """Why a statement means something else in its session than in the new project's, for each.

    Args:
        statements: Of the script, in order.
        zone: Of the new project.
    """
    now, is_set = zone, False
    deciding: dict[str, None] = {}
    for statement in statements:
        for name, value in altered(statement).items():
            if name == ZONE:
                now, is_set = value, True
            elif name in _DECIDING:
                deciding[name] = None
        if not isinstance(statement, exp.Create):
            yield None
        elif deciding:
            yield f"ALTER SESSION SET {', '.join(deciding)} in front of it changes what it means"
        elif isinstance(statement.expression, exp.Query) and is_set and now != zone:
            yield (
                f"its session's time zone is {now or 'not said'}, that of statements in front of it"
                f" {zone}, and a project has one: import it from a script of its own"
            )
        else:
            yield None


class Collations:
    """The collations that texts of new tables have because their schema or database says so."""

    def __init__(self) -> None:
        self._known: dict[Parts, str] = {}

    def say(self, text: str, scope: Scope) -> None:
        """Takes in a statement, whatever it does."""
        text = text.strip()
        changed = changed_schema(text, scope)
        if changed is None:
            return
        kind, name = changed
        key = (kind, *name)
        if (found := _COLLATION.search(text)) is not None:
            self._known[key] = found[1]
        elif _NO_COLLATION.search(text):
            self._known.pop(key, None)

    def of(self, table: Parts) -> str | None:
        """What texts of a table are compared by, if its own statement does not say it.

        Args:
            table: Its whole name, as far as it is known, in lower case.
        """
        around = table[:-1]
        places: list[Parts] = [("SCHEMA", *around), ("SCHEMA",)]
        if len(around) != 1:  # else its database is not known
            places.append(("DATABASE", *around[:1]))
        places += [("DATABASE",)]
        return next((self._known[place] for place in places if place in self._known), None)
