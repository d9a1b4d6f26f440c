"""Earliest deadline first: release plus one period.

Source: Golab et al. 2011, 3.1; the deadline r + P, with r as in rule G8.
"""

from __future__ import annotations

from typing import ClassVar

from freshline.core.model import Table
from freshline.core.policy import Policy


class EarliestDeadline(Policy):
    """Smallest r + period first."""

    name: ClassVar[str] = "edf"

    def key(self, table: Table) -> float:
        return table.release_s + table.period_s

    def score(self, table: Table) -> str:
        return f"deadline {self.key(table):.3f} = {table.release_s:.3f} + {table.period_s:g} s"
