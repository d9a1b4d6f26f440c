"""The running warehouse: the wall-clock driver around the scheduling core.

One thread owns everything here. Other threads (feeds, tracks, Spark's start) only put
messages into its inbox. A round of the loop in which something happened, or a date that the core
named has come, is one instant of the core:

    messages and requests  ->  events  ->  core  ->  journal  ->  updates to their tracks

The journal is written before an update starts and after its commit; if the process dies in
between, the commit decides (``recovery.py``).
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import queue
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from freshline.core.errors import PlatformError
from freshline.core.events import (
    Event,
    FileArrived,
    PeriodLearned,
    RefreshRequested,
    TrackReserved,
)
from freshline.core.scheduler import Scheduler
from freshline.executor.records import Executor
from freshline.failpoints import failpoint
from freshline.project.lags import target_lags
from freshline.project.model import Project
from freshline.runtime.assembly import scheduler_for, specs_for
from freshline.runtime.failures import FailureHandling
from freshline.runtime.feeds.backoff import Backoff
from freshline.runtime.feeds.listening import Heard, Listening
from freshline.runtime.feeds.listing import PeriodEstimate
from freshline.runtime.feeds.pending import PendingFiles
from freshline.runtime.feeds.statics import StaticTables
from freshline.runtime.handover import Handover, inherit
from freshline.runtime.health.supervision import Supervision
from freshline.runtime.idle import has_work, late_tables
from freshline.runtime.journal.folding import RangeFolding
from freshline.runtime.journal.of_run import journal_of_run
from freshline.runtime.journal.pruning import Pruning
from freshline.runtime.journal.recovery import Recovered, note_mark, recover
from freshline.runtime.journal.store import Journal
from freshline.runtime.journal.strategies import UPKEEP
from freshline.runtime.journal.writer import Ledger
from freshline.runtime.lease.leadership import Leadership, held
from freshline.runtime.observer import Observer
from freshline.runtime.options import RunOptions
from freshline.runtime.outcomes import finished_event, request_for
from freshline.runtime.oversight import Oversight
from freshline.runtime.reports.driver import Reports
from freshline.runtime.requests.backfills import backfills_to_do, note_ended
from freshline.runtime.requests.handler import Requests
from freshline.runtime.requests.other_settings import with_rebuilt
from freshline.runtime.requests.reloading import check_reload
from freshline.runtime.stopping import Stopping
from freshline.runtime.subset import subset
from freshline.runtime.tracks import Outcome, Tracks
from freshline.runtime.upkeep.maintenance import Maintenance

_LOOK_S = 0.2
"""The loop looks at requests at least this often."""


class Warehouse:
    """One run of a project.

    Args:
        project: What to keep fresh.
        make_executor: Starts Spark and returns the executor; called in a thread.
        observer: Told what happens.
        options: How long to run.
        clock: Wall-clock seconds since the epoch.
        backoff: Delays of retries.
        supervision: Watches Spark and how long updates run.
    """

    def __init__(
        self,
        project: Project,
        make_executor: Callable[[], Executor],
        observer: Observer,
        options: RunOptions | None = None,
        *,
        clock: Callable[[], float] = time.time,
        backoff: Backoff | None = None,
        supervision: Supervision | None = None,
    ) -> None:
        self.project = self._whole = project
        self.options = options or RunOptions()
        self._make_executor = make_executor
        self._observer = observer
        self._clock = clock
        self._now_s = clock()
        self._inbox: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._backoff = backoff or Backoff()
        self._stopping = Stopping(self.options.grace_s, observer)
        self._running: set[str] = set()
        self._periods: dict[str, PeriodEstimate] = {}
        self._executor: Executor | None = None
        self._tracks: Tracks | None = None
        self._supervision = supervision or Supervision.of(project)

    def stop(self) -> None:
        """End the run: running updates may finish. Safe from signal handlers and threads."""
        self._inbox.put(("stop", None))

    def run(self, lease: Leadership | None = None) -> int:
        """Run until stopped, or until idle; with the caller's ``lease``, which stays the caller's.

        Returns:
            How many tables could not be brought up to date (``until_idle``), or have an update
            that did not end within the grace period.

        Raises:
            UserError: Another process runs this warehouse.
            PlatformError: Spark, a log, the journal or its folder failed, or the lease was lost.
        """
        with held(lease, self.project, self._observer.notice) as self._lease:
            self._lease.take()
            with journal_of_run(self.project, self._lease.check) as journal:
                return self._run(journal)

    # ---- start and end ----

    def _run(self, journal: Journal) -> int:
        self._supervision.start(self._make_executor, self._inbox.put)
        self._journal, self._ledger = journal, Ledger(journal)
        self._tick()
        if inherit(self.project, journal, self._lease.epoch):
            self._observer.notice("costs, pauses and requests of the last leader are taken over")
        recovered = recover(self.project, journal, self._ledger, self.options.rebuilt)
        if self.options.refresh:
            self._narrow(journal, recovered)
        if self.options.until_idle:
            # All that is there is wanted now: nothing waits for its latest start.
            fresh = dataclasses.replace(self.project.scheduler, objective="staleness")
            self.project = dataclasses.replace(self.project, scheduler=fresh)
        specs = specs_for(self.project, journal)
        self._scheduler: Scheduler = scheduler_for(self.project, specs, self._now_s)
        setting = {
            "start_s": self._now_s,
            "epoch": self._lease.epoch,
            "scheduler": dataclasses.asdict(self.project.scheduler),
            "specs": [dataclasses.asdict(spec) for spec in specs],
            "targets": target_lags(self.project),
            "narrowed": len(self.project.tables) < len(self._whole.tables),
        }
        self._ledger.begin_run(os.getpid(), self._now_s, setting)
        journal.flush()  # so that `status` knows of the run while Spark starts
        self._announce_start(recovered, journal)
        self._create_parts(journal)
        first: list[Event] = [
            *recovered.events,
            *(RefreshRequested(name, full=True) for name in recovered.reload),
            *self._requests.standing_orders(),
            *self._pending.restored(self.project),
            *backfills_to_do(self.project, journal),
            *self.options.requests(),
        ]
        self._listening = Listening(
            self.project, self._ledger, self._inbox.put, once=self.options.until_idle
        )
        self._listening.start_folders()
        try:
            executor = self._awaited_executor(first)
            if executor is None:
                return 0
            if not self.options.until_idle:  # which lists each feed once
                self._oversight.listen(self._now_s)
            self._begin(executor)
            first = with_rebuilt(first, recovered.made, executor, self._observer)
            self._instant(first)
            return self._loop()
        finally:
            self._listening.stop()
            self._reports.close()
            self._tick()
            self._ledger.end_run(self._now_s)
            with contextlib.suppress(PlatformError):  # told already, or when the journal is closed
                journal.flush()
            self._handover.finish()
            if self._tracks is not None:
                self._tracks.close()
            self._supervision.close()

    def _begin(self, executor: Executor) -> None:
        """Spark is ready, for the first time or again."""
        self._ledger.run_ready(self._now_s)
        self._listening.start_topics(executor)
        self._observer.ready(self._supervision.watch(executor))
        self._tracks = Tracks(
            executor,
            self.project.scheduler.tracks,
            lambda outcome: self._inbox.put(("ended", outcome)),
            self._listening.gone,
        )
        self._reports.begin(executor, lambda outcome: self._inbox.put(("report", outcome)))

    def _restart(self, lost: PlatformError, ended: list[Event], events: list[Event]) -> bool:
        """Start Spark again; what ran is tried again. False when the run is stopped before.

        Raises:
            PlatformError: Spark cannot run.
        """
        self._observer.spark_lost(lost)
        if self._tracks is not None:
            for outcome in self._tracks.abandon(lost):
                ended += self._ended(outcome)
        self._reports.abandon(lost, self._now_s)
        self._listening.stop_topics()
        self._ledger.run_ready(None)
        self._executor = None
        self._supervision.restart(lost)
        executor = self._awaited_executor(events)
        if executor is not None:
            self._begin(executor)
        return executor is not None

    def _create_parts(self, journal: Journal) -> None:
        """Those who each know one thing about a run."""
        lease = self._lease
        self._handover = Handover(self.project, journal, lease.epoch, lease.check_commit)
        self._pruning, self._folding = Pruning(journal), RangeFolding(self.project, journal)
        self._pending = PendingFiles(journal)
        self._failures = FailureHandling(self._ledger, self._pending, self._backoff, self._observer)
        self._reports = Reports(
            self.project, journal, self._scheduler, self._ledger.run,
            until_idle=self.options.until_idle, off=bool(self.options.refresh),
            notice=partial(self._observer.notice, level="warning"), tell=self._observer.report,
        )  # fmt: skip
        self._requests = Requests(
            self.project, journal, self._ledger, self._scheduler, self._failures, self._reports
        )
        self._oversight = Oversight(self.project, journal, self._scheduler, self._now_s)
        self._maintenance = Maintenance(
            self.project, journal, self._ledger, self._scheduler, self._observer,
            until_idle=self.options.until_idle, whole=self._whole,
        )  # fmt: skip
        self._statics = StaticTables(
            self.project, self._scheduler, self._observer, lambda: self._executor,
            until_idle=self.options.until_idle,
        )  # fmt: skip
        self._failures.restored()

    def _announce_start(self, recovered: Recovered, journal: Journal) -> None:
        """What people should hear of the start."""
        if journal.moved_aside is not None:
            self._observer.notice(
                "the journal was damaged and is rebuilt from the tables' logs; the old one is kept"
                f" as {journal.moved_aside}", level="warning",
            )  # fmt: skip
        for note in recovered.notes:
            self._observer.notice(note)

    def _narrow(self, journal: Journal, recovered: Recovered) -> None:
        """Go on with the tables to refresh and their ancestors alone.

        Raises:
            UserError: A table cannot be loaded anew without losing rows.
        """
        for name in self.options.rebuilt:
            check_reload(self.project, journal, name)
        self.project = subset(self.project, self.options.refresh)
        has = self.project.has_table
        recovered.events = [each for each in recovered.events if has(each.table)]
        recovered.made = {name: facts for name, facts in recovered.made.items() if has(name)}
        recovered.reload = list(filter(has, recovered.reload))

    def _awaited_executor(self, first: list[Event]) -> Executor | None:
        """Spark, once it is there; None when the run is stopped before.

        What else comes in meanwhile is kept in order; requests are answered at once, and
        their events put behind ``first``.
        """
        kept: list[tuple[str, Any]] = []
        while self._executor is None:
            try:
                kind, content = self._inbox.get(timeout=_LOOK_S)
            except queue.Empty:
                self._tick()
                first += self._requests.new(self._now_s)
                self._journal.flush()
                continue
            if kind == "executor":
                self._executor = content
            elif kind == "no-executor":
                raise content
            elif kind == "stop":
                return None
            else:
                kept.append((kind, content))
        for message in kept:
            self._inbox.put(message)
        self._tick()
        return self._executor

    # ---- the loop ----

    def _loop(self) -> int:
        while True:
            events: list[Event] = []
            ended: list[Event] = []
            messages = self._messages()
            self._lease.check()
            outcomes = [content for kind, content in messages if kind == "ended"]
            last = self._stopping.asked or any(kind == "stop" for kind, _ in messages)
            for outcome in sorted(outcomes, key=lambda outcome: outcome.command.track):
                ended += self._ended(outcome, last=last)
            for kind, content in messages:
                events += self._on_message(kind, content)
            if not self._stopping.asked:
                lost = self._supervision.look(self._tracks, self._scheduler, self._observer)
                if lost is not None and not self._restart(lost, ended, events):
                    return 0
                events += self._failures.due(self._now_s)
                events += self._requests.new(self._now_s)
                self._instant(ended + events)
                self._go_on_with_reports()
                self._offer_upkeep()
                self._handover.step()
                self._pruning.step()
                self._folding.step()
                if self.options.until_idle and self._is_idle():
                    return len(late_tables(self._scheduler) | self._listening.deaf)
            else:
                # The core hears no more: it would start the next ones.
                self._journal.flush()
                if not (self._running or self._reports.running):
                    return 0
                if self._stopping.is_over(self._running, reports=self._reports.running):
                    return len(self._running)

    def _on_message(self, kind: str, content: Any) -> list[Event]:
        """One message that is not an update's end."""
        if kind == "heard" and not self._listening.is_outdated(content):
            for notice in self._listening.heard(content, self._now_s):
                self._observer.notice(notice, level="warning" if content.faulty else "info")
            return self._files(content)
        if kind == "report":
            self._reports.ended(content, self._now_s)
        elif kind == "stop":
            self._stopping.ask(self._running, reports=self._reports.running)
        return []

    def _go_on_with_reports(self) -> None:
        """Plan reports by what the core knows now, and start the batch that is due."""
        if reserved := self._reports.step(self._now_s):
            self._instant(list(reserved))
        self._reports.start_due_batch(self._now_s)

    def _offer_upkeep(self) -> None:
        """Where nothing waits, static tables are looked at, and the tables' files seen to."""
        if self._executor is not None:
            self._maintenance.make_way(self._executor)
        offers = self._statics.changed(self._now_s) or self._maintenance.offers(self._now_s)
        if offers:
            self._instant(offers)

    def _messages(self) -> list[tuple[str, Any]]:
        """All that came in, waiting for the first at most until something is due."""
        core_s, reports_s = self._scheduler.next_wakeup_s(), self._reports.next_wakeup_s()
        wait_s = max(0.0, min(core_s, reports_s, self._failures.next_due_s()) - self._clock())
        # While the run stops nobody is asked at a date: one that has passed stays.
        wait_s = _LOOK_S if self._stopping.asked else min(_LOOK_S, wait_s)
        messages = []
        try:
            messages.append(self._inbox.get(timeout=wait_s) if wait_s else self._inbox.get_nowait())
            while True:
                messages.append(self._inbox.get_nowait())
        except queue.Empty:
            pass
        self._tick()
        return messages

    def _tick(self) -> None:
        """Now; never earlier than before, whatever the clock is set to."""
        self._now_s = max(self._now_s, self._clock())

    def _instant(self, events: list[Event]) -> None:
        """Hand everything of this instant to the core, and its commands to the tracks."""
        # A look of the loop is no instant: all that the core is handed is recorded.
        wanted = self._scheduler.wants(self._now_s, events)
        failpoint("event.before")
        began_s = time.perf_counter()
        commands = self._scheduler.handle(self._now_s, events) if wanted else []
        took_s = time.perf_counter() - began_s
        failpoint("event.after")
        for notice in self._oversight.instant(self._now_s, events, commands):
            self._observer.notice(notice, level="warning")
        if not wanted:
            self._journal.flush()  # a refused request's answer, or what could not be written
            return
        self._observer.decided(took_s)
        told = [event for event in events if not isinstance(event, TrackReserved)]
        touched = {event.table for event in told} | {item.table for item in commands}
        for name in list(touched):
            touched |= {child.name for child in self._scheduler.table(name).children}
        self._ledger.instant(self._now_s, events, commands)
        trials, requests = self._maintenance.trials, []
        for command in commands:
            request = request_for(command, self.project, self._pending, self._failures, trials)
            self._ledger.update_started(command, request.attempt, self._now_s, len(request.files))
            requests.append((command, request))
        for name in touched:
            self._ledger.table_state(self._scheduler.table(name), self._now_s)
        failpoint("journal.before_start")
        self._journal.flush()
        failpoint("journal.after_start")
        for command, request in requests:
            self._running.add(command.table)
            self._observer.started(command)
            assert self._tracks is not None
            self._tracks.start(command, request)

    # ---- what comes in ----

    def _files(self, heard: Heard) -> list[Event]:
        """New files of a feed: remembered first, then told to every table that reads it."""
        events: list[Event] = []
        feed, files, readers = heard.feed, heard.files, heard.readers
        failpoint("files.before_journal")
        for file in files:
            # A file stamped later than it came would make its table fresher than now.
            timestamp_s = min(file.timestamp_s, self._now_s)
            for name in readers:
                if self._pending.add(name, file):
                    self._ledger.file_arrived(name, file, self._now_s)
                    events.append(FileArrived(name, timestamp_s, file.name))
            if feed.period_s is None:
                estimate = self._periods.setdefault(heard.key, PeriodEstimate())
                period_s = estimate.saw(timestamp_s)
                if period_s is not None:
                    events += [PeriodLearned(name, period_s) for name in readers]
        stamps = [min(file.timestamp_s, self._now_s) for file in files]
        for notice in self._oversight.files(feed.name, self._now_s, stamps):
            self._observer.notice(notice)
        self._journal.flush()
        failpoint("files.after_journal")
        return events

    def _ended(self, outcome: Outcome, *, last: bool = False) -> list[Event]:
        """An update ended: journal first, then the event, unless the core hears no more."""
        outcome = self._supervision.ended(outcome)
        table = outcome.command.table
        self._running.discard(table)
        result = outcome.result
        if result is not None:
            event, names = finished_event(outcome, result, self.project)
            failpoint("update.before_journal")
            command, full = outcome.command, outcome.command.full and not event.is_other
            self._ledger.files_loaded(table, names, command.number, result.read, full=full)
            self._ledger.update_finished(
                command, result, outcome.seconds, self._now_s, full=full, to_s=event.to_s
            )
            note_mark(self._ledger, self.project, table, event.version)
            self._journal.flush()
            self._reports.committed()
            failpoint("update.after_journal")
            if last and event.version is not None:
                parents = json.dumps(dict(result.parents))
                to_s = command.to_s if event.to_s is None else event.to_s
                self._ledger.table_restored(table, command.number, result.version, to_s, parents)
                self._journal.flush()
            self._pending.loaded(table, names)
            self._failures.succeeded(table, is_upkeep=result.strategy in UPKEEP)
            if full:
                self._listening.loaded(table)
            more = self._maintenance.done(outcome, self._now_s)
            if outcome.command.backfill is not None and not event.is_other:
                note_ended(self._journal, table, outcome.command.backfill, self._now_s)
            self._observer.ended(outcome, None)
            return [event, *more]
        if outcome.command.upkeep:
            if self._maintenance.gave_way(table):
                return self._maintenance.failed(outcome, self._now_s)
            events, retry_s = self._maintenance.failed(outcome, self._now_s), self._now_s
        else:
            events, retry_s = self._failures.failed(outcome, self._now_s, self._listening.forget)
            self._journal.flush()  # a reload that follows at once reads there what to leave out
        self._observer.ended(outcome, max(0.0, retry_s - self._now_s))
        return events

    def _is_idle(self) -> bool:
        if self._running or self._listening.unheard or not self._inbox.empty():
            return False
        if self._failures.waits_for_files() or self._requests.waiting:
            return False
        return not has_work(self._scheduler, self._failures.given_up) and self._reports.idle()
