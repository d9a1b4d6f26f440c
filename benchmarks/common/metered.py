"""Seconds that an update's tasks ran, from Spark's event log.

The status store has no such figure: its time of a local executor is the driver's own.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from freshline.executor.records import UpdateRequest, UpdateResult
from freshline.spark.updates import SparkExecutor

_PATIENCE_MS = 60_000


def logging_to(folder: Path) -> Mapping[str, str]:
    """Settings with which every application writes its events into ``folder``, made here."""
    folder.mkdir(parents=True, exist_ok=True)
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": folder.absolute().as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }


@dataclass(frozen=True, slots=True)
class Tasks:
    """Seconds of tasks: from their start to their end, and of the processors."""

    run_s: float = 0.0
    cpu_s: float = 0.0

    def __sub__(self, other: Tasks) -> Tasks:
        return Tasks(self.run_s - other.run_s, self.cpu_s - other.cpu_s)


class TaskTimes:
    """All tasks of all applications that log into a folder.

    Args:
        folder: Of :func:`logging_to`.
        since_s: Tasks that began earlier do not count, seconds since the epoch.
        until_s: Nor do those that began later.
    """

    def __init__(self, folder: Path, since_s: float = 0.0, until_s: float = inf) -> None:
        self._folder = folder
        self._since_s, self._until_s = since_s, until_s
        self._read_bytes: dict[str, int] = {}
        self._run_ms = self._cpu_ns = 0

    def so_far(self) -> Tasks:
        """Of the tasks in the logs; an event is there once its job has ended."""
        for path in self._folder.iterdir():
            name = path.name.removesuffix(".inprogress")
            with path.open("rb") as file:
                file.seek(self._read_bytes.get(name, 0))
                whole, end, _ = file.read().rpartition(b"\n")
            self._read_bytes[name] = self._read_bytes.get(name, 0) + len(whole) + len(end)
            for line in whole.splitlines():
                if line.startswith(b'{"Event":"SparkListenerTaskEnd"'):
                    self._count(json.loads(line))
        return Tasks(self._run_ms / 1e3, self._cpu_ns / 1e9)

    def _count(self, event: Mapping[str, Any]) -> None:
        metrics = event.get("Task Metrics") or {}
        if self._since_s <= event["Task Info"]["Launch Time"] / 1e3 < self._until_s:
            self._run_ms += metrics.get("Executor Run Time", 0)
            self._cpu_ns += metrics.get("Executor CPU Time", 0)


def drained(session: SparkSession) -> None:
    """Wait until the log has the events of every job that has ended."""
    context = session.sparkContext._jsc.sc()  # noqa: SLF001 - PySpark shows no metrics
    context.listenerBus().waitUntilEmpty(_PATIENCE_MS)


@dataclass(frozen=True, slots=True)
class Metered:
    """One update and what it took.

    Attributes:
        table, strategy: Of the update.
        executor_s: Seconds of its tasks, from their start to their end.
        cpu_s: Theirs of the processors.
        wall_s: By the clock.
    """

    table: str
    strategy: str
    executor_s: float
    cpu_s: float
    wall_s: float


class Meter:
    """Runs updates, in one thread, and meters each.

    Args:
        executor: Carries them out.
        session: Its session, which logs into ``folder``.
        folder: Of :func:`logging_to`.

    Attributes:
        spent: By every update so far, in order.
    """

    def __init__(self, executor: SparkExecutor, session: SparkSession, folder: Path) -> None:
        self._executor = executor
        self._session = session
        self._times = TaskTimes(folder)
        self.spent: list[Metered] = []

    def run(self, request: UpdateRequest) -> UpdateResult:
        """As the executor does."""
        before = self._tasks()
        began_s = time.perf_counter()
        result = self._executor.run(request)
        wall_s = time.perf_counter() - began_s
        spent = self._tasks() - before
        self.spent.append(Metered(request.table, result.strategy, spent.run_s, spent.cpu_s, wall_s))
        return result

    def _tasks(self) -> Tasks:
        drained(self._session)
        return self._times.so_far()
