"""The exception with which an analysis gives up on a query: it carries the reason."""

from __future__ import annotations

from sqlglot import exp

from freshline.sql.query.records import Reason

_LONGEST_SQL = 200


class Unsupported(Exception):  # noqa: N818 - a finding about a query, not a fault
    """A query cannot be treated in the way that was asked for.

    Attributes:
        reason: Why, for the person who wrote the query.
    """

    def __init__(self, reason: Reason) -> None:
        super().__init__(f"{reason.code}: {reason.message}")
        self.reason = reason


def unsupported(code: str, message: str, part: exp.Expr | None = None) -> Unsupported:
    """The exception for ``code``; ``part`` is the piece of the query it is about."""
    return Unsupported(Reason(code, message, None if part is None else text_of(part)))


def text_of(part: exp.Expr) -> str:
    """``part`` as SQL to be shown to people, cut where it is long."""
    text = part.sql(dialect="spark", comments=False)
    return text if len(text) <= _LONGEST_SQL else text[: _LONGEST_SQL - 3] + "..."
