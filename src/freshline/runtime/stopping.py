"""The stop of a run: how long what runs may go on, and what a person at the terminal hears."""

from __future__ import annotations

import time
from collections.abc import Collection

from freshline.runtime.observer import Observer
from freshline.times import brief_s

_NEXT_START = "the next start picks up what did not end"


class Stopping:
    """Whether the run was asked to stop, and when what runs has had its time.

    Args:
        grace_s: How long running updates may take to finish.
        observer: Hears what a stop waits for: without a word the program would seem to hang, and a
            second Ctrl-C ends updates that needed one more second.
    """

    def __init__(self, grace_s: float, observer: Observer) -> None:
        self._grace_s = grace_s
        self._observer = observer
        self._since_s: float | None = None

    @property
    def asked(self) -> bool:
        """Somebody asked for it."""
        return self._since_s is not None

    def ask(self, running: Collection[str], *, reports: bool) -> None:
        """The run is to end; the first time counts.

        Args:
            running: Tables that are being updated.
            reports: A batch of a report runs.
        """
        if self._since_s is not None:
            return
        self._since_s = time.monotonic()
        if running or reports:
            names = _named(running, reports=reports)
            self._observer.notice(
                f"stopping: waiting up to {brief_s(self._grace_s)} for {names};"
                " a second signal (Ctrl-C) ends at once"
            )

    def is_over(self, running: Collection[str], *, reports: bool) -> bool:
        """Whether what runs is abandoned now, which is told."""
        if self._since_s is None or time.monotonic() - self._since_s <= self._grace_s:
            return False
        self._observer.notice(
            f"grace period expired; abandoning: {_named(running, reports=reports)}; {_NEXT_START}",
            level="warning",
        )
        return True


def _named(running: Collection[str], *, reports: bool) -> str:
    return ", ".join([*sorted(running), *["a report's batch"] * reports])
