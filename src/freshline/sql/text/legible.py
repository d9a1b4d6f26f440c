"""The user's text in words that sqlglot reads as Spark does.

Two things are said otherwise, each in a way that means the same to Spark: ``window`` behind
GROUP BY, which sqlglot takes for a keyword, stands in backquotes; and a quote that is doubled
within a string, which sqlglot takes for the end of one string and the beginning of another,
has a backslash instead.
"""

from __future__ import annotations

import re

from freshline.sql.text.tokens import Token, tokens

_ESCAPED_OR_DOUBLED = re.compile(r"\\.|(['\"])\1", re.DOTALL)


def legible(query: str) -> str:
    """``query`` as sqlglot can read it; as long as before, but for backquotes.

    Raises:
        SqlTextError: A string, a backquoted name or a comment is not closed.
    """
    found = tokens(query)
    for at in range(len(found) - 1, -1, -1):
        token = found[at]
        if token.kind == "string":
            written = _with_backslashes(token)
        elif _calls_window(found, at):
            written = f"`{token.text}`"
        else:
            continue
        query = f"{query[: token.start]}{written}{query[token.end :]}"
    return query


def _with_backslashes(string: Token) -> str:
    """A string literal without doubled quotes; in a raw one nothing stands for itself."""
    quote = string.text[0]
    if quote in "rR":
        return string.text

    def escaped(found: re.Match[str]) -> str:
        return f"\\{quote}" if found[1] == quote else found[0]

    return f"{quote}{_ESCAPED_OR_DOUBLED.sub(escaped, string.text[1:-1])}{quote}"


def _calls_window(found: list[Token], at: int) -> bool:
    opens = at + 1 < len(found) and found[at + 1].is_symbol("(")
    named = at > 0 and found[at - 1].is_word("AS")
    return opens and found[at].is_word("WINDOW") and not named
