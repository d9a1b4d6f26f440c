"""The reports of a running warehouse: the planner between journal, core and Spark.

The planner (:class:`freshline.reports.scheduler.ReportScheduler`, policy ``joint``) decides when
which batch starts: as few as the deadlines allow, as late as they allow. They run one at a
time on the last track, which is reserved from the next planned start on (``share.py``).

A report whose costs nobody knows runs its first batch as soon as there is data. Whatever is
measured is told to the planner when it differs from what it was told before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from freshline.core.events import TrackReserved
from freshline.core.scheduler import Scheduler
from freshline.delta.log import last_commit
from freshline.executor.report_records import BatchRequest, BatchResult, ReportExecutor, Window
from freshline.failpoints import failpoint
from freshline.project.definition import definition_of
from freshline.project.model import Project, TableDef
from freshline.reports.events import (
    BatchFinished,
    Event,
    InputClosed,
    ReportDone,
    StartBatch,
    Submitted,
    TuplesArrived,
    Withdrawn,
)
from freshline.reports.joint.plan import DRIFT_SHARE
from freshline.reports.joint.together import Stretch
from freshline.reports.planning.model import Infeasible
from freshline.reports.policies import ReportPolicy
from freshline.reports.scheduler import ReportScheduler
from freshline.runtime.journal.store import Journal
from freshline.runtime.report_jobs import Job, JobEnded, JobWithdrawn, ReportStep
from freshline.runtime.reports.in_progress import (
    LATENESS,
    Order,
    Promise,
    ReportInProgress,
    closings_s,
    first_windows,
    told,
)
from freshline.runtime.reports.lateness import reason
from freshline.runtime.reports.outlook import MARGIN, outlook, stream_names
from freshline.runtime.reports.recording import Recording
from freshline.runtime.reports.share import TrackShare
from freshline.runtime.reports.store import (
    GIVEN_UP,
    OPEN,
    Arrival,
    Measured,
    WantedReport,
    arrivals,
    begin,
    measured,
    note,
    note_batch,
    note_planned,
    read_report,
)
from freshline.runtime.reports.track import ReportTrack
from freshline.runtime.reports.windows import ReportWindows

POLICY = ReportPolicy("joint", slack_factor=None, max_batch_time_s=None, margin=MARGIN, eager=True)
_DIFFERS = 0.25
"""A batch that took this share more or less than expected teaches the planner."""
_SECOND_S = 1.0
_NEVER = float("inf")


class Reports:
    """What the warehouse's loop asks of reports; one thread only.

    Args:
        project, journal: As the warehouse has them.
        core: Read: versions, freshness, and what runs on the track.
        run: Number of the run, for the recording.
        until_idle: Only windows that are over, at once.
        off: No reports at all: the run is about some tables only.
        notice: Told what people should hear.
        tell: Told of every batch, for observers of the run.
    """

    def __init__(
        self,
        project: Project,
        journal: Journal,
        core: Scheduler,
        run: int,
        *,
        until_idle: bool,
        off: bool = False,
        notice: Callable[[str], None],
        tell: Callable[[ReportStep], None] = lambda _: None,
    ) -> None:
        self._project = project
        self._journal = journal
        self._core = core
        self._recording = Recording(journal, run)
        self._until_idle = until_idle
        self._off = off
        self._notice = notice
        self._tell = tell
        self._share = TrackShare(project, journal, core)
        self._track: ReportTrack | None = None
        self._planner = ReportScheduler(POLICY, tracks=1)
        self._windows = ReportWindows(project, journal, ended_only=until_idle)
        self._live: dict[str, ReportInProgress] = {}
        self._events: list[Event] = []
        self._queue: list[Order] = []
        self._running: Job | None = None
        self._look_s = float("-inf")
        self._now_s = float("-inf")
        self._tables_idle = False
        self._dirty = True
        self._submissions = 0

    # ---- what the loop calls ----

    def begin(self, executor: ReportExecutor, report: Callable[[JobEnded], None]) -> None:
        """Spark is there: batches can start."""
        self._track = ReportTrack(executor, report)

    def abandon(self, error: Exception, now_s: float) -> None:
        """Spark is gone: the batch that runs failed, and none can start until ``begin``."""
        ended = None if self._track is None else self._track.abandon(error)
        self._track = None
        if ended is not None:
            self.ended(ended, now_s)

    def close(self) -> None:
        """Let the thread end."""
        if self._track is not None:
            self._track.close()

    @property
    def running(self) -> bool:
        """Whether a batch runs."""
        return self._running is not None

    def idle(self) -> bool:
        """Told that all tables are up to date: whether all reports are made, too."""
        self._tables_idle = True
        if self._off:
            return True
        first = first_windows(self._live.values()).values()
        to_make = any(live.has_data and not live.failed_often for live in first)
        return not (to_make or self._running) and self._look_s != float("-inf")

    def next_wakeup_s(self) -> float:
        """When a step is wanted although nothing happens."""
        if self._off:
            return _NEVER
        wakeups_s = [self._planner.next_wakeup_s(), self._look_s]
        if not self._until_idle:  # there reports wait for nothing but the tables
            wakeups_s += closings_s(self._live.values(), self._now_s).values()
        pauses_s = (live.not_before_s for live in self._live.values())
        return min([*wakeups_s, *(each_s for each_s in pauses_s if each_s > self._now_s)])

    def step(self, now_s: float) -> list[TrackReserved]:
        """Take in what happened, and plan; what the core must be told."""
        if self._off:
            return []
        self._now_s = now_s
        if now_s >= self._look_s:
            self._open_windows(now_s)
        closings = closings_s(self._live.values(), now_s)
        for live in list(self._live.values()):
            self._update_report(live, now_s, closings.get(live.name))
        self._dirty = False
        events, self._events = self._events, []
        if events or self._planner.next_wakeup_s() <= now_s:
            commands = self._planner.step(now_s, events)
            self._recording.step(now_s, events, commands)
            for command in commands:
                self._ordered(command)
            self._note_plans()
        next_s = min((each.start_s for each in self._planner.planned()), default=None)
        return self._share.news(now_s, next_s, busy=bool(self.running or self._queue))

    def start_due_batch(self, now_s: float) -> None:
        """Start the batch whose time has come, if the track is free."""
        if self._track is None or self._running is not None:
            return
        order = next((each for each in self._queue if each.live.not_before_s <= now_s), None)
        if order is None:
            return
        if any(
            table.running is not None and table.running.command.track == self._share.track
            for table in self._core.running()
        ):
            order.live.waited |= now_s >= order.due_s
            return
        self._queue.remove(order)
        live = order.live
        self._recount(live)
        pins = {table.name: table.version for table in live.parents if table.version is not None}
        request = BatchRequest(live.window, pins, order.final, live.complete)
        rows = max(0, live.arrived_rows - live.taken_rows)
        job = Job(live.name, request, rows, order.expected_s, order.planned, live.failures + 1)
        self._running, live.running_rows = job, rows
        self._journal.flush()
        failpoint("report.before_start")
        self._tell(job)
        self._track.start(job)

    def ended(self, outcome: JobEnded, now_s: float) -> None:
        """A batch ended; the planner is told with the next step."""
        job, result = outcome.job, outcome.result
        self._running = None
        self._tell(outcome)
        if job.planned:
            self._events.append(BatchFinished(0))
        live = self._live.get(job.name)
        if live is None or live.window is not job.request.window:  # withdrawn, or submitted again
            if result is None or result.version is None:
                self._tell(JobWithdrawn(job.name, job.request.window))
            return
        live.running_rows = 0
        error = None if outcome.error is None else told(outcome.error)
        final_s = result.final_seconds if result is not None else 0.0
        batches = result.batches if result is not None else live.batches
        batch_s = outcome.seconds - final_s
        if result is None or (result.batches and not result.repeated):  # it did something
            counts = result is None or not job.planned or result.continues(live.batches)
            note_batch(
                self._journal, live.wanted, start_s=now_s - outcome.seconds, rows=job.rows * counts,
                seconds=batch_s, final_s=final_s, expected_s=job.expected_s, batches=batches,
                error=error,
            )  # fmt: skip
        live.cost_s += outcome.seconds
        if result is None:
            assert outcome.error is not None
            self._failed(live, outcome.error, now_s)
        else:
            slow_s = MARGIN * job.expected_s
            live.slower = live.slower or 0.0 < slow_s < outcome.seconds
            live.code, live.once = result.code, bool(result.code)
            live.probing = False
            if result.version is not None:
                live.batches = batches
                complete = job.request.complete
                if result.repeated:  # what was committed is what counts
                    commit = last_commit(self._project.table_path(live.window.table.name))
                    complete = commit is None or bool(commit.metadata.get("complete", True))
                self._done(live, result, now_s, complete=complete)
            else:
                self._worked_off(live, job, batches, outcome.seconds)
        self._journal.flush()
        failpoint("report.after_journal")

    def committed(self) -> None:
        """An update of a table was committed."""
        self._dirty = True

    def submitted(self) -> None:
        """Somebody wrote a report into the journal."""
        self._look_s, self._share.changed = float("-inf"), True
        self._dirty = True  # what came before it was asked for counts for it, too

    def withdraw(self, name: str) -> bool:
        """Nobody wants a report any longer; whether it was still to make."""
        found = read_report(self._journal, name)
        if found is None or found.state not in (*OPEN, GIVEN_UP):
            return False
        live = self._live.get(found.wanted.name)
        if live is not None:
            self._forget(live)
            if live.key:
                self._events.append(Withdrawn(live.key))
            if self._running is None or self._running.name != live.name:
                self._tell(JobWithdrawn(live.name, live.window))
        self._share.changed = True
        note(self._journal, found.wanted.name, state="withdrawn", planned="[]")
        self._journal.flush()
        return True

    # ---- from the journal to the planner ----

    def _open_windows(self, now_s: float) -> None:
        self._look_s = self._windows.next_s(now_s)
        due, faults = self._windows.due(now_s, set(self._live))
        for wanted, error in faults:
            note(self._journal, wanted.name, state=GIVEN_UP, error=told(error), planned="[]")
            self._share.changed = True
            self._notice(f"report {wanted.name} is given up: {error.render()}")
        self._journal.flush()
        for wanted, table in due:
            self._make(wanted, table, now_s)

    def _make(self, wanted: WantedReport, table: TableDef, now_s: float) -> None:
        found = begin(self._journal, wanted, now_s)
        asked_s = None if found is None or wanted.query is None else found.asked_s
        window = Window(
            replace(table, name=wanted.view), wanted.start_s, wanted.end_s, wanted.deadline_s,
            definition_of(table), asked_s,
        )  # fmt: skip
        parents = [self._core.table(name) for name in table.parents]
        live = ReportInProgress(wanted, table, window, parents)
        if found is not None:
            live.taken_rows, live.batches = found.taken_rows, found.batches
            live.cost_s = found.cost_s
            if found.state == "live":
                live.foreseen, live.restarted = found.foreseen, True
        live.once = measured(self._journal, wanted.view).once
        self._live[wanted.name] = live
        self._journal.flush()

    def _update_report(
        self, live: ReportInProgress, now_s: float, close_by_s: float | None
    ) -> None:
        """What came for one report since the last step; see `closings_s` for ``close_by_s``."""
        looked = self._dirty
        if self._dirty:
            self._recount(live)
        if close_by_s is None and not live.closed and now_s >= live.window.end_s:
            self._resubmit(live)  # when the windows before it are made: it would be in their way
            return
        may = live.outlook is None and live.has_data and now_s >= live.not_before_s
        if may and (live.stale or self._dirty or now_s >= live.window.end_s):
            self._submit(live, now_s)
            looked = True
        if close_by_s is not None and now_s >= live.window.end_s:
            over = self._tables_idle if self._until_idle else now_s >= close_by_s
            if live.complete or over:
                live.closed = True
                live.late_input = not live.complete
        if live.outlook is None or not live.key:
            return
        if looked:
            self._reached(live)
        units = live.outlook.units(max(0, live.arrived_rows - live.told_rows), closed=live.closed)
        if units > live.units:
            live.units = units
            self._events.append(TuplesArrived(live.key, units, now_s))
        if live.closed and not live.closed_told:
            live.closed_told = True
            self._events.append(InputClosed(live.key))

    def _reached(self, live: ReportInProgress) -> None:
        """Tell the planner how far the streams are, when that is another unit or a new lag."""
        assert live.outlook is not None
        reached = live.outlook.reached(self._journal)
        if reached is None or live.closed:
            return
        window_s = live.window.end_s - live.window.start_s
        told = live.reached
        if told is None or (
            told.predicted != reached.predicted
            or abs(told.lag_s - reached.lag_s) > DRIFT_SHARE * window_s
        ):
            live.reached = reached
            self._events.append(reached)

    def _submit(self, live: ReportInProgress, now_s: float) -> None:
        """Tell the planner of a report, with what is known of it now."""
        if self._is_busy_with(live):
            return
        live.stale = False
        known = measured(self._journal, live.wanted.view)
        before_end = now_s < live.window.end_s
        cold = not known.batches
        if live.once:
            known = Measured(known.batches, known.finals, once=True)
        self._submissions += 1
        key = f"{live.name}#{self._submissions}"
        found = outlook(
            self._project, self._journal, live.table, live.wanted, now_s,
            taken_rows=live.taken_rows, batches=live.batches, key=key, known=known,
            closed=live.closed,
        )  # fmt: skip
        if live.foreseen is None:
            plan = found.plan(now_s)
            if isinstance(plan, Infeasible):
                live.foreseen = not live.guessed
            elif cold:
                live.guessed = True
            elif found.expected_rows:
                live.foreseen, live.promise = False, Promise(found, live.taken_rows)
            note(self._journal, live.name, foreseen=int(bool(live.foreseen)), slack_s=plan.slack_s)
        if before_end and found.expected_rows == 0:
            return  # until something comes
        if before_end and cold:
            if live.arrived_rows and not (live.probing or live.once):
                live.probing = True
                self._queue.append(Order(live, final=False, planned=False, expected_s=0.0))
            return  # until its first batch is measured
        if self._until_idle or cold:  # what nobody knows the cost of does not wait
            report = replace(found.report, deadline_s=min(found.report.deadline_s, now_s))
            found = replace(found, report=report)
        live.outlook, live.key, live.units, live.reached = found, key, 0, None
        live.told_rows, live.closed_told = live.taken_rows, False
        self._events.append(Submitted(found.report, self._submissions))

    def _resubmit(self, live: ReportInProgress) -> None:
        """Have the planner told again."""
        if live.key:
            self._events.append(Withdrawn(live.key))
        live.outlook, live.key, live.stale = None, "", True

    def _recount(self, live: ReportInProgress) -> None:
        rows = sum(each.rows for each in self._arrived(live))
        if rows != live.arrived_rows:
            live.arrived_rows = rows
            note(self._journal, live.name, arrived_rows=rows)

    def _arrived(self, live: ReportInProgress) -> list[Arrival]:
        """What the streams brought in a report's window so far."""
        streams = stream_names(self._project, live.table)
        return arrivals(self._journal, streams, live.wanted.start_s, live.wanted.end_s)

    def _is_busy_with(self, live: ReportInProgress) -> bool:
        queued = any(each.live is live for each in self._queue)
        return queued or (self._running is not None and self._running.name == live.name)

    # ---- from the planner to the track ----

    def _ordered(self, command: StartBatch | ReportDone) -> None:
        live = next((each for each in self._live.values() if each.key == command.name), None)
        if isinstance(command, StartBatch):
            if live is None:  # withdrawn at this very instant
                self._events.append(BatchFinished(command.track))
                return
            # Up to there the core starts only updates that end in time.
            reserved_s = self._share.reserved_s
            due_s = self._planner.now_s if reserved_s is None else reserved_s
            self._queue.append(Order(live, command.final, True, command.expected_s, due_s))
        elif live is not None:
            # Everything is worked off: what is left is to combine it.
            self._queue.append(Order(live, True, False, expected_s=live.final_s()))

    def _note_plans(self) -> None:
        now_s = self._planner.now_s
        coming = self._planner.planned()
        running = self._planner.running().values()
        plan = [Stretch(each.report.name, now_s, each.ends_s) for each in running]
        plan += [Stretch(each.name, each.start_s, each.end_s) for each in coming]
        for live in self._live.values():
            starts_s = [each.start_s for each in coming if each.name == live.key]
            note_planned(self._journal, live.name, starts_s, live.slack_s(now_s, plan))

    # ---- how batches and reports end ----

    def _forget(self, live: ReportInProgress) -> None:
        """Nothing of a report is to run any more."""
        del self._live[live.name]
        ordered = [each for each in self._queue if each.live is live]
        self._queue = [each for each in self._queue if each.live is not live]
        self._events += [BatchFinished(0) for each in ordered if each.planned]  # else it waits
        self._share.changed = True

    def _worked_off(self, live: ReportInProgress, job: Job, batches: int, seconds: float) -> None:
        if not live.once:
            live.taken_rows += job.rows
            live.batches = batches
        live.failures = 0
        note(
            self._journal, live.name, taken_rows=live.taken_rows, batches=live.batches,
            cost_s=live.cost_s, code=live.code, error=None,
        )  # fmt: skip
        off_s = abs(seconds - job.expected_s)
        if not job.planned or live.once or off_s > max(_SECOND_S, _DIFFERS * job.expected_s):
            self._resubmit(live)

    def _done(
        self, live: ReportInProgress, result: BatchResult, now_s: float, *, complete: bool
    ) -> None:
        late = live.lateness(now_s)
        if late == "unexplained":
            late = reason(self._journal, live, self._arrived(live), now_s)
        note(
            self._journal, live.name, state="done", finish_s=now_s, version=result.version,
            rows=result.rows, complete=int(complete),
            batches=live.batches, cost_s=live.cost_s, taken_rows=live.arrived_rows,
            code=live.code, late=late, error=None, planned="[]",
        )  # fmt: skip
        self._forget(live)
        if late is not None:
            by_s = now_s - live.wanted.deadline_s
            self._notice(
                f"report {live.name} is {by_s:.0f} s behind its deadline: {LATENESS[late]}"
            )

    def _failed(self, live: ReportInProgress, error: Exception, now_s: float) -> None:
        live.pause(now_s)
        note(self._journal, live.name, error=told(error))
        live.probing = False
        self._resubmit(live)
        if live.is_hopeless(error, now_s, self._live.values()):
            note(self._journal, live.name, state=GIVEN_UP, planned="[]")
            self._forget(live)
            self._notice(f"report {live.name} is given up: {told(error)}")
