"""What was committed, recorded a second time outside the log.

SQLite takes a log that ends early for one that was never longer. The witness knows better: it is
written after each commit (into the page cache, which outlives the process; flushed to the disk
once a second), so it never claims more than was committed, and after a kill it claims exactly that.

Two files, written in turn: one is whole whatever happens while the other is being written.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from freshline.ingest.log.rows import text_crc32


@dataclass(frozen=True, slots=True)
class CommitMarker:
    """``last_id``: of the last request; ``lasts``: of each feed's last record."""

    last_id: int
    lasts: Mapping[str, int]


class Witness:
    """The two files of a folder."""

    def __init__(self, folder: Path) -> None:
        self._paths = [folder / "witness-0", folder / "witness-1"]
        self._files: list[int] = []
        self._turn = 0

    def read(self) -> tuple[CommitMarker | None, bool]:
        """The later of the two that is whole, and whether any that is there is not."""
        found = []
        damaged = False
        for path in self._paths:
            try:
                text = path.read_bytes()
            except FileNotFoundError:
                continue
            testimony = _parse(text)
            if testimony is None:
                damaged = damaged or bool(text)
            else:
                found.append(testimony)
        return max(found, key=lambda testimony: testimony.last_id, default=None), damaged

    def open(self) -> None:
        """Ready to write."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        self._files = [os.open(path, flags, 0o600) for path in self._paths]

    def note(self, last_id: int, lasts: Mapping[str, int]) -> None:
        """Say what is committed."""
        said = json.dumps([last_id, lasts], separators=(",", ":"))
        line = f"{text_crc32(said):08x} {said}\n"
        # What an earlier, longer line left behind its end is not read.
        os.pwrite(self._files[self._turn], line.encode(), 0)
        self._turn = 1 - self._turn

    def flush(self) -> None:
        """Bring it to the disk."""
        for file in self._files:
            os.fdatasync(file)

    def close(self) -> None:
        """Close the files."""
        for file in self._files:
            os.close(file)
        self._files = []


def _parse(text: bytes) -> CommitMarker | None:
    line, newline, _ = text.partition(b"\n")
    crc32, _, said = line.decode(errors="replace").partition(" ")
    if not newline or f"{text_crc32(said):08x}" != crc32:
        return None
    last_id, lasts = json.loads(said)
    return CommitMarker(last_id, lasts)
