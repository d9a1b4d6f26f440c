"""The user's text in words that sqlglot reads as Spark does.

Comments are left out: sqlglot takes them for parts of expressions, and does not know them
between two words of a clause. Three things are said otherwise, each in a way that means the same
to Spark: ``window`` behind GROUP BY, which sqlglot takes for a keyword, stands in backquotes; a
quote that is doubled within a string, which sqlglot takes for the end of one string and the
beginning of another, has a backslash instead; and a built-in function, which sqlglot does not
know by its full name ``system.builtin.lag``, has its short one.
"""

from __future__ import annotations

import re

from freshline.sql.text.tokens import Token, tokens

_ESCAPED_OR_DOUBLED = re.compile(r"\\.|(['\"])\1", re.DOTALL)


def legible(query: str) -> str:
    """``query`` as sqlglot can read it.

    Raises:
        SqlTextError: A string, a backquoted name or a comment is not closed.
    """
    query = _without_comments(query)
    found = tokens(query)
    for at in range(len(found) - 1, -1, -1):
        token = found[at]
        start, end = token.start, token.end
        if token.kind == "string":
            written = _with_backslashes(token)
        elif _names_window(found, at):
            written = f"`{token.text}`"
        elif prefix := _full_name(found, at):
            start, end, written = prefix[0].start, token.start, ""
        else:
            continue
        query = f"{query[:start]}{written}{query[end:]}"
    return query


def _without_comments(query: str) -> str:
    """``query`` with a space for each comment; hints are none."""
    found = tokens(query)
    ends = [0, *(token.end for token in found)]
    starts = [*(token.start for token in found), len(query)]
    for end, start in reversed(list(zip(ends, starts, strict=True))):
        if query[end:start].strip():
            query = f"{query[:end]} {query[start:]}"
    return query


def _full_name(found: list[Token], at: int) -> list[Token]:
    """The tokens in front of a function's short name that make it the full one."""
    if not (found[at].is_name and at + 1 < len(found) and found[at + 1].is_symbol("(")):
        return []
    for prefix in (("system", "builtin"), ("builtin",)):
        before = found[max(at - 2 * len(prefix), 0) : at]
        names = tuple(token.name.lower() for token in before[::2])
        if names == prefix and all(token.is_symbol(".") for token in before[1::2]):
            first = at - len(before)
            return [] if first and found[first - 1].is_symbol(".") else before
    return []


def _with_backslashes(string: Token) -> str:
    """A string literal without doubled quotes; in a raw one nothing stands for itself."""
    quote = string.text[0]
    if quote in "rR":
        return string.text

    def escaped(found: re.Match[str]) -> str:
        return f"\\{quote}" if found[1] == quote else found[0]

    return f"{quote}{_ESCAPED_OR_DOUBLED.sub(escaped, string.text[1:-1])}{quote}"


def _names_window(found: list[Token], at: int) -> bool:
    """Whether that token is the function's name, or a column's where no clause can begin."""
    if not found[at].is_word("WINDOW"):
        return False
    if at > 0 and found[at - 1].is_word("BY"):
        return True
    opens = at + 1 < len(found) and found[at + 1].is_symbol("(")
    return opens and not (at > 0 and found[at - 1].is_word("AS"))
