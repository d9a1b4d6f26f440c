"""A run as JSON, one object a line on standard error; for log collectors."""

from __future__ import annotations

import sys
import time
from typing import Any

from freshline.core.commands import StartUpdate
from freshline.project.model import Project
from freshline.render.log_observer import (
    Counting,
    is_told,
    is_told_by_notice,
    update_level,
    update_line,
    write_line,
)
from freshline.render.output import json_text, moment
from freshline.runtime.notices import Level, one_line
from freshline.runtime.tracks import Outcome


class JsonObserver(Counting):
    """Writes an object per update and notice.

    Each has ``at``, ``level``, ``event`` and ``message``; what is about a table has ``table``.

    Args:
        project: What is run.
        least: The least level that is written.
    """

    def __init__(self, project: Project, least: Level = "info") -> None:
        super().__init__(project)
        self._least = least

    def started(self, command: StartUpdate) -> None:
        """An update starts; told where debugging is wanted."""
        message = f"{command.table} update {command.number} starts"
        self._write("debug", "update-started", message, _started(command))

    def ended(self, outcome: Outcome, retry_in_s: float | None) -> None:
        """How an update ended."""
        super().ended(outcome, retry_in_s)
        if is_told_by_notice(outcome):
            return
        now_s = time.time()
        event = "update-committed" if outcome.result is not None else "update-failed"
        message = update_line(outcome, retry_in_s, now_s)
        self._write(update_level(outcome), event, message, _ended(outcome, retry_in_s), now_s)

    def notice(self, text: str, *, level: Level = "info", table: str | None = None) -> None:
        """Something people should hear."""
        self._write(level, "notice", text, {} if table is None else {"table": table})

    def _write(
        self,
        level: Level,
        event: str,
        message: str,
        fields: dict[str, Any],
        now_s: float | None = None,
    ) -> None:
        if is_told(level, self._least):
            at = moment(time.time() if now_s is None else now_s)
            record = {"at": at, "level": level, "event": event, "message": message, **fields}
            write_line(json_text(record, sys.stderr.encoding))


def _started(command: StartUpdate) -> dict[str, Any]:
    return {
        "table": command.table,
        "number": command.number,
        "track": command.track,
        "expected_s": round(command.expected_s, 6),
        "fresh_to": moment(command.to_s),
    }


def _ended(outcome: Outcome, retry_in_s: float | None) -> dict[str, Any]:
    fields = {
        **_started(outcome.command),
        "attempt": outcome.request.attempt,
        "seconds": round(outcome.seconds, 6),
    }
    result = outcome.result
    if result is None:
        retry_in_s = None if retry_in_s is None else round(retry_in_s, 3)
        return {**fields, "error": one_line(outcome.error), "retry_in_s": retry_in_s}
    return {
        **fields,
        "strategy": result.strategy,
        "reason": result.reason,
        "rows": result.rows,
        "rejected_rows": result.rejected_rows,
        "version": result.version,
    }
