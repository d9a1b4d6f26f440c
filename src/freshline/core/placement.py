"""Which waiting table may run on which free track.

The default (no placement object) is global: the best waiting table takes the lowest free
track. A partition into tracks (Golab et al. 2011, 3.2; group-and-run, Bateni et al. 4)
is a ``Placement``: it is shown the waiting tables in order and answers with pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from freshline.core.model import Table


class Placement(Protocol):
    """A partition of the tables into tracks."""

    def assign(self, waiting: Sequence[Table], free: Sequence[int]) -> list[tuple[Table, int]]:
        """Which of ``waiting`` start now, and where.

        Args:
            waiting: Startable tables, best first.
            free: Free tracks, ascending.
        Returns:
            Pairs in the order of the choice; every track and table at most once.
        """
        ...
