"""What ALTER SESSION, and CREATE or ALTER of a schema, say about the statements behind them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from freshline.importing.scopes import Parts, Scope, changed_schema
from freshline.importing.snowflake.translation import SNOWFLAKE
from freshline.importing.snowflake.variables import variable_in

ZONE = "TIMEZONE"
UNREAD = "?"
"""Stands for a value that the script does not say."""
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
BEFORE_ZONE = (
    "it stands in front of the first ALTER SESSION SET TIMEZONE; as far as the script says, no"
    " value of it depends on a time zone"
)
"""What is told of a query that could not be taken, did anything in it depend on a zone."""
_COLLATION = re.compile(r"\bDEFAULT_DDL_COLLATION\s*=\s*'([^']*)'", re.IGNORECASE)
_NO_COLLATION = re.compile(r"\bUNSET\b.*\bDEFAULT_DDL_COLLATION\b", re.IGNORECASE | re.DOTALL)


def altered(text: str) -> Mapping[str, str | None]:
    """The parameters that an ALTER SESSION sets; None: it takes their value back.

    It is read from its words: sqlglot knows commas between parameters, and neither blanks nor
    variables for values.
    """
    found = SNOWFLAKE.tokenize(text)
    if [each.text.upper() for each in found[:2]] != ["ALTER", "SESSION"]:
        return {}
    parts = [each for each in found[3:] if each.token_type != TokenType.COMMA]
    if found[2:3] and found[2].text.upper() == "UNSET":
        return {each.text.upper(): None for each in parts}
    starts = [at for at, each in enumerate(parts[1:]) if each.token_type == TokenType.EQ]
    return {
        parts[start].text.upper(): _value(parts[start + 2 : end])
        for start, end in pairwise([*starts, len(parts)])
    }


def _value(found: Sequence[Token]) -> str:
    """A literal as the script has it."""
    return UNREAD if len(found) != 1 or variable_in(found[0].text) else found[0].text


def zone_of(altered: Iterable[Mapping[str, str | None]]) -> str | None:
    """The time zone of the new project: the first that the script sets; None: it sets none.

    Args:
        altered: The parameters that each statement sets.
    """
    zones = (each.get(ZONE) for each in altered)
    return next((zone for zone in zones if zone and zone != UNREAD), None)


def session_faults(
    statements: Iterable[exp.Expr | None],
    altered: Iterable[Mapping[str, str | None]],
    zone: str | None,
    needs_zone: Callable[[exp.Create], bool],
) -> Iterator[str | None]:
    """Why a statement means something else in its session than in the new project's, for each.

    ``BEFORE_ZONE`` is no reason, but is to be told.

    Args:
        statements: Of the script, in order.
        altered: The parameters that each of them sets.
        zone: Of the new project.
        needs_zone: Whether a query may depend on a time zone.
    """
    now: str | None = None
    deciding: dict[str, None] = {}
    for statement, parameters in zip(statements, altered, strict=True):
        now = parameters.get(ZONE, now)
        deciding |= dict.fromkeys(name for name in parameters if name in _DECIDING)
        if not isinstance(statement, exp.Create):
            yield None
        elif deciding:
            yield f"ALTER SESSION SET {', '.join(deciding)} in front of it changes what it means"
        elif not isinstance(statement.expression, exp.Query) or now == zone:
            yield None
        elif now is None and not needs_zone(statement):
            yield BEFORE_ZONE
        elif now == UNREAD:
            yield (
                "the time zone that ALTER SESSION sets in front of it cannot be read: write its"
                " name there"
            )
        else:
            yield (
                f"its session's time zone is {now or 'not said'}, that of other statements {zone},"
                " and a project has one: import it from a script of its own, or put ALTER SESSION"
                " SET TIMEZONE in front of it if that is its zone, too"
            )


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
