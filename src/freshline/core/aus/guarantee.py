"""Shares and bounds of every table of a graph, and how many tracks it needs.

What ``freshline guarantees`` prints and what the policy starts from are the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil

from freshline.core.aus.bounds import (
    recovery_bound_s,
    response_bounds_s,
    staleness_bounds_s,
    tardiness_bounds_s,
    tardiness_denominator,
)
from freshline.core.aus.shares import Share, execution_s, shares, utilisation_of
from freshline.core.aus.supply import NOTHING_LENT, ReportDemand, RestrictedSupply, supply_beside
from freshline.core.graph import connected, set_periods
from freshline.core.model import Table, TableSpec
from freshline.core.placement import TOLERANCE


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What holds of one table while no update takes longer than assumed.

    Attributes:
        share: e, p and p^r.
        threshold_s: How far behind it may be before it asks for recovery; None: it never does.
        tardiness_s: Y (Theorem 1). None here and below: nothing can be promised.
        response_s: Theta (Lemma 1).
        staleness_s: A (Definition 13).
        holds: Whether the tracks can carry the tables. If not, the formulas still have values,
            which say when to ask for recovery, and can be exceeded.
    """

    share: Share
    threshold_s: float | None
    tardiness_s: float | None
    response_s: float | None
    staleness_s: float | None
    holds: bool = True

    @property
    def promised(self) -> Guarantee:
        """What a run can be held to: no bounds where they do not hold."""
        if self.holds:
            return self
        return replace(self, tardiness_s=None, response_s=None, staleness_s=None)

    def record(self) -> dict[str, float | None]:
        """The keys and values that ``--json`` prints."""
        return {
            "e": self.share.execution_s,
            "utilisation": self.share.utilisation,
            "recovery_period": self.share.recovery_period_s,
            "threshold": self.threshold_s,
            "tardiness_bound": self.tardiness_s,
            "response_bound": self.response_s,
            "staleness_bound": self.staleness_s,
        }

    def recovery_s(self, table: Table, outage_s: float) -> float | None:
        """Theorem 4's bound for an outage of ``outage_s`` on a base table."""
        return recovery_bound_s(table, self.share, self.response_s, outage_s)


def graph_of(specs: Sequence[TableSpec]) -> list[Table]:
    """Tables as a scheduler would have them before its first event.

    Raises:
        UserError: The graph has a cycle, an unknown source or a name twice.
    """
    tables = [Table(spec, order, 0.0, 0.0) for order, spec in enumerate(specs)]
    connected(specs, tables)
    set_periods(tables)
    return tables


def lent_by(
    tables: Sequence[Table],
    reports: Sequence[ReportDemand],
    *,
    tracks: int,
    recovery: str,
    worst_factor: float = 1.0,
) -> RestrictedSupply:
    """What ``reports`` take away from the updates of ``tables``; arguments as ``guarantees_of``.

    Nothing where there are fewer tables than tracks: one update a table runs at a time.
    """
    if not reports or len(tables) < tracks:
        return NOTHING_LENT
    times_s = [execution_s(table, recovery, worst_factor) for table in tables]
    return supply_beside(reports, max(times_s, default=0.0))


def guarantees_of(
    tables: Sequence[Table],
    *,
    tracks: int,
    recovery: str,
    worst_factor: float = 1.0,
    lent: RestrictedSupply = NOTHING_LENT,
) -> list[Guarantee]:
    """The guarantee of every table, in table order.

    Args:
        tables: Connected and with periods.
        tracks: m.
        recovery: How recovery periods are chosen (``shares.RECOVERIES``).
        worst_factor: How many times its mean an update takes at worst (for ``worst``).
        lent: What reports take of the tracks (``lent_by``).

    Raises:
        UserError: As ``shares``.
    """
    claims = shares(
        tables, tracks=tracks - lent.share, recovery=recovery, worst_factor=worst_factor
    )
    tardiness_s = tardiness_bounds_s(claims, tracks, lent)
    response_s = response_bounds_s(claims, tardiness_s)
    staleness_s = staleness_bounds_s(tables, response_s)
    holds = is_schedulable(claims, tracks, lent)
    result = []
    for table, claim in zip(tables, claims, strict=True):
        order = table.order
        given_s = table.spec.recovery_threshold_s
        threshold_s = staleness_s[order] if given_s is None else given_s
        bounds_s = (tardiness_s[order], response_s[order], staleness_s[order])
        result.append(Guarantee(claim, threshold_s, *bounds_s, holds=holds))
    return result


def load_of(guarantees: Iterable[Guarantee]) -> float:
    """U_sum."""
    return utilisation_of([guarantee.share.utilisation for guarantee in guarantees])


def is_schedulable(
    claims: Sequence[Share], tracks: int, lent: RestrictedSupply = NOTHING_LENT
) -> bool:
    """Definition 9's conditions, and Theorem 1's denominator is positive.

    That is: U <= m, every u <= 1 (both within 1e-9, because shares are sums of rounded
    quotients), m > the sum of the m - 1 largest W; m less what is lent to reports.
    """
    utilisations = [claim.utilisation for claim in claims]
    return (
        utilisation_of(utilisations) <= tracks - lent.share + TOLERANCE
        and max(utilisations, default=0.0) <= 1.0 + TOLERANCE
        and tardiness_denominator(claims, tracks, lent) > 0.0
    )


def tracks_needed(
    tables: Sequence[Table],
    *,
    recovery: str,
    worst_factor: float = 1.0,
    reports: Sequence[ReportDemand] = (),
) -> int | None:
    """The least number of tracks on which the tables are schedulable; None: no number is enough.

    Recovery periods follow from the number of tracks, so each number is tried in turn. From
    m = n + 1 on Theorem 1's sum holds every table and does not grow any more, except through
    shorter recovery periods, which end at e (W = 1): a number beyond both sums is the last.
    """
    tracks = 1
    while True:
        lent = lent_by(tables, reports, tracks=tracks, recovery=recovery, worst_factor=worst_factor)
        claims = shares(
            tables, tracks=tracks - lent.share, recovery=recovery, worst_factor=worst_factor
        )
        if is_schedulable(claims, tracks, lent):
            return tracks
        most = max([claim.utilisation for claim in claims], default=0.0)
        weight = utilisation_of([claim.weight for claim in claims])
        if most > 1.0 + TOLERANCE or weight == float("inf"):
            return None
        load = utilisation_of([claim.utilisation for claim in claims])
        tracks = max(tracks + 1, ceil(load + lent.share - TOLERANCE))
