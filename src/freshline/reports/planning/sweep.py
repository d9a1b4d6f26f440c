"""Algorithm 1 with its corrections (C1, C2): fill batches backwards from the deadline.

Under a concave or convex cost the greedy filling may find no plan, or a dearer one (C3):
finding nothing, it leaves the decision to the exact recursion.
"""

from __future__ import annotations

from freshline.reports.planning import exact
from freshline.reports.planning.filling import fill
from freshline.reports.planning.model import Infeasible, Objective, Plan, Window, late_plan


def solve(window: Window, objective: Objective) -> Plan | Infeasible:
    """The greedy plan with the fewest batches it finds; else what `exact` says.

    ``objective`` matters to the exact recursion alone: the sweep knows but the batches.
    """
    sizes = fill(window) if window.tuples else None
    return exact.solve(window, objective) if sizes is None else late_plan(window, sizes)
