"""Acknowledged requests that cannot be read any more: kept, counted and reported once."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from freshline.durable import make_folder
from freshline.private import private_folder

_MESSAGES = 100


class Quarantine:
    """The folder ``quarantine``: damaged files as they were found, and ``quarantine.jsonl``.

    Attributes:
        rows: Requests in it.
        messages: What somebody should look at, of this run; the newest last.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "quarantine"
        self._list = self._folder / "quarantine.jsonl"
        self._lock = threading.Lock()
        self._known: list[tuple[int, int]] = []
        self._kept: set[str] = set()
        self.messages: list[str] = []
        with contextlib.suppress(FileNotFoundError):
            for line in self._list.read_text(errors="replace").splitlines():
                with contextlib.suppress(ValueError, KeyError, TypeError):
                    entry = json.loads(line)
                    self._known.append((int(entry["from"]), int(entry["to"])))

    @property
    def rows(self) -> int:
        """How many requests are in it."""
        return sum(stop - start + 1 for start, stop in self._known)

    def tell(self, message: str) -> None:
        """Note something that somebody should look at, once a run."""
        with self._lock:
            if message not in self.messages:
                self.messages.append(message)
                del self.messages[:-_MESSAGES]

    def knows(self, row_id: int) -> bool:
        """Whether a request is in it."""
        return any(start <= row_id <= stop for start, stop in self._known)

    def add(self, ids: Sequence[int], why: str) -> int:
        """Put requests into it; returns how many are new. ``ids`` ascend."""
        new = [row_id for row_id in ids if not self.knows(row_id)]
        for start, stop in _runs(new):
            entry = {"from": start, "to": stop, "why": why}
            what = f"request {start}" if start == stop else f"requests {start} to {stop}"
            self.tell(f"{what} of the log cannot be read: {why}; see {self._list}")
            with self._lock:
                self._known.append((start, stop))
            # The disk may be the reason why we are here: the message stands without the file.
            try:
                make_folder(self._folder)
                private_folder(self._folder)
                with self._list.open("a") as file:
                    file.write(json.dumps(entry) + "\n")
                    file.flush()
                    os.fsync(file.fileno())
            except OSError as error:
                self.tell(f"the quarantine cannot be written: {error.strerror}")
        return len(new)

    def keep(self, files: Iterable[Path]) -> None:
        """Copy damaged files as they are, each once a run."""
        for path in files:
            if path.name in self._kept or not path.exists() or path.name.endswith("-shm"):
                continue
            self._kept.add(path.name)
            copy = self._folder / path.name
            try:
                make_folder(self._folder)
                private_folder(self._folder)
                for attempt in range(1, 1000):
                    if not copy.exists():
                        break
                    copy = self._folder / f"{path.name}.{attempt}"
                shutil.copyfile(path, copy)
            except OSError as error:
                copy.unlink(missing_ok=True)
                self.tell(f"{path} is damaged and could not be copied: {error.strerror}")


def _runs(ids: Sequence[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for row_id in ids:
        if runs and runs[-1][1] == row_id - 1:
            runs[-1] = (runs[-1][0], row_id)
        else:
            runs.append((row_id, row_id))
    return runs
