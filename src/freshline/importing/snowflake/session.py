"""What ALTER SESSION says about the statements behind it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlglot import exp

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
