"""A run as lines on standard error, one per update; for logs and pipes."""

from __future__ import annotations

import sys
import time
from typing import Self

from freshline.core.background.upkeep import TRY, VERIFY
from freshline.core.commands import StartUpdate
from freshline.core.errors import PlatformError
from freshline.executor.records import UnreadableFilesError
from freshline.project.model import Project
from freshline.render.output import clock
from freshline.runtime.notices import Level, one_line
from freshline.runtime.report_jobs import ReportStep
from freshline.runtime.tracks import Outcome
from freshline.times import brief_s


class Counting:
    """What every observer of a run keeps; tells nobody.

    Attributes:
        done, failed, rows: Committed updates, failed attempts, rows that were written.
        spark: Whether it is ``ready`` or ``starting``.
        spark_ui: Address of Spark's own pages, where they are on.
        not_landed: By feed, records that were pushed before and are in none of its files yet.
    """

    def __init__(self, project: Project) -> None:
        self.project = project
        self.done = self.failed = self.rows = 0
        self.spark = "starting"
        self.spark_ui: str | None = None
        self.not_landed: dict[str, int] = {}
        self._unread: dict[str, set[tuple[str, str]]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def ready(self, seconds: float) -> None:
        """Spark is ready after ``seconds``."""
        self.spark = "ready"
        self.notice(f"Spark ready after {seconds:.1f} s")
        if self.spark_ui:
            self.notice(f"Spark's own pages: {self.spark_ui}")

    def spark_lost(self, why: PlatformError) -> None:
        """Spark is lost and is started again."""
        self.notice(f"{why.what}; Spark is started again", level="error")

    def started(self, command: StartUpdate) -> None:
        """An update starts."""

    def decided(self, seconds: float) -> None:
        """The scheduler decided at one instant."""

    def ended(self, outcome: Outcome, retry_in_s: float | None) -> None:
        """An update ended."""
        if outcome.result is None:
            self.failed += 1
        else:
            self.done += 1
            self.rows += outcome.result.rows

    def told_before(self, outcome: Outcome) -> bool:
        """Whether the log has already named all unreadable files that it failed by."""
        if not isinstance(outcome.error, UnreadableFilesError):
            return False
        told = self._unread.setdefault(outcome.command.table, set())
        new = set(outcome.error.files) - told
        told |= new
        return not new

    def report(self, step: ReportStep) -> None:
        """Something happened to a report; the notices say what people should hear."""

    def notice(self, text: str, *, level: Level = "info", table: str | None = None) -> None:
        """Something people should hear."""


class LogObserver(Counting):
    """Writes a line per update and notice.

    Args:
        project: What is run.
        least: The least level that is written.
    """

    def __init__(self, project: Project, least: Level = "info") -> None:
        super().__init__(project)
        self._least = least
        self._width = max((len(table.name) for table in project.tables), default=0)

    def ended(self, outcome: Outcome, retry_in_s: float | None) -> None:
        """Its line."""
        super().ended(outcome, retry_in_s)
        if is_told_by_notice(outcome):
            return
        line = update_line(outcome, retry_in_s, time.time(), self._width)
        self._write(line, "debug" if self.told_before(outcome) else update_level(outcome))

    def started(self, command: StartUpdate) -> None:
        """Its line, where debugging is wanted."""
        name = command.table.ljust(self._width)
        self._write(f"{name} update {command.number} starts, track {command.track}", "debug")

    def notice(self, text: str, *, level: Level = "info", table: str | None = None) -> None:
        """A line of its own, with its level where that is not ``info``."""
        self._write(text if level == "info" else f"{level}: {text}", level)

    def _write(self, text: str, level: Level) -> None:
        if is_told(level, self._least):
            write_line(f"{clock(time.time())} {text}")


LEVELS: tuple[Level, ...] = ("debug", "info", "warning", "error")


def is_told(level: Level, least: Level) -> bool:
    """Whether something of ``level`` is written where ``least`` is asked for."""
    return LEVELS.index(level) >= LEVELS.index(least)


def update_level(outcome: Outcome) -> Level:
    """A failed update is a warning: it is tried again."""
    return "info" if outcome.result is not None else "warning"


def is_told_by_notice(outcome: Outcome) -> bool:
    """Upkeep that failed: the warehouse says so, and the table's updates go on."""
    return outcome.result is None and bool(outcome.command.upkeep)


def write_line(line: str) -> None:
    """One line on standard error, in one piece: several threads write."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def update_line(outcome: Outcome, retry_in_s: float | None, now_s: float, width: int = 0) -> str:
    """How an update ended, on one line."""
    command, result = outcome.command, outcome.result
    name = command.table.ljust(width)
    if result is None:
        again = "" if not retry_in_s else f"; again in {brief_s(retry_in_s)}"
        return f"{name} failed after {outcome.seconds:.2f} s: {one_line(outcome.error)}{again}"
    if command.upkeep == VERIFY:
        return f"{result.reason}; audited in {outcome.seconds:.2f} s, track {command.track}"
    if command.upkeep == TRY:
        return f"{name} tried in {outcome.seconds:.2f} s, track {command.track}: {result.reason}"
    rejected = f", {result.rejected_rows:,} rejected" if result.rejected_rows else ""
    return (
        f"{name} +{result.rows:,} rows{rejected} in {outcome.seconds:.2f} s,"
        f" fresh to {clock(command.to_s, now_s)}, track {command.track}, {result.strategy}"
    )
