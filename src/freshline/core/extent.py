"""How much of the pending data one update loads.

All of it (Golab et al. 2011, 2.4: pending updates are merged), at most c periods of it
(chopping, 3.4, rule G13), or one file (Leontyev et al. 2009, II and Definition 8).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from dataclasses import dataclass
from operator import itemgetter

from freshline.core.instant import TIME_EPSILON_S
from freshline.core.model import PendingFile, Table

_FRESHNESS, _VERSION = itemgetter(0), itemgetter(1)
_BACKLOG_PERIODS = 2.0
"""More data than that is a backlog; less is a feed that brought two files at once."""


class Extent:
    """How far an update goes; the base class loads all that is pending."""

    keeps_files = False
    """Whether every pending file must be remembered, or only the oldest."""
    cuts_derived = False
    """Whether derived updates may stop short of the trailing edge, so that older versions of
    their parents are read and must be remembered."""
    merges_pending = False
    """Whether an update loads all that is pending, but for a rare backlog of very many files."""

    def next_to_s(self, table: Table) -> float:
        """Where the next update of ``table`` would bring its freshness."""
        return table.trailing_edge_s

    def take(self, table: Table, to_s: float) -> list[PendingFile]:
        """Remove from ``table.pending`` what an update to ``to_s`` loads, and return it."""
        taken: list[PendingFile] = []
        pending = table.pending
        while pending and pending[0].timestamp_s <= to_s:
            taken.append(pending.popleft())
        return taken


class _AllPending(Extent):
    merges_pending = True

    def take(self, table: Table, to_s: float) -> list[PendingFile]:
        """Everything, without looking at each file."""
        taken = list(table.pending)
        table.pending.clear()
        return taken


ALL_PENDING: Extent = _AllPending()


@dataclass(frozen=True, slots=True)
class Chop(Extent):
    """At most ``periods`` periods of new data (Golab et al. 3.4, rule G13).

    Base: the longest run of pending files, oldest first, with timestamp <= F + c * period,
    at least one. Derived: min(TE, F + c * period); in a warehouse, as far as versions of the
    parents reach.
    """

    periods: float
    keeps_files = True
    cuts_derived = True

    def next_to_s(self, table: Table) -> float:
        """At most c periods further, except where one file alone reaches further."""
        limit_s = table.freshness_s + self.periods * table.period_s
        if not table.is_base:
            return _cut_s(table, limit_s)
        return _run_end_s(table, limit_s)


@dataclass(frozen=True, slots=True)
class Batch(Extent):
    """All that is pending, but at most ``most_files`` files of a base table at once.

    For a feed found with ten thousand old files: one update of them all would hold its track
    for minutes and fail as a whole. Files of one timestamp stay together, because freshness
    cannot stand in the middle of them, so an update may be larger than ``most_files``.
    """

    most_files: int
    keeps_files = True
    merges_pending = True

    def next_to_s(self, table: Table) -> float:
        """The trailing edge, or the end of the last file that an update may load."""
        if not table.is_base or len(table.pending) <= self.most_files:
            return table.trailing_edge_s
        return max(table.freshness_s, table.pending[self.most_files - 1].timestamp_s)


@dataclass(frozen=True, slots=True)
class OneFile(Extent):
    """Base: one file; derived: at most one period (Leontyev et al. Definition 8)."""

    keeps_files = True
    cuts_derived = True

    def next_to_s(self, table: Table) -> float:
        """The end of the oldest file, or one period further at most."""
        if not table.is_base:
            # F + min(TE - F, p); where that is TE, exactly TE: a sum that misses it by the last
            # digit would leave a remainder to load that nobody has.
            freshness_s, period_s = table.freshness_s, table.period_s
            if table.trailing_edge_s - freshness_s <= period_s + TIME_EPSILON_S:
                return table.trailing_edge_s
            return _cut_s(table, freshness_s + period_s)
        return _run_end_s(table, float("-inf"))


class NewestFirst(Extent):
    """As ``inner`` says, but tables with ``newest_first`` load the newest of a backlog first.

    A backlog is more than two periods of data. Its older files go into the table's gap, which
    the background loads; until then the table is complete only to where it was.
    """

    keeps_files = True

    def __init__(self, inner: Extent) -> None:
        self._inner = inner
        self.cuts_derived = inner.cuts_derived

    def next_to_s(self, table: Table) -> float:
        """The trailing edge, for such a table."""
        if table.spec.newest_first and table.is_base:
            return table.trailing_edge_s
        return self._inner.next_to_s(table)

    def take(self, table: Table, to_s: float) -> list[PendingFile]:
        """The newest files of a backlog; all files where there is less than a backlog."""
        if not (table.spec.newest_first and table.is_base):
            return self._inner.take(table, to_s)
        taken = list(table.pending)
        table.pending.clear()
        freshness_s = table.freshness_s
        older = [file for file in taken if freshness_s < file.timestamp_s < to_s]
        if not older or to_s - freshness_s <= _BACKLOG_PERIODS * table.period_s + TIME_EPSILON_S:
            return taken
        if table.floor_s is None:
            table.floor_s = freshness_s
        table.gap = deque(sorted([*table.gap, *older], key=lambda file: file.timestamp_s))
        return [file for file in taken if not freshness_s < file.timestamp_s < to_s]


def _cut_s(table: Table, limit_s: float) -> float:
    """The end of a view's update that stops at the limit: what its parents' versions are fresh to.

    Between two versions there is nothing to read, and no freshness to claim. Where no version lies
    between F and the limit, the next one beyond is read, as a base table loads one file at least.
    """
    if limit_s >= table.trailing_edge_s:
        return table.trailing_edge_s
    reached_s = table.trailing_edge_s
    for source in table.sources:
        if source.version is None:
            return limit_s  # a simulation has no versions: its tables are fresh at any moment
        versions = source.versions  # by freshness; many where another child stands still
        newer = bisect_right(versions, table.freshness_s, key=_FRESHNESS)
        read = None if table.pins is None else table.pins.get(source.name)
        if read is not None:  # nothing older is read again
            newer = max(newer, bisect_left(versions, read, key=_VERSION))
        last = max(newer, bisect_right(versions, limit_s, lo=newer, key=_FRESHNESS) - 1)
        if last < len(versions):
            reached_s = min(reached_s, versions[last][0])
    return reached_s


def _run_end_s(table: Table, limit_s: float) -> float:
    """Timestamp of the last file of the run; F when only late files, or nothing, is pending."""
    end_s = table.freshness_s
    for file in table.pending:
        if file.timestamp_s <= end_s:  # late data goes along: it brings no freshness
            continue
        if file.timestamp_s > limit_s and end_s > table.freshness_s:
            break
        end_s = file.timestamp_s
        if end_s >= limit_s:
            break
    return end_s
