"""The threads that carry updates out: one per track, each running one update at a time."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from freshline.core.commands import StartUpdate
from freshline.executor.records import Executor, UpdateRequest, UpdateResult


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one update ended, as its track's thread reports it.

    Attributes:
        command, request: What was started.
        seconds: Wall-clock seconds it took on its track.
        result: What it did, or None when ``error`` says why it failed.
    """

    command: StartUpdate
    request: UpdateRequest
    seconds: float
    result: UpdateResult | None
    error: Exception | None


class Tracks:
    """Track threads around one executor.

    Threads are daemons: an update that outlives the grace at the end must not keep the
    process; its commit either happened or did not, and the next start finds out which.

    Args:
        executor: Runs one update; safe to call from several threads.
        count: How many tracks.
        report: Called from a track's thread with each outcome.
    """

    def __init__(self, executor: Executor, count: int, report: Callable[[Outcome], None]) -> None:
        self._executor = executor
        self._report = report
        self._inboxes: list[queue.SimpleQueue[tuple[StartUpdate, UpdateRequest] | None]] = []
        for track in range(count):
            inbox: queue.SimpleQueue[tuple[StartUpdate, UpdateRequest] | None]
            inbox = queue.SimpleQueue()
            self._inboxes.append(inbox)
            threading.Thread(
                target=self._work, args=(inbox,), name=f"track-{track}", daemon=True
            ).start()

    def start(self, command: StartUpdate, request: UpdateRequest) -> None:
        """Hand an update to its track, which is free: the core said so."""
        self._inboxes[command.track].put((command, request))

    def close(self) -> None:
        """Let idle threads end."""
        for inbox in self._inboxes:
            inbox.put(None)

    def _work(self, inbox: queue.SimpleQueue[tuple[StartUpdate, UpdateRequest] | None]) -> None:
        while (item := inbox.get()) is not None:
            command, request = item
            started_s = time.monotonic()
            result, failure = None, None
            try:
                result = self._executor.run(request)
            except Exception as error:  # noqa: BLE001 - whatever it is, the track lives on
                failure = error
            seconds = time.monotonic() - started_s
            self._report(Outcome(command, request, seconds, result, failure))
