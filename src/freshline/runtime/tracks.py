"""The threads that carry updates out: one per track, each running one update at a time."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from freshline.core.commands import StartUpdate
from freshline.executor.fence import behind, permits
from freshline.executor.records import Executor, UnreadableFilesError, UpdateRequest, UpdateResult


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one update ended, as its track's thread reports it.

    Attributes:
        command, request: What was started.
        seconds: Wall-clock seconds it took on its track.
        result: What it did, or None when ``error`` says why it failed.
        gone: Of the files that could not be read those that are no longer in their feed.
    """

    command: StartUpdate
    request: UpdateRequest
    seconds: float
    result: UpdateResult | None
    error: Exception | None
    gone: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Running:
    """An update on its track, since ``started_s`` of the monotonic clock."""

    command: StartUpdate
    request: UpdateRequest
    started_s: float


class Tracks:
    """Track threads around one executor.

    Threads are daemons: an update that outlives the grace period at the end must not keep the
    process. It commits nothing once the lease is given back, and the next start finds out what it
    committed before.

    Args:
        executor: Runs one update; safe to call from several threads.
        count: How many tracks.
        report: Called from a track's thread with each outcome, once for each update.
        gone: Asked there, since a store may hang, which files of a table that could not be read
            are gone from its feed.
    """

    def __init__(
        self,
        executor: Executor,
        count: int,
        report: Callable[[Outcome], None],
        gone: Callable[[str, UnreadableFilesError], frozenset[str]] = lambda *_: frozenset(),
    ) -> None:
        self._executor = executor
        self._report = report
        self._gone = gone
        self._permits = permits()
        self._lock = threading.Lock()
        self._running: dict[int, Running] = {}
        self._inboxes: list[queue.SimpleQueue[Running | None]] = []
        for track in range(count):
            inbox: queue.SimpleQueue[Running | None] = queue.SimpleQueue()
            self._inboxes.append(inbox)
            threading.Thread(
                target=self._work, args=(inbox,), name=f"track-{track}", daemon=True
            ).start()

    def start(self, command: StartUpdate, request: UpdateRequest) -> None:
        """Hand an update to its track, which is free: the core said so."""
        running = Running(command, request, time.monotonic())
        with self._lock:
            self._running[command.track] = running
        self._inboxes[command.track].put(running)

    def running(self) -> list[Running]:
        """The updates whose outcomes were not reported yet, by track."""
        with self._lock:
            return [self._running[track] for track in sorted(self._running)]

    def abandon(self, error: Exception) -> list[Outcome]:
        """The outcomes of all running updates: they failed with ``error``.

        Nothing is reported any more, whatever becomes of their threads.
        """
        with self._lock:
            left = [self._running[track] for track in sorted(self._running)]
            self._running.clear()
        self.close()
        now_s = time.monotonic()
        return [
            Outcome(each.command, each.request, now_s - each.started_s, None, error)
            for each in left
        ]

    def close(self) -> None:
        """Let idle threads end."""
        for inbox in self._inboxes:
            inbox.put(None)

    def _work(self, inbox: queue.SimpleQueue[Running | None]) -> None:
        while (running := inbox.get()) is not None:
            started_s = time.monotonic()
            result, failure = None, None
            gone: frozenset[str] = frozenset()
            try:
                with behind(self._permits):
                    result = self._executor.run(running.request)
            except BaseException as error:  # noqa: BLE001 - whatever it is, the track lives on
                failure = error if isinstance(error, Exception) else RuntimeError(repr(error))
            seconds = time.monotonic() - started_s  # of the update: a store may hang from here on
            if isinstance(failure, UnreadableFilesError):
                with contextlib.suppress(Exception):  # nobody knows: they are tried again
                    gone = self._gone(running.request.table, failure)
            with self._lock:
                if self._running.get(running.command.track) is not running:
                    return  # abandoned meanwhile
                del self._running[running.command.track]
            self._report(Outcome(running.command, running.request, seconds, result, failure, gone))
