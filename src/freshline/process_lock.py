"""A file that one process at a time holds, and the kernel gives back however that process ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from freshline.core.errors import UserError

_TRIES, _TRY_S = 10, 0.05


class ProcessLock:
    """Held from here to :meth:`release`; the file holds the process' number.

    A file that is there without its process means nothing.

    Args:
        path: The file; its folder is there.
        taken: The error where another process holds it, by what it wrote into the file.
        note: What this process writes behind its number.

    Raises:
        UserError: What ``taken`` gives.
        OSError: The file cannot be made or written.
    """

    def __init__(self, path: Path, taken: Callable[[str], UserError], note: str = "") -> None:
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._take(taken)
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, f"{os.getpid()}{note}".encode(), 0)
        except (OSError, UserError):
            self.release()
            raise

    def _take(self, taken: Callable[[str], UserError]) -> None:
        """Lock the file; who only asks for the holder has it for a moment."""
        for last in (*[False] * _TRIES, True):
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            if not last:
                time.sleep(_TRY_S)
        holder = os.read(self._file, 32).decode(errors="replace").strip()
        raise taken(holder or "unknown")

    def forget_note(self) -> None:
        """Leave nothing but the process' number; on a full disk, too.

        Raises:
            OSError: The file cannot be written.
        """
        number = str(os.getpid()).encode()
        os.pwrite(self._file, number.ljust(os.fstat(self._file).st_size), 0)

    def replaced(self) -> bool:
        """Whether somebody deleted or replaced the file, so that others can hold it, too.

        Raises:
            OSError: Nobody knows: the disk is away.
        """
        try:
            found = self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return True
        held = os.fstat(self._file)
        return (found.st_dev, found.st_ino) != (held.st_dev, held.st_ino)

    def release(self) -> None:
        """Give it back."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()
