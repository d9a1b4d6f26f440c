"""Queries told from texts that begin like one and write, or read what they do not name.

Spark carries out ``WITH … INSERT``, ``WITH … DELETE`` and ``FROM t INSERT`` when it is given them,
even if only the columns are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from freshline.sql.text.tokens import SqlTextError, Token

_BEGINNINGS = ("SELECT", "FROM", "VALUES", "TABLE", "MAP", "REDUCE")

_BY_TEXT = frozenset({"table_changes", "table_changes_by_path"})
"""Table functions of Delta's that read a table whose name or path is their argument."""
_OF_SPARK: tuple[list[str], ...] = ([], ["builtin"], ["system", "builtin"])


def refuse_table_in_text(function: Sequence[str], line: int) -> None:
    """Raise if a table function reads a table that it gets as a text.

    No change of that table would be noticed: it is not among those that the query names.

    Raises:
        SqlTextError: It does.
    """
    *schema, name = [part.lower() for part in function]
    if name in _BY_TEXT and schema in _OF_SPARK:
        raise SqlTextError(
            f"{name} reads a table that only a text names, so no change of it would be noticed;"
            " a table is read by its name, in FROM, its changes by a feed (docs/delta-feeds.md)",
            line,
        )


def check_query(tokens: Iterable[Token]) -> None:
    """Raise if the tokens spell no query.

    Raises:
        SqlTextError: They are none, begin otherwise, or write.
    """
    rest = _outside_parentheses(tokens)
    if not rest:
        raise SqlTextError("there is no query", 1)
    if rest[0].is_word("WITH"):
        rest = _behind_with(rest)
    if not (rest[0].is_symbol("(") or rest[0].is_word(*_BEGINNINGS)):
        raise SqlTextError(
            f"a query is expected, and {rest[0].text.upper()} is no beginning of one", rest[0].line
        )
    for each, behind in pairwise(rest):
        if each.is_word("INSERT") and behind.is_word("INTO", "OVERWRITE"):
            raise SqlTextError(f"it writes: INSERT {behind.text.upper()}", each.line)


def is_query(tokens: Iterable[Token]) -> bool:
    """Whether the tokens spell a query."""
    try:
        check_query(tokens)
    except SqlTextError:
        return False
    return True


def _outside_parentheses(tokens: Iterable[Token]) -> list[Token]:
    """The tokens, of each text in parentheses only the one that opens it."""
    depth, found = 0, []
    for token in tokens:
        depth -= token.is_symbol(")")
        if depth == 0 and not token.is_symbol(")"):
            found.append(token)
        depth += token.is_symbol("(")
    return found


def _behind_with(tokens: list[Token]) -> list[Token]:
    """What follows the last named query; without that, what there is."""
    for at, (each, behind) in enumerate(pairwise(tokens)):
        goes_on = behind.is_word("AS", "MAX") or behind.is_symbol(",")
        if each.is_symbol("(") and not goes_on:
            return tokens[at + 1 :]
    return tokens
