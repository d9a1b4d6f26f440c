"""Start the table whose oldest pending data has waited longest.

Source: Bateni et al. 2009, 4 (MYOPIC: an idle processor takes the available table whose
oldest pending update is the earliest); ties by table order, lowest idle track first (B5).
"""

from __future__ import annotations

from typing import ClassVar

from freshline.core.model import Table
from freshline.core.policy import Policy


class Myopic(Policy):
    """Smallest release r first, whatever the priority: the same order as fifo's."""

    name: ClassVar[str] = "myopic"

    def key(self, table: Table) -> float:
        return table.release_s

    def score(self, table: Table) -> str:
        return f"oldest pending update from {table.release_s:.3f}"
