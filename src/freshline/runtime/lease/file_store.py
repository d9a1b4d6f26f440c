"""The lease on a local disk: a small file, replaced in place under its lock.

In place, so that a full disk keeps nobody from renewing: the file keeps its size. The kernel's
lock is held for the microseconds of a swap alone.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from freshline.core.lease import Record
from freshline.private import private_folder
from freshline.runtime.lease.store import SwapRefusedError
from freshline.runtime.lease.text import decoded, encoded

_SIZE = 1024


class FileStore:
    """The file ``lease`` in a folder, which is made when the first lease is taken."""

    cheap = True

    def __init__(self, folder: Path) -> None:
        self._path = folder / "lease"
        self.place = str(self._path)

    def read(self) -> tuple[Record | None, str | None]:
        """The record and its tag; a text that is no record counts as none."""
        try:
            file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            return None, None
        try:
            return _content(file)
        finally:
            os.close(file)

    def swap(self, record: Record, tag: str | None) -> str:
        """Replace the record that has ``tag``; the new one's tag."""
        text = encoded(record)
        with self._locked() as file:
            if _content(file)[1] != tag:
                raise SwapRefusedError
            os.pwrite(file, text.encode().ljust(_SIZE - 1) + b"\n", 0)
        return text

    @contextmanager
    def _locked(self) -> Iterator[int]:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        private_folder(self._path.parent)
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield file
        finally:
            os.close(file)


def _content(file: int) -> tuple[Record | None, str | None]:
    text = os.pread(file, _SIZE, 0).decode(errors="replace").strip()
    return (decoded(text), text) if text else (None, None)
