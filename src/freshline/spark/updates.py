"""Carrying out updates: each in a session of its own, named, in a pool that gets its share."""

from __future__ import annotations

import contextlib
import gc
import itertools
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from pyspark.sql import SparkSession

from freshline.core.background.upkeep import COMPACT, TRY, VERIFY
from freshline.core.errors import PlatformError
from freshline.executor.records import UpdateRequest, UpdateResult
from freshline.executor.report_records import BatchRequest, BatchResult
from freshline.executor.source import Source
from freshline.executor.topic import Topic
from freshline.failpoints import failpoint
from freshline.project.model import Feed, Project
from freshline.spark.analysis import Analysis, analyse
from freshline.spark.backfill import Backfills
from freshline.spark.catalog import CatalogNames, Registering
from freshline.spark.confirming import confirm, confirm_view
from freshline.spark.engine import jvm
from freshline.spark.engine.errors import SparkError, one_line
from freshline.spark.engine.listed import mark_of
from freshline.spark.engine.own_session import own_session
from freshline.spark.engine.pins import newest_snapshot
from freshline.spark.engine.process import SparkProcess, is_stopped
from freshline.spark.engine.result_settings import has_variables, settings_of, surely_differ
from freshline.spark.feeds.base import BaseUpdates
from freshline.spark.feeds.kafka_client import JvmTopic
from freshline.spark.feeds.kafka_reader import TopicReader
from freshline.spark.feeds.reader import FeedReader
from freshline.spark.feeds.source_reader import SourceReader
from freshline.spark.feeds.source_table import SourceTable
from freshline.spark.feeds.source_updates import SourceUpdates
from freshline.spark.reports.batches import ReportBatches
from freshline.spark.trials.upkeep import trial_of
from freshline.spark.upkeep.compaction import compact
from freshline.spark.upkeep.vacuum import vacuum
from freshline.spark.verification.audit import audit
from freshline.spark.views.derived import DerivedUpdates
from freshline.sql.query.records import ViewPlan

_COLD_UPDATES = 12
"""Of a process: what they take says nothing of what the same takes later."""

_COLLECTED_EVERY, _THAWED_EVERY = 8, 512  # updates


class Pools:
    """Spark's scheduling pools, one update in each as long as there are enough.

    Spark gives a free slot to the pool with the fewest running tasks, and among equals always
    to the one whose name comes first: with more pools than slots the last ones starve (seen
    with a pool per query). With at most as many pools as slots that cannot happen, since a
    pool without a running task comes before every pool that has one. Within a pool the oldest
    job goes first, so every update gets on; and a large one never holds all slots while
    others wait in other pools.
    """

    def __init__(self) -> None:
        self._running = [0]
        self._lock = threading.Lock()

    @contextmanager
    def lease(self, slots: int) -> Iterator[str]:
        """The name of the pool with the fewest updates, for one more.

        Args:
            slots: Tasks that can run at once now; executors of a cluster come and go.
        """
        with self._lock:
            usable = max(1, slots)
            self._running += [0] * (usable - len(self._running))
            index = self._running.index(min(self._running[:usable]))
            self._running[index] += 1
        try:
            yield f"freshline-{index}"
        finally:
            with self._lock:
                self._running[index] -= 1


class SparkExecutor:
    """Runs updates on a Spark session; safe to call from several threads.

    Args:
        project: The tables.
        session: A running session, which :meth:`close` stops.
        plans: How views can be maintained, by name; of others their queries are analysed.
        notice: Is told what goes wrong beside updates.
    """

    def __init__(
        self,
        project: Project,
        session: SparkSession,
        plans: Mapping[str, ViewPlan] | None = None,
        notice: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._registering: Registering | None = None
        if project.catalog is not None:
            names = CatalogNames(project, project.catalog, session)
            self._registering = Registering(names, notice)
            self._registering.add(table.name for table in project.tables)
        self._project = project
        self._session = session
        self._process = SparkProcess(session)
        self._pools = Pools()
        is_local = (session.sparkContext.master or "").startswith("local")
        self._slots = jvm.slots(session) if is_local else None
        """None: the executors that are there are asked."""
        self._topics = {
            name: JvmTopic(session, feed)
            for name, feed in project.feeds.items()
            if feed.kind == "kafka"
        }
        self._sources = {
            name: SourceTable(session, feed)
            for name, feed in project.feeds.items()
            if feed.kind == "delta"
        }
        readers = {name: self._reader(feed) for name, feed in project.feeds.items()}
        self._updates: dict[str, BaseUpdates | DerivedUpdates] = {}
        self._backfills: dict[str, Backfills] = {}
        self._reports = ReportBatches(project)
        self._begun = itertools.count(1)
        self._groups: dict[tuple[str, int], str] = {}  # of what runs, by table and number
        self._warm = False
        for table in project.tables:
            if table.kind == "derived":
                plan = (plans or {}).get(table.name)
                derived = DerivedUpdates(
                    project,
                    table,
                    plan,
                    self._is_cold,
                    confirm=partial(confirm_view, project, table),
                )
                self._updates[table.name] = derived
                self._backfills[table.name] = Backfills(project, table, derived=derived)
            elif table.feed is not None:
                reader = readers[table.feed]
                confirmed = partial(confirm, project, table)
                updates = (
                    SourceUpdates(project, table, reader, confirmed)
                    if isinstance(reader, SourceReader)
                    else BaseUpdates(project, table, reader, confirmed)
                )
                self._updates[table.name] = updates
                self._backfills[table.name] = Backfills(project, table, reader, base=updates)
        for table in project.tables:
            for name in table.parents:
                parent, child = self._updates.get(name), self._updates[table.name]
                if isinstance(parent, DerivedUpdates) and isinstance(child, DerivedUpdates):
                    parent.add_child(child)

    def run(self, request: UpdateRequest) -> UpdateResult:
        """Carry out one update as one commit, or raise and leave the table as it was.

        Raises:
            UnreadableFilesError: Some of the files cannot be read; nothing was committed.
            FreshlineError: The update failed.
        """
        context = self._session.sparkContext
        amount = f"{len(request.files)} files" if request.files else "from its parents"
        amount = request.upkeep or amount
        group = _group(request)
        with self._pools.lease(self._slots or jvm.slots(self._session)) as pool:
            context.setLocalProperty("spark.scheduler.pool", pool)
            context.setJobGroup(
                group,
                f"update {request.number} of {request.table}: {amount}",
                # Else a cancelled task that waits for something keeps its slot for good.
                interruptOnCancel=True,
            )
            session = own_session(self._session, self._project.table(request.table))
            number = next(self._begun)
            self._groups[request.table, request.number] = group
            try:
                failpoint("update.before")
                self._warm |= number > _COLD_UPDATES
                result = self._carried_out(session, request)
                if self._registering is not None:
                    self._registering.add([request.table])
                return result
            finally:
                self._groups.pop((request.table, request.number), None)
                self._forget_properties()
                _let_go(session)
                if number % _COLLECTED_EVERY == 0:
                    look_for_cycles(number)

    def _carried_out(self, session: SparkSession, request: UpdateRequest) -> UpdateResult:
        if request.upkeep:
            table = self._project.table(request.table)
            if request.upkeep == COMPACT:
                return compact(session, self._project, table, request)
            updates = self._updates[request.table]
            if request.upkeep == TRY and isinstance(updates, DerivedUpdates):
                return trial_of(session, self._project, table, updates, request)
            if request.upkeep == VERIFY:
                return audit(session, self._project, table, request)
            return vacuum(session, self._project, table)
        if request.range_s:
            return self._backfills[request.table].run(session, request)
        return self._updates[request.table].run(session, request)

    def _is_cold(self) -> bool:
        """Whether the JVM still compiles itself, so that updates take far longer than later."""
        return not self._warm

    def topic(self, feed: str) -> Topic:
        """The topic of a feed of kind kafka."""
        return self._topics[feed]

    def source(self, feed: str) -> Source:
        """The table of a feed of kind delta."""
        return self._sources[feed]

    def named_version(self, table: str, name: str) -> tuple[int, str, str | None] | None:
        """Newest version, identity and mark of a static table that a query names by the catalog.

        Raises:
            PlatformError: It cannot be looked up.
        """
        wanted = self._project.table(table)
        read = next(read for read in wanted.statics if read.name == name)
        try:
            snapshot = newest_snapshot(own_session(self._session, wanted), read)
        except SparkError as error:
            raise PlatformError(
                "static-unreadable",
                f"{name}: {one_line(error)}",
                next_step="Check that the table and its catalog can be reached.",
            ) from error
        if snapshot is None:
            return None
        return int(snapshot.version()), str(snapshot.metadata().id()), mark_of(snapshot)

    def made_otherwise(self, made: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """The views among these that were made under settings that decide rows and are others now.

        No job of Spark's is run, and there is one session for all views with the same settings.
        """
        sessions: dict[tuple[object, ...], SparkSession] = {}
        known: dict[tuple[object, ...], Mapping[str, str]] = {}
        found = []
        for name, facts in made.items():
            table = self._project.table(name)
            own = tuple(sorted(table.settings.items()))
            key = (own, name if has_variables(table) else None)
            try:
                if key not in known:
                    if own not in sessions:
                        sessions[own] = own_session(self._session, table)
                    known[key] = settings_of(sessions[own], self._project, table)
            except SparkError:  # its update says why
                continue
            if surely_differ(facts, known[key], table):
                found.append(name)
        return found

    def _reader(self, feed: Feed) -> FeedReader:
        if feed.kind == "delta":
            return SourceReader(self._project, feed, self._sources[feed.name])
        if feed.kind == "kafka":
            return TopicReader(self._project, feed, self._topics[feed.name])
        return FeedReader(self._project, feed)

    def run_batch(self, request: BatchRequest) -> BatchResult:
        """Carry out one batch of a report, and the final with it where that is asked.

        Raises:
            FreshlineError: It failed; finished batches stay, and no result was committed.
        """
        context = self._session.sparkContext
        name = request.window.table.name
        with self._pools.lease(self._slots or jvm.slots(self._session)) as pool:
            context.setLocalProperty("spark.scheduler.pool", pool)
            what = "the final" if request.final else "a batch"
            context.setJobGroup(f"freshline/report/{name}", f"{what} of the report {name}")
            session = own_session(self._session, request.window.table)
            try:
                failpoint("report.before")
                return self._reports.run(session, request)
            finally:
                self._forget_properties()
                _let_go(session)
                look_for_cycles()

    def analyse(self) -> Analysis:
        """Check every query of the project; see :func:`freshline.spark.analysis.analyse`."""
        return analyse(self._project, self._session)

    def give_up(self, table: str, number: int) -> None:
        """End an update's Spark jobs that run just now; unless it is about to commit, it fails.

        Not its future jobs: by the same name the update is tried again. Returns at once.
        """
        group = self._groups.get((table, number))
        if group is not None:
            self._process.cancel(group)

    def healthy(self) -> bool:
        """Whether Spark still runs and answers."""
        return not is_stopped(self._session)

    def close_names(self) -> None:
        """Wait until every table that has a version is registered in the catalog."""
        if self._registering is not None:
            self._registering.close()

    def close(self) -> None:
        """Stop Spark; running updates fail."""
        self.close_names()
        with contextlib.suppress(*SparkError, OSError, AttributeError):  # it may be gone
            self._session.stop()

    def ended(self) -> PlatformError | None:
        """Why Spark's process is gone; None while it is there."""
        return self._process.ended()

    def kill(self) -> None:
        """End Spark's process at once; running updates fail."""
        self._process.kill()

    def _forget_properties(self) -> None:
        context = self._session.sparkContext
        for name in ("spark.scheduler.pool", "spark.jobGroup.id", "spark.job.description"):
            try:
                context.setLocalProperty(name, None)  # type: ignore[arg-type]  # its way to remove one
            except (*SparkError, OSError, AttributeError):
                return  # Spark is gone, and the properties with it


def _let_go(session: SparkSession) -> None:
    """Have the JVM forget what an update's session read; else its heap fills within minutes.

    Delta keeps each table's newest version, which keeps the session that made it, whose views of
    the parents keep older versions, and so on: hence the views go.
    """
    with contextlib.suppress(*SparkError, OSError, AttributeError):  # Spark is gone, and all that
        jvm.java_session(session).sessionState().catalog().clearTempTables()


def look_for_cycles(number: int = 0) -> None:
    """Free py4j's objects of updates that have ended, and with them what they stand for in the JVM.

    They refer to themselves, so Python frees them only when it looks for such cycles. By itself it
    does that after tens of thousands of new objects, too rarely for objects of which each holds
    megabytes elsewhere. What is there for long (modules, the project, plans of views) is put aside,
    or each look would go through all of it while no track gets on. What updates that run just then
    leave behind is put aside with it, until the next time.

    Args:
        number: Of updates that have begun; for the first ones, and each ``_THAWED_EVERY``, what is
            aside is looked at, too, and what there is then put aside.
    """
    thaw = number > 0 and (number & (number - 1) == 0 or number % _THAWED_EVERY == 0)
    if thaw:
        gc.unfreeze()
    gc.collect()
    if thaw:
        gc.freeze()


def _group(request: UpdateRequest) -> str:
    """The name of an update's Spark jobs.

    Upkeep has the number of the table's next update, which must not be cancelled in its place.
    """
    return "/".join(filter(None, ("freshline", request.table, str(request.number), request.upkeep)))
