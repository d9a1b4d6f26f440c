"""Results of verifying versions of tables; nothing here needs Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

RIGHT = "right"
WRONG = "wrong"
SKIPPED = "skipped"

BY_OTHERS = "by others"
"""Strategy of a version that somebody else committed."""


@dataclass(frozen=True, slots=True)
class DifferingRow:
    """A row that a table holds more or less often than its query gives it.

    Attributes:
        row: Values by column name, as JSON has them; DECIMAL as text.
        times: How often the table holds it too much; below 0: how often it is missing.
    """

    row: Mapping[str, Any]
    times: int


@dataclass(frozen=True, slots=True)
class Difference:
    """How a table's rows differ from those of its query, as multisets.

    Attributes:
        missing: Rows of the query that the table has not got.
        extra: Rows of the table that the query does not give.
        rows: Some of them, or all.
        columns: How the columns differ, where that is why all rows do; else empty.
    """

    missing: int = 0
    extra: int = 0
    rows: tuple[DifferingRow, ...] = ()
    columns: str = ""

    def told(self) -> str:
        """How many rows, in words."""
        return f"{_rows(self.missing)} missing, {_rows(self.extra)} extra"

    def __bool__(self) -> bool:
        return bool(self.missing or self.extra or self.columns)


@dataclass(frozen=True, slots=True)
class VersionCheck:
    """What came of verifying one version of a table.

    Attributes:
        table: Its name.
        version: The Delta version.
        outcome: right, wrong, or skipped: it cannot be verified.
        strategy: How the version was computed, by its commit.
        reason: Why it was skipped, how the columns differ, or which files were loaded twice; else
            empty.
        difference: How its rows differ, where it is wrong.
        query: The SQL that gave the rows expected, with static tables at their versions.
        plan: Spark's plans of that query.
        facts: The metadata of the commit.
    """

    table: str
    version: int
    outcome: str
    strategy: str = ""
    reason: str = ""
    difference: Difference = field(default_factory=Difference)
    query: str = ""
    plan: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    def told(self) -> str:
        """The outcome in one line."""
        name = f"{self.table} version {self.version}"
        if self.outcome == RIGHT:
            return f"{name} equals its query"
        if self.outcome == SKIPPED:
            return f"{name} is not verified: {self.reason}"
        if self.difference.columns:
            return f"{name} is wrong: {self.difference.columns}"
        why = f": {self.reason}" if self.reason else ""
        return f"{name} is wrong: {self.difference.told()} (strategy {self.strategy}){why}"


@dataclass(frozen=True, slots=True)
class RowCheck:
    """What came of one check of a table's rows.

    Attributes:
        table: Its name.
        check: The check's name.
        outcome: right, wrong or skipped.
        warns: The exit status does not depend on it.
        failing: Rows, or values that come too often or are not accepted.
        sample: Some of them.
        reason: Why it was skipped or could not be run; else empty.
        versions: The Delta version of each table that it read.
    """

    table: str
    check: str
    outcome: str
    warns: bool
    failing: int = 0
    sample: tuple[Mapping[str, Any], ...] = ()
    reason: str = ""
    versions: Mapping[str, int] = field(default_factory=dict)

    @property
    def fails(self) -> bool:
        """Whether the exit status says so."""
        return self.outcome == WRONG and not self.warns


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"
