"""Start what takes most weighted staleness away per second of work.

Source: Golab et al. 2011, 3.1: the marginal benefit p * dF / E(dF); rule G12 for E = 0.
"""

from __future__ import annotations

from typing import ClassVar

from freshline.core.model import Table
from freshline.core.policy import Policy


def benefit(table: Table) -> float:
    """Ratio p * delta / E; infinite where E is 0, and 0 where the priority is 0 as well."""
    cost = table.cost
    amount_s = table.next_to_s - table.freshness_s + table.late_s
    expected_s = cost.alpha_s + cost.beta * amount_s
    if expected_s > 0.0:
        return table.weight * amount_s / expected_s
    return float("inf") if table.weight > 0.0 else 0.0


class MaxBenefit(Policy):
    """Largest priority * freshness gain / expected seconds first."""

    name: ClassVar[str] = "max-benefit"
    ranks_by_gain: ClassVar[bool] = True

    def key(self, table: Table) -> float:
        return -benefit(table)

    def score(self, table: Table) -> str:
        return (
            f"benefit {benefit(table):.4g} = priority {table.weight:g} * gain "
            f"{table.amount_s:.3f} s / {table.expected_s:.3f} s"
        )
