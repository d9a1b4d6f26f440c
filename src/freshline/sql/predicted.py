"""Predicts how each table of a project will be kept up to date.

A view over one whose rows are replaced at every update never sees rows that only came: what could
be appended or merged over a base table then has to be computed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from freshline.sql.query.records import ViewPlan
from freshline.sql.strategy import HasRefreshSettings, Strategy, strategy


class _Table(HasRefreshSettings, Protocol):
    @property
    def name(self) -> str: ...
    @property
    def parents(self) -> Sequence[str]: ...


class PredictedStrategies:
    """The strategies of tables that are named one after the other, parents before children."""

    def __init__(self) -> None:
        self.strategies: dict[str, Strategy] = {}
        self._replacing: set[str] = set()

    def over_replaced(self, table: _Table) -> bool:
        """Whether a parent of ``table`` replaces rows at its usual update, as far as is known."""
        return any(name in self._replacing for name in table.parents)

    def add(self, table: _Table, plan: ViewPlan | None) -> Strategy:
        """One more table.

        Args:
            table: A :class:`freshline.project.model.TableDef`.
            plan: What analysis found; None: of a base table, or it was not analysed.
        """
        way = strategy(table, plan, rewrote=self.over_replaced(table))
        self.strategies[table.name] = way
        # With final emission a bucket is written once, apart from late rows.
        if way.name not in ("append", "auto") and table.emit != "final":
            self._replacing.add(table.name)
        return way


def predicted(tables: Iterable[_Table], plans: Mapping[str, ViewPlan]) -> dict[str, Strategy]:
    """The strategy of every table's usual update.

    Args:
        tables: :class:`freshline.project.model.TableDef`, parents before children.
        plans: Of those views that were analysed.
    """
    found = PredictedStrategies()
    for table in tables:
        found.add(table, plans.get(table.name))
    return found.strategies
