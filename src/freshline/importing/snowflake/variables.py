"""What Snowflake's tools replace in a text before its statement is run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

_SURE = re.compile(r"<%.*?%>|\{\{.*?\}\}|&\{[^}]*\}")
_OF_SNOWSQL = re.compile(r"&\w+")


def variable_in(text: str) -> str | None:
    """The variable in a text; None: it has none, or perhaps one."""
    found = _SURE.search(text) or _OF_SNOWSQL.fullmatch(text)
    return None if found is None else found[0]


def variable_fault(statement: exp.Expr | None) -> str | None:
    """Why a statement whose query has a variable in a text or name is not taken; None: it has none.

    Spark would compare with the variable's name.
    """
    for text in _texts(statement):
        if variable := variable_in(text):
            return f"it has the variable {variable}: write its value"
    return None


def variable_notes(statement: exp.Expr | None) -> tuple[str, ...]:
    """What is to be said of texts in a statement's query, such as 'AT&T', that may have one."""
    notes = (
        f"'{text}' in it is taken as it stands: with variable_substitution, SnowSQL replaces"
        f" {found[0]} in it"
        for text in _texts(statement)
        if (found := _OF_SNOWSQL.search(text))
    )
    return tuple(dict.fromkeys(notes))


def _texts(statement: exp.Expr | None) -> Iterator[str]:
    query = statement.expression if isinstance(statement, exp.Create) else None
    if query is None:
        return
    for node in query.find_all(exp.Literal, exp.RawString, exp.Identifier):
        if not isinstance(node, exp.Literal) or node.is_string:
            yield node.this
