"""Spark SQL cut into tokens that know where they stand.

Only what decides where a statement, a clause or a table's name begins and ends: strings,
backquoted names, comments, words and single symbols. The rules are those of Spark's own
lexer: a backslash escapes inside strings but not inside raw ones, a doubled quote stands for
itself, block comments nest, a hint ``/*+ ... */`` is no comment and begins none within one,
and a backslash at the end of a line carries a ``--`` comment on, unless the line ends as on
Windows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["word", "quoted", "string", "symbol"]

_WORD = re.compile(r"[0-9]+\.(?!\w)|\w+")
"""Or a number that ends with its point, as in ``SELECT 2. FROM t``: no column of a name FROM."""
_NUMBER = re.compile(r"[0-9]+(?:\.|e[0-9]*)?(?:[lsyfd]|bd)?\Z", re.IGNORECASE)
_SPACE = re.compile(r"\s+")
_LINE_COMMENT = re.compile(r"--(?:\\\n|[^\r\n])*")
_COMMENT_EDGE = re.compile(r"/\*(?!\+)|\*/")
_STRINGS = {
    "'": re.compile(r"'(?:[^'\\]|\\.|'')*'", re.DOTALL),
    '"': re.compile(r'"(?:[^"\\]|\\.|"")*"', re.DOTALL),
    "`": re.compile(r"`(?:[^`]|``)*`"),
}
_RAW_STRINGS = {
    "'": re.compile(r"[rR]'[^']*'"),
    '"': re.compile(r'[rR]"[^"]*"'),
}
_OPENED = {"'": "string", '"': "string", "`": "backquoted name"}


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a text.

    Attributes:
        text: As written, quotes included.
        start: Offset of its first character.
        end: Offset behind its last one.
        line: Its line, from 1.
    """

    kind: Kind
    text: str
    start: int
    end: int
    line: int

    def is_word(self, *words: str) -> bool:
        """Whether it is one of these words (given in capitals), in any case."""
        return self.kind == "word" and self.text.upper() in words

    def is_symbol(self, symbol: str) -> bool:
        """Whether it is this symbol."""
        return self.kind == "symbol" and self.text == symbol

    @property
    def is_name(self) -> bool:
        """Whether it can name something: a word that is no number, as ``2024_sales``, or quoted."""
        return self.kind == "quoted" or (self.kind == "word" and not _NUMBER.match(self.text))

    @property
    def name(self) -> str:
        """The name that it spells, without backquotes."""
        return self.text[1:-1].replace("``", "`") if self.kind == "quoted" else self.text

    @property
    def value(self) -> str:
        """The value of a string literal: quotes off, the common escapes resolved."""
        if self.text[0] in "rR":
            return self.text[2:-1]
        quote = self.text[0]
        body = self.text[1:-1].replace(quote * 2, quote)
        return _ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[1]), body)


_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b"}


class SqlTextError(Exception):
    """A text that cannot be read: what is wrong, and the line on which it starts."""

    def __init__(self, what: str, line: int) -> None:
        super().__init__(what)
        self.what = what
        self.line = line


def tokens(text: str) -> list[Token]:
    """The tokens of ``text``, comments left out.

    Raises:
        SqlTextError: A string, a backquoted name or a comment is not closed.
    """
    found: list[Token] = []
    at, line = 0, 1
    while at < len(text):
        kind, end = _next(text, at, line)
        if kind is not None:
            found.append(Token(kind, text[at:end], at, end, line))
        line += text.count("\n", at, end)
        at = end
    return found


def closing(found: Sequence[Token], at: int) -> int | None:
    """The index of the parenthesis that closes the one at ``at``; None: none does."""
    depth = 0
    for index in range(at, len(found)):
        depth += found[index].is_symbol("(") - found[index].is_symbol(")")
        if depth == 0:
            return index
    return None


def name_parts(name: str) -> tuple[str, ...]:
    """The parts of a table's name, without backquotes.

    Raises:
        SqlTextError: A quote in it is not closed.
    """
    return tuple(token.name for token in tokens(name) if token.is_name)


def _next(text: str, at: int, line: int) -> tuple[Kind | None, int]:
    """The kind (None: space or comment) and the end of what starts at ``at``."""
    char = text[at]
    if space := _SPACE.match(text, at):
        return None, space.end()
    if comment := _LINE_COMMENT.match(text, at):
        return None, comment.end()
    if text.startswith("/*", at) and not text.startswith("/*+", at):
        return None, _comment_end(text, at, line)
    if char in "rR" and (raw := _RAW_STRINGS.get(text[at + 1 : at + 2])):
        if string := raw.match(text, at):
            return "string", string.end()
        raise SqlTextError("a string is not closed", line)
    if char in _STRINGS:
        if string := _STRINGS[char].match(text, at):
            return ("quoted" if char == "`" else "string"), string.end()
        raise SqlTextError(f"a {_OPENED[char]} is not closed", line)
    if word := _WORD.match(text, at):
        return "word", word.end()
    for symbol in ("/*+", "*/", "|>"):
        if text.startswith(symbol, at):
            return "symbol", at + len(symbol)
    return "symbol", at + 1


def _comment_end(text: str, at: int, line: int) -> int:
    depth = 0
    for edge in _COMMENT_EDGE.finditer(text, at):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end()
    raise SqlTextError("a comment is not closed", line)
