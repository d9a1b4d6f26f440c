"""Who runs the warehouse of a storage, read from its lease by anybody, on any host."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

from freshline.core.lease import Record
from freshline.project.model import Project
from freshline.runtime.lease.machine import has_ended, this_machine
from freshline.runtime.lease.place import readable_store_of
from freshline.runtime.looks import Look
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


class LeaderLook(Look[Record | None]):
    """A look at a project's lease."""

    def __init__(self, project: Project) -> None:
        super().__init__(partial(_read, project), "leader")

    @property
    def is_known(self) -> bool:
        """Whether the storage has answered; waits for it, for a while since the look began."""
        return self.has_ended(PATIENCE_S) and self.error is None

    def leader(self) -> Record | None:
        """The record of the process that has the lease; None where none has, or nobody knows.

        Raises:
            Exception: What else than a storage that does not answer kept it from being read.
        """
        if not self.has_ended(PATIENCE_S) or isinstance(self.error, OSError):
            return None
        return self.answer()


def leader_look(project: Project) -> LeaderLook:
    """A look that has just begun, or one that goes on: each more would hang, or be slow, too."""
    place = project.own_path
    with _lock:
        look = _looks.get(place)
        lasts_s = 0.0 if look is None or look.took_s <= PATIENCE_S else _LASTS_S
        if look is None or look.is_over(lasts_s=lasts_s, given_up_s=_GIVEN_UP_S):
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
