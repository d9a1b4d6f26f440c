"""Why a statement cannot be translated, and how its parts are shown."""

from __future__ import annotations

from sqlglot import exp

_LONG = 60


class UntranslatableError(Exception):
    """A query that has no Spark SQL of the same meaning; the message is the reason."""


def shown(node: exp.Expr) -> str:
    """A part of a statement as Snowflake writes it, cut where it is long."""
    text = " ".join(node.sql(dialect="snowflake").split())
    return f"`{text[:_LONG]}...`" if len(text) > _LONG else f"`{text}`"
