"""Queries as trees of clauses that can be written, and made smaller clause by clause."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

T = TypeVar("T")


class Query:
    """What can be written as SQL and made smaller."""

    def sql(self) -> str:
        raise NotImplementedError

    def smaller(self) -> Iterator[Query]:
        """Queries with one clause, column or branch less; some may be none that Spark accepts."""
        raise NotImplementedError


@dataclass(frozen=True)
class Plain(Query):
    """A text that cannot be made smaller."""

    text: str

    def sql(self) -> str:
        return self.text

    def smaller(self) -> Iterator[Query]:
        return iter(())


@dataclass(frozen=True)
class Select(Query):
    """One SELECT.

    Attributes:
        outputs: Expression and alias of each column.
        source: Behind FROM, with ``{0}`` for the first of ``queries`` in parentheses.
        queries: The derived tables.
        where: Conjuncts.
        groups: Keys.
        grouping: How they are written, with ``{0}`` for the list: ``ROLLUP ({0})``.
        having: Conjuncts.
        qualify: A condition, or "".
        distinct: Whether rows are made distinct.
        tail: ORDER BY and LIMIT, or "".
    """

    outputs: tuple[tuple[str, str], ...]
    source: str
    queries: tuple[Query, ...] = ()
    where: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    grouping: str = "{0}"
    having: tuple[str, ...] = ()
    qualify: str = ""
    distinct: bool = False
    tail: str = ""

    def sql(self) -> str:
        columns = ", ".join(f"{each} AS {alias}" if alias else each for each, alias in self.outputs)
        text = f"SELECT {'DISTINCT ' * self.distinct}{columns} FROM {self._source()}"
        if self.where:
            text += f" WHERE {' AND '.join(self.where)}"
        if self.groups:
            text += f" GROUP BY {self.grouping.replace('{0}', ', '.join(self.groups))}"
        if self.having:
            text += f" HAVING {' AND '.join(self.having)}"
        if self.qualify:
            text += f" QUALIFY {self.qualify}"
        return f"{text} {self.tail}".rstrip()

    def _source(self) -> str:
        text = self.source
        for number, query in enumerate(self.queries):
            text = text.replace(f"{{{number}}}", f"({query.sql()})")
        return text

    def smaller(self) -> Iterator[Query]:
        yield from self.queries
        if self.tail:
            yield replace(self, tail="")
        if self.qualify:
            yield replace(self, qualify="")
        if self.distinct:
            yield replace(self, distinct=False)
        if self.grouping != "{0}":
            yield replace(self, grouping="{0}")
        yield from (replace(self, having=less) for less in _less(self.having))
        yield from (replace(self, where=less) for less in _less(self.where))
        yield from (replace(self, groups=less) for less in _less(self.groups))
        if len(self.outputs) > 1:
            yield from (replace(self, outputs=less) for less in _less(self.outputs))
        for at, query in enumerate(self.queries):
            for other in query.smaller():
                yield replace(self, queries=(*self.queries[:at], other, *self.queries[at + 1 :]))


def _less(parts: tuple[T, ...]) -> Iterator[tuple[T, ...]]:
    return ((*parts[:at], *parts[at + 1 :]) for at in range(len(parts)))


@dataclass(frozen=True)
class Both(Query):
    """Two queries and the set operation between them."""

    left: Query
    word: str
    right: Query

    def sql(self) -> str:
        return f"{self.left.sql()} {self.word} {self.right.sql()}"

    def smaller(self) -> Iterator[Query]:
        yield from (self.left, self.right)
        for other in self.left.smaller():
            yield replace(self, left=other)
        for other in self.right.smaller():
            yield replace(self, right=other)


@dataclass(frozen=True)
class First(Query):
    """A query in parentheses, and an ORDER BY with a LIMIT behind them."""

    query: Query
    tail: str

    def sql(self) -> str:
        return f"({self.query.sql()}) {self.tail}"

    def smaller(self) -> Iterator[Query]:
        yield self.query
        for other in self.query.smaller():
            yield replace(self, query=other)


@dataclass(frozen=True)
class With(Query):
    """A query over one that has a name."""

    name: str
    named: Query
    main: Query

    def sql(self) -> str:
        return f"WITH {self.name} AS ({self.named.sql()}) {self.main.sql()}"

    def smaller(self) -> Iterator[Query]:
        yield from (self.named, self.main)
        for other in self.named.smaller():
            yield replace(self, named=other)
        for other in self.main.smaller():
            yield replace(self, main=other)
