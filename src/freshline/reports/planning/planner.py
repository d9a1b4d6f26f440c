"""Planning one report whose input is known: as few batches as its deadline allows.

Source: Chandrasekaran and Sudarshan, section 3; reading notes C1 to C9.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from freshline.reports.costs import CostModel, FinalCost

Objective = Literal["batches", "cost"]
"""Fewest batches, then least cost; or least cost, then fewest batches."""


@dataclass(frozen=True, slots=True)
class Window:
    """One report over ``(start_s, end_s]``, with its input known.

    Args:
        arrivals_s: Arrival of every tuple, nondecreasing, inside the window.
        cost: Seconds of a batch by its tuples.
        final: Seconds of the final aggregation by the number of batches.
    """

    start_s: float
    end_s: float
    arrivals_s: Sequence[float]
    deadline_s: float
    cost: CostModel
    final: FinalCost

    @property
    def tuples(self) -> int:
        """How many tuples the window holds."""
        return len(self.arrivals_s)

    @property
    def slack_s(self) -> float:
        """Equation 2: what is left if everything runs in one batch; may be negative (C5)."""
        return self.deadline_s - self.end_s - self.cost(self.tuples) - self.final(1)

    def indexed_arrivals_s(self) -> list[float]:
        """Arrival of tuple ``j`` at index ``j``; the last not before the window's end (C6)."""
        arrivals_s = [self.start_s, *self.arrivals_s]
        if self.arrivals_s:
            arrivals_s[-1] = max(self.end_s, arrivals_s[-1])
        return arrivals_s


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """``tuples`` of the window, in order, worked off from ``start_s`` to ``end_s``."""

    tuples: int
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Plan:
    """Batches as late as they go; ``cost_s`` includes ``final_cost_s`` (C5)."""

    batches: tuple[PlannedBatch, ...]
    cost_s: float
    final_cost_s: float
    slack_s: float


@dataclass(frozen=True, slots=True)
class Infeasible:
    """No plan meets the deadline; ``earliest_deadline_s`` is the first that one can meet."""

    earliest_deadline_s: float
    slack_s: float


Solver = Callable[[Window, Objective], "Plan | Infeasible"]


def late_plan(window: Window, sizes: Sequence[int]) -> Plan:
    """The batches of ``sizes`` back to back, the final aggregation ending at the deadline."""
    final_s = window.final(len(sizes))
    end_s = window.deadline_s - final_s
    batches: list[PlannedBatch] = []
    total_s = final_s
    for tuples in reversed(sizes):
        cost_s = window.cost(tuples)
        total_s += cost_s
        batches.append(PlannedBatch(tuples, end_s - cost_s, end_s))
        end_s -= cost_s
    return Plan(tuple(reversed(batches)), total_s, final_s, window.slack_s)


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


def solvers() -> Mapping[str, Solver]:
    """The solvers by name."""
    # Here, not above: they import this module.
    from freshline.reports.planning import exact, milp, sweep

    return {"exact": exact.solve, "sweep": sweep.solve, "milp": milp.solve}
