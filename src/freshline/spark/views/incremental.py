"""What every incremental update of a view works with, and what it returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from freshline.delta.log import CommitRecord
from freshline.executor.records import UpdateRequest
from freshline.project.model import Project, TableDef
from freshline.spark.commits.transaction import Staged, Transaction
from freshline.spark.engine import jvm
from freshline.spark.engine.columns import kind_of
from freshline.spark.engine.errors import SparkError, is_gone, is_of_the_machine, one_line
from freshline.spark.engine.listed import is_misled
from freshline.spark.engine.pins import at_version, columns_of, frame_of, snapshot_at
from freshline.spark.engine.result_settings import zone_of
from freshline.spark.engine.sizing import COMPILED_FROM_BYTES
from freshline.spark.views.changes import Changes
from freshline.sql.costs import Costs, Sizes
from freshline.sql.query.records import ViewPlan
from freshline.sql.strategy import Strategy


@dataclass(frozen=True)
class Parent:
    """A parent at the versions before and after an update.

    Attributes:
        session: The update's own.
        name: As in the project.
        path: Of its Delta table.
        changes: Between the two versions.
        asked: SQL in which all texts stand that the view's query compares with, see
            :func:`.asked_of`.
    """

    session: SparkSession
    name: str
    path: str
    changes: Changes
    asked: str = ""

    @cached_property
    def frame(self) -> DataFrame:
        """All its rows, at the new version; not opened for an update that is made in full."""
        return frame_of(self.session, self.path, self._snapshot, self.asked)

    def frame_for(self, asked: str) -> DataFrame:
        """The same for the query's rows for which other SQL, over its columns, is true."""
        if is_misled(self.asked) or not is_misled(asked):
            return self.frame
        return frame_of(self.session, self.path, self._snapshot, asked)

    @cached_property
    def schema(self) -> StructType:
        """Its columns at the new version; known without opening it."""
        return columns_of(self._snapshot)

    @cached_property
    def _snapshot(self) -> Any:
        return snapshot_at(self.session, self.path, self.changes.new)

    def before(self) -> DataFrame:
        """All its rows at the old version."""
        if not self.changes.some:
            return self.frame
        return at_version(self.session, self.path, self.changes.old, self.asked)

    def inserted(self) -> DataFrame:
        """The rows it gained, where it lost none."""
        if not self.changes.some:
            return self.frame.limit(0)
        return self.changes.inserted(self.schema)

    def changed(self) -> DataFrame:
        """The rows it gained and lost, updated ones before and after."""
        if not self.changes.some:
            return self.frame.limit(0)
        return self.changes.all(self.schema)

    def kind(self, column: str) -> str:
        """The Spark type of a column, by its name in any case."""
        return kind_of(self.schema, column)


@dataclass(frozen=True, slots=True)
class Increment:
    """One incremental update.

    Attributes:
        session: The update's own.
        transaction: On the view's table, which exists.
        project, table, request: As given.
        query: The user's text with static tables at their versions.
        statics: What stands for the static tables' names in SQL made from the query.
        plan: What analysis found.
        strategy: What was chosen.
        parents: In the order of the table's definition.
        last: The view's last commit, made from the parents' old versions.
        schema: The view's columns.
        sizes: Of what changed, and of all that the parents hold.
        costs: What former updates took.
        is_trial: The view is a copy of which every way is to be tried.
    """

    session: SparkSession
    transaction: Transaction
    project: Project
    table: TableDef
    request: UpdateRequest
    query: str
    statics: Mapping[str, str]
    plan: ViewPlan
    strategy: Strategy
    parents: tuple[Parent, ...]
    last: CommitRecord
    schema: StructType
    sizes: Sizes
    costs: Costs
    is_trial: bool = False

    @property
    def zone(self) -> str:
        """The session's time zone."""
        return zone_of(self.session)

    @property
    def is_read(self) -> bool:
        """Whether other views read this one."""
        return any(self.table.name in other.parents for other in self.project.tables)

    def register(self, name: str, frame: DataFrame) -> None:
        """Make ``frame`` what a parent's name means from now on in this session."""
        jvm.show(frame, name)

    def input_bytes(self, output: DataFrame) -> int:
        """Size of what the output is really made of, roughly.

        Parents that are small as a whole need no closer look; of others Delta says how much of
        them is left when files without a wanted row are skipped.
        """
        whole_bytes = self.sizes.whole_bytes
        if whole_bytes is None:
            whole_bytes = jvm.input_bytes(output)
        if whole_bytes < COMPILED_FROM_BYTES and not self.table.statics:
            return 0
        return jvm.optimized_input_bytes(output)


@dataclass(frozen=True, slots=True)
class StagedUpdate:
    """What is ready to be committed.

    Attributes:
        staged: Data files; None: no row of the view changes, and only its pins advance.
        more: Keys for the commit's metadata.
        strategy: Where it is another than the one chosen.
    """

    staged: Staged | None
    more: Mapping[str, Any] = field(default_factory=dict)
    strategy: Strategy | None = None


class RefreshStrategy(Protocol):
    """A strategy's code."""

    def __call__(self, increment: Increment) -> StagedUpdate:
        """Write the data files of one update.

        Raises:
            NotIncrementalError: It turned out that only a full update is right.
        """
        ...


class NotIncrementalError(Exception):
    """Only a full update is right.

    Args:
        code: One of those that :func:`freshline.sql.strategy.full` takes.
        what: Failed, where something did.
    """

    def __init__(self, code: str, what: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.what = what


def prepared_by(strategy: RefreshStrategy, increment: Increment) -> StagedUpdate:
    """What a strategy writes.

    Changes may hold a row that is gone again, and a state rows that the query's own filters take
    away before it computes what fails here. A trial is told what fails.

    Raises:
        NotIncrementalError: As the strategy says, or it failed where a full update may not.
        SparkError: It failed as any update would.
    """
    try:
        return strategy(increment)
    except SparkError as error:
        # All of a view is not computed at once on a machine that has just failed.
        if increment.is_trial or is_gone(error) or is_of_the_machine(error):
            raise
        raise NotIncrementalError("changes-failed", one_line(error)) from error
