"""The tokens of a Jinja template's expressions and statements, as Jinja itself cuts them.

A string may hold ``%}``, and a dictionary ends in ``}``: neither ends the block.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_OPEN = re.compile(r"\{\{|\{%|\{#")
_RAW = re.compile(r"\{%[-+]?\s*raw\s*[-+]?%\}")
_END_RAW = re.compile(r"\{%[-+]?\s*endraw\s*[-+]?%\}")
_ENDS = {"{{": re.compile(r"-?\}\}"), "{%": re.compile(r"[-+]?%\}")}
_TOKEN = re.compile(
    r"""(?P<space>\s+)|(?P<string>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")"""
    r"|(?P<number>\d[\d_]*(?:\.\d+)?)|(?P<name>\w+)|(?P<op>==|!=|<=|>=|//|\*\*|.)",
    re.DOTALL,
)


class Token(NamedTuple):
    """A token: a string without its quotes, a name, a number or an operator (``op``)."""

    kind: str
    text: str


class Block(NamedTuple):
    """What stands in ``{{ }}`` or, as a statement, in ``{% %}``."""

    is_statement: bool
    tokens: list[Token]


def blocks(text: str) -> Iterator[Block]:
    """The expressions and statements of ``text``, in its order."""
    at = 0
    while (found := _OPEN.search(text, at)) is not None:
        at = found.end()
        raw = _RAW.match(text, found.start())
        if found[0] == "{#":
            end = text.find("#}", at)
            at = len(text) if end < 0 else end + 2
        elif raw is not None:
            end_raw = _END_RAW.search(text, raw.end())
            at = len(text) if end_raw is None else end_raw.end()
        else:
            start = at + (text[at : at + 1] in {"-", "+"})
            tokens, at = _tokens(text, start, _ENDS[found[0]])
            yield Block(found[0] == "{%", tokens)


def _tokens(text: str, at: int, end: re.Pattern[str]) -> tuple[list[Token], int]:
    """The tokens from ``at`` to the block's end, and where the text goes on."""
    tokens: list[Token] = []
    depth = 0
    while at < len(text):
        last = None if depth else end.match(text, at)
        if last is not None:
            return tokens, last.end()
        found = _TOKEN.match(text, at)
        if found is None:  # no text is without a token: `.` takes any character
            break
        at = found.end()
        kind, piece = str(found.lastgroup), found[0]
        if kind == "string":
            piece = _value(piece)
            if tokens and tokens[-1].kind == "string":  # 'a' 'b' is 'ab'
                piece = tokens.pop().text + piece
        elif kind == "op":
            depth = max(0, depth + step(piece))
        if kind != "space":
            tokens.append(Token(kind, piece))
    return tokens, len(text)


def step(operator: str) -> int:
    """By how much it goes deeper into brackets."""
    return (operator in "([{") - (operator in ")]}")


def _value(literal: str) -> str:
    """The text of a string's literal, its escapes replaced."""
    try:
        return literal[1:-1].encode("ascii", "backslashreplace").decode("unicode-escape")
    except UnicodeDecodeError:
        return literal[1:-1]


def closing(tokens: Sequence[Token], at: int) -> int:
    """One past the bracket that closes the one at ``at``; past the end where none does."""
    depth = 0
    for end in range(at, len(tokens)):
        if tokens[end].kind == "op":
            depth += step(tokens[end].text)
            if depth == 0:
                return end + 1
    return len(tokens)
