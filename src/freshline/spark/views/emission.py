"""Final emission: a bucket of a view is shown only when it is complete.

A bucket v is complete when every parent is complete up to the last row that it can read: a row
at v + hi. A base table is complete up to its freshness, a view up to less (``holds.py``). Only
rows that come later than their own freshness says (late rows) can then change
it. The promise that a view equals its query holds for the buckets shown; rows without a
bucket are shown at once, since no time completes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from freshline.core.errors import PlatformError, UserError
from freshline.delta.log import commit_at, last_commit
from freshline.project.model import Project, TableDef
from freshline.spark.views.timesets import BEGINNING_US, TimeSet
from freshline.sql.query.records import Buckets, ViewPlan
from freshline.times import seconds


@dataclass(frozen=True, slots=True)
class Emission:
    """The buckets that may be shown: those that are not later than ``until_us``."""

    until_us: int

    @property
    def buckets(self) -> TimeSet:
        """These buckets, and rows without one."""
        return TimeSet(((BEGINNING_US, self.until_us),), null=True)

    def facts(self, column: str) -> dict[str, Any]:
        """What the commit says of it; ``column`` holds the buckets."""
        return {"emitted_us": self.until_us, "emitted_by": column}


def emission(
    project: Project, table: TableDef, versions: Mapping[str, int], plan: ViewPlan, spread_us: int
) -> Emission:
    """What an update may show.

    Args:
        project: Of the table.
        table: The view, which asks for final emission.
        versions: Of the parents that it is computed from.
        plan: Of its query; it has buckets.
        spread_us: By how much the instant of a bucket is uncertain.

    Raises:
        PlatformError: The log does not tell how fresh a parent's version is.
    """
    until_us = []
    assert isinstance(plan.buckets, Buckets)
    for name, version in versions.items():
        reads = plan.buckets.reads.get(name.lower())
        if reads is None:  # named in a WITH query that nothing reads
            continue
        # A version that others made is as fresh as ours before it.
        path = project.table_path(name)
        commit = commit_at(path, version) or last_commit(path, version)
        if commit is None:
            raise PlatformError(
                "freshness-unknown",
                f"the freshness of version {version} of {name} is unknown, so table"
                f" {table.name} cannot show only its complete buckets",
                where=table.place,
                next_step=f"Run `freshline refresh {name}`: it gets a new version.",
            )
        fresh_us = round(seconds(str(commit.metadata["to"])) * 1_000_000)
        complete_us = fresh_us - plan.holds_us.get(name, 0)
        until_us.append(complete_us - reads.hi_us - spread_us)
    return Emission(min(until_us))


def needs_buckets(table: TableDef, plan: ViewPlan) -> UserError | None:
    """What is wrong where a view without buckets asks for final emission."""
    if table.emit != "final" or isinstance(plan.buckets, Buckets):
        return None
    return UserError(
        "no-buckets",
        f"view {table.name} has 'freshline.emit' = 'final', but no buckets to complete",
        where=table.query_place,
        rule=f"{plan.buckets.message} ({plan.buckets.code})",
        next_step="Select a time column that the rows are grouped or filtered by, or remove the"
        " property.",
    )
