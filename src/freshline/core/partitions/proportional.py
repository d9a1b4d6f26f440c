"""Proportional: tracks divided among clusters of tables in proportion to their load.

A cluster holds tables whose updates take about as long.

Source: Golab et al. 2011, 3.2.3. Rules of docs/papers.md: G1 (the clustering compares E with k
times the least period), G5 (clusters may end inside a track; order of the tracks tried), G6 (the
cap of ``basic``, 1e-9), G7 (nominal E).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import ceil, floor
from typing import ClassVar

from freshline.core.model import Table
from freshline.core.placement import TOLERANCE, Placement, interval_s, nominal_s

ALLOCATIONS = ("basic", "all")


def clustered(tables: Sequence[Table], clustering: float) -> list[list[Table]]:
    """By (E, order); a table joins while its E < ``clustering`` * the cluster's least period."""
    clusters: list[list[Table]] = []
    least_period_s = 0.0
    for table in sorted(tables, key=lambda item: (nominal_s(item), item.order)):
        if clusters and nominal_s(table) < clustering * least_period_s:
            clusters[-1].append(table)
            least_period_s = min(least_period_s, interval_s(table))
        else:
            clusters.append([table])
            least_period_s = interval_s(table)
    return clusters


@dataclass
class Proportional(Placement):
    """Tracks lo+1..hi of the table's cluster, then lo, the unassigned, then 0..lo-1.

    The cluster with the longest updates lies at track 0 and may use no track below; so short
    updates never wait behind the longest unless nobody else wants the track.

    Attributes:
        clustering: k: how unequal the tables of one cluster may be (G1).
        allocation: basic: as many tracks as the load needs; all: every track (3.2.3).
        aggressive: Take a lower track although a later waiting table might run there.
        bounds: (lo, hi) of each table's cluster, by table order.
        target: Tracks that are divided among the clusters; the rest are unassigned.
    """

    name: ClassVar[str] = "proportional"

    clustering: float = 10.0
    allocation: str = "all"
    aggressive: bool = True
    bounds: list[tuple[int, int]] = field(default_factory=list, init=False)
    target: int = field(default=0, init=False)

    def lay(self, tables: Sequence[Table], tracks: int) -> None:
        clusters = clustered(tables, self.clustering)
        loads = [
            sum(nominal_s(table) / interval_s(table) for table in cluster) for cluster in clusters
        ]
        load = sum(loads)
        needed = max(1, ceil(load - TOLERANCE))
        self.target = tracks if self.allocation == "all" else min(tracks, needed)
        # Updates that take no time need no track of their own: any division will do.
        factor = self.target / load if load > 0.0 else 0.0
        bounds = [(0, 0)] * len(tables)
        start = 0.0
        for cluster, cluster_load in zip(reversed(clusters), reversed(loads), strict=True):
            end = start + factor * cluster_load
            lo = min(floor(start + TOLERANCE), tracks - 1)
            hi = max(lo, min(ceil(end - TOLERANCE) - 1, tracks - 1))
            for table in cluster:
                bounds[table.order] = (lo, hi)
            start = end
        self.bounds = bounds

    def assign(self, waiting: Sequence[Table], free: Sequence[int]) -> list[tuple[Table, int]]:
        left = set(free)
        pairs: list[tuple[Table, int]] = []
        candidates = list(waiting)
        while left and candidates:
            passed_over: list[Table] = []
            wanted_after = {} if self.aggressive else self._wanted(candidates)
            for table in candidates:
                if not left:
                    return pairs
                lo, hi = self.bounds[table.order]
                if not self.aggressive:
                    for wanted in range(lo, hi + 1):
                        wanted_after[wanted] -= 1
                track = self._track(lo, hi, left, wanted_after)
                if track is None:
                    passed_over.append(table)
                else:
                    left.remove(track)
                    pairs.append((table, track))
            if len(passed_over) == len(candidates):
                break
            candidates = passed_over
        return pairs

    def _wanted(self, candidates: Sequence[Table]) -> dict[int, int]:
        """How many of ``candidates`` have each track among their lo..hi."""
        wanted: dict[int, int] = {}
        for table in candidates:
            lo, hi = self.bounds[table.order]
            for track in range(lo, hi + 1):
                wanted[track] = wanted.get(track, 0) + 1
        return wanted

    def _track(self, lo: int, hi: int, left: set[int], wanted_after: dict[int, int]) -> int | None:
        for track in chain(range(lo + 1, hi + 1), (lo,)):
            if track in left:
                return track
        unassigned = [track for track in left if track >= self.target]
        if unassigned:
            return min(unassigned)
        for track in range(lo):
            if track in left and (self.aggressive or not wanted_after.get(track)):
                return track
        return None
