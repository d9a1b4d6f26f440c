"""Stretch: the time until a file is in its table, relative to the time it took to collect.

Bateni et al. 2009, 4: the stretch of a file is (finish - the previous file's timestamp) / (its
timestamp - the previous one's). No policy bounds it for every feed; Theorem 4.3 bounds it by 3
under GROUPANDRUN, where the files of a feed are of similar length and updates are short
enough. Rules of docs/papers.md: B6 (the grouping).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from freshline.core.partitions.groups import spans_by_period

STRETCH = 3.0
"""Theorem 4.3's bound; its proof gives 7/3 * (1 + alpha)."""

POLICY = "group-and-run"
"""The only policy that the theorem is about."""


@dataclass(frozen=True, slots=True)
class StretchBound:
    """What can be promised of the stretch of every file.

    Attributes:
        bound: It stays below that; None where the theorem does not hold.
        why_not: The condition that does not hold, one phrase; empty where all do.
    """

    bound: float | None
    why_not: str = ""

    def record(self) -> dict[str, Any]:
        """For ``--json``."""
        return {"bound": self.bound, "why_not": self.why_not or None}


def unlike_groups(periods_s: Sequence[float], tracks: int, alpha: float) -> str:
    """Which of p >= 2g, alpha <= (p - g)/(8t), alpha <= 1/8 does not hold; empty if all do.

    Args:
        periods_s: Of the tables.
        tracks: p.
        alpha: The most seconds that an update takes per second of data.
    """
    groups = len(spans_by_period(periods_s))
    if tracks < 2 * groups:
        return f"{groups} groups need {2 * groups} tracks"
    limit = min((tracks - groups) / (8 * len(periods_s)), 1 / 8)
    return f"alpha = {alpha:.4g} is above {limit:.4g}" if alpha > limit else ""


def stretch_bound(
    shares: Mapping[str, tuple[float, float]],
    *,
    tracks: int,
    policy: str,
    derived: Sequence[str] = (),
    chop: float | None = None,
    reports: int = 0,
    objective: str = "staleness",
    unlike: str = "",
) -> StretchBound:
    """Theorem 4.3 for tables that load one period of data at a time.

    Args:
        shares: Of each base table, how long an update of one period takes, and the period;
            both in seconds.
        tracks: p.
        policy: Its name.
        derived: Names of tables that are no base tables; the paper knows none.
        chop: What the policy cuts updates to, in periods.
        reports: How many share a track with the updates; the paper knows none.
        objective: Under ``cost`` updates wait until they are due.
        unlike: What else is known of the feeds that the theorem does not allow, one phrase.
    """
    if policy != POLICY:
        why_not = f"it is about policy {POLICY}"
    elif derived:
        why_not = f"table '{derived[0]}' is derived"
    elif reports:
        why_not = "reports take a track at times"
    elif objective != "staleness":
        why_not = f"under the objective {objective} updates wait"
    elif chop is not None:
        why_not = "with chop an update does not load all that is pending"
    elif unlike:
        why_not = unlike
    elif not shares or any(period_s <= 0.0 for _, period_s in shares.values()):
        why_not = "not every period is known"
    else:
        alpha = max(time_s / period_s for time_s, period_s in shares.values())
        why_not = unlike_groups([period_s for _, period_s in shares.values()], tracks, alpha)
    return StretchBound(None if why_not else STRETCH, why_not)
