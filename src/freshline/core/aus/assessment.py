"""A whole graph judged before it runs: what holds of each table, and on how many tracks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from freshline.core.aus.guarantee import (
    Guarantee,
    guarantees_of,
    is_schedulable,
    lent_by,
    load_of,
    tracks_needed,
)
from freshline.core.aus.supply import ReportDemand, RestrictedSupply
from freshline.core.model import Table
from freshline.core.stretch import StretchBound, stretch_bound


@dataclass(frozen=True, slots=True)
class Assessment:
    """What can be said before the run, as long as updates take no longer than assumed.

    Attributes:
        tables: In table order.
        guarantees: Of each.
        tracks: On how many tracks.
        tracks_needed: The least number on which all bounds exist; None: no number is enough.
        is_schedulable: Whether ``tracks`` is enough.
        recovery_s: Of each, Theorem 4's bound for the outage asked about; None without one.
        stretch: Of every file, Theorem 4.3 of Bateni et al. 2009.
        lent: What reports take of the tracks.
    """

    tables: tuple[Table, ...]
    guarantees: tuple[Guarantee, ...]
    tracks: int
    tracks_needed: int | None
    is_schedulable: bool
    recovery_s: tuple[float | None, ...]
    stretch: StretchBound
    lent: RestrictedSupply

    @property
    def utilisation(self) -> float:
        """U_sum: how many tracks the tables keep busy."""
        return load_of(self.guarantees)

    def of(self, name: str) -> Guarantee | None:
        """The guarantee of the table of that name; None if there is none."""
        for table, guarantee in zip(self.tables, self.guarantees, strict=True):
            if table.name == name:
                return guarantee
        return None

    def costliest(self, most: int) -> list[tuple[str, float]]:
        """The tables that keep tracks busiest, with the part of a track that each needs."""
        shares = [
            (table.name, guarantee.share.utilisation)
            for table, guarantee in zip(self.tables, self.guarantees, strict=True)
        ]
        return sorted(shares, key=lambda share: -share[1])[:most]

    def record(self) -> dict[str, Any]:
        """The object that ``freshline guarantees --json`` prints (contract of updates)."""
        return {
            "schedulable": self.is_schedulable,
            "tracks": self.tracks,
            "tracks_needed": self.tracks_needed,
            "utilisation": self.utilisation,
            "stretch": self.stretch.record(),
            "tables": {
                table.name: {**guarantee.record(), "recovery": recovery_s}
                for table, guarantee, recovery_s in zip(
                    self.tables, self.guarantees, self.recovery_s, strict=True
                )
            },
        }


def assessed(
    tables: Sequence[Table],
    *,
    tracks: int,
    recovery: str,
    worst_factor: float = 1.0,
    outage_s: float | None = None,
    policy: str = "aus",
    chop: float | None = None,
    reports: Sequence[ReportDemand] = (),
    objective: str = "staleness",
    unlike: str = "",
) -> Assessment:
    """Judge ``tables`` on ``tracks``.

    Args:
        tables: Connected and with periods (``guarantee.graph_of``).
        tracks: m.
        recovery: How recovery periods are chosen (``shares.RECOVERIES``).
        worst_factor: How many times its mean an update takes at worst (for ``worst``).
        outage_s: lambda of Theorem 4; None: no outage is asked about.
        policy, chop, objective: What runs; only the bound on stretch depends on them.
        unlike: What Theorem 4.3 does not allow of the feeds (``stretch.stretch_bound``).
        reports: What shares the last track with the updates.

    Raises:
        UserError: As ``shares.shares``.
    """
    lent = lent_by(tables, reports, tracks=tracks, recovery=recovery, worst_factor=worst_factor)
    guarantees = guarantees_of(
        tables, tracks=tracks, recovery=recovery, worst_factor=worst_factor, lent=lent
    )
    return Assessment(
        tuple(tables),
        tuple(guarantees),
        tracks,
        tracks_needed(tables, recovery=recovery, worst_factor=worst_factor, reports=reports),
        is_schedulable([guarantee.share for guarantee in guarantees], tracks, lent),
        tuple(
            None if outage_s is None else guarantee.recovery_s(table, outage_s)
            for table, guarantee in zip(tables, guarantees, strict=True)
        ),
        stretch_bound(
            {
                table.name: (guarantee.share.execution_s, table.period_s)
                for table, guarantee in zip(tables, guarantees, strict=True)
                if table.is_base
            },
            tracks=tracks,
            policy=policy,
            derived=[table.name for table in tables if not table.is_base],
            chop=chop,
            reports=len(reports),
            objective=objective,
            unlike=unlike,
        ),
        lent,
    )
