"""Myopic inside groups of tables with similar periods, each group on tracks of its own.

Source: Bateni et al. 2009, 4, Figure 2 (GROUPANDRUN); the groups are in
``partitions/groups.py``.
"""

from __future__ import annotations

from typing import ClassVar

from freshline.core.model import Table
from freshline.core.policy import Policy


class GroupAndRun(Policy):
    """Smallest release r first among the tables of a group.

    Not eager over the machine as a whole: a group's idle track does not help another group.
    """

    name: ClassVar[str] = "group-and-run"
    eager: ClassVar[bool] = False
    own_partition: ClassVar[str | None] = "groups"

    def key(self, table: Table) -> float:
        return table.release_s

    def score(self, table: Table) -> str:
        return f"oldest pending update of its group from {table.release_s:.3f}"
