"""How much reports use of their track, for the core: the next start, and the long run.

From the next planned start on the track is reserved: before it the core starts only updates there
that end in time, so a batch whose time has come goes first.
"""

from __future__ import annotations

from dataclasses import astuple

from freshline.core.events import TrackReserved
from freshline.core.policies.aus import Aus
from freshline.core.scheduler import Scheduler
from freshline.project.model import Project
from freshline.runtime.journal.store import Journal
from freshline.runtime.reports.needs import demands, needs_in

_SAME_S = 1.0
"""A start that moves by less is not told."""


class TrackShare:
    """The reports' side of the last track.

    Args:
        project, journal: Read for what reports need.
        core: Whose last track it is.

    Attributes:
        track: Its number.
        reserved_s: From when on the core was told to keep it; None: it need not.
        changed: What reports need in the long run may have changed.
    """

    def __init__(self, project: Project, journal: Journal, core: Scheduler) -> None:
        self._project = project
        self._journal = journal
        self.track = core.track_count - 1
        self.reserved_s: float | None = None
        self.changed = True
        self._counts = isinstance(core.policy, Aus)  # the only one with bounds to keep
        self._counted: tuple[tuple[float, int, float | None, float], ...] = ()

    def news(self, now_s: float, next_s: float | None, *, busy: bool) -> list[TrackReserved]:
        """What the core must be told.

        Args:
            next_s: The next planned start; None: none is planned.
            busy: A batch runs, or waits for the track.
        """
        return self._reservation(now_s, next_s, busy=busy) + self._capacity()

    def _reservation(
        self, now_s: float, next_s: float | None, *, busy: bool
    ) -> list[TrackReserved]:
        old, new = self.reserved_s, next_s
        if busy:
            new = old if old is not None and old <= now_s else now_s
        if new == old:
            return []
        if new is not None and old is not None and abs(new - old) <= _SAME_S and new > now_s:
            return []
        self.reserved_s = new
        return [TrackReserved(self.track, new)]

    def _capacity(self) -> list[TrackReserved]:
        if not (self._counts and self.changed):
            return []
        self.changed = False
        needed = tuple(astuple(each) for each in demands(needs_in(self._project, self._journal)))
        if needed == self._counted:
            return []
        self._counted = needed
        return [TrackReserved(self.track, self.reserved_s, needed)]
