"""EDF-Partitioned: a home track for tables of similar periods.

So that updates of short periods do not wait behind long ones.

Source: Golab et al. 2011, 3.2.1 (home tracks) and 3.2.2 (promotion, aggressive or not).
Rules of docs/papers.md: G2 (the promotion test counts the table itself), G4 (next-fit; a table that
fits nowhere gets a track of its own; too few tracks is an error), G6 (1e-9), G7 (nominal E).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from freshline.core.errors import UserError
from freshline.core.model import Table
from freshline.core.placement import TOLERANCE, Placement, interval_s, nominal_s


@dataclass(slots=True)
class _Track:
    """A home track: its load, its longest update and its shortest period."""

    load: float = 0.0
    longest_s: float = 0.0
    shortest_period_s: float = float("inf")

    def takes(self, expected_s: float, period_s: float) -> bool:
        """U + u <= 1 - max(Emax, E) / min(Pmin, P): the test of 3.2.1 and 3.2.2."""
        longest_s = max(self.longest_s, expected_s)
        shortest_s = min(self.shortest_period_s, period_s)
        load = self.load + expected_s / period_s
        return load <= 1.0 - longest_s / shortest_s + TOLERANCE

    def add(self, expected_s: float, period_s: float) -> None:
        self.load += expected_s / period_s
        self.longest_s = max(self.longest_s, expected_s)
        self.shortest_period_s = min(self.shortest_period_s, period_s)


@dataclass
class EdfPartitioned(Placement):
    """Home track; else a free track; else one to which the table may be promoted.

    Attributes:
        aggressive: Promote to a track although a waiting table has its home there (3.2.2).
        home: Home track of each table, by table order.
        opened: Number of home tracks; the tracks from there on are free for all.
        promotable: Home tracks to which each table may be promoted, by table order.
    """

    name: ClassVar[str] = "edf-partitioned"

    aggressive: bool = True
    home: list[int] = field(default_factory=list, init=False)
    opened: int = field(default=0, init=False)
    promotable: list[tuple[int, ...]] = field(default_factory=list, init=False)

    def lay(self, tables: Sequence[Table], tracks: int) -> None:
        """Next-fit by (period, order) (3.2.1, G4), then the promotion tests (3.2.2, G2)."""
        home = [0] * len(tables)
        opened: list[_Track] = []
        for table in sorted(tables, key=lambda item: (interval_s(item), item.order)):
            expected_s = nominal_s(table)
            if not opened or not opened[-1].takes(expected_s, interval_s(table)):
                opened.append(_Track())
            opened[-1].add(expected_s, interval_s(table))
            home[table.order] = len(opened) - 1
        if len(opened) > tracks:
            raise UserError(
                "too-few-tracks",
                f"edf-partitioned needs {len(opened)} tracks for these tables, there are {tracks}",
                rule="a track's load stays at most 1 - its longest update / its shortest period",
                next_step=f"Set tracks to {len(opened)} or more, or use another partition.",
            )
        self.home, self.opened = home, len(opened)
        self.promotable = [
            tuple(
                number
                for number, track in enumerate(opened)
                if number != home[table.order] and track.takes(nominal_s(table), interval_s(table))
            )
            for table in tables
        ]

    def assign(self, waiting: Sequence[Table], free: Sequence[int]) -> list[tuple[Table, int]]:
        left = set(free)
        unassigned = [track for track in free if track >= self.opened]
        pairs: list[tuple[Table, int]] = []
        candidates = list(waiting)
        while left and candidates:
            passed_over: list[Table] = []
            homes_after = [] if self.aggressive else self._homes(candidates)
            for table in candidates:
                if not left:
                    return pairs
                home = self.home[table.order]
                if not self.aggressive:
                    homes_after[home] -= 1
                track = self._track(table, home, left, unassigned, homes_after)
                if track is None:
                    passed_over.append(table)
                else:
                    left.remove(track)
                    if track >= self.opened:
                        unassigned.remove(track)
                    pairs.append((table, track))
            if len(passed_over) == len(candidates):
                break
            candidates = passed_over
        return pairs

    def _homes(self, candidates: Sequence[Table]) -> list[int]:
        """How many of ``candidates`` have each track as their home."""
        homes = [0] * self.opened
        for table in candidates:
            homes[self.home[table.order]] += 1
        return homes

    def _track(
        self,
        table: Table,
        home: int,
        left: set[int],
        unassigned: Sequence[int],
        homes_after: Sequence[int],
    ) -> int | None:
        if home in left:
            return home
        if unassigned:
            return unassigned[0]
        for track in self.promotable[table.order]:
            if track in left and (self.aggressive or homes_after[track] == 0):
                return track
        return None
