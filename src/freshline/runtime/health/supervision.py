"""Spark's process during a run: started, watched, ended when it hangs, started again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from freshline.core.errors import PlatformError
from freshline.core.scheduler import Scheduler
from freshline.executor.records import Executor
from freshline.project.model import Project
from freshline.runtime.health.deadlines import SLOTS_HELD, Deadlines
from freshline.runtime.health.heartbeat import Heartbeat
from freshline.runtime.notices import Hears
from freshline.runtime.tracks import Outcome, Tracks

MOST_RESTARTS = 3
"""In a row, without a commit in between."""

OUT_OF_MEMORY = "spark-out-of-memory"

_CLOSE_S = 10.0
_REGISTERS_S = 60.0
"""Where names of tables may still have to be written to a catalog."""


class Supervision:
    """Starts Spark, and sees when it, or an update, is lost.

    Args:
        update_timeout_s: The limit of every update; None: by the estimates.
        heartbeat: Makes what asks an executor again and again whether it answers.
        deadlines: How long updates may run; None: as ``update_timeout_s`` says.
        registers: Whether tables are registered in a catalog, which may take longer than Spark.
    """

    def __init__(
        self,
        update_timeout_s: float | None = None,
        heartbeat: Callable[[Callable[[], bool]], Heartbeat] = Heartbeat,
        deadlines: Deadlines | None = None,
        *,
        registers: bool = False,
    ) -> None:
        self._close_s = _REGISTERS_S if registers else _CLOSE_S
        self._make_heartbeat = heartbeat
        self._deadlines = deadlines or Deadlines(update_timeout_s)
        self._executor: Executor | None = None
        self._heartbeat: Heartbeat | None = None
        self._restarts = 0

    @classmethod
    def of(cls, project: Project) -> Supervision:
        """As the project's settings say."""
        return cls(project.update_timeout_s, registers=project.catalog is not None)

    def start(
        self, make_executor: Callable[[], Executor], put: Callable[[tuple[str, Any]], None]
    ) -> None:
        """Start Spark in a thread.

        Args:
            make_executor: Starts it.
            put: Takes ("executor", it) or ("no-executor", why).
        """
        self._make_executor, self._put = make_executor, put
        self._started_s = time.monotonic()
        threading.Thread(target=self._start, name="spark-start", daemon=True).start()

    def watch(self, executor: Executor) -> float:
        """Spark is ready; how many seconds its start took."""
        self._executor = executor
        self._heartbeat = self._make_heartbeat(executor.healthy)
        self._heartbeat.start()
        return time.monotonic() - self._started_s

    def look(
        self, tracks: Tracks | None, scheduler: Scheduler, hears: Hears
    ) -> PlatformError | None:
        """Cancel updates that run for too long; why Spark is lost, None while it is not."""
        executor, heartbeat = self._executor, self._heartbeat
        if executor is None or heartbeat is None or tracks is None:
            return None
        lost = executor.ended() or heartbeat.look()
        if lost is not None:
            return lost
        found = self._deadlines.look(tracks.running(), scheduler, time.monotonic())
        for table, text in found.notices:
            hears.notice(text, level="error", table=table)
        for table, number in found.cancel:
            executor.give_up(table, number)
        return found.stuck

    def ended(self, outcome: Outcome) -> Outcome:
        """An update's end, with the reason that is known here."""
        if outcome.result is not None:
            self._restarts = 0
        return self._deadlines.ended(outcome)

    def restart(self, lost: PlatformError) -> None:
        """End what is left of Spark, and start it again.

        Raises:
            PlatformError: It ran out of memory, or does not live long enough for any commit.
        """
        if lost.code == OUT_OF_MEMORY:
            raise lost
        if lost.code != SLOTS_HELD:  # which takes three limits each time, and others may still come
            self._restarts += 1
        if self._restarts > MOST_RESTARTS:
            raise PlatformError(
                "spark-gone",
                f"Spark was lost {self._restarts} times without a commit in between, the last time:"
                f" {lost.what}",
                next_step="Nothing committed is lost. Look at what Java wrote and at the"
                " machine's memory, then start `freshline run` again.",
            )
        executor = self._executor
        self._forget()
        if executor is not None:
            executor.kill()
        self.start(self._make_executor, self._put)

    def close(self) -> None:
        """End Spark; in the hard way where it does not end."""
        executor = self._executor
        self._forget()
        if executor is None:
            return
        closing = threading.Thread(target=executor.close, name="spark-close", daemon=True)
        closing.start()
        closing.join(timeout=self._close_s)
        if closing.is_alive():
            executor.kill()

    def _forget(self) -> None:
        if self._heartbeat is not None:
            self._heartbeat.stop()
        self._executor = self._heartbeat = None

    def _start(self) -> None:
        try:
            self._put(("executor", self._make_executor()))
        except BaseException as error:  # noqa: BLE001 - raised again in the loop's thread
            self._put(("no-executor", error))
