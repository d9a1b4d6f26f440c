"""A difference matrix: what is known of the differences between times in one row.

Each entry bounds one time less another; closing it under addition (Floyd and Warshall) makes
chains of such bounds known too. All in microseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

INFINITE = 1 << 200
"""Beyond any time. Sums of lower bounds stay below -INFINITE / 2, of upper ones above it."""


def is_infinite(bound_us: int) -> bool:
    """Whether a sum of bounds contains an infinite one."""
    return abs(bound_us) > INFINITE // 2


class Contradiction(Exception):  # noqa: N818 - a finding
    """The bounds leave no times at all."""


class Differences:
    """Bounds on differences of times, called by names.

    Two times with an entry are *linked*: in every row either both are NULL, or neither is and
    the difference lies within the bounds (which may be infinite).

    Attributes:
        nonnull: Times that are never NULL; what is linked with one of them is not either.
    """

    def __init__(self) -> None:
        self._most: dict[tuple[str, str], int] = {}  # (a, b): a - b is at most this
        self._links: dict[str, set[str]] = {}
        self.nonnull: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._links

    def __iter__(self) -> Iterator[str]:
        return iter(self._links)

    def copy(self) -> Differences:
        """One of its own with the same entries."""
        new = Differences()
        new._most = dict(self._most)
        new._links = {name: set(links) for name, links in self._links.items()}
        new.nonnull = set(self.nonnull)
        return new

    def add(self, name: str) -> None:
        """Makes a time known."""
        if name not in self._links:
            self._links[name] = {name}
            self._most[name, name] = 0

    def include(self, other: Differences) -> None:
        """Adds all that ``other`` knows."""
        for name in other:
            self.add(name)
        for a, b in list(other._most):
            if a < b:
                self.bound(a, b, *other._known(a, b))
        self.nonnull |= other.nonnull

    def bound(self, a: str, b: str, lo_us: int, hi_us: int) -> None:
        """Links ``a`` and ``b``, with a - b in [lo_us, hi_us].

        Raises:
            Contradiction: No times meet all bounds.
        """
        self.add(a)
        self.add(b)
        if b not in self._links[a]:
            self._link(a, b)
        self._tighten(a, b, hi_us)
        self._tighten(b, a, -lo_us)

    def between(self, a: str, b: str) -> tuple[int, int] | None:
        """Bounds of a - b, or None where the two are not linked."""
        if b not in self._links.get(a, ()):
            return None
        return self._known(a, b)

    def linked(self, name: str) -> Iterable[str]:
        """All times linked with ``name``, itself included."""
        return self._links.get(name, ())

    def is_nonnull(self, name: str) -> bool:
        """Whether the time is never NULL."""
        return any(other in self.nonnull for other in self.linked(name))

    def restricted(self, names: Iterable[str]) -> Differences:
        """What is known of these times alone."""
        new = Differences()
        kept = [name for name in names if name in self._links]
        for name in kept:
            new.add(name)
            if self.is_nonnull(name):
                new.nonnull.add(name)
        for at, a in enumerate(kept):
            for b in kept[at + 1 :]:
                if (known := self.between(a, b)) is not None:
                    new.bound(a, b, *known)
        return new

    def _known(self, a: str, b: str) -> tuple[int, int]:
        return -self._most[b, a], self._most[a, b]

    def _link(self, a: str, b: str) -> None:
        """Joins the two sets of linked times; no pair across them is bounded yet."""
        left, right = self._links[a], self._links[b]
        for one in left:
            for other in right:
                self._most[one, other] = self._most[other, one] = INFINITE
        both = left | right
        for name in both:
            self._links[name] = both

    def _tighten(self, a: str, b: str, most_us: int) -> None:
        """Sets a - b <= most_us and what follows from it for all linked times."""
        if most_us >= self._most[a, b]:
            return
        names = self._links[a]
        if self._most[b, a] + most_us < 0:
            raise Contradiction
        upper = {name: self._most[name, a] for name in names}
        lower = {name: self._most[b, name] for name in names}
        for one in names:
            for other in names:
                way = upper[one] + most_us + lower[other]
                self._most[one, other] = min(self._most[one, other], way)
