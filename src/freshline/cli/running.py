"""Running a warehouse in this process: its signals, its observer, and what it prints at the end."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from types import FrameType
from typing import TYPE_CHECKING, Any

from freshline.cli.push_thread import land_before_standing_by
from freshline.cli.signals import STARTS_SPARK, ended_by
from freshline.core.errors import FreshlineError, PlatformError
from freshline.executor.records import Executor
from freshline.project.model import Project
from freshline.project.sections.feeds import absent_folders
from freshline.render.guarded import guarded_stderr
from freshline.render.json_lines import JsonObserver
from freshline.render.log_observer import Counting, LogObserver, write_line
from freshline.render.output import counted, moment, print_json
from freshline.render.status import table_record
from freshline.runtime.alerts.watch import alerting
from freshline.runtime.health.steady_clock import SteadyClock
from freshline.runtime.lease.leadership import Leadership
from freshline.runtime.lineage.emitter import lineage
from freshline.runtime.metrics.exposition import RunMetrics
from freshline.runtime.notices import Level
from freshline.runtime.observer import Observers
from freshline.runtime.options import RunOptions
from freshline.runtime.reports.store import GIVEN_UP, OPEN, standing
from freshline.runtime.requests.backfills import given_up_last
from freshline.runtime.status.status import WarehouseStatus, read_status
from freshline.runtime.subset import subset
from freshline.runtime.warehouse import Warehouse

if TYPE_CHECKING:
    from freshline.spark.updates import SparkExecutor

LEFT_BEHIND = 3
"""The exit status of a run that could not bring everything up to date."""

_SHOW_CURSOR = b"\x1b[?25h"


@dataclass(frozen=True, slots=True)
class Log:
    """How a run is told on standard error.

    Attributes:
        form: ``text``, ``json``, or None: text, on a terminal a live table.
        least: The lowest level that is logged.
    """

    form: str | None = None
    least: Level = "info"


def run_warehouse(
    project: Project, options: RunOptions, *, as_json: bool, log: Log | None = None
) -> int:
    """Run ``project`` and tell what happens on standard error.

    Returns:
        The exit status: 3 where something could not be brought up to date, else 0. It does not
        depend on whether anybody reads what is told.

    Raises:
        UserError: Another process runs it.
        PlatformError: Spark or the storage failed.
    """
    with guarded_stderr():
        try:
            return _run(project, options, log or Log(), as_json=as_json)
        except BrokenPipeError as error:
            raise PlatformError("broken-pipe", f"a connection within the run broke: {error}") from (
                error
            )


def _run(project: Project, options: RunOptions, log: Log, *, as_json: bool) -> int:
    from freshline.cli.serving import served  # a third of a second, for runs alone
    from freshline.ui.pulse import Pulse
    from freshline.ui.standby import StandingBy

    started_s = time.time()
    observer = _observer(project, log)
    for warning in [*project.warnings, *absent_folders(project.feeds)]:
        _tell(observer, f"note: {warning}", level="warning")

    waiting = StandingBy(project, observer.notice)
    lease = Leadership(
        project,
        standby=options.standby,
        tell=observer.notice,
        seen=waiting.seen,
        clock=waiting.pulse,
    )
    metrics = RunMetrics(project, time.time, lease.leads)
    pulse = Pulse(SteadyClock(), leads=lease.leads)
    told = lineage(project, Observers((observer, metrics.counts)), metrics.registry)
    alerts = (
        nullcontext()
        if options.refresh
        else alerting(project, partial(observer.notice, level="warning"))
    )
    left_behind = 0
    with observer, lease, _stopped_by_signals(lease.stop) as stopping:
        if options.standby:
            land_before_standing_by(project, observer)
        with contextlib.closing(waiting):
            leads = lease.take()
        if leads:
            serving = served(
                project,
                options,
                observer,
                pulse,
                metrics,
                beside=lease.beside,
                patient=lease.from_afar,
            )
            with told as observers, alerts:
                start = partial(_started_spark, project, observer, log)
                warehouse = Warehouse(project, start, observers, options, clock=pulse)
                with serving:
                    stopping.instead(warehouse.stop)
                    left_behind = warehouse.run(lease)
    found = read_status(project, time.time())
    behind = _behind(found, project, options, observer.not_landed) if options.until_idle else []
    if left_behind and not behind:
        why = f"{counted(left_behind, 'table')} still had news at the end"
        if not options.until_idle:
            why = f"{counted(left_behind, 'update')} did not end within the grace period"
        behind = [(found.project, why)]
    if as_json:
        with contextlib.suppress(OSError):  # nobody reads it, or its disk is full
            print_json(_summary(found, observer, started_s, behind))
    seconds = found.now_s - started_s
    failed = f", {counted(observer.failed, 'failed attempt')}" if observer.failed else ""
    updates = counted(observer.done, "update")
    _tell(observer, f"stopped after {seconds:.1f} s: {updates}{failed}")
    for name, why in behind:
        _tell(observer, f"{name} could not be brought up to date: {why}", level="error")
    return LEFT_BEHIND if behind else 0


def _started_spark(project: Project, observer: Counting, log: Log) -> Executor:
    """Start Spark, which may be once more.

    Raises:
        PlatformError: It does not start.
        UserError: Something that it needs is missing.
    """
    observer.spark = "starting"
    try:
        from freshline.spark.engine.session import start_session

        # Half a second of modules, read while Java starts.
        with ThreadPoolExecutor(1) as beside:
            updates = beside.submit(import_module, "freshline.spark.updates")
            json_log = log.form == "json"
            session = start_session(project, tell=observer.notice, json_log=json_log)
        with ExitStack() as started:
            started.callback(session.stop)
            executor: type[SparkExecutor] = updates.result().SparkExecutor
            observer.spark_ui = session.sparkContext.uiWebUrl
            made = executor(project, session, notice=partial(observer.notice, level="warning"))
            started.pop_all()
            return made
    except Exception as error:
        raise _run_error(error) from error


def _run_error(error: Exception) -> FreshlineError:
    """What kept Spark from starting, as one of our errors."""
    if isinstance(error, FreshlineError):
        return error
    return PlatformError("spark-start", f"Spark did not start: {error}")


def _tell(observer: Counting, text: str, *, level: Level = "info") -> None:
    """Say something before or after the run: plainly, unless its log is for programs."""
    if isinstance(observer, JsonObserver):
        observer.notice(text, level=level)
    else:
        write_line(text)


def _observer(project: Project, log: Log) -> Counting:
    if log.form == "json":
        return JsonObserver(project, log.least)
    if log.form is None and sys.stderr.isatty():
        from freshline.render.live import LiveObserver

        return LiveObserver(project)
    return LogObserver(project, log.least)


class _Stopping:
    """What the first signal does; the second ends the process at once.

    A second SIGHUP does nothing: when a terminal is closed, its shell sends one, too.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._heard = 0

    def heard(self, number: int, _: FrameType | None) -> None:
        """A signal came."""
        if self._heard and number == signal.SIGHUP:
            return
        self._heard += 1
        if self._heard > 1:
            # Updates that run are left as a kill leaves them: done or not at all.
            try:
                if STARTS_SPARK in sys.modules:
                    sys.modules[STARTS_SPARK].end_at_once()
                if sys.stderr.isatty():
                    os.write(sys.stderr.fileno(), _SHOW_CURSOR)  # the live table hides it
            finally:
                os._exit(128 + number)
        self._stop()

    def instead(self, stop: Callable[[], None]) -> None:
        """Have a signal do something else, at once if it came already."""
        self._stop = stop
        if self._heard:
            stop()


@contextmanager
def _stopped_by_signals(stop: Callable[[], None]) -> Iterator[_Stopping]:
    """The first signal stops what runs; the second ends the process at once."""
    stopping = _Stopping(stop)
    with ended_by(stopping.heard):
        yield stopping


def _behind(
    found: WarehouseStatus, project: Project, options: RunOptions, not_landed: Mapping[str, int]
) -> list[tuple[str, str]]:
    """Feeds, tables and reports that are not where they should be: each with the reason.

    That is feeds that could not be read, or whose pushed records could not be landed, tables that
    still have news and reports that were given up or failed. A refresh of some tables looks at
    these tables, at their ancestors and at the feeds of both, and at no report.
    """
    tables = {item.name for item in found.tables}
    feeds: set[str | None] = {*project.feeds}
    if options.refresh:
        wanted = subset(project, options.refresh).tables
        tables, feeds = {item.name for item in wanted}, {item.feed for item in wanted}
    behind = [
        (item.table, item.error)
        for item in found.looked_at
        if item.error is not None and item.table in tables
    ]
    behind += [
        (item.name, item.error)
        for item in found.feeds
        if item.error is not None and item.name in feeds
    ]
    behind += [
        (name, f"{counted(records, 'pushed record')} could not be landed: in the log alone")
        for name, records in not_landed.items()
        if name in feeds
    ]
    for item in found.tables:
        if item.state == "dropped" or item.name not in tables:
            continue
        has_news = item.pending_files or item.pending_s
        if item.failures or (item.state in ("waiting", "retrying", "paused") and has_news):
            behind.append((item.name, item.error or item.next))
        elif item.name in options.rebuilt and item.error is not None:
            behind.append((item.name, item.error))
        if (backfill := given_up_last(found.backfills, item.name)) is not None:
            behind.append((item.name, backfill.given_up or ""))
        files = [each for each in item.troubles if each.state == "quarantined"]
        if files:
            count = counted(len(files), "file is", "files are")
            behind.append((item.name, f"{count} quarantined, {files[0].name}: {files[0].reason}"))
        files = [each for each in item.troubles if each.state == "changed"]
        if files:
            behind.append((item.name, f"{files[0].name} changed: {files[0].reason}"))
    views = {table.name for table in project.reports}
    for report in () if options.refresh else standing(found.reports):
        # Of others nobody knows whether they are still wanted: `status` names those.
        given_up = report.state == GIVEN_UP and report.wanted.view in views
        if given_up or (report.state in OPEN and report.error is not None):
            behind.append((report.wanted.name, report.error or "given up"))
    return behind


def _summary(
    found: WarehouseStatus,
    observer: Counting,
    started_s: float,
    behind: list[tuple[str, str]],
) -> dict[str, Any]:
    return {
        "started": moment(started_s),
        "stopped": moment(found.now_s),
        "seconds": round(found.now_s - started_s, 3),
        "updates": observer.done,
        "failed": observer.failed,
        "rows": observer.rows,
        "left_behind": [{"name": name, "reason": why} for name, why in behind],
        "tables": [table_record(item, found.uses(item.name)) for item in found.tables],
    }
