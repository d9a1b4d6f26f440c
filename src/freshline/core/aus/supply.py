"""What reports take away from the updates: part of one track's time, at most so much at once.

Reports run one batch at a time on the last track, which no update takes from a batch's planned
start on; before it only updates start there that end in time (``core/aus/reservations.py``), so up
to the longest update's time it may stand idle. All other tracks are the updates' own.

Theorem 1 of Leontyev et al. 2009 knows no such track. Its proof compares the work that may come
with the time that m tracks give; here they give ``share`` of a track less, and ``burst_s`` less
once, while still up to m updates may run, or have work left, at one time. So the tracks' number
is lowered where it is time, and kept where it counts updates. (The same is done for processors
of restricted supply in Leontyev and Anderson 2010, Generalized tardiness bounds.)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import fsum


@dataclass(frozen=True, slots=True)
class ReportDemand:
    """What one report takes of its track.

    Attributes:
        cost_s: All batches of one window and the final, the planner's margin included.
        batches: Of one window, by its plan.
        window_s: Length of a window; None: it is made once (ad hoc).
        delay_s: From a window's end to its deadline.
    """

    cost_s: float
    batches: int
    window_s: float | None
    delay_s: float

    @property
    def share(self) -> float:
        """The part of a track that it needs; none where it is made once."""
        return 0.0 if self.window_s is None else self.cost_s / self.window_s


@dataclass(frozen=True, slots=True)
class RestrictedSupply:
    """Of a track that is the updates' but for reports.

    Attributes:
        share: The part of its time that the updates cannot count on, from 0 to 1.
        burst_s: In any stretch of time they miss no more than that share of it and this.
    """

    share: float = 0.0
    burst_s: float = 0.0


NOTHING_LENT = RestrictedSupply()


def supply_beside(reports: Iterable[ReportDemand], longest_s: float) -> RestrictedSupply:
    """What the updates lose to ``reports`` that meet their deadlines.

    A window's work lies between its start and its deadline, so of windows of length L and
    deadlines d after their ends at most (x + L + d) / L + 1 have work within x seconds: K of each
    window makes K/L * x + 2K + K*d/L.

    Args:
        reports: All that share the track.
        longest_s: The longest update; so long the track may stand idle before each batch.
    """
    shares, bursts_s = [], []
    for report in reports:
        taken_s = report.cost_s + report.batches * longest_s
        if report.window_s is None:
            bursts_s.append(taken_s)
            continue
        share = taken_s / report.window_s
        shares.append(share)
        bursts_s.append(2.0 * taken_s + share * report.delay_s)
    share = fsum(shares)
    # Reports that want more than their track still have no second one.
    return RestrictedSupply(share, fsum(bursts_s)) if share < 1.0 else RestrictedSupply(1.0, 0.0)
