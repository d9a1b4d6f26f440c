"""Largest priority first, and among equals the earliest deadline.

Source: Golab et al. 2011, 3.1 (EDF-P); the deadline r + P with r as in rule G8.
"""

from __future__ import annotations

from typing import ClassVar

from freshline.core.model import Table
from freshline.core.policy import Policy


class PrioritisedDeadline(Policy):
    """Largest priority, then smallest r + period."""

    name: ClassVar[str] = "edf-p"

    def key(self, table: Table) -> tuple[float, float]:
        return (-table.weight, table.release_s + table.period_s)

    def score(self, table: Table) -> str:
        deadline_s = table.release_s + table.period_s
        return f"priority {table.weight:g}, deadline {deadline_s:.3f}"
