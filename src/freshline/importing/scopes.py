"""What the short names of a script belong to, as USE says it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

SNOWFLAKE = "Snowflake"
Parts = tuple[str, ...]

_NAME = r"[\w$]+(?![\w$])|\"[^\"]+\"|`[^`]+`"
_NAMES = rf"({_NAME})(?:\.({_NAME}))?"
_USE = re.compile(
    r"(?:USE\s+(?:(CATALOG|DATABASE|SCHEMA|NAMESPACE)\s+)?|SET\s+(CATALOG)\s+)" + _NAMES + r"\s*\Z",
    re.IGNORECASE,
)
_OTHER_USE = re.compile(r"USE\s+(?:ROLE|WAREHOUSE|SECONDARY)\s", re.IGNORECASE)
_ANY_USE = re.compile(r"USE\s|SET\s+CATALOG\s", re.IGNORECASE)
_SCHEMA = (
    r"\s+(?:OR\s+(?:REPLACE|ALTER)\s+)?(?:TRANSIENT\s+)?(DATABASE|SCHEMA)"
    r"(?!\s+ROLE\s)\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?"
)
_READ = rf"(?:{_NAMES}(?!\s*[(.{{&<]))?"
_MAKES = re.compile(f"CREATE{_SCHEMA}{_READ}", re.IGNORECASE)
_CHANGES = re.compile(f"ALTER{_SCHEMA}{_READ}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Scope:
    """What short names belong to; None: it is not said."""

    database: str | None = None
    schema: str | None = None

    @property
    def is_known(self) -> bool:
        """Whether anything is said."""
        return self.database is not None or self.schema is not None

    def behind(self, text: str, product: str) -> Scope | None:
        """The scope behind a statement that chooses one; None: it chooses none.

        Where its names cannot be read (a variable, IDENTIFIER), nothing is known behind it. In
        Snowflake CREATE SCHEMA and CREATE DATABASE choose what they make. USE ROLE and its like
        leave it as it is.
        """
        text = text.strip()
        if _OTHER_USE.match(text):
            return self
        found = _USE.match(text)
        if found is not None:
            kind = (found[1] or found[2] or "").upper()
            return self._chosen(kind, found[3], found[4], product)
        if product == SNOWFLAKE and (found := _MAKES.match(text)) is not None:
            return self._chosen(found[1].upper(), found[2], found[3], product)
        return Scope() if _ANY_USE.match(text) else None

    def _chosen(self, kind: str, first: str | None, second: str | None, product: str) -> Scope:
        if first is None:
            return Scope()
        first, second = first.strip('"`'), (second or "").strip('"`')
        if second:
            return Scope(first, second)
        if product == SNOWFLAKE and kind in {"", "DATABASE"}:
            return Scope(first, "public")
        return Scope(first, None) if kind == "CATALOG" else Scope(self.database, first)

    def full(self, parts: Parts) -> Parts:
        """A name with the parts that it leaves out, where they are known."""
        if len(parts) == 1 and self.schema is not None:
            parts = (self.schema, *parts)
        if len(parts) == 2 and self.database is not None:  # noqa: PLR2004 - schema and name
            parts = (self.database, *parts)
        return parts

    def of(self, name: Parts, *, dynamic: bool = False) -> Scope:
        """What short names in the query of a view of Snowflake belong to: the view's own schema.

        Args:
            name: The view's.
            dynamic: It is a dynamic table, whose own schema is one of two that can be meant:
                without a USE the other one is not known, and neither is taken.
        """
        full = self.full(name)
        if len(full) == 1 or (dynamic and not self.is_known):
            return self
        return Scope(full[-3] if len(full) > 2 else None, full[-2])  # noqa: PLR2004 - as above


def ends_alike(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether the shorter of two names is the end of the longer one, without case."""
    size = min(len(one), len(other))
    return [part.lower() for part in one[-size:]] == [part.lower() for part in other[-size:]]


def is_use(text: str) -> bool:
    """Whether a statement does nothing but choose a scope, a role or the like."""
    return _ANY_USE.match(text.strip()) is not None


def scopes(texts: Iterable[str], product: str) -> Iterator[Scope]:
    """The scope of each statement of a script."""
    scope = Scope()
    for text in texts:
        yield scope
        scope = scope.behind(text, product) or scope


def changed_schema(text: str, scope: Scope) -> tuple[str, Parts] | None:
    """What kind a CREATE or ALTER of a schema or database is about, and its name in lower case.

    The name has no parts where it cannot be read. None: it is another statement.
    """
    found = _MAKES.match(text) or _CHANGES.match(text)
    if found is None:
        return None
    kind = found[1].upper()
    parts = tuple(part.strip('"`').lower() for part in (found[2], found[3]) if part)
    if kind == "SCHEMA" and len(parts) == 1 and scope.database is not None:
        parts = (scope.database.lower(), *parts)
    return kind, parts
