"""A copy of a Delta table whose versions appear one after the other, by the clock.

A version is there once its log entry is; the data files lie there from the beginning. So a
stream sees commits arrive without anybody spending the processors on making them.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Sequence
from pathlib import Path

_LOG = "_delta_log"


class Revealed:
    """A table that has its first version.

    Args:
        source: The whole table; nothing in it is changed.
        path: Of the copy, which is made here.
    """

    def __init__(self, source: Path, path: Path) -> None:
        shutil.copytree(
            source, path, copy_function=os.link, ignore=shutil.ignore_patterns(_LOG, "*.crc")
        )
        self.path = path
        self._log = path / _LOG
        self._log.mkdir()
        self._entries = sorted(
            each for each in (source / _LOG).glob("*.json") if each.stem.isdigit()
        )
        self.upto(0)

    def upto(self, version: int) -> None:
        """Show all versions up to this one."""
        for entry in self._entries[: version + 1]:
            shown = self._log / entry.name
            if not shown.exists():
                os.link(entry, shown)


class Clock(threading.Thread):
    """Shows a version of every table at each of some moments.

    Args:
        tables: Each shows its next version, all at once.
        times_s: When, after the start; the first shows version 1.
        start_s: Monotonic.
    """

    def __init__(
        self, tables: Sequence[Revealed], times_s: Sequence[float], start_s: float
    ) -> None:
        super().__init__(name="arrivals", daemon=True)
        self._tables = tables
        self._times_s = times_s
        self._start_s = start_s

    def run(self) -> None:
        """Until all are shown."""
        for number, at_s in enumerate(self._times_s):
            time.sleep(max(0.0, self._start_s + at_s - time.monotonic()))
            for table in self._tables:
                table.upto(number + 1)
