"""Flow times of base tables: the penalty and the stretch of Bateni et al.

Bateni et al. 2009, 2.1 and 2.2; rules B4: the flow of a file ends with the update that
loads it, LOW counts files that arrived, stretch and penalty updates that finished, lengths
are differences of timestamps.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import itemgetter

from freshline.sim.scenario.model import FeedSpec

_timestamp_s = itemgetter(1)


class Flows:
    """What is measured of one base table.

    Attributes:
        penalty_s2: Sum of (finish - from)^2 over finished updates.
        stretch: Largest (finish - before) / (timestamp - before) over the files they loaded,
            a file holding the data of (before, timestamp]; 0 without one.
    """

    __slots__ = ("penalty_s2", "stretch")

    follows_files = True
    """Whether ``arrived`` and ``started`` have to be called."""

    def __init__(self) -> None:
        self.penalty_s2 = 0.0
        self.stretch = 0.0

    def arrived(self, timestamp_s: float) -> None:
        """A file with the data up to ``timestamp_s`` arrived."""

    def started(self, to_s: float) -> None:
        """An update started that loads all files up to ``to_s``."""

    def finished(self, from_s: float, to_s: float, now_s: float) -> None:
        """That update finished; it brought the freshness from ``from_s`` to ``to_s``."""
        raise NotImplementedError


class FollowedFlows(Flows):
    """Any feed: files are remembered until they are loaded.

    Args:
        merging: Whether an update always loads all that is pending. Of the files waiting then
            only those matter that are shorter than every older one, so memory does not grow.
    """

    __slots__ = ("_before_s", "_loading", "_merging", "_waiting")

    def __init__(self, *, merging: bool) -> None:
        super().__init__()
        self._merging = merging
        self._before_s = 0.0
        self._waiting: list[tuple[float, float]] = []
        self._loading: Sequence[tuple[float, float]] = ()

    def arrived(self, timestamp_s: float) -> None:
        """Remember the file, unless an older one of those waiting tells as much."""
        before_s, self._before_s = self._before_s, timestamp_s
        if self._merging and self._waiting:
            first_s, last_s = self._waiting[-1]
            # Dates of one feed differ by rounding alone; that must not count as shorter.
            if timestamp_s - before_s >= (last_s - first_s) * (1.0 - 1e-12):
                return
        self._waiting.append((before_s, timestamp_s))

    def started(self, to_s: float) -> None:
        """Set the files apart that it loads."""
        if self._merging:
            self._loading, self._waiting = self._waiting, []
        else:
            end = bisect_right(self._waiting, to_s, key=_timestamp_s)
            self._loading = self._waiting[:end]
            del self._waiting[:end]

    def finished(self, from_s: float, to_s: float, now_s: float) -> None:
        """Measure its own flow, and the stretch of every file."""
        flow_s = now_s - from_s
        self.penalty_s2 += flow_s * flow_s
        for before_s, timestamp_s in self._loading:
            self.stretch = max(self.stretch, (now_s - before_s) / (timestamp_s - before_s))


class PeriodicFlows(Flows):
    """A periodic feed whose updates load all that is pending: nothing is remembered.

    Files have equal lengths, so the oldest one loaded is stretched most; only the first
    file of all is as long as the phase.
    """

    __slots__ = ("_period_s", "_phase_s")

    follows_files = False

    def __init__(self, feed: FeedSpec) -> None:
        super().__init__()
        self._phase_s = feed.phase_s
        self._period_s = feed.period_s

    def finished(self, from_s: float, to_s: float, now_s: float) -> None:
        """Measure its own flow, and the stretch of the oldest file."""
        flow_s = now_s - from_s
        self.penalty_s2 += flow_s * flow_s
        phase_s = self._phase_s
        if from_s >= phase_s:
            stretch = flow_s / self._period_s
        else:
            stretch = flow_s / phase_s
            if to_s > phase_s:
                stretch = max(stretch, (now_s - phase_s) / self._period_s)
        if stretch > self.stretch:  # noqa: PLR1730 - once for every update
            self.stretch = stretch


def flows_of(feed: FeedSpec, *, merging: bool) -> Flows:
    """The cheapest of them that is exact for ``feed``."""
    if merging and feed.arrivals is None:
        return PeriodicFlows(feed)
    return FollowedFlows(merging=merging)
