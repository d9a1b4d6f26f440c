"""What can be promised before the run: tardiness, response, staleness, time to recover.

Leontyev et al. 2009: Theorem 1 (tardiness Y), Lemma 1 (response Theta), Definition 13
(staleness A), Theorem 4 (recovery). All four hold as long as no update takes longer than its
e and no more data comes than the periods say (rule L12). None stands for "nothing
can be promised".
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nlargest
from math import fsum, isfinite

from freshline.core.aus.shares import Share
from freshline.core.aus.supply import NOTHING_LENT, RestrictedSupply
from freshline.core.graph import topological
from freshline.core.model import Table


def tardiness_denominator(
    shares: Sequence[Share], tracks: int, lent: RestrictedSupply = NOTHING_LENT
) -> float:
    """Theorem 1's m - sum of the min(n, m - 1) largest W; only where it is > 0 is Y a bound.

    What is lent to reports is taken from m, but not from the number of W (``supply.py``).
    """
    weights = nlargest(tracks - 1, [share.weight for share in shares])
    return tracks - lent.share - fsum(weights)


def tardiness_bounds_s(
    shares: Sequence[Share], tracks: int, lent: RestrictedSupply = NOTHING_LENT
) -> list[float | None]:
    """Theorem 1: Y of each table, how long after its deadline an update ends at most.

    Args:
        shares: Of all tables.
        tracks: m.
        lent: What reports take of them.

    Returns:
        Seconds per table, in their order; None where the theorem's denominator is not positive.
    """
    if not shares:
        return []
    denominator = tardiness_denominator(shares, tracks, lent)
    if not denominator > 0.0:
        return [None] * len(shares)
    times_s = [share.execution_s for share in shares]
    ahead_s = fsum(nlargest(tracks, times_s)) - min(times_s) + lent.burst_s
    blocking_s = ahead_s / denominator
    return [time_s + blocking_s for time_s in times_s]


def response_bounds_s(
    shares: Sequence[Share], tardiness_s: Sequence[float | None]
) -> list[float | None]:
    """Lemma 1: Theta = p + Y of each table, from release to end."""
    return [
        None if late_s is None or not isfinite(share.period_s) else share.period_s + late_s
        for share, late_s in zip(shares, tardiness_s, strict=True)
    ]


def staleness_bounds_s(
    tables: Sequence[Table], response_s: Sequence[float | None]
) -> list[float | None]:
    """Definition 13: A of each table, by Theorems 2 and 3 the most it is stale.

    That holds from the first moment at which the table is fresh, while its feed, or the feeds
    of all its ancestors, are healthy. Base: Theta + p + max(phase, p + J + kappa); derived:
    Theta + p + the largest A of its sources.
    """
    bounds: list[float | None] = [None] * len(tables)
    for table in topological(tables):
        theta_s = response_s[table.order]
        if theta_s is None:
            continue
        spec = table.spec
        behind_s: float | None
        if table.is_base:
            phase_s = spec.phase_s if spec.health_phase_s is None else spec.health_phase_s
            regular_s = table.period_s + spec.jitter_s + spec.timestamp_jitter_s
            behind_s = max(table.period_s if phase_s is None else phase_s, regular_s)
        else:
            behind_s = _largest([bounds[source.order] for source in table.sources])
        if behind_s is not None:
            bounds[table.order] = theta_s + table.period_s + behind_s
    return bounds


def recovery_bound_s(
    table: Table, share: Share, response_s: float | None, outage_s: float
) -> float | None:
    """Theorem 4: the backlog of an outage is gone so long after the switch to recovery.

    Args:
        table: A base table; for a derived one the theorem says nothing.
        share: Its share.
        response_s: Its Theta.
        outage_s: lambda: how long nothing came before the switch.

    Returns:
        x = (Theta*p + (lambda + J + p)*p^r) / (p - p^r); None where p^r is not below p.
    """
    period_s, recovery_s = share.period_s, share.recovery_period_s
    if not table.is_base or response_s is None or not recovery_s < period_s:
        return None
    missed_s = outage_s + table.spec.jitter_s + period_s
    return (response_s * period_s + missed_s * recovery_s) / (period_s - recovery_s)


def _largest(bounds: Sequence[float | None]) -> float | None:
    known_s = [bound_s for bound_s in bounds if bound_s is not None]
    return max(known_s) if len(known_s) == len(bounds) else None
