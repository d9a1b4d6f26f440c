"""Values of a row as terms, and by how much two of them can differ.

A term stands for a value of each row: an attribute, an attribute of the query around a subquery,
or a function of terms. Links between terms bound their difference (microseconds for times; an
instant for a date is the beginning of its day on the session's clock). A link also says that one
of the two values is NULL only where the other is.

Bounds leave out what changes of clocks add to a day: they are never wider than the truth, since a
bound that is too wide would deny a right reading.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column of some operator's output, by Spark's number for it."""

    number: int


@dataclass(frozen=True, slots=True)
class Outer:
    """A column of the query around a subquery; one value for the whole subquery."""

    number: int


@dataclass(frozen=True, slots=True)
class Call:
    """A function of terms; ``detail`` holds what else it depends on."""

    kind: str
    of: tuple[Term, ...]
    detail: str = ""


Term = Attribute | Outer | Call


@dataclass(frozen=True, slots=True)
class Span:
    """A closed interval of differences; infinite ends are allowed."""

    lo: float
    hi: float

    def __add__(self, other: Span) -> Span:
        return Span(self.lo + other.lo, self.hi + other.hi)

    def __neg__(self) -> Span:
        return Span(-self.hi, -self.lo)

    def both(self, other: Span) -> Span:
        """What lies in both."""
        return Span(max(self.lo, other.lo), min(self.hi, other.hi))

    def either(self, other: Span) -> Span:
        """The least interval that holds both."""
        return Span(min(self.lo, other.lo), max(self.hi, other.hi))

    def contains(self, other: Span) -> bool:
        """Whether all of ``other`` lies within."""
        return self.lo <= other.lo and other.hi <= self.hi

    @property
    def bounded(self) -> bool:
        """Whether both ends are finite."""
        return math.isfinite(self.lo) and math.isfinite(self.hi)

    @property
    def tells(self) -> bool:
        """Whether any end is finite."""
        return self != ANYTHING


ANYTHING = Span(-math.inf, math.inf)
SAME = Span(0, 0)


def leaves(term: Term) -> Iterator[Attribute]:
    """The attributes of the row that a term is made of."""
    if isinstance(term, Attribute):
        yield term
    elif isinstance(term, Call):
        for each in term.of:
            yield from leaves(each)


@dataclass(slots=True)
class Links:
    """Bounds on differences of terms, the same for every row of a relation.

    Attributes:
        spans: By pair of terms (x, y): in what ``x - y`` lies. Both directions are kept.
        steps: By term: a step of which all its values are multiples.
    """

    spans: dict[Term, dict[Term, Span]] = field(default_factory=dict)
    steps: dict[Term, int] = field(default_factory=dict)

    def copy(self) -> Links:
        """One that can be added to."""
        return Links({term: dict(near) for term, near in self.spans.items()}, dict(self.steps))

    def add(self, x: Term, y: Term, span: Span) -> None:
        """Note that ``x - y`` lies in ``span``."""
        if x == y or not span.tells:
            return
        known = self.spans.setdefault(x, {}).get(y, ANYTHING)
        self.spans[x][y] = known.both(span)
        self.spans.setdefault(y, {})[x] = -self.spans[x][y]

    def step(self, term: Term, size: int) -> None:
        """Note that all values of ``term`` are multiples of ``size``."""
        self.steps[term] = max(size, self.steps.get(term, 1))

    def merge(self, other: Links) -> None:
        """Add all that the other links say."""
        for x, near in other.spans.items():
            for y, span in near.items():
                self.add(x, y, span)
        for term, size in other.steps.items():
            self.step(term, size)

    def around(self, start: Term) -> Mapping[Term, Span]:
        """By term: in what ``term - start`` lies, by all chains of links."""
        found: dict[Term, Span] = {start: SAME}
        waiting = [start]
        rounds = 0
        while waiting and rounds < _MOST_ROUNDS:
            rounds += 1
            y = waiting.pop(0)
            for x in self.spans.get(y, {}):
                span = self._rounded(x, start, found[y] + self.spans[x][y])
                known = found.get(x, ANYTHING)
                new = known.both(span)
                if new != known:
                    found[x] = new
                    waiting.append(x)
        return found

    def between(self, x: Term, y: Term) -> Span:
        """In what ``x - y`` lies."""
        return self.around(y).get(x, ANYTHING)

    def _rounded(self, x: Term, y: Term, span: Span) -> Span:
        size = math.gcd(self.steps.get(x, 1), self.steps.get(y, 1))
        if size == 1:
            return span
        lo = span.lo if math.isinf(span.lo) else -(-int(span.lo) // size) * size
        hi = span.hi if math.isinf(span.hi) else int(span.hi) // size * size
        return Span(lo, hi)

    def only(self, kept: set[Attribute]) -> Links:
        """What follows for terms made of these attributes alone, with chains through others."""
        terms = [term for term in self.spans if all(leaf in kept for leaf in leaves(term))]
        among = Links(steps={t: size for t, size in self.steps.items() if set(leaves(t)) <= kept})
        wanted = set(terms)
        for y in terms:
            for x, span in self.around(y).items():
                if x in wanted:
                    among.add(x, y, span)
        return among


_MOST_ROUNDS = 5_000
"""Contradicting bounds (of a filter that no row passes) would narrow each other for ever."""
