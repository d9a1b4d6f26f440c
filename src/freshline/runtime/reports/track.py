"""The thread that carries report batches out, one at a time, and what it reports."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable

from freshline.executor.fence import behind, permits
from freshline.executor.report_records import ReportExecutor
from freshline.runtime.report_jobs import Job, JobEnded


class ReportTrack:
    """A daemon thread around the executor, like those of the updates' tracks.

    Args:
        executor: Runs one batch.
        report: Called from the thread with each end.
    """

    def __init__(self, executor: ReportExecutor, report: Callable[[JobEnded], None]) -> None:
        self._executor = executor
        self._report = report
        self._permits = permits()
        self._inbox: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._running: Job | None = None
        threading.Thread(target=self._work, name="report-track", daemon=True).start()

    def start(self, job: Job) -> None:
        """Hand a batch to the thread, which is free."""
        with self._lock:
            self._running = job
        self._inbox.put(job)

    def abandon(self, error: Exception) -> JobEnded | None:
        """The end of the batch that runs: it failed. Nothing is reported any more."""
        with self._lock:
            job, self._running = self._running, None
        self.close()
        return None if job is None else JobEnded(job, 0.0, None, error)

    def close(self) -> None:
        """Let the thread end."""
        self._inbox.put(None)

    def _work(self) -> None:
        while (job := self._inbox.get()) is not None:
            started_s = time.monotonic()
            result, failure = None, None
            try:
                with behind(self._permits):
                    result = self._executor.run_batch(job.request)
            except BaseException as error:  # noqa: BLE001 - whatever it is, the thread lives on
                failure = error if isinstance(error, Exception) else RuntimeError(repr(error))
            with self._lock:
                if self._running is not job:
                    return  # abandoned meanwhile
                self._running = None
            self._report(JobEnded(job, time.monotonic() - started_s, result, failure))
