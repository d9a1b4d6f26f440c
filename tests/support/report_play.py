"""Reports in virtual time: real journal, core and planner; Spark's part takes given seconds."""

from __future__ import annotations

import queue
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from freshline.core.assembly import SchedulerSettings
from freshline.core.errors import Place, PlatformError
from freshline.core.events import FileArrived, TrackReserved, UpdateFinished
from freshline.executor.report_records import BatchRequest, BatchResult, Window
from freshline.project.deadlines import read_deadline
from freshline.project.model import Project, ReportSettings, TableDef
from freshline.runtime.assembly import scheduler_for, specs_for
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from freshline.runtime.report_jobs import JobEnded
from freshline.runtime.reports.driver import POLICY, Reports
from freshline.runtime.reports.recording import replay_reports
from freshline.runtime.reports.store import ReportStatus, read_reports
from tests.support.shop import PATIENCE_S, made_project

HOUR_S = 3600.0
START_S = 1000 * HOUR_S
WINDOW = "sales@1970-02-11T16:00:00Z"
MINUTES = [(60.0 * minute, 10) for minute in range(1, 63)]
KNOWN = ((100, 12.0), (1000, 102.0))
_MOST_TURNS = 50
"""Of the loop at one instant: whatever happens is over by then."""


def report_project(root: Path, *, tracks: int = 2, deadline: str = "10 minutes") -> Project:
    """Orders, and a report over each hour of them."""
    project = made_project(root, {"orders": ()}, SchedulerSettings(tracks=tracks))
    here = Place("tables.sql", 1)
    settings = ReportSettings(HOUR_S, read_deadline(deadline))
    sales = TableDef(
        "sales", "derived", "SELECT count(*) FROM orders", here, here, parents=("orders",),
        report=settings,
    )  # fmt: skip
    return replace(project, reports=(sales,))


class Batches:
    """An executor whose batches always go well, but for those that a test makes fail."""

    def __init__(self) -> None:
        self.failures: list[str] = []
        self.code = ""
        self.repeated = False
        self.done: Counter[tuple[str, float]] = Counter()
        self.finals: list[Window] = []
        self.read = True
        self._newest: dict[str, int] = {}

    def run_batch(self, request: BatchRequest) -> BatchResult:
        if self.failures:
            raise PlatformError("made-to-fail", self.failures.pop(0))
        if request.final:
            self._commit(request.window)
        if self.code:
            version = 0 if request.final else None
            return BatchResult(int(request.final), 0, 0.0, 0.0, version, 1, self.code, "why")
        window = (request.window.table.name, request.window.start_s)
        self.done[window] += 1
        done = self.done[window]
        if request.final:
            del self.done[window]
        version = 0 if request.final else None
        return BatchResult(done, 1, 0.0, 0.0, version, 1, repeated=self.repeated, read=self.read)

    def _commit(self, window: Window) -> None:
        """As Spark's part does it: a table shows its newest window."""
        if window.number < self._newest.get(window.counted_as, 0):
            raise PlatformError("window-overtaken", "its table shows a later window")
        self._newest[window.counted_as] = window.number
        self.finals.append(window)


@dataclass
class Play:
    """One run of the reports of a project, from START_S on.

    Attributes:
        batch_s: What a batch of so many rows really takes.
        final_s: What a final really takes.
        trace: What happened, a line each; times in seconds from START_S.
        fresh: The freshness that rows of a time bring, in seconds from START_S.
    """

    project: Project
    batch_s: Callable[[int], float] = lambda rows: 2.0 + 0.1 * rows
    final_s: float = 5.0
    batches: Batches = field(default_factory=Batches)
    trace: list[str] = field(default_factory=list)
    fresh: Callable[[float], float] = lambda at_s: at_s
    until_idle: bool = False
    runs: int = 0

    def __post_init__(self) -> None:
        self.journal = Journal(journal_path(self.project), create=True)
        self.begin()

    def begin(self, at_s: float = 0.0) -> None:
        """What a new process does."""
        self.runs += 1
        self.now_s = START_S + at_s
        specs = specs_for(self.project, self.journal)
        self.core = scheduler_for(self.project, specs, START_S)
        self.reports = Reports(
            self.project, self.journal, self.core, self.runs, until_idle=self.until_idle,
            notice=self.tell,
        )  # fmt: skip
        self._ends: queue.SimpleQueue[JobEnded] = queue.SimpleQueue()
        self.spark_is_there()
        self.ending: tuple[float, JobEnded] | None = None

    def spark_is_there(self) -> None:
        """Batches can start, for the first time or again."""
        self.reports.begin(self.batches, self._ends.put)

    def tell(self, text: str) -> None:
        self.trace.append(f"{self.now_s - START_S:.0f}: {text}")

    def arrive(self, to_s: float, rows: int) -> None:
        """An update of orders is committed that brings so many rows, up to a freshness."""
        number = self.core.table("orders").number + 1
        self.core.handle(self.now_s, [FileArrived("orders", START_S + to_s, f"f{number}")])
        running = self.core.table("orders").running
        assert running is not None, "the track is reserved"
        self.journal.write(
            "INSERT INTO updates (table_name, number, state, finish_s, to_s, rows)"
            " VALUES ('orders', ?, 'done', ?, ?, ?)",
            (number, self.now_s, START_S + to_s, rows),
        )
        self.journal.flush()
        self.core.handle(self.now_s, [UpdateFinished("orders", number, 0.0)])
        self.reports.committed()

    def known(
        self, *measured: tuple[int, float], final_s: float = 5.0, view: str = "sales"
    ) -> None:
        """Costs that earlier windows showed."""
        for rows, seconds in measured:
            self.journal.write(
                "INSERT INTO report_batches (report, view, rows, seconds, final_s, batches)"
                " VALUES ('before', ?, ?, ?, ?, 1)",
                (view, rows, seconds, final_s),
            )
        self.journal.flush()

    def run(self, arrivals: list[tuple[float, int]], until_s: float) -> None:
        """Go on until a time: (time of arrival, rows) come in between."""
        coming = [(START_S + at_s, rows) for at_s, rows in arrivals]
        turns = 0
        while True:
            ends_s = self.ending[0] if self.ending is not None else float("inf")
            wakeup_s = max(self.now_s, self.reports.next_wakeup_s())
            if self.until_idle:  # the warehouse's loop looks again by itself
                wakeup_s = min(wakeup_s, self.now_s + 1.0)
            arrives_s = coming[0][0] if coming else float("inf")
            next_s = min(ends_s, wakeup_s, arrives_s)
            if next_s > START_S + until_s:
                self.now_s = START_S + until_s
                return
            turns = turns + 1 if next_s == self.now_s else 0
            assert turns < _MOST_TURNS, "the loop is woken again and again, and never sleeps"
            self.now_s = next_s
            if self.ending is not None and ends_s <= next_s:
                outcome, self.ending = self.ending[1], None
                self.reports.ended(outcome, self.now_s)
            if arrives_s <= next_s:
                at_s, rows = coming.pop(0)
                self.arrive(self.fresh(at_s - START_S), rows)
            self._go()

    def _go(self) -> None:
        for event in self.reports.step(self.now_s):
            self._reserve(event)
        self.reports.start_due_batch(self.now_s)
        if self.reports.running and self.ending is None:
            outcome = self._ends.get(timeout=PATIENCE_S)
            job = outcome.job
            final_s = self.final_s if job.request.final and not self.batches.code else 0.0
            seconds = self.batch_s(job.rows) + final_s
            result = outcome.result
            if result is not None:
                result = replace(result, final_seconds=final_s)
            self.tell(
                f"{'final' if job.request.final else 'batch'} of {job.rows} rows"
                + ("" if job.request.complete or not job.request.final else ", incomplete")
            )
            self.ending = (self.now_s + seconds, replace(outcome, seconds=seconds, result=result))

    def _reserve(self, event: TrackReserved) -> None:
        self.core.handle(self.now_s, [event])

    def status(self, name: str = "sales@") -> ReportStatus:
        """How the first window's report stands, or that of another name."""
        found = [each for each in read_reports(self.journal) if each.wanted.name.startswith(name)]
        return min(found, key=lambda each: each.wanted.start_s)

    def check_replay(self) -> None:
        """What was recorded replays to the same orders."""
        self.journal.flush()
        for run in range(1, self.runs + 1):
            assert replay_reports(self.journal, run, POLICY) == []


def new_play(root: Path, deadline: str = "2 minutes", *, known: bool = True, **more: Any) -> Play:
    """A play of that project, whose stream is there; ``known``: what a report costs is, too."""
    play = Play(report_project(root, deadline=deadline), **more)
    if known:
        play.known(*KNOWN)
    play.arrive(-2 * HOUR_S, 0)
    return play
