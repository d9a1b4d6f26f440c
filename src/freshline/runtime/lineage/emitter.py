"""Lineage of a run: an observer that hands updates to a thread, which makes and sends the events.

Updates never wait: what the observer is told goes into a queue with a bound. An event that the
transport does not take is tried again with growing delays, in order; what does not fit meanwhile,
or is left when the run ends, is counted and said.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from prometheus_client import CollectorRegistry, Counter

from freshline.core.commands import StartUpdate
from freshline.core.errors import PlatformError, UserError
from freshline.project.model import Project
from freshline.runtime.feeds.backoff import Backoff
from freshline.runtime.notices import Level
from freshline.runtime.observer import Observer, Observers
from freshline.runtime.report_jobs import Job, JobEnded, JobWithdrawn, ReportStep
from freshline.runtime.tracks import Outcome

MOST_WAITING = 10_000
_GRACE_S = 5.0
_BACKOFF = Backoff(first_s=0.5, most_s=60.0)

Item = tuple[str, StartUpdate | Outcome | ReportStep, float]
"""``started``, ``ended`` or ``report``, with what the observer was told, and when."""


class Lineage:
    """The lineage of one run: an observer.

    Args:
        make: From what the observer was told to an event; called in the thread.
        emit: Sends one event, or raises.
        notice: Told what people should hear; from the thread.
        registry: Where events are counted; None: nowhere.
        clock: Wall-clock seconds since the epoch.
        backoff: Delays between attempts.
        most_waiting: Events that wait at most; beyond, the oldest is dropped.
    """

    def __init__(
        self,
        make: Callable[[Item], Any],
        emit: Callable[[Any], object],
        notice: Callable[[str], None],
        *,
        registry: CollectorRegistry | None = None,
        clock: Callable[[], float] = time.time,
        backoff: Backoff = _BACKOFF,
        most_waiting: int = MOST_WAITING,
    ) -> None:
        self._make = make
        self._emit = emit
        self._notice = notice
        self._clock = clock
        self._backoff = backoff
        self._most_waiting = most_waiting
        self._waiting: deque[Item] = deque()
        self._is_sending = False
        self._reports: set[str] = set()  # whose START was put in and whose end was not
        self._changed = threading.Condition()
        self._stopped = False
        self._end_s = float("inf")
        self._dropped = 0
        self._events = Counter(
            "freshline_lineage_events",
            "OpenLineage events; outcome is delivered, dropped or faulty",
            ("outcome",),
            registry=registry,
        )
        for outcome in ("delivered", "dropped", "faulty"):
            self._events.labels(outcome)  # from 0: `increase` sees no step in a first sample
        self._thread = threading.Thread(target=self._work, name="lineage", daemon=True)

    # ---- the observer: in the loop's thread ----

    def ready(self, seconds: float) -> None:
        """Spark is ready; no event."""

    def spark_lost(self, why: PlatformError) -> None:
        """Spark is started again; no event."""

    def decided(self, seconds: float) -> None:
        """The scheduler decided; no event."""

    def notice(self, text: str, *, level: Level = "info", table: str | None = None) -> None:
        """Something people should hear; no event."""

    def started(self, command: StartUpdate) -> None:
        """An update starts."""
        if not command.upkeep:  # which changes no row
            self._put(("started", command, self._clock()))

    def ended(self, outcome: Outcome, retry_in_s: float | None) -> None:
        """An update ended."""
        if not outcome.command.upkeep:
            self._put(("ended", outcome, self._clock()))

    def report(self, step: ReportStep) -> None:
        """A report's batch starts or ends, or nobody wants the report: a window is one run."""
        name = step.job.name if isinstance(step, JobEnded) else step.name
        known = name in self._reports
        if isinstance(step, Job):
            self._reports.add(name)
        elif isinstance(step, JobWithdrawn) or step.result is None or step.job.request.final:
            self._reports.discard(name)
        if known != isinstance(step, Job):
            self._put(("report", step, self._clock()))

    def _put(self, item: Item) -> None:
        with self._changed:
            if len(self._waiting) >= self._most_waiting:
                self._waiting.popleft()
                self._dropped += 1
                self._events.labels("dropped").inc()
            self._waiting.append(item)
            self._changed.notify()

    # ---- the thread ----

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def stop(self, grace_s: float = _GRACE_S) -> None:
        """Send what is left for at most so long; say what was not sent."""
        with self._changed:
            self._stopped = True
            self._end_s = time.monotonic() + grace_s
            self._changed.notify()
        self._thread.join(grace_s)
        with self._changed:
            # One that the transport still holds may arrive, and nobody will know.
            left = len(self._waiting) + self._is_sending
            self._waiting.clear()
            self._is_sending = False
        self._events.labels("dropped").inc(left)
        lost = left + self._dropped
        if lost:
            self._notice(f"lineage: events not delivered and lost: {lost}")

    def _work(self) -> None:
        failures = 0
        while (item := self._next()) is not None:
            event = self._made(item)
            while event is not None:
                try:
                    self._emit(event)
                except Exception as error:  # noqa: BLE001 - transports raise what they like
                    failures += 1
                    if failures == 1:
                        self._notice(f"lineage: events are not delivered, retrying: {error}")
                    if not self._pause(self._backoff.delay_s(failures)):
                        return self._return(item)
                else:
                    if failures:
                        self._notice("lineage: events are delivered again")
                    failures, event = 0, None
                    self._was_sent()
        return None

    def _next(self) -> Item | None:
        """The oldest item; None when the run has ended and none is left, or time is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._stopped)
            if not self._waiting or time.monotonic() > self._end_s:
                return None
            self._is_sending = True
            return self._waiting.popleft()

    def _was_sent(self) -> None:
        with self._changed:
            if self._is_sending:
                self._is_sending = False
                self._events.labels("delivered").inc()

    def _return(self, item: Item) -> None:
        with self._changed:
            self._is_sending = False
            self._waiting.appendleft(item)

    def _pause(self, seconds: float) -> bool:
        """Wait; False when there is no time for another attempt."""
        with self._changed:
            end_s = time.monotonic() + seconds
            while (left_s := min(end_s, self._end_s) - time.monotonic()) > 0.0:
                self._changed.wait(left_s)
            return time.monotonic() < self._end_s

    def _made(self, item: Item) -> Any:
        """The event; None where it cannot be made, which is said and counted."""
        try:
            return self._make(item)
        except Exception as error:  # noqa: BLE001 - lineage must not end with one odd table
            with self._changed:
                self._is_sending = False
            self._events.labels("faulty").inc()
            self._notice(f"lineage: an event could not be made: {type(error).__name__}: {error}")
            return None


@contextmanager
def lineage(
    project: Project, observer: Observer, registry: CollectorRegistry
) -> Iterator[Observer]:
    """The observer that a run is to tell: with lineage, where the project wants it.

    Raises:
        UserError: It does, and the extra is not installed, or its configuration is wrong.
    """
    if project.lineage is None:
        yield observer
        return
    try:
        from openlineage.client import OpenLineageClient

        from freshline.runtime.lineage.events import LineageEvents
    except ImportError as error:
        raise UserError(
            "no-openlineage",
            f"freshline.yml has lineage, and OpenLineage's client is not installed: {error}",
            next_step="Install freshline[lineage], or remove lineage.",
        ) from error
    try:
        client = OpenLineageClient()
    except Exception as error:
        raise UserError(
            "bad-openlineage",
            f"OpenLineage's own configuration is wrong: {error}",
            rule="it is openlineage.yml or OPENLINEAGE__... in the environment",
            next_step="Correct it, or remove lineage from freshline.yml.",
        ) from error
    events = LineageEvents(project, project.lineage)

    def made(item: Item) -> Any:
        _, told, at_s = item
        if isinstance(told, Outcome):
            return events.ended(told, at_s)
        if isinstance(told, StartUpdate):
            return events.started(told, at_s)
        return events.report(told, at_s)

    sender = Lineage(made, client.emit, observer.notice, registry=registry)
    sender.start()
    try:
        yield Observers((observer, sender))
    finally:
        sender.stop()
