"""Section 3.2: the plan as a mixed-integer program, constraints (5) to (8), by HiGHS.

For a linear cost and a constant rate alone. The number of batches is given to the program
and raised until it is feasible; fewest batches are then also cheapest. It is slow and here
to check the recursion by other means.

Corrected (C8): (7) ends before the final aggregation, (8) counts from the window's start.
"""

from __future__ import annotations

import math

from freshline.core.errors import UserError
from freshline.reports.costs import TOLERANCE_S, LinearCost
from freshline.reports.planning import exact
from freshline.reports.planning.model import Infeasible, Objective, Plan, Window, late_plan

SOLVER_TOLERANCE_S = 1e-6
"""How far HiGHS may miss a constraint, by its own settings."""


def solve(window: Window, objective: Objective) -> Plan | Infeasible:
    """The plan with the fewest batches; for a linear cost it is the cheapest too.

    Raises:
        UserError: The cost is not linear (``milp-needs-linear-cost``) or the arrivals are not
            at a constant rate (``milp-needs-constant-rate``).
    """
    cost = window.cost
    if not isinstance(cost, LinearCost):
        raise UserError(
            "milp-needs-linear-cost",
            "the solver 'milp' plans a linear cost only",
            next_step="Use 'exact', which takes any nondecreasing cost.",
        )
    rate = _rate(window)
    bounded = exact.solve(window, objective)
    if isinstance(bounded, Infeasible) or not bounded.batches:
        return bounded  # the program cannot tell the earliest deadline
    for batches in range(1, window.tuples + 1):
        sizes = _solve_for(window, cost, rate, batches)
        if sizes is not None:
            return late_plan(window, sizes)
    return bounded


def _rate(window: Window) -> float:
    """Tuples a second, if they come evenly."""
    if not window.arrivals_s:
        return 1.0
    rate = 1 / (window.arrivals_s[0] - window.start_s)
    for number, arrival_s in enumerate(window.arrivals_s, 1):
        if abs(arrival_s - window.start_s - number / rate) > SOLVER_TOLERANCE_S:
            raise UserError(
                "milp-needs-constant-rate",
                "the solver 'milp' plans a constant input rate only",
                next_step="Use 'exact', which takes any arrivals.",
            )
    return rate


def _solve_for(window: Window, cost: LinearCost, rate: float, batches: int) -> list[int] | None:
    """Sizes of ``batches`` batches that meet the deadline; None: there are none.

    The variables are the sizes x_1..x_n (whole) and then the starts s_1..s_n; starts are as
    late as possible, as everywhere.
    """
    # Here, not above: it takes longer to import than most plans to make.
    from scipy.optimize import Bounds, LinearConstraint, milp

    count = batches
    rows: list[list[float]] = []
    lower: list[float] = []
    upper: list[float] = []

    def require(coefficients: dict[int, float], least: float, most: float) -> None:
        row = [0.0] * (2 * count)
        for column, value in coefficients.items():
            row[column] = value
        rows.append(row)
        lower.append(least)
        upper.append(most)

    # (5) every tuple is in one batch.
    require(dict.fromkeys(range(count), 1.0), window.tuples, window.tuples)
    end_s = window.deadline_s - window.final(count)
    for batch in range(count):
        size, start = batch, count + batch
        busy = {start: 1.0, size: cost.per_tuple_s}
        if batch + 1 < count:  # (6) no batch runs into the next
            require({**busy, start + 1: -1.0}, -math.inf, -cost.overhead_s)
        else:  # (7) the last leaves the final aggregation its time
            require(busy, -math.inf, end_s - cost.overhead_s)
        # (8) what a batch takes has arrived when it starts.
        arrived = {start: rate, **dict.fromkeys(range(batch + 1), -1.0)}
        require(arrived, rate * window.start_s, math.inf)
    earliest_s = [window.start_s] * (count - 1) + [window.end_s]
    most = [float(window.tuples)] * count + [math.inf] * count
    result = milp(
        c=[0.0] * count + [-1.0] * count,
        constraints=LinearConstraint(rows, lower, upper),
        integrality=[1] * count + [0] * count,
        bounds=Bounds([1.0] * count + earliest_s, most),
    )
    if result.x is None:
        return None
    sizes = [round(float(value)) for value in result.x[:count]]
    return sizes if _holds(window, sizes) else None


def _holds(window: Window, sizes: list[int]) -> bool:
    """Whether the rounded sizes keep every constraint to `TOLERANCE_S`, not only to HiGHS's."""
    if sum(sizes) != window.tuples:
        return False
    arrivals_s = window.indexed_arrivals_s()
    taken = 0
    for batch in late_plan(window, sizes).batches:
        taken += batch.tuples
        if batch.start_s < arrivals_s[taken] - TOLERANCE_S:
            return False
    return True
