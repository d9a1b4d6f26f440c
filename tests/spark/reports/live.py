"""A warehouse that runs on Spark by a clock which only the test sets, and its reports."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from unittest.mock import patch

from prometheus_client import CollectorRegistry
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from freshline.cli.main import app_for
from freshline.delta.log import commits
from freshline.executor.records import UpdateRequest, UpdateResult
from freshline.executor.report_records import BatchRequest, BatchResult
from freshline.project.load import load_project
from freshline.project.model import Project
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.runtime.lineage.emitter import lineage
from freshline.runtime.reports import track
from freshline.runtime.reports.driver import POLICY
from freshline.runtime.reports.recording import replay_reports
from freshline.runtime.reports.store import ReportStatus, read_reports
from freshline.runtime.status.replay import replay
from freshline.runtime.warehouse import Warehouse
from tests.spark.proof.support import PATIENCE_S, QUICK, Kept, OnDisk, Seen, eventually

BASE_S = 1_767_225_600.0
"""2026-01-01, midnight in UTC."""

ORDERS_FEED = """\
feeds:
  orders_feed:
    kind: files
    path: feed
    format: csv
    schema: "id BIGINT, at TIMESTAMP, shop STRING, price DECIMAL(10,2)"
    timestamp: {pattern: "orders-(\\\\d{8}T\\\\d{6})", format: "%Y%m%dT%H%M%S"}
"""
"""The end of a project's settings; a line with the feed's period goes behind it."""

ORDERS = """\
CREATE STREAMING TABLE orders
  TBLPROPERTIES ('freshline.time' = 'at')
  AS SELECT id, at, shop, price FROM STREAM orders_feed;
"""
"""The table that loads it."""

_READS = 6
"""Of the clock, in three rounds of the loop."""

_BATCH_S = 2.0
"""What every batch takes. The clock stands still meanwhile, and what a slow machine takes would
leave no time before a deadline."""


class Folder:
    """A project in a folder: what is in freshline.yml, and all of its SQL."""

    def __init__(self, root: Path, settings: str, sql: str) -> None:
        self.root = root
        (root / "freshline.yml").write_text(settings)
        (root / "tables").mkdir()
        (root / "tables" / "tables.sql").write_text(sql)

    @property
    def project(self) -> Project:
        return load_project(self.root)

    def command(self, *arguments: str) -> Result:
        """A command of ``freshline`` in this process."""
        line = [*arguments, "--project", str(self.root)]
        return CliRunner().invoke(app_for(line), line, catch_exceptions=False)

    def listed(self) -> dict[str, dict[str, Any]]:
        """What ``report list`` tells, by name."""
        done = self.command("report", "list", "--json")
        assert done.exit_code == 0, done.stderr
        return {each["name"]: each for each in json.loads(done.stdout)["reports"]}


class Clock:
    """The time of a run: it stands still until a test sets it."""

    def __init__(self, now_s: float) -> None:
        self.now_s = now_s
        self.reads = 0

    def __call__(self) -> float:
        self.reads += 1
        return self.now_s

    def was_read(self, times: int) -> bool:
        return self.reads >= times


class _Stopwatch:
    """Looked at when a batch begins and when it ends, in the place of the module ``time``."""

    def __init__(self) -> None:
        self._now_s = 0.0

    def monotonic(self) -> float:
        self._now_s += _BATCH_S
        return self._now_s


class _Counting(Kept):
    """An executor that knows what runs."""

    def __init__(self, shop: OnDisk, spark: SparkSession) -> None:
        super().__init__(shop, spark)
        self._lock = threading.Lock()
        self.running = self.begun = 0

    def run(self, request: UpdateRequest) -> UpdateResult:
        self._count(1)
        try:
            return super().run(request)
        finally:
            self._count(-1)

    def run_batch(self, request: BatchRequest) -> BatchResult:
        self._count(1)
        try:
            done = super().run_batch(request)
        finally:
            self._count(-1)
        return replace(done, final_seconds=min(done.final_seconds, _BATCH_S / 2))

    def _count(self, change: int) -> None:
        with self._lock:
            self.running += change
            self.begun += change > 0


class LiveReports:
    """A run of a project, from a moment on; it ends with its ``with``.

    Its lineage goes where OpenLineage's configuration says, where the project has any.

    Attributes:
        seen: What the run told.
    """

    def __init__(self, shop: OnDisk, spark: SparkSession, now_s: float) -> None:
        self._shop = shop
        self._clock = Clock(now_s)
        self._executor = _Counting(shop, spark)
        self._faults: list[BaseException] = []
        self.seen = Seen()
        self._observed = ExitStack()
        self._observed.enter_context(patch.object(track, "time", _Stopwatch()))
        observer = self._observed.enter_context(
            lineage(shop.project, self.seen, CollectorRegistry())
        )
        self._warehouse = Warehouse(
            shop.project, lambda: self._executor, observer, clock=self._clock, backoff=QUICK
        )
        self._thread = threading.Thread(target=self._run, name="warehouse")

    def _run(self) -> None:
        try:
            self._warehouse.run()
        except BaseException as fault:  # noqa: BLE001 - raised in the test's thread
            self._faults.append(fault)

    def __enter__(self) -> Self:
        self._thread.start()
        self.settle()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._warehouse.stop()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()
        self._observed.close()
        if error is None and self._faults:
            raise self._faults[0]

    def settle(self) -> None:
        """Until everything that the moment asks for is done."""
        while True:
            begun = self._executor.begun
            self.until(partial(self._clock.was_read, self._clock.reads + _READS))
            if not self._executor.running and self._executor.begun == begun:
                return

    def loaded(self, table: str, times: int) -> None:
        """Until so many updates of a table were committed, and what that asks for is done."""
        self.until(lambda: self.seen.done.count(table) >= times)
        self.settle()

    def go_on(self, until_s: float) -> None:
        """Let time pass, with a stop at every start of a batch that is planned by then."""
        while True:
            planned = [each for report in self.reports() for each in report.planned_s]
            ahead = [each for each in planned if self._clock.now_s < each <= until_s]
            self._clock.now_s = min(ahead, default=until_s)
            self.settle()
            if not ahead:
                return

    def reports(self) -> tuple[ReportStatus, ...]:
        """How they stand."""
        return reports_of(self._shop.project)

    def until(self, holds: Callable[[], object]) -> None:
        """Until it holds; what ended the run is raised here."""
        eventually(lambda: self._faults or holds())
        if self._faults:
            raise self._faults[0]


def reports_of(project: Project) -> tuple[ReportStatus, ...]:
    """What the journal knows of reports."""
    with closing(Journal(journal_path(project), create=False)) as journal:
        return read_reports(journal)


def results_of(project: Project, view: str) -> list[dict[str, Any]]:
    """What the commits of a report's table say, oldest first."""
    return [dict(each.metadata) for each in commits(project.table_path(view))]


def check_replays(project: Project) -> int:
    """Every recorded run decides the same again, the reports and the core; how many runs.

    Not in the simulator, which has one step a moment: by the test's clock many steps of a run are
    at the same one.
    """
    with closing(Journal(journal_path(project), create=False)) as journal:
        runs = [row["id"] for row in journal.rows("SELECT id FROM runs ORDER BY id")]
        for run in runs:
            assert replay_reports(journal, run, POLICY) == []
            assert replay(journal, run).mismatches == ()
        (told,) = journal.rows("SELECT count(*) AS steps FROM report_instants")
        (reserved,) = journal.rows(
            "SELECT count(*) AS times FROM instants WHERE events LIKE '%TrackReserved%'"
        )
    assert told["steps"], "no step of the reports' planner was recorded"
    assert reserved["times"], "the core was never told of a reserved track"
    return len(runs)


def known_costs(project: Project, view: str, *points: tuple[int, float], final_s: float) -> None:
    """What the batches of earlier windows took: rows and seconds, often enough to be believed."""
    with closing(Journal(journal_path(project), create=True)) as journal:
        for _ in range(20):
            for rows, seconds in points:
                journal.write(
                    "INSERT INTO report_batches (report, view, rows, seconds, final_s, batches)"
                    " VALUES ('before', ?, ?, ?, ?, 1)",
                    (view, rows, seconds, final_s),
                )
        journal.flush()


def as_json(rows: Any) -> list[str]:
    """Rows in an order of their own, to compare."""
    return sorted(json.dumps(row, default=str, sort_keys=True) for row in rows)
