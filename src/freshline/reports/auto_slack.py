"""``slack_factor: auto``: the least factor under which every known report meets its deadline.

Found at every submission by running copies of the scheduler ahead in virtual time, on the
input as it is predicted (beyond the paper, whose section 4.1 leaves
the factor to the operator).
"""

from __future__ import annotations

import math

from freshline.reports.costs import TOLERANCE_S
from freshline.reports.scheduler import ReportScheduler
from freshline.reports.virtual_run import VirtualRun

FACTORS = (
    *(step / 100 for step in range(50)),
    *(step / 20 for step in range(10, 40)),
    *(step / 2 for step in range(4, 21)),
)
"""Tried upwards: in steps of 0.01 to 0.5, of 0.05 to 2, of 0.5 to 10."""


def choose_slack_factor(scheduler: ReportScheduler) -> float:
    """The least of `FACTORS` with which no known report is late.

    If there is none, the factor with the fewest late reports, then the least total lateness.
    """
    best_factor = FACTORS[0]
    best: tuple[float, float] = (math.inf, math.inf)
    seen: set[tuple[int | None, ...]] = set()
    for factor in FACTORS:
        trial = scheduler.ahead(factor)
        sizes = tuple(progress.min_batch for progress in trial.live.values())
        if sizes in seen:
            continue
        seen.add(sizes)
        lateness = _lateness(trial)
        if lateness[0] == 0:
            return factor
        if lateness < best:
            best_factor, best = factor, lateness
    return best_factor


def _lateness(trial: ReportScheduler) -> tuple[int, float]:
    """Late reports and their total lateness when ``trial`` runs to its end."""
    deadlines_s = {name: progress.report.deadline_s for name, progress in trial.live.items()}
    late_s = [
        outcome.finish_s - deadlines_s[name]
        for name, outcome in VirtualRun.ahead(trial).run().items()
        if outcome.finish_s is not None and outcome.finish_s > deadlines_s[name] + TOLERANCE_S
    ]
    return len(late_s), sum(late_s)
