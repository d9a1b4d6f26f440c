"""The log's file system: one owner, how full it is, and a reserve."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from freshline.core.errors import PlatformError, UserError
from freshline.durable import make_folder
from freshline.private import private_folder
from freshline.process_lock import ProcessLock

# Opening a database makes an index of 32 KiB beside its log: no room for it is an I/O error.
_FULL = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE}


def free_bytes(folder: Path) -> int:
    """What may still be written."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize


def is_full(error: BaseException) -> bool:
    """Whether an error of the system or of SQLite means that the disk is full."""
    if isinstance(error, OSError):
        return error.errno in {errno.ENOSPC, errno.EDQUOT}
    # Faults that SQLite did not see itself, of closed connections say, have no code.
    return isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", None) in _FULL


class FolderLock(ProcessLock):
    """One engine for a folder.

    Args:
        folder: Made if it is not there.
        private: Folders, itself or above it, that other users may not enter.

    Raises:
        UserError: Another process holds it (``already-running``).
        PlatformError: The file cannot be made.
    """

    def __init__(self, folder: Path, private: Sequence[Path] = ()) -> None:
        path = folder / "lock"
        try:
            make_folder(folder)
            for each in private:
                private_folder(each)
            super().__init__(
                path,
                lambda holder: UserError(
                    "already-running",
                    f"process {holder} accepts this storage's pushed records already",
                    rule=f"one gateway per storage; it holds {path}",
                    next_step=f"Stop it (kill {holder}).",
                ),
            )
        except OSError as error:
            raise PlatformError(
                "ingest-folder",
                f"cannot use {folder}: {error.strerror}",
                next_step="Check the disk.",
            ) from error


class Ballast:
    """A file that only takes room, to be given up when landing needs it to make room.

    SQLite needs room even to note that something may go, and a file must be landed before its
    segment may: on a disk without any, nothing could ever move again.
    """

    def __init__(self, folder: Path, size_bytes: int) -> None:
        self._path = folder / "ballast"
        self.size_bytes = size_bytes

    @property
    def held(self) -> bool:
        """Whether it is there."""
        return self._path.exists()

    def take(self) -> None:
        """Occupy the room unless the disk is short of it."""
        if self.held or free_bytes(self._path.parent) < 3 * self.size_bytes:
            return
        handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(handle, 0, self.size_bytes)
        except OSError:
            self._path.unlink(missing_ok=True)
        finally:
            os.close(handle)

    def give(self) -> None:
        """Free the room."""
        self._path.unlink(missing_ok=True)


class DiskAdmission:
    """Closed while the log fills its share of the disk; opens again at a lower mark.

    The share is that of the log in what it could have, its own bytes and the free ones: what
    others keep on the disk is not ours to judge.

    Args:
        folder: On the disk in question.
        stop: Share at which it closes,
        resume: and opens again.
        headroom_bytes: It also closes when less than this is free.
    """

    def __init__(self, folder: Path, stop: float, resume: float, headroom_bytes: int) -> None:
        self._folder = folder
        self._stop = stop
        self._resume = resume
        self._headroom_bytes = headroom_bytes
        self.closed = False
        self.free_bytes = 0
        self._log_bytes = 0
        self._refused_bytes = 0

    def look(self, log_bytes: int) -> None:
        """Look at the disk; ``log_bytes`` is what the log takes of it."""
        free = self.free_bytes = free_bytes(self._folder)
        self._log_bytes = log_bytes
        share = log_bytes / (log_bytes + free) if log_bytes + free else 1.0
        if share >= self._stop or free < self._headroom_bytes:
            self.closed = True
        elif share <= self._resume and free >= 1.5 * self._headroom_bytes:
            self.closed = False

    def admits(self, waiting_bytes: int) -> bool:
        """Whether ``waiting_bytes`` more fit."""
        admitted = not self.closed and self._fits(waiting_bytes)
        self._refused_bytes = 0 if admitted else waiting_bytes
        return admitted

    @property
    def full(self) -> bool:
        """Whether it is closed, or what it refused last would not fit even now."""
        return self.closed or not self._fits(self._refused_bytes)

    def _fits(self, waiting_bytes: int) -> bool:
        """SQLite writes each byte twice."""
        return 2 * waiting_bytes + self._headroom_bytes <= self.free_bytes

    @property
    def excess_bytes(self) -> int:
        """What must be landed until it opens again."""
        space = self._log_bytes + self.free_bytes
        return max(0, self._log_bytes - int(self._resume * space))
