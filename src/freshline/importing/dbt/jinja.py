"""What a Jinja template reads: names of its context with their attributes, and its filters.

A name counts wherever it is read, called or not: ``{% set f = run_query %}`` runs nothing, and the
``f(...)`` after it does. ``context['x']``, ``context.get('x')`` and ``builtins.x`` read x.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from freshline.importing.dbt.jinja_tokens import Block, Token, blocks, closing, step

Path = tuple[str | None, ...]
"""A name and the attributes read of it; None stands for one that is computed."""

_RESERVED = frozenset(
    {"and", "or", "not", "in", "is", "if", "else", "true", "false", "none"}
    | {"True", "False", "None", "recursive"}
)
_NAMESPACES = frozenset({"context", "builtins"})
_WITH_PARAMETERS = frozenset({"macro", "test", "data_test"})
_OPENS = _WITH_PARAMETERS | {"materialization", "if", "for", "call", "filter", "with", "block"}
_FROM_FILES = frozenset({"import", "from", "include", "extends"})
_END = re.compile(r"end\w+")
_SCOPED = frozenset({"autoescape", "snapshot", "docs", "trans"})


@dataclass(frozen=True, slots=True)
class Read:
    """One reading of a name of the context.

    Attributes:
        path: The name and its attributes.
        called: It is called where it is read.
        then: The filter that is applied to it, or to what it returns, or None.
    """

    path: Path
    called: bool = False
    then: str | None = None


@dataclass(slots=True)
class Template:
    """What a template reads.

    Attributes:
        reads: Readings of names that the template did not surely set before.
        filters: By name, those given to ``map`` too; None: a computed one.
        dispatched: The first arguments of ``adapter.dispatch``; None: a computed one.
        bound: All names that it sets anywhere.
    """

    reads: list[Read] = field(default_factory=list)
    filters: set[str | None] = field(default_factory=set)
    dispatched: set[str | None] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)


def read_template(text: str) -> Template:
    """The names that ``text`` reads."""
    reader = _Reader()
    for block in blocks(text):
        reader.block(block)
    return reader.found


class _Reader:
    """Goes through a template from its start, with the names that are set so far.

    A name set in a branch is set until the branch ends: after it, it may be the context's.
    """

    def __init__(self) -> None:
        self.found = Template()
        self._scopes: list[set[str]] = [set()]
        self._pending: list[set[str]] = [set()]

    def block(self, block: Block) -> None:
        tokens = block.tokens
        if not block.is_statement or not tokens:
            self._expression(tokens)
            return
        tag, rest = tokens[0].text, tokens[1:]
        if tag == "set":
            self._set(rest)
        elif tag in {"else", "elif"}:
            self._close()
            self._expression(rest)
            self._open(set())
        elif _END.fullmatch(tag):
            self._close()
        elif tag == "for":
            self._for(rest)
        elif tag in _WITH_PARAMETERS:
            self.found.bound.add(rest[0].text if rest else "")
            self._open(self._parameters(rest[1:]))
        elif tag == "call":
            end = closing(rest, 0) if rest and rest[0].text == "(" else 0
            names = self._parameters(rest[:end])
            self._expression(rest[end:])
            self._open(names)
        else:
            self._other(tag, rest)

    def _other(self, tag: str, rest: Sequence[Token]) -> None:
        if tag == "filter" and rest:
            self._filter(rest, 0)
            rest = rest[1:]
        if tag in _FROM_FILES:
            self.found.reads.append(Read((tag,)))
        if tag != "materialization":  # its head has its name and options alone
            self._expression(rest, keywords=tag == "with")
        if tag in _OPENS or tag in _SCOPED:
            self._open(_before_equals(rest) if tag == "with" else set())

    def _open(self, names: set[str], pending: set[str] | None = None) -> None:
        self._scopes.append(names)
        self._pending.append(pending or set())
        self.found.bound |= names

    def _close(self) -> None:
        if len(self._scopes) > 1:
            self._scopes.pop()
            self._bind(self._pending.pop())

    def _bind(self, names: set[str]) -> None:
        self._scopes[-1] |= names
        self.found.bound |= names

    def _set(self, tokens: Sequence[Token]) -> None:
        at = _top_level(tokens, "=")
        targets = tokens if at is None else tokens[:at]
        end = _top_level(targets, "|")
        names = {
            token.text
            for token, after in _with_next(targets[:end])
            if token.kind == "name" and after != "."
        }
        if at is None:
            self._expression(targets[end:] if end is not None else ())
            self._open(set(), names)
        else:
            self._expression(tokens[at + 1 :])
            self._bind(names)

    def _for(self, tokens: Sequence[Token]) -> None:
        at = _top_level(tokens, "in") or 0
        test = _top_level(tokens[at:], "if")
        end = len(tokens) if test is None else at + test
        self._expression(tokens[at + 1 : end])
        self._open({each.text for each in tokens[:at] if each.kind == "name"} | {"loop"})
        self._expression(tokens[end:])

    def _parameters(self, tokens: Sequence[Token]) -> set[str]:
        """The parameters of a head ``(a, b=...)``; what their defaults read is read."""
        names, depth = set(), 0
        for at, token in enumerate(tokens):
            if token.text in {"(", ","} and depth == (token.text == ",") and at + 1 < len(tokens):
                names.add(tokens[at + 1].text)
            depth += step(token.text) if token.kind == "op" else 0
        inner = [each for each in tokens if each.kind != "name" or each.text not in names]
        self._expression(inner)
        return names

    def _expression(self, tokens: Sequence[Token], *, keywords: bool = False) -> None:
        depth = int(keywords)
        for at, token in enumerate(tokens):
            before = tokens[at - 1].text if at else ""
            after = tokens[at + 1].text if at + 1 < len(tokens) else ""
            if token.kind == "op":
                depth += step(token.text)
            if token.kind != "name" or before == ".":
                continue
            if before == "|":
                self._filter(tokens, at)
            elif _is_test(tokens, at) or (depth and after == "=") or token.text in _RESERVED:
                continue
            else:
                self._name(tokens, at)

    def _filter(self, tokens: Sequence[Token], at: int) -> None:
        name = tokens[at].text
        self.found.filters.add(name)
        if name == "map" and at + 2 < len(tokens) and tokens[at + 1].text == "(":
            first = tokens[at + 2]
            if first.kind == "string":
                self.found.filters.add(first.text)
            elif at + 3 >= len(tokens) or tokens[at + 3].text != "=":
                self.found.filters.add(None)

    def _name(self, tokens: Sequence[Token], at: int) -> None:
        if any(tokens[at].text in each for each in self._scopes):
            return
        path, end = _path(tokens, at)
        while len(path) > 1 and path[0] in _NAMESPACES and path[1] is not None:
            path = path[1:]
        if path[:2] == ("adapter", "dispatch"):
            self.found.dispatched.add(_first_argument(tokens, end))
        called = list(tokens[end : end + 1]) == [Token("op", "(")]
        if called:
            end = closing(tokens, end)
        then = tokens[end + 1].text if list(tokens[end : end + 1]) == [Token("op", "|")] else None
        self.found.reads.append(Read(path, called, then))


def _path(tokens: Sequence[Token], at: int) -> tuple[Path, int]:
    """The name at ``at`` with its attributes, and where the rest begins."""
    path: list[str | None] = [tokens[at].text]
    at += 1
    while at + 1 < len(tokens):
        text, after = tokens[at].text, tokens[at + 1]
        is_op = tokens[at].kind == "op"
        if is_op and text == "." and after.kind in {"name", "number"}:
            end = at + 2
            name: str | None = after.text
            is_lookup = name == "get" and path[-1] != "config"  # config.get reads an option
            if is_lookup and end < len(tokens) and tokens[end].text == "(":
                name, end = _first_argument(tokens, end), closing(tokens, end)
        elif is_op and text == "[":
            end = closing(tokens, at)
            name = after.text if after.kind == "string" and end == at + 3 else None
        elif is_op and text == "|" and after.text == "attr":
            name, end = _first_argument(tokens, at + 2), closing(tokens, at + 2)
        else:
            break
        path.append(name)
        at = end
    return tuple(path), at


def _first_argument(tokens: Sequence[Token], at: int) -> str | None:
    """The text that the call at ``at`` gets first, or as ``macro_name``; None: it is computed."""
    arguments = list(tokens[at + 1 : closing(tokens, at) - 1])
    if [each.text for each in arguments[:2]] == ["macro_name", "="]:
        arguments = arguments[2:]
    alone = len(arguments) == 1 or (len(arguments) > 1 and arguments[1].text == ",")
    return arguments[0].text if alone and arguments[0].kind == "string" else None


def _is_test(tokens: Sequence[Token], at: int) -> bool:
    before = [each.text for each in tokens[max(0, at - 2) : at]]
    return before[-1:] == ["is"] or before == ["is", "not"]


def _before_equals(tokens: Sequence[Token]) -> set[str]:
    return {token.text for token, after in _with_next(tokens) if after == "="}


def _with_next(tokens: Sequence[Token]) -> Iterator[tuple[Token, str]]:
    texts = [each.text for each in tokens[1:]] + [""]
    return zip(tokens, texts, strict=True)


def _top_level(tokens: Sequence[Token], text: str) -> int | None:
    """Where ``text`` stands first outside of brackets, or None."""
    depth = 0
    for at, token in enumerate(tokens):
        if token.kind != "string" and token.text == text and depth == 0:
            return at
        if token.kind == "op":
            depth += step(token.text)
    return None
