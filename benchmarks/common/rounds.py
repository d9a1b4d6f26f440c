"""A warehouse whose feeds get a file each, and the next once all tables of the feed have the last.

So each update loads as much as every other one, and each table gets as many, however many tables
there are; and something waits all the time.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from benchmarks.common.processor import process_s
from freshline.project.model import Project
from freshline.render.log_observer import Counting
from freshline.runtime.options import RunOptions
from freshline.runtime.tracks import Outcome
from freshline.runtime.warehouse import Warehouse
from freshline.spark.engine import jvm
from freshline.spark.updates import SparkExecutor


class KeptOpen(SparkExecutor):
    """An executor that outlives the warehouses that borrow it."""

    def close(self) -> None:
        """Stay open for the next one."""


@dataclass(frozen=True, slots=True)
class Played:
    """What all rounds took.

    Attributes:
        seconds: Of each update, by table, in their order.
        processor_s: Of the processors, Python's and the JVM's, an update.
        errors: Of updates that failed.
    """

    seconds: Mapping[str, Sequence[float]]
    processor_s: float
    errors: Sequence[str]


class Rounds(Counting):
    """Plays some rounds.

    Args:
        project: Whose tables have no version yet.
        session: Of Spark; it stays open.
        groups: The tables of each feed: those that follow from a file of it.
        arrive: Puts a file into a feed, by its name and the number of the round, from 0.
        rounds: How many.
    """

    def __init__(
        self,
        project: Project,
        session: SparkSession,
        groups: Mapping[str, Sequence[str]],
        arrive: Callable[[str, int], None],
        rounds: int,
    ) -> None:
        super().__init__(project)
        self._session = session
        self._groups = groups
        self._feed_of = {table: feed for feed, tables in groups.items() for table in tables}
        self._arrive = arrive
        self._rounds = rounds
        self._seconds: dict[str, list[float]] = {table: [] for table in self._feed_of}
        self._begun: Counter[str] = Counter()
        self._errors: list[str] = []
        executor = KeptOpen(project, session)
        self._warehouse = Warehouse(project, lambda: executor, self, RunOptions())

    def play(self) -> Played:
        """All of them."""
        java = int(jvm.named(self._session, "java.lang.ProcessHandle.current")().pid())
        for feed in self._groups:
            self._next(feed)
        used_s = time.process_time() + process_s(java)
        self._warehouse.run()
        used_s = time.process_time() + process_s(java) - used_s
        updates = sum(map(len, self._seconds.values()))
        return Played(self._seconds, used_s / updates, self._errors)

    def ended(self, outcome: Outcome, retry_in_s: float | None) -> None:
        """An update ended: the next file comes where it was the last of its feed's tables."""
        super().ended(outcome, retry_in_s)
        table, feed = outcome.command.table, self._feed_of[outcome.command.table]
        if outcome.command.upkeep:
            return
        if outcome.result is None:
            self._errors.append(f"{table}: {outcome.error}")
            return
        self._seconds[table].append(outcome.seconds)
        done = min(len(self._seconds[each]) for each in self._groups[feed])
        if done == self._begun[feed] < self._rounds:
            self._next(feed)
        elif all(len(each) >= self._rounds for each in self._seconds.values()):
            self._warehouse.stop()

    def _next(self, feed: str) -> None:
        self._arrive(feed, self._begun[feed])
        self._begun[feed] += 1
