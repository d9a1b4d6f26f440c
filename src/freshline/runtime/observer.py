"""Whom a run tells what happens: log lines, a live table, a test."""

from __future__ import annotations

from typing import Protocol

from freshline.core.commands import StartUpdate
from freshline.runtime.tracks import Outcome


class Observer(Protocol):
    """Somebody who watches a run."""

    def ready(self, seconds: float) -> None:
        """Spark is there after ``seconds``."""

    def started(self, command: StartUpdate) -> None:
        """An update starts."""

    def ended(self, outcome: Outcome, retry_in_s: float | None) -> None:
        """An update ended; ``retry_in_s`` when it failed."""

    def notice(self, text: str) -> None:
        """Something people should hear."""
