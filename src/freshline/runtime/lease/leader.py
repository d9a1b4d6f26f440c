"""Who runs the warehouse of a storage, read from its lease by anybody, on any host."""

from __future__ import annotations

from typing import Any

from freshline.core.lease import Record
from freshline.project.model import Project
from freshline.runtime.lease.machine import has_ended, this_machine
from freshline.runtime.lease.place import readable_store_of
from freshline.times import rfc3339


def leader(project: Project) -> Record | None:
    """The record of the process that has the lease; None where none has it, or nobody knows.

    One look cannot tell whether it is still renewed: of a process on another machine that was
    killed the record stays until another process takes over.
    """
    try:
        record, _ = readable_store_of(project).read()
    except OSError:
        return None
    if record is None or record.released:
        return None
    holder = record.holder
    return None if holder.machine == this_machine() and has_ended(holder.pid) else record


def leader_record(project: Project) -> dict[str, Any] | None:
    """What ``status --json`` has as ``leader``."""
    record = leader(project)
    if record is None:
        return None
    return {
        "host": record.holder.host,
        "pid": record.holder.pid,
        "epoch": record.epoch,
        "since": rfc3339(record.since_s),
    }
