"""The lease's record as the JSON object that stands in the storage."""

from __future__ import annotations

import json

from freshline.core.lease import Holder, Record
from freshline.times import rfc3339, seconds


def encoded(record: Record) -> str:
    """The record as one line of JSON."""
    holder = record.holder
    return json.dumps(
        {
            "epoch": record.epoch,
            "host": holder.host,
            "pid": holder.pid,
            "since": rfc3339(record.since_s),
            "renewals": record.renewals,
            "released": record.released,
            "fenced": record.fenced,
            "id": holder.id,
            "machine": holder.machine,
        }
    )


def decoded(text: str) -> Record | None:
    """The record of a text; None where it is none."""
    try:
        said = json.loads(text)
        return Record(
            Holder(str(said["id"]), str(said["host"]), int(said["pid"]), str(said["machine"])),
            int(said["epoch"]),
            # As the holder rounded it, so that a record equals what is read back.
            seconds(said["since"]),
            int(said["renewals"]),
            bool(said["released"]),
            bool(said.get("fenced", True)),
        )
    except (ValueError, KeyError, TypeError):
        return None
