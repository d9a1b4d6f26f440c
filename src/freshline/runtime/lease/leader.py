"""Who runs the warehouse of a storage, read from its lease by anybody, on any host."""

from __future__ import annotations

import threading
import time
from typing import Any

from freshline.core.lease import Record
from freshline.project.model import Project
from freshline.runtime.lease.machine import has_ended, this_machine
from freshline.runtime.lease.place import readable_store_of
from freshline.times import rfc3339

PATIENCE_S = 5.0
"""A storage at a URI may take so long to answer: whoever asks for the leader waits for it."""

_GIVEN_UP_S = 90.0
"""A look that goes on for longer hangs: another one is begun."""

_LASTS_S = 10.0
"""What a slow look found, for which nobody may have waited, is told for so long."""

_lock = threading.Lock()
_looks: dict[str, LeaderLook] = {}
"""The last look at each storage, which may go on."""


class LeaderLook:
    """A look at a lease, in a thread of its own: a storage that hangs holds nobody up for long."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._began_s = time.monotonic()
        self._record: Record | None = None
        self._error: Exception | None = None
        self._ended_s = 0.0
        self._thread = threading.Thread(target=self._work, name="leader", daemon=True)
        self._thread.start()

    @property
    def is_over(self) -> bool:
        """Whether another look is to be made: it hangs, or what it found is old."""
        now_s = time.monotonic()
        if self._thread.is_alive():
            return now_s - self._began_s > _GIVEN_UP_S
        is_slow = self._ended_s - self._began_s > PATIENCE_S
        return not is_slow or now_s - self._ended_s > _LASTS_S

    @property
    def is_known(self) -> bool:
        """Whether the storage has answered; waits for it, for a while since the look began."""
        self._thread.join(max(0.0, self._began_s + PATIENCE_S - time.monotonic()))
        return not self._thread.is_alive() and self._error is None

    def leader(self) -> Record | None:
        """The record of the process that has the lease; None where none has, or nobody knows.

        Raises:
            Exception: What else than a storage that does not answer kept it from being read.
        """
        if not self.is_known:
            if self._error is not None and not isinstance(self._error, OSError):
                raise self._error
            return None
        return self._record

    def _work(self) -> None:
        try:
            self._record = _read(self._project)
        except Exception as error:  # noqa: BLE001 - raised for whoever asks
            self._error = error
        self._ended_s = time.monotonic()


def leader_look(project: Project) -> LeaderLook:
    """A look that has just begun, or one that goes on: each more would hang, or be slow, too."""
    place = project.own_path
    with _lock:
        look = _looks.get(place)
        if look is None or look.is_over:
            look = _looks[place] = LeaderLook(project)
    return look


def leader(project: Project) -> Record | None:
    """The record of the process that has the lease; None where none has it, or nobody knows.

    One look cannot tell whether it is still renewed: of a process on another machine that was
    killed the record stays until another process takes over.
    """
    return leader_look(project).leader()


def leader_record(project: Project, look: LeaderLook | None = None) -> dict[str, Any] | None:
    """What ``status --json`` has as ``leader``.

    Args:
        project: Whose.
        look: One that was begun before; None: one begins.
    """
    record = (look or leader_look(project)).leader()
    if record is None:
        return None
    return {
        "host": record.holder.host,
        "pid": record.holder.pid,
        "epoch": record.epoch,
        "since": rfc3339(record.since_s),
    }


def _read(project: Project) -> Record | None:
    record, _ = readable_store_of(project).read()
    if record is None or record.released:
        return None
    holder = record.holder
    return None if holder.machine == this_machine() and has_ended(holder.pid) else record
