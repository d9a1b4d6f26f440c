"""Rows of some groups, named by a condition or joined by their keys."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import and_

from pyspark.sql import DataFrame

from freshline.sql.text.reads import quoted

ALL = "true"
"""The condition that every row satisfies."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Rows of some groups.

    Attributes:
        sql: Over the rows' columns, never NULL: holds for all of them.
        keys: The groups' keys, one row each, where ``sql`` holds for others too.
        columns: What the keys are called in the rows, in their order.
    """

    sql: str
    keys: DataFrame | None = None
    columns: tuple[str, ...] = ()

    def of(self, rows: DataFrame) -> DataFrame:
        """Those of ``rows`` that are of these groups."""
        return self._joined(rows if self.sql == ALL else rows.filter(self.sql), "left_semi")

    @property
    def is_all(self) -> bool:
        """Whether it is all rows, whatever their groups."""
        return self.sql == ALL and self.keys is None

    def others(self, rows: DataFrame) -> DataFrame:
        """The rest of ``rows``."""
        if self.keys is None:
            return rows.filter(f"NOT coalesce({self.sql}, false)")
        return self._joined(rows, "left_anti")

    def _joined(self, rows: DataFrame, how: str) -> DataFrame:
        if self.keys is None:
            return rows
        # NULL is a group like any other.
        same = (
            rows[quoted(column)].eqNullSafe(self.keys[key])
            for column, key in zip(self.columns, self.keys.columns, strict=True)
        )
        return rows.join(self.keys, reduce(and_, same), how)
