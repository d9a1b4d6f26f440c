"""What verifying a version of any table needs: the facts of its commit, and the comparison.

A difference is held against the table only if the query decides its rows: it is computed again
over the same rows in other orders, and where these results differ from each other the query may
choose (ties, collect_list), so nothing is said (docs/design/0064).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention

from freshline.delta.histories import KEY
from freshline.delta.log import CommitRecord, commits_there, size_bytes
from freshline.executor.verified import BY_OTHERS, RIGHT, SKIPPED, WRONG, Difference, VersionCheck
from freshline.project.definition import definition_of
from freshline.project.model import Project, TableDef
from freshline.spark.commits.others import changed_by_others
from freshline.spark.engine import jvm
from freshline.spark.engine.own_session import read_every_row
from freshline.spark.engine.pins import newest_snapshot, pin_statics, replacement_of, static_at
from freshline.spark.pipelines.appending import asks, asks_clock
from freshline.spark.verification.differences import differences
from freshline.spark.views.readings import analysed_tree
from freshline.sql.query.nondeterministic import clock_or_chance
from freshline.sql.query.normal import parsed
from freshline.sql.query.unsupported import Unsupported
from freshline.sql.readings.certainty import unrepeatable
from freshline.sql.text.reads import rewritten

_ASKS = re.compile(
    r"\b(current_(?:date|time|timestamp|user)|now|localtimestamp|curdate|rand|randn|uuid|shuffle)\("
)
"""In Spark's analysed plan of a query that is not understood here."""

_CHOICES = "its query gives other rows over the same data when they come in another order"
_SEEDS = range(1, 7)
"""Of the orders in which rows come again. Two rows that tie change places in half of them."""

_PARTITIONS = 16
LOG_REMOVED = "its commit was removed from the log"


class SkippedError(Exception):
    """The version cannot be verified; the message says why."""


class Check(ABC):
    """One version under way.

    Attributes:
        project: Of the table.
        session: For this check alone.
        table: The table.
        version: The Delta version.
        definition: The short name of the table's present query.
        path: Of the table.
        strategy: How the version was computed, by its commit.
        facts: The metadata of the commit.
        query: The SQL that gives the rows expected.
        names: What stands in it for static tables.
        is_understood: Whether the query's text could be read, and says all that it computes.
    """

    def __init__(
        self, project: Project, session: SparkSession, table: TableDef, version: int
    ) -> None:
        self.project = project
        self.session = session
        self.table = table
        self.version = version
        self.definition = definition_of(table)
        self.path = project.table_path(table.name)
        self.strategy = ""
        self.facts: Mapping[str, Any] = {}
        self.query = table.query
        self.names: Mapping[str, str] = {}
        self.is_understood = True

    def skipped(self, reason: str) -> VersionCheck:
        """That it cannot be verified, and why."""
        return self.ended(SKIPPED, reason=reason)

    def ended(self, outcome: str, **more: Any) -> VersionCheck:
        """The outcome, with what is known of the version."""
        return VersionCheck(
            self.table.name,
            self.version,
            outcome,
            self.strategy,
            query=self.query,
            facts=self.facts,
            **more,
        )

    @abstractmethod
    def done(self) -> VersionCheck:
        """Verify it.

        Raises:
            SkippedError, ChangesGoneError: It cannot be verified.
            SparkError: The query fails, or Spark.
        """

    def commits_until(self) -> list[CommitRecord]:
        """All commits of ours up to the version.

        Raises:
            SkippedError: There is none.
        """
        log = [each for each in commits_there(self.path) if each.version <= self.version]
        if not log:
            raise SkippedError(LOG_REMOVED)
        return log

    def stand_on(self, record: CommitRecord) -> None:
        """Take the facts of the newest commit of ours that the version holds."""
        self.facts = record.metadata
        self.strategy = str(self.facts.get("strategy", ""))
        if changed_by_others(self.path, record, self.version):
            self.strategy = BY_OTHERS

    def refuse_chance(self) -> None:
        """Raise SkippedError where the query asks the clock or chance."""
        self.is_understood = not self.table.programs  # whose functions may ask it
        try:
            reason = clock_or_chance(parsed(self.table.query))
        except Unsupported:
            self.is_understood = False
            return
        if reason is not None:
            raise SkippedError(f"its query cannot be computed again: {reason.message}")

    def refuse_definition(self, facts: Mapping[str, Any], what: str) -> None:
        """Raise SkippedError where another query made the rows."""
        made_by = facts.get("definition", "")
        if made_by and made_by != self.definition:
            raise SkippedError(f"{what} by an earlier text of its query")

    def refuse_replaced_statics(self, facts: Mapping[str, Any]) -> None:
        """Raise SkippedError where a static table is no longer the one that a commit read."""
        ids: Mapping[str, str] = facts.get("ids", {})
        marks: Mapping[str, str] = facts.get(KEY, {})
        for read in self.table.statics:
            if read.name in ids and not read.time_travel:
                version, identity = int(facts["parents"][read.name]), ids[read.name]
                mark = marks.get(read.name, "")
                became = replacement_of(self.session, read, version, identity, mark)
                if became is not None:
                    raise SkippedError(f"{read.name} was {became} since")

    def pinned(self, pins: Mapping[str, int]) -> str:
        """The query with its static tables at the versions that the commit names."""
        if self.table.statics:
            read_every_row(self.session, of_delta=True)
        names = dict(pin_statics(self.session, self.table, fixed=False).names)
        for read in self.table.statics:
            if read.name in pins and not read.time_travel:
                newest = newest_snapshot(self.session, read)
                names[read.name] = static_at(self.session, read, newest, int(pins[read.name]))
        self.names = names
        return rewritten(self.table.query, names) if names else self.table.query

    def compared(self, actual: DataFrame, expected: Any, known_bytes: int | None) -> VersionCheck:
        """The outcome of comparing the version's rows with those expected.

        Args:
            actual: The version's.
            expected: Makes those expected; of a seed: over the same data in another order.
            known_bytes: Size of what the query reads; None: Spark is asked.
        """
        wanted = expected()
        if not self.is_understood:
            plan = str(jvm.java_frame(wanted).queryExecution().analyzed().toString())
            if asked := _ASKS.search(plan):
                raise SkippedError(f"its query cannot be computed again: it calls {asked[1]}")
        input_bytes = known_bytes
        if input_bytes is None:
            input_bytes = jvm.input_bytes(wanted)
        input_bytes += size_bytes(self.path, self.version) or 0
        difference = self.different(actual, wanted, input_bytes)
        if not difference:
            return self.ended(RIGHT)
        if again := _unrepeatable(self.session, wanted):
            raise SkippedError(f"its query cannot be computed again: {again}")
        choices = _CHOICES
        if not self.is_understood:
            analyzed = jvm.java_frame(wanted).queryExecution().analyzed()
            if told := asks(self.session, analyzed):
                choices = f"its query cannot be computed again: it {told}"
        # To Spark collect_list depends on chance, too: whether it does shows in another order.
        if not difference.columns:
            for seed in _SEEDS:
                if self.different(wanted, expected(seed), input_bytes):
                    raise SkippedError(choices)
        plan = str(jvm.java_frame(wanted).queryExecution().toString())
        return self.ended(WRONG, reason=difference.columns, difference=difference, plan=plan)

    def different(self, left: DataFrame, right: DataFrame, input_bytes: int) -> Difference:
        """How two frames differ."""
        return differences(self.session, left, right, self.project.configuration, input_bytes)


def ordered(frame: DataFrame, seed: int | None) -> DataFrame:
    """The same rows in another order, unless ``seed`` is None.

    By partitions, which Spark keeps: a sort below a join it leaves out.
    """
    if seed is None:
        return frame
    return frame.repartition(_PARTITIONS, F.rand(seed)).sortWithinPartitions(F.rand(-seed))


def _unrepeatable(session: SparkSession, wanted: DataFrame) -> str | None:
    """What another day, another user or chance decides, by Spark's own plan; None: nothing.

    The query's text does not tell all of it: ``at >= '08:00'`` has no cast, and a function of the
    catalog may ask the clock.
    """
    if asks_clock(session, jvm.java_frame(wanted).queryExecution().analyzed()):
        return "it asks the clock, or who runs it"
    try:
        return unrepeatable(analysed_tree(wanted))
    except Exception:  # noqa: BLE001 - a plan of a shape that is not known here says nothing
        return None
