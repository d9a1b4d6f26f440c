"""Planning one report whose input is known: as few batches as its deadline allows.

Source: Chandrasekaran and Sudarshan, section 3; rules C1 to C9.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from freshline.reports.costs import FinalCost
from freshline.reports.planning.model import Infeasible, Objective, Plan, Window

Solver = Callable[[Window, Objective], "Plan | Infeasible"]


def plan_window(
    window: Window, *, solver: str = "exact", objective: Objective = "batches"
) -> Plan | Infeasible:
    """Plan one report.

    Args:
        solver: ``exact``, ``sweep`` or ``milp``; the last for a linear cost and a constant
            rate alone, see `freshline.reports.planning.milp`.

    Returns:
        The plan, or the earliest deadline that any plan could meet.

    Raises:
        KeyError: ``solver`` is none of the three.
    """
    if window.start_s != 0.0:
        # A float of seconds since 1970 is exact to a quarter of a microsecond only. The solvers'
        # tolerance is smaller: rounding would give batches without tuples.
        found = plan_window(_moved(window, -window.start_s), solver=solver, objective=objective)
        return _moved_back(found, window.start_s)
    solve = solvers()[solver]
    final = window.final
    if not final.of_one:
        return solve(window, objective)
    # What even one batch needs comes off the deadline: the solvers know finals of several alone.
    always_s = final(1)
    rest = FinalCost(final.per_batch_s, -final.per_batch_s)
    found = solve(replace(window, deadline_s=window.deadline_s - always_s, final=rest), objective)
    if isinstance(found, Infeasible):
        return replace(found, earliest_deadline_s=found.earliest_deadline_s + always_s)
    return replace(
        found, cost_s=found.cost_s + always_s, final_cost_s=found.final_cost_s + always_s
    )


def _moved(window: Window, by_s: float) -> Window:
    return replace(
        window,
        start_s=window.start_s + by_s,
        end_s=window.end_s + by_s,
        arrivals_s=[each + by_s for each in window.arrivals_s],
        deadline_s=window.deadline_s + by_s,
    )


def _moved_back(found: Plan | Infeasible, by_s: float) -> Plan | Infeasible:
    if isinstance(found, Infeasible):
        return replace(found, earliest_deadline_s=found.earliest_deadline_s + by_s)
    batches = tuple(
        replace(each, start_s=each.start_s + by_s, end_s=each.end_s + by_s)
        for each in found.batches
    )
    return replace(found, batches=batches)


def solvers() -> Mapping[str, Solver]:
    """The solvers by name."""
    # Here, not above: they import this module.
    from freshline.reports.planning import exact, milp, sweep

    return {"exact": exact.solve, "sweep": sweep.solve, "milp": milp.solve}
