"""A relation as the analysis of times sees it: its times, and what its rows depend on.

A *time* is a value of a row that counts microseconds: a timestamp, a timestamp_ntz (counted
as if its wall clock were UTC) or a date (counted by the instant at which it begins in the
session's zone). Times are called by names: ``alias.column``, or the SQL of an expression.

Keys, of whatever type, are carried through a query in the same way: as times between which only
equality and order are known (:mod:`freshline.sql.buckets.keys`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from math import gcd
from typing import Literal

from freshline.sql.buckets.differences import INFINITE, Differences, is_infinite

Kind = Literal["timestamp", "ntz", "date", "key"]
Range = tuple[int, int]
Grain = tuple[int, int]
"""(step, phase): a time is always a multiple of the step plus the phase, in microseconds."""
Choice = tuple[AbstractSet[str], str]
ANYWHERE: Range = (-INFINITE, INFINITE)


@dataclass(slots=True)
class Padded:
    """A side of an outer join, NULL in rows without a match.

    Attributes:
        aliases: Of the relations of that side.
        matched: What holds of times in rows that have a match.
        preserved: The other side keeps its rows without a match as well (FULL JOIN).
        null_ok: Times whose NULLs on their own side come from NULL times only.
    """

    aliases: frozenset[str]
    times: frozenset[str]
    matched: Differences
    full: bool
    null_ok: frozenset[str]


@dataclass(slots=True)
class Relation:
    """Times of a relation and the rows of sources that its rows depend on.

    The promise behind ``reads``: the rows in which a time has the value v are the same for
    any two states of the sources that agree, for each source, on the rows whose event time
    lies in [v + lo, v + hi] (microseconds). A source that is missing has no bound.

    Attributes:
        aliases: Of the relations joined in it.
        sources: Those it reads that are not static.
        differences: Between its times, in every row.
        kinds: Kind by time.
        grains: Of times that lie on a grid, such as starts of hours.
        columns: Times by alias and column; of a column that is a struct (``window``), times
            by field, else under the field "".
        reads: See above, by time.
        null_ok: Times whose NULL rows depend on rows with a NULL event time only.
        padded: Sides of outer joins that may be NULL.
        aggregated: What the groups were made from, where it is a grouped relation.
        bases: Of a time that is a function of one other time, that one; "" of several.
        choices: Of every function that chooses freely among rows that tie (see
            :mod:`freshline.sql.buckets.ties`): the times that all of these rows share, and the
            function's text.
        unique: Columns by which its rows are known to be unique, as SQL.
    """

    aliases: frozenset[str] = frozenset()
    sources: frozenset[str] = frozenset()
    differences: Differences = field(default_factory=Differences)
    kinds: dict[str, Kind] = field(default_factory=dict)
    grains: dict[str, Grain] = field(default_factory=dict)
    columns: dict[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)
    reads: dict[str, dict[str, Range]] = field(default_factory=dict)
    null_ok: set[str] = field(default_factory=set)
    padded: list[Padded] = field(default_factory=list)
    aggregated: Relation | None = None
    bases: dict[str, str] = field(default_factory=dict)
    choices: list[Choice] = field(default_factory=list)
    unique: AbstractSet[str] | None = None

    def follows(self, time: str, shared: AbstractSet[str]) -> bool:
        """Whether rows that share one of these times share ``time`` too."""
        seen: str | None = time
        while seen:
            if seen in shared or any(
                self.differences.between(seen, other) == (0, 0) for other in shared
            ):
                return True
            seen = self.bases.get(seen)
        return False

    def following(self, shared: Iterable[str]) -> set[str]:
        """All times of the relation that follow from one of these."""
        wanted = set(shared)
        return {time for time in self.own_times() if self.follows(time, wanted)}

    def bound(self, one: str, other: str, change: Range) -> None:
        """Says that ``one`` less ``other`` lies in ``change``, narrowed where both have grains.

        The start of a day is at most 23 hours before the start of an hour in it.
        """
        lo, hi = change
        if one in self.grains and other in self.grains:
            step = gcd(self.grains[one][0], self.grains[other][0])
            phase = (self.grains[one][1] - self.grains[other][1]) % step
            lo = lo if is_infinite(lo) else lo + (phase - lo) % step
            hi = hi if is_infinite(hi) else hi - (hi - phase) % step
        self.differences.bound(one, other, lo, hi)

    def reads_at(self, time: str, source: str) -> Range:
        """Where rows of ``source`` lie, relative to ``time``, that rows at it depend on."""
        return self.seen_from(time, self.differences, source)

    def seen_from(self, time: str, differences: Differences, source: str) -> Range:
        """The same relative to a time of another relation that ``differences`` link with it.

        Each linked time gives a bound; all of them hold, so they are intersected.
        """
        lo, hi = ANYWHERE
        for own, reads in self.reads.items():
            known = differences.between(own, time)
            if known is None or source not in reads:
                continue
            lo = max(lo, known[0] + reads[source][0])
            hi = min(hi, known[1] + reads[source][1])
        return lo, hi

    def is_null_ok(self, time: str) -> bool:
        """Whether rows in which ``time`` is NULL depend on NULL event times only."""
        return self.is_null_ok_from(time, self.differences)

    def is_null_ok_from(self, time: str, differences: Differences) -> bool:
        """The same for a time of another relation that ``differences`` link with it."""
        if not self.sources or differences.is_nonnull(time):
            return True
        return any(own in self.null_ok for own in differences.linked(time))

    def own_times(self) -> list[str]:
        """Every time that is known in it."""
        return list(self.differences)

    def depending_on(
        self, other: Relation, differences: Differences, times: Iterable[str]
    ) -> tuple[dict[str, dict[str, Range]], set[str]]:
        """Reads and NULL rule of rows of this one that look at rows of ``other`` as well.

        Args:
            other: Its rows count only where ``differences`` hold.
            differences: Between times of both.
            times: For which to answer.
        """
        reads: dict[str, dict[str, Range]] = {}
        null_ok: set[str] = set()
        for time in times:
            ranges = {source: self.reads_at(time, source) for source in self.sources}
            for source in other.sources:
                seen = other.seen_from(time, differences, source)
                ranges[source] = hull(ranges[source], seen) if source in ranges else seen
            reads[time] = ranges
            if self.is_null_ok(time) and other.is_null_ok_from(time, differences):
                null_ok.add(time)
        return reads, null_ok


def hull(one: Range, other: Range) -> Range:
    """The smallest range that holds both."""
    return min(one[0], other[0]), max(one[1], other[1])
