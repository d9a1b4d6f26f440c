"""The groups of GROUPANDRUN: tables of similar periods share tracks with nobody else.

Source: Bateni et al. 2009, 4, Figure 2 and Theorem 4.3; the paper leaves the grouping open,
rule B6 settles it: greedily by ascending period, a group's periods at most twice its
least, inclusive.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from freshline.core.errors import UserError
from freshline.core.model import Table
from freshline.core.placement import Placement, interval_s


def groups_by_period(tables: Sequence[Table]) -> list[list[Table]]:
    """Groups by ascending period, each group's periods at most twice its least (B6)."""
    ascending = sorted(tables, key=lambda item: (interval_s(item), item.order))
    rest = iter(ascending)
    spans = spans_by_period([interval_s(table) for table in tables])
    return [[next(rest) for _ in span] for span in spans]


def spans_by_period(periods_s: Sequence[float]) -> list[list[float]]:
    """The same of periods alone, ascending."""
    spans: list[list[float]] = []
    for period_s in sorted(periods_s):
        if spans and period_s <= 2 * spans[-1][0]:
            spans[-1].append(period_s)
        else:
            spans.append([period_s])
    return spans


class Groups(Placement):
    """A group of s of the n tables gets ceil((p - g) * s / n) of the p tracks (Figure 2).

    Tracks are given out in order of the groups; what is left over stays unused, so that one
    group leaves one track idle, as the paper's formula says (B6).
    """

    name: ClassVar[str] = "groups"

    def __init__(self) -> None:
        self.tracks_of: list[range] = []
        """Tracks of each table's group, by table order."""

    def lay(self, tables: Sequence[Table], tracks: int) -> None:
        groups = groups_by_period(tables)
        if tracks <= len(groups):
            raise UserError(
                "too-few-tracks",
                f"group-and-run needs more tracks than it has groups of similar periods: "
                f"{len(groups)} groups, {tracks} tracks",
                rule="Bateni et al. 2009, Figure 2, divides p - g tracks among g groups",
                next_step=f"Set tracks to {len(groups) + 1} or more, or use another policy.",
            )
        tracks_of = [range(0)] * len(tables)
        first, spare = 0, tracks - len(groups)
        for group in groups:
            # The product is a whole number; -(-a // b) rounds its quotient up exactly.
            end = first + -(-spare * len(group) // len(tables))
            for table in group:
                tracks_of[table.order] = range(first, end)
            first = end
        self.tracks_of = tracks_of

    def assign(self, waiting: Sequence[Table], free: Sequence[int]) -> list[tuple[Table, int]]:
        left = set(free)
        pairs = []
        for table in waiting:
            if not left:
                break
            for track in self.tracks_of[table.order]:
                if track in left:
                    left.remove(track)
                    pairs.append((table, track))
                    break
        return pairs
