"""Who is notified of what happens in a run: log lines, a live table, a test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from freshline.core.commands import StartUpdate
from freshline.core.errors import PlatformError
from freshline.runtime.notices import Level
from freshline.runtime.report_jobs import ReportStep
from freshline.runtime.tracks import Outcome


class Observer(Protocol):
    """Somebody who watches a run."""

    def ready(self, seconds: float) -> None:
        """Spark is there after ``seconds``."""

    def spark_lost(self, why: PlatformError) -> None:
        """Spark is gone, or of no use any more; it is started again."""

    def started(self, command: StartUpdate) -> None:
        """An update starts."""

    def decided(self, seconds: float) -> None:
        """The scheduler decided at one instant, in ``seconds``."""

    def ended(self, outcome: Outcome, retry_in_s: float | None) -> None:
        """An update ended; ``retry_in_s`` when it failed."""

    def report(self, step: ReportStep) -> None:
        """Something happened to a report that is being made."""

    def notice(self, text: str, *, level: Level = "info", table: str | None = None) -> None:
        """Something people should hear; ``table`` where it is about one."""


class Observers:
    """Several observers, told in their order."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = tuple(observers)

    def ready(self, seconds: float) -> None:
        """Spark is ready after ``seconds``."""
        for observer in self._observers:
            observer.ready(seconds)

    def spark_lost(self, why: PlatformError) -> None:
        """Spark is gone, or of no use any more; it is started again."""
        for observer in self._observers:
            observer.spark_lost(why)

    def started(self, command: StartUpdate) -> None:
        """An update starts."""
        for observer in self._observers:
            observer.started(command)

    def decided(self, seconds: float) -> None:
        """The scheduler decided at one instant."""
        for observer in self._observers:
            observer.decided(seconds)

    def ended(self, outcome: Outcome, retry_in_s: float | None) -> None:
        """An update ended."""
        for observer in self._observers:
            observer.ended(outcome, retry_in_s)

    def report(self, step: ReportStep) -> None:
        """Something happened to a report that is being made."""
        for observer in self._observers:
            observer.report(step)

    def notice(self, text: str, *, level: Level = "info", table: str | None = None) -> None:
        """Something people should hear; ``table`` where it is about one."""
        for observer in self._observers:
            observer.notice(text, level=level, table=table)
