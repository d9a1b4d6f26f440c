"""The state that merging needs: one Delta table for each partial of a view's query.

It lies under STORAGE/_freshline/state/VIEW/PARTIAL and holds the partial's rows for all rows of
the parents at the versions that the view's last commit names; that commit names the state's
version too, so the pair changes in one step although it is written in two. A process that dies
between them leaves a state that is ahead: the next update reads the named version and
overwrites what came after it. The view's commit also names the mark of the commit that made the
state's version, so that a state that was put back from a copy is not taken for it.

An update only appends the rows of its own changes; groups are put together when they are read.
From time to time they are put together on disk too, so that a state stays about as small as
its groups.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from freshline.delta.log import commit_at
from freshline.delta.metadata import encode
from freshline.executor.records import UpdateRequest
from freshline.failpoints import failpoint
from freshline.project.model import Project
from freshline.spark.commits.selection import Selection
from freshline.spark.commits.transaction import CHECKPOINTS, Transaction
from freshline.spark.engine.columns import cast_to
from freshline.spark.engine.pins import at_version, location
from freshline.spark.engine.sizing import sized
from freshline.spark.views.incremental import NotIncrementalError

_MOST_APPENDS = 32
"""Each is a file more to read."""

_SPARE_ROWS = 100_000
_SPARE_RATIO = 2
"""Rows appended since the groups were put together: at most so many, or this times theirs."""

_PROPERTIES: Mapping[str, str] = {**CHECKPOINTS, "delta.enableDeletionVectors": "false"}

Combine = Callable[[DataFrame], DataFrame]
"""One row per group, of rows that can hold several for a group."""


@dataclass(frozen=True, slots=True)
class State:
    """The state of one partial.

    What writes it raises NotIncrementalError if somebody else wrote into it meanwhile.

    Attributes:
        session: The update's own.
        project: Of the view.
        partial: Its name.
        request: The update of the view that reads and writes it.
    """

    session: SparkSession
    project: Project
    partial: str
    request: UpdateRequest

    @property
    def path(self) -> str:
        """Where it is."""
        return f"{self.project.own_path}/state/{self.request.table}/{self.partial}"

    def rows(self, version: int, asked: str = "") -> DataFrame:
        """Its rows at a version; several a group.

        Args:
            version: Which one.
            asked: As of :func:`.frame_of`.
        """
        return at_version(self.session, self.path, version, asked)

    def build(self, rows: DataFrame) -> int:
        """Begin anew with these rows; returns the version."""
        transaction = self._transaction()
        options = {"overwriteSchema": "true"} if transaction.exists else {}
        rows = sized(self.session, rows, self.project.configuration)
        return self._commit(transaction, rows, "overwrite", options, {"appends": 0})

    def add(self, rows: DataFrame, onto: int, combine: Combine) -> int:
        """Add rows to those of version ``onto``, whatever came after it; returns the version."""
        transaction = self._transaction()
        there = self.rows(onto)
        rows = cast_to(rows, there.schema)
        last = commit_at(self.path, onto)
        facts = last.metadata if last is not None else {}
        appends = int(facts.get("appends", _MOST_APPENDS)) + 1
        whole, spare = int(facts.get("whole_rows", 0)), int(facts.get("spare_rows", 0))
        many = spare > max(_SPARE_ROWS, _SPARE_RATIO * whole) or appends > _MOST_APPENDS
        if many or transaction.version != onto:
            return self._rewritten(transaction, there.unionByName(rows), combine)
        more = {"appends": appends, "whole_rows": whole, "spare_rows": spare}
        rows = sized(self.session, rows, self.project.configuration, 0)
        return self._commit(transaction, rows, "append", {}, more)

    def replace(self, rows: DataFrame, within: Selection, onto: int, combine: Combine) -> int:
        """Put rows in the place of those of some groups, whatever came after version ``onto``.

        Args:
            rows: All of these groups' rows.
            within: These groups.
            onto: The version.
            combine: Puts the rows of a group together.

        Returns:
            The version that was made.
        """
        there = self.rows(onto, within.sql)
        kept = within.others(there)
        rows = kept.unionByName(cast_to(rows, there.schema))
        return self._rewritten(self._transaction(), rows, combine)

    def _rewritten(self, transaction: Transaction, rows: DataFrame, combine: Combine) -> int:
        groups = cast_to(combine(rows), rows.schema)
        groups = sized(self.session, groups, self.project.configuration)
        return self._commit(transaction, groups, "overwrite", {}, {"appends": 0})

    def _transaction(self) -> Transaction:
        application = f"{self.request.table}.state.{self.partial}"
        return Transaction(self.session, location(self.path), application, self.request.number)

    def _commit(
        self,
        transaction: Transaction,
        rows: DataFrame,
        mode: Any,
        options: Mapping[str, str],
        facts: Mapping[str, int],
    ) -> int:
        failpoint("state.before_data")
        staged = transaction.stage(rows, mode, options=options, properties=_PROPERTIES)
        whole, spare = int(facts.get("whole_rows", 0)), int(facts.get("spare_rows", 0))
        if mode == "append":
            spare += staged.rows
        else:
            whole, spare = staged.rows, 0
        more = {"appends": facts["appends"], "whole_rows": whole, "spare_rows": spare}
        metadata = encode(
            self.request,
            table=f"{self.request.table}.state.{self.partial}",
            files=None,
            parents=self.request.parents,
            strategy=mode,
            rows=staged.rows,
            more=more,
        )
        failpoint("state.before_commit")
        version = staged.commit(metadata)
        failpoint("state.after_commit")
        if version != transaction.version + 1:  # an append does not conflict with another one
            raise NotIncrementalError("changed-by-others")
        return version
