"""What a plan of one report is made of: its window, its batches, or why there is none.

Source: Chandrasekaran and Sudarshan, section 3; rules C5 and C6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
