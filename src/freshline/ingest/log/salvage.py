"""Reading a segment that may be damaged: everything that is whole, and what is not.

SQLite says nothing of a flipped bit in a page, and of a damaged tree only on the way through it.
So rows are checked one by one; what a scan does not reach is asked for by its number; and what
lies behind a damaged frame of SQLite's log is tried with that log mended.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field

from freshline.ingest.log.quarantine import Quarantine
from freshline.ingest.log.rows import DamagedError, Waiting, check
from freshline.ingest.log.segment import ROW_OVERHEAD_BYTES, Landed, Segment, is_damage
from freshline.ingest.log.walrepair import mended

_FEW = 3
"""So many damaged rows are told one by one."""


@dataclass(slots=True)
class Contents:
    """What a segment holds.

    Attributes:
        rows: Of whole rows by id, with the feed's name.
        ledger: What was landed.
        lasts: The feeds' counters at its beginning; None: damaged.
        damage: What is wrong with the file, one sentence each.
        read_bytes: Of bodies, checked.
    """

    rows: dict[int, tuple[str, Waiting]] = field(default_factory=dict)
    ledger: list[Landed] = field(default_factory=list)
    lasts: dict[str, int] | None = None
    damage: list[str] = field(default_factory=list)
    read_bytes: int = 0


def read_segment(segment: Segment, least_next_id: int, quarantine: Quarantine) -> Contents:
    """All that can be read of a segment.

    Args:
        segment: Its ``next_id`` is set unless it is the last.
        least_next_id: Requests below it are known to have been committed.
        quarantine: Where damaged files are copied to.

    Raises:
        sqlite3.OperationalError: The disk does not answer, or is full.
    """
    wal = segment.files()[1]
    mended_wal = mended(wal)
    found_wal = wal.read_bytes() if mended_wal is not None else b""
    contents = _read(segment, least_next_id)
    if mended_wal is not None and _missing(segment, contents, least_next_id):
        # Opening and closing has brought the sound part into the database. The whole log holds
        # that part too, as whole pages, so applying it from its beginning is harmless.
        segment.close()
        wal.write_bytes(found_wal)
        quarantine.keep([wal])
        wal.write_bytes(mended_wal)
        repaired = _read(segment, least_next_id)
        repaired.damage.append("SQLite's log of it was damaged")
        if len(repaired.rows) >= len(contents.rows):
            contents = repaired
    return contents


def rebuild(
    segment: Segment, contents: Contents, lasts: dict[str, int], quarantine: Quarantine
) -> None:
    """Write a damaged segment anew with what is whole; the old file goes into quarantine."""
    quarantine.keep(segment.files())
    rows = []
    for row_id in sorted(contents.rows):
        columns = segment.columns(row_id)
        if columns is not None:
            rows.append(columns)
    segment.rebuild(lasts, rows, contents.ledger)


def _missing(segment: Segment, contents: Contents, least_next_id: int) -> list[int]:
    stop = least_next_id if segment.next_id is None else segment.next_id
    return [row_id for row_id in range(segment.first_id, stop) if row_id not in contents.rows]


def _read(segment: Segment, least_next_id: int) -> Contents:
    contents = Contents()
    try:
        for columns in segment.scan():
            _take(contents, columns, segment)
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        if not is_damage(error):
            raise
        contents.damage.append(f"it cannot be read through: {error}")
    missing = _missing(segment, contents, least_next_id)
    if not contents.damage and missing:
        contents.damage.append(f"{len(missing)} requests are missing")
    for row_id in missing:
        try:
            found = segment.columns(row_id)
        except DamagedError:
            continue
        if found is not None:
            _take(contents, found, segment)
    contents.ledger, damaged = segment.ledger()
    if damaged:
        contents.damage.append("its ledger is damaged")
    try:
        contents.lasts = segment.counters()
    except DamagedError as error:
        contents.damage.append(str(error))
    return contents


def _take(contents: Contents, columns: tuple[object, ...], segment: Segment) -> None:
    """One row, if it is whole."""
    try:
        row = check(columns)
    except DamagedError as error:
        if len(contents.damage) < _FEW:
            contents.damage.append(f"request {columns[0]}: {error}")
        return
    outside = row.id < segment.first_id
    if outside or (segment.next_id is not None and row.id >= segment.next_id):
        return
    size = len(row.body) + ROW_OVERHEAD_BYTES
    contents.read_bytes += len(row.body)
    contents.rows[row.id] = (
        row.feed,
        Waiting(row.id, row.first, row.last, row.received_us, size),
    )
