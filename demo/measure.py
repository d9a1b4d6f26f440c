"""How stale a table was over a stretch of time, from the commits in its Delta log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from demo.commits import Commit


@dataclass(frozen=True, slots=True)
class Staleness:
    """Staleness over [start, end], in seconds."""

    mean_s: float
    max_s: float
    area_s2: float


def staleness(log: Sequence[Commit], start_s: float, end_s: float) -> Staleness:
    """Mean, maximum and integral of staleness, now - F, over [start_s, end_s].

    F is start_s until the first commit: a table that is not there yet is as stale as the
    oldest data it lacks. It then is what each commit says, from the commit's own time on; so
    the minutes in which no warehouse ran count like any others.
    """
    area_s2 = most_s = 0.0
    since_s, fresh_s = start_s, start_s
    for at_s, to_s in [*((each.at_s, each.to_s) for each in log), (end_s, end_s)]:
        until_s = min(max(at_s, since_s), end_s)
        before_s, after_s = max(0.0, since_s - fresh_s), max(0.0, until_s - fresh_s)
        area_s2 += (before_s + after_s) / 2.0 * (until_s - since_s)
        most_s = max(most_s, after_s)
        since_s, fresh_s = until_s, max(fresh_s, to_s)
    return Staleness(area_s2 / (end_s - start_s) if end_s > start_s else 0.0, most_s, area_s2)
