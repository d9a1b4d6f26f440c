"""Which waiting table may run on which free track.

The default (no placement object) is global: the best waiting table takes the lowest free
track. A partition into tracks (Golab et al. 2011, 3.2; group-and-run, Bateni et al. 4)
is a ``Placement``: it is laid once over the tables, is shown the waiting tables in order and
answers with pairs. Each partition is one file in ``core/partitions``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from freshline.core.errors import UserError
from freshline.core.model import Table

TOLERANCE = 1e-9
"""Partition conditions hold within this: ten times 0.1 exceeds 1 (rule G6)."""

_DRIFT = 0.25
"""A table's load may move by this share before the partition is laid anew: learned costs
wander by a few per cent for ever, and a table that changes its home track for that would
lose the order that the partition is for."""


def nominal_s(table: Table) -> float:
    """E(P) = alpha + beta * period: an update of one period's data.

    Without noise and slowdown (Golab et al. 3.2, rule G7).
    """
    cost = table.cost
    return cost.alpha_s + cost.beta * table.period_s


def interval_s(table: Table) -> float:
    """Its period; infinite while a feed has not shown one yet, so that it adds no load."""
    return table.period_s or float("inf")


class Placement:
    """Base of the partitions of tables into tracks."""

    name: ClassVar[str]
    misfit: str | None = None
    """Why the partition could not be laid anew, while an older one is in force; else None."""
    _basis: tuple[float, ...] = ()

    def place(self, tables: Sequence[Table], tracks: int) -> None:
        """Lay the partition over the tables with the costs and periods they have now.

        Raises:
            UserError: It needs more tracks than there are; what was laid before stays.
        """
        # Remembered even if it fails: trying again makes sense only when costs moved again.
        self._basis = tuple(_load(table) for table in tables)
        self.lay(tables, tracks)
        self.misfit = None

    def replace(self, tables: Sequence[Table], tracks: int) -> None:
        """``place`` for a running warehouse: where it no longer fits, the old one stays.

        ``misfit`` says why, until a later attempt fits.
        """
        try:
            self.place(tables, tracks)
        except UserError as error:
            self.misfit = error.what

    def suits(self, table: Table) -> bool:
        """Whether ``table``'s load is still about what the partition was laid for."""
        load, basis = _load(table), self._basis[table.order]
        return abs(load - basis) <= _DRIFT * max(load, basis)

    def lay(self, tables: Sequence[Table], tracks: int) -> None:
        """Divide ``tracks`` among ``tables`` (given in table order).

        Raises:
            UserError: It needs more tracks than there are.
        """
        raise NotImplementedError

    def assign(self, waiting: Sequence[Table], free: Sequence[int]) -> list[tuple[Table, int]]:
        """Which of ``waiting`` start now, and where.

        Args:
            waiting: Startable tables, best first.
            free: Free tracks, ascending.

        Returns:
            Pairs in the order of the choice; every track and table at most once.
        """
        raise NotImplementedError


def _load(table: Table) -> float:
    return nominal_s(table) / interval_s(table)
