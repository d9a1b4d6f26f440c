"""One report on Spark, in so many batches; what each of them took."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.common.metered import Tasks, TaskTimes, drained
from benchmarks.intermittent.queries import over, streams_of, text
from benchmarks.intermittent.slices import START_S, Slices
from freshline.core.errors import Place
from freshline.executor.report_records import BatchRequest, BatchResult, Window
from freshline.project.asked import asked_table
from freshline.project.model import TableDef
from freshline.spark.updates import SparkExecutor

_LONG_BEFORE_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Spent:
    """What one way of making a report took.

    Attributes:
        query: Its name.
        batches: In how many.
        tasks: Seconds of tasks.
        wall_s: By the clock.
        sizes: Slices and seconds of each batch, the final not counted.
        final_s: Of the final, and of the result's commit.
    """

    query: str
    batches: int
    tasks: Tasks
    wall_s: float
    sizes: Sequence[tuple[int, float]]
    final_s: float


class Reports:
    """Makes the reports, each as often as wanted: every time its window begins a little later.

    Args:
        slices: What they read.
        session, executor: Of the slices' project.
    """

    def __init__(self, slices: Slices, session: SparkSession, executor: SparkExecutor) -> None:
        self.slices = slices
        self._session = session
        self._executor = executor
        self._times = TaskTimes(slices.events)
        self._starts_s = itertools.count(START_S - _LONG_BEFORE_S)
        self._tables: dict[str, TableDef] = {}

    def tasks(self) -> Tasks:
        """Seconds of all tasks so far."""
        drained(self._session)
        return self._times.so_far()

    def window(self, query: str) -> Window:
        """A window that has not been made yet, of all slices."""
        table = self._tables.get(query)
        if table is None:
            asked = over(text(query), self.slices.statics)
            table = asked_table(self.slices.project, query, asked, Place(f"{query}.sql", 1))
            self._tables[query] = table
        end_s = self.slices.end_s
        return Window(table, next(self._starts_s), end_s, end_s, query)

    def batch(self, window: Window, upto: int, *, final: bool) -> BatchResult:
        """Work off all slices up to one, counted from 1."""
        pins = dict.fromkeys(streams_of(window.table.name), upto)
        result = self._executor.run_batch(BatchRequest(window, pins, final))
        if result.code:
            raise RuntimeError(f"{window.table.name} cannot be cut: {result.reason}")
        return result

    def result(self, query: str) -> Path:
        """Where a report's rows are."""
        return Path(self.slices.project.table_path(query))

    def make(self, query: str, batches: int, *, first: int | None = None) -> Spent:
        """All slices in so many batches of the same size, and the result checked.

        Args:
            query: Its name.
            batches: How many.
            first: Slices in the first of two batches that are not of the same size.
        """
        count = self.slices.count
        ends = [round(count * (number + 1) / batches) for number in range(batches)]
        if first is not None:
            ends = [first, count]
        window = self.window(query)
        before, began_s = self.tasks(), time.perf_counter()
        made = [self.batch(window, end, final=end == count) for end in ends]
        wall_s = time.perf_counter() - began_s
        sizes = [
            (end - start, each.seconds)
            for start, end, each in zip([0, *ends], ends, made, strict=False)
        ]
        spent = Spent(
            query, len(ends), self.tasks() - before, wall_s, sizes, made[-1].final_seconds
        )
        self.slices.check(query, self.result(query))
        return spent
