"""Driving a warehouse in this process on the shared session, or in a child that may die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar, cast

import pytest
from pyspark.sql import SparkSession

import freshline
from freshline.core.commands import StartUpdate
from freshline.core.errors import PlatformError
from freshline.executor.records import UpdateRequest, UpdateResult
from freshline.executor.report_records import BatchRequest, BatchResult
from freshline.executor.source import Source
from freshline.executor.topic import Topic
from freshline.project.model import Project
from freshline.runtime.feeds.backoff import Backoff
from freshline.runtime.notices import one_line
from freshline.runtime.options import RunOptions
from freshline.runtime.report_jobs import ReportStep
from freshline.runtime.tracks import Outcome
from freshline.runtime.warehouse import Warehouse
from freshline.spark import updates
from freshline.spark.engine import session as engine
from freshline.spark.updates import SparkExecutor
from tests.spark.proof.equality import utc_session

T = TypeVar("T")

PATIENCE_S = 600.0
"""Nothing here takes as long; a busy machine may."""

QUICK = Backoff(first_s=0.01, most_s=0.05, attempts=3)


class OnDisk(Protocol):
    """A project in a folder."""

    root: Path

    @property
    def project(self) -> Project:
        """As it is on disk now."""
        ...


class UtcSessions:
    """The session that the tests share, whose new sessions are in UTC as a project's own are."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self.sparkContext = spark.sparkContext
        self.conf = spark.conf
        self._jvm = spark._jvm
        self._jsparkSession = spark._jsparkSession

    def newSession(self) -> SparkSession:  # noqa: N802 - PySpark's name
        return utc_session(self._spark)

    def stop(self) -> None:
        """The tests go on with it."""


class Kept:
    """An executor whose end leaves the session, which the tests share, alone."""

    def __init__(self, shop: OnDisk, spark: SparkSession) -> None:
        self._executor = SparkExecutor(shop.project, cast("SparkSession", UtcSessions(spark)))

    def run(self, request: UpdateRequest) -> UpdateResult:
        return self._executor.run(request)

    def run_batch(self, request: BatchRequest) -> BatchResult:
        return self._executor.run_batch(request)

    def topic(self, feed: str) -> Topic:
        return self._executor.topic(feed)

    def source(self, feed: str) -> Source:
        return self._executor.source(feed)

    def named_version(self, table: str, name: str) -> tuple[int, str, str | None] | None:
        return self._executor.named_version(table, name)

    def made_otherwise(self, made: Mapping[str, Mapping[str, Any]]) -> list[str]:
        return self._executor.made_otherwise(made)

    def give_up(self, table: str, number: int) -> None:
        self._executor.give_up(table, number)

    def healthy(self) -> bool:
        return self._executor.healthy()

    def ended(self) -> PlatformError | None:
        return self._executor.ended()

    def kill(self) -> None:
        pass

    def close(self) -> None:
        pass


@dataclass(slots=True)
class Loaded:
    """A project that was read."""

    root: Path
    project: Project


def lend(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands of ``freshline`` that run in this process take the session of the tests."""
    monkeypatch.setattr(engine, "start_session", lambda *_, **__: UtcSessions(spark))
    monkeypatch.setattr(
        updates,
        "SparkExecutor",
        lambda project, *_, **__: Kept(Loaded(project.root, project), spark),
    )


class Seen:
    """An observer that keeps what it was told."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.failed: list[tuple[str, str]] = []
        self.notices: list[str] = []
        self.reports: list[ReportStep] = []
        self.is_ready = False

    def decided(self, seconds: float) -> None:
        pass

    def ready(self, seconds: float) -> None:
        self.is_ready = True

    def spark_lost(self, why: PlatformError) -> None:
        self.notices.append(why.what)

    def started(self, command: StartUpdate) -> None:
        pass

    def ended(self, outcome: Outcome, retry_in_s: float | None) -> None:
        if retry_in_s is None:
            self.done.append(outcome.command.table)
        else:
            self.failed.append((outcome.command.table, one_line(outcome.error)))

    def report(self, step: ReportStep) -> None:
        self.reports.append(step)

    def notice(self, text: str, *, level: str = "info", table: str | None = None) -> None:
        self.notices.append(text)

    def wait_for(self, table: str, times: int) -> None:
        """Until so many updates of a table were committed."""
        eventually(lambda: self.done.count(table) >= times)


def run_here(shop: OnDisk, spark: SparkSession, options: RunOptions | None = None) -> Seen:
    """Run in this process until idle; everything must have been brought up to date."""
    seen = Seen()
    options = options or RunOptions(until_idle=True)
    left = Warehouse(shop.project, lambda: Kept(shop, spark), seen, options, backoff=QUICK).run()
    assert left == 0, (left, seen.failed)
    return seen


@contextmanager
def running_here(shop: OnDisk, spark: SparkSession) -> Iterator[Seen]:
    """A warehouse that runs in a thread of this process, stopped at the end."""
    seen = Seen()
    faults: list[BaseException] = []
    warehouse = Warehouse(shop.project, lambda: Kept(shop, spark), seen, backoff=QUICK)

    def run() -> None:
        try:
            warehouse.run()
        except BaseException as fault:  # noqa: BLE001 - raised in the test's thread
            faults.append(fault)

    thread = threading.Thread(target=run, name="warehouse")
    thread.start()
    try:
        yield seen
    finally:
        warehouse.stop()
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
    if faults:
        raise faults[0]


class Child:
    """``freshline run`` as a process group of its own, which does not outlive its ``with``.

    Args:
        shop: Its project.
        arguments: Of ``run``.
        failpoint: Where it is to die.
        prelude: Python statements that it begins with.
        log: Name of the file in the project's folder that it writes to.
    """

    def __init__(
        self,
        shop: OnDisk,
        *arguments: str,
        failpoint: str = "",
        prelude: str = "pass",
        log: str = "child.log",
    ) -> None:
        source = str(Path(freshline.__file__).parents[1])
        environment = {
            **os.environ,
            "PYTHONPATH": source,
            "FRESHLINE_FAILPOINT": failpoint,
            # A JVM that lives for seconds: the quickest start counts, not the best code.
            "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1",
        }
        self._storage = Path(shop.project.storage)
        self.log = shop.root / log
        self._seen = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as written:
            self.process = subprocess.Popen(
                [
                    sys.executable, "-c", f"{prelude}; from freshline.cli.main import main; main()",
                    "run", "--project", str(shop.root), *arguments,
                ],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=written,
                stderr=written,
                process_group=0,
            )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.kill(group=True)

    def wait(self) -> int:
        """Its exit status, the negative signal where one ended it."""
        return self.process.wait(PATIENCE_S)

    def ended_within(self, seconds: float) -> int:
        """Its exit status.

        Raises:
            TimeoutError: It still runs.
        """
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired as error:
            raise TimeoutError from error

    def wait_until_ready(self) -> None:
        """Until Spark ready and updates start."""
        eventually(lambda: self._must_run() and "Spark ready" in self.output())

    def wait_for_commits(self, more: int) -> None:
        """Until the tables together have so many commits more than now."""
        goal = self._commits() + more
        eventually(lambda: self._must_run() and self._commits() >= goal)

    def _commits(self) -> int:
        return sum(1 for _ in self._storage.glob("*/_delta_log/*.json"))

    def _must_run(self) -> bool:
        assert self.process.poll() is None, self.output()
        return True

    def output(self) -> str:
        """What it has written."""
        return self.log.read_bytes()[self._seen :].decode(errors="replace")

    def kill(self, *, group: bool) -> None:
        """SIGKILL: to the process alone, whose JVM then ends by itself, or to both."""
        if group:
            os.killpg(self.process.pid, signal.SIGKILL)
        else:
            self.process.kill()
        self.process.wait()


def eventually(look: Callable[[], T]) -> T:
    """The first true value of ``look``; for what other processes and threads do."""
    end_s = time.monotonic() + PATIENCE_S
    while not (found := look()):
        assert time.monotonic() < end_s, "it did not come true"
        time.sleep(0.02)
    return found
