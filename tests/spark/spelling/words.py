"""SQL as a list of words, cut by a tokenizer of the tests' own, and the clauses of its SELECTs.

What rewrites queries must not share the habits of what reads them: nothing here is the product's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*|/\*(?!\+).*?\*/)
    |(?P<hint>/\*\+.*?\*/)
    |(?P<string>[rR]?'(?:[^'\\]|\\.|'')*'|[rR]?"(?:[^"\\]|\\.|"")*")
    |(?P<quoted>`(?:[^`]|``)*`)
    |(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?:BD|[LDFSYldfsy])?\b|\.\d+)
    |(?P<word>[^\W\d]\w*)
    |(?P<symbol><=>|<>|!=|<=|>=|==|\|\||::|->|=>|\|>|.)""",
    re.VERBOSE | re.DOTALL,
)

_RESERVED = """
    all and anti any as asc between by case cast cross cube current desc distinct else end
    except exists extract false filter following for from full group grouping having in
    inner intersect interval into is join lateral left like limit minus natural not null
    nulls of offset on or order outer over partition preceding qualify range right rollup
    row rows select semi sets tablesample then true unbounded union using values version
    view when where window with within
"""
RESERVED = frozenset(_RESERVED.split())
"""Words that are no name where they stand without quotes."""

CLAUSES = ("from", "where", "group", "having", "qualify", "window", "order", "limit", "offset")
SET_WORDS = ("union", "except", "intersect", "minus")


def cut(sql: str) -> list[str]:
    """The tokens, without spaces and comments."""
    return [match.group() for match in _TOKEN.finditer(sql) if match.lastgroup != "space"]


def text(tokens: list[str]) -> str:
    """The tokens as one line."""
    return " ".join(tokens)


def is_word(token: str) -> bool:
    """Whether a token is a bare word: a keyword, a function or a name."""
    return token[0].isidentifier() and not token.endswith(("'", '"'))


def is_name(token: str) -> bool:
    """Whether a token can be a name by its look."""
    return token[0] == "`" or (is_word(token) and token.lower() not in RESERVED)


def closing(tokens: list[str], opening: int) -> int:
    """Index of the parenthesis that closes the one at ``opening``."""
    depth = 0
    for at in range(opening, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[at], 0)
        if depth == 0:
            return at
    raise ValueError(text(tokens[opening:]))


def flat(tokens: list[str], start: int, end: int) -> Iterator[int]:
    """Indexes from ``start`` to ``end`` that lie in no parenthesis opened between them."""
    at = start
    while at < end:
        yield at
        at = closing(tokens, at) if tokens[at] == "(" else at
        at += 1


def split(tokens: list[str], start: int, end: int, separator: str = ",") -> list[tuple[int, int]]:
    """The ranges between separators that lie in no parenthesis."""
    parts, first = [], start
    for at in flat(tokens, start, end):
        if tokens[at].lower() == separator:
            parts.append((first, at))
            first = at + 1
    return [*parts, (first, end)]


@dataclass(frozen=True)
class Block:
    """One SELECT: from its first word to behind its last, and its clauses' bodies.

    ``clauses`` has each clause's first word's index and the range of its body.
    """

    start: int
    end: int
    clauses: dict[str, tuple[int, int, int]]

    def body(self, clause: str) -> tuple[int, int]:
        return self.clauses[clause][1:] if clause in self.clauses else (self.end, self.end)


def blocks(tokens: list[str]) -> list[Block]:
    """Every SELECT, the innermost last where they stand one in the other."""
    return [_block(tokens, at) for at, word in enumerate(tokens) if word.lower() == "select"]


def _block(tokens: list[str], start: int) -> Block:
    end, marks = len(tokens), [("select", start)]
    for at in flat(tokens, start + 1, len(tokens)):
        word = tokens[at].lower()
        following = tokens[at + 1].lower() if at + 1 < len(tokens) else ""
        if word == ")" or word in SET_WORDS:
            end = at
            break
        if word not in CLAUSES or tokens[at - 1].lower() in {".", "as"}:
            continue
        if following == "." or (
            word == "window" and [each.lower() for each in tokens[at + 2 : at + 3]] != ["as"]
        ):
            continue
        if word in {"group", "order"} and following != "by":
            continue
        if word in {name for name, _ in marks} or (word == "from" and len(marks) > 1):
            continue
        marks.append((word, at))
    clauses = {}
    for (name, at), (_, until) in zip(marks, [*marks[1:], ("", end)], strict=True):
        first = at + (2 if name in {"group", "order"} else 1)
        if name == "select" and tokens[first].lower() in {"distinct", "all"}:
            first += 1
        clauses[name] = (at, first, until)
    return Block(start, end, clauses)


def item(tokens: list[str], start: int, end: int) -> tuple[list[str], str | None]:
    """A select item's expression and its alias, if it says one with AS."""
    if end - start > 2 and tokens[end - 2].lower() == "as":
        return tokens[start : end - 2], tokens[end - 1]
    return tokens[start:end], None


@dataclass(frozen=True)
class Factor:
    """One table of a FROM: its range, where an alias is or would be, and the alias."""

    start: int
    end: int
    has_as: bool
    alias: str | None


def factors(tokens: list[str], block: Block) -> list[Factor]:
    """The tables and derived tables that a SELECT reads, as far as they are plain."""
    start, end = block.body("from")
    found, at = [], start
    expects = True
    while at < end:
        word = tokens[at].lower()
        if expects and (word == "(" or is_name(tokens[at])):
            factor = _factor(tokens, at, end)
            found.append(factor)
            at, expects = factor.end + factor.has_as + (factor.alias is not None), False
            continue
        expects = word in {",", "join"} or (expects and word == "lateral")
        at = (closing(tokens, at) if word == "(" else at) + 1
    return found


def _factor(tokens: list[str], start: int, end: int) -> Factor:
    at = start
    if tokens[at] == "(":
        at = closing(tokens, at) + 1
    else:
        at += 1
        while at + 1 < end and tokens[at] == ".":
            at += 2
        if at < end and tokens[at] == "(":
            at = closing(tokens, at) + 1
    has_as = at < end and tokens[at].lower() == "as"
    name = at + has_as
    alias = tokens[name] if name < end and is_name(tokens[name]) else None
    return Factor(start, at, has_as and alias is not None, alias)
