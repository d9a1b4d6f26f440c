"""Start the work that has waited longest.

Source: Golab et al. 2011, 4.3 (FIFO as a baseline); release as in rule G8.
"""

from __future__ import annotations

from typing import ClassVar

from freshline.core.model import Table
from freshline.core.policy import Policy


class Fifo(Policy):
    """Smallest release r first."""

    name: ClassVar[str] = "fifo"

    def key(self, table: Table) -> float:
        return table.release_s

    def score(self, table: Table) -> str:
        return f"waiting since {table.release_s:.3f}"
