"""One running warehouse per storage: a file lock that dies with its process."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from freshline.core.errors import PlatformError, UserError
from freshline.private import private_folder

_TRIES, _TRY_S = 10, 0.05


class WarehouseLock:
    """Held while a warehouse runs; the file holds the process' number.

    The kernel drops the lock when the process ends however it ends, so a stale file means
    nothing.

    Raises:
        UserError: Another process holds it (``already-running``), by its number.
        PlatformError: The file cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "lock"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            private_folder(folder)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise PlatformError(
                "lock", f"cannot make {self.path}: {error.strerror}", next_step="Check the disk."
            ) from error
        try:
            self._take()
        except OSError as error:
            holder = os.read(self._file, 32).decode(errors="replace").strip() or "unknown"
            os.close(self._file)
            raise UserError(
                "already-running",
                f"process {holder} runs this warehouse already",
                rule=f"one run per storage; it holds {self.path}",
                next_step=f"Stop it (kill {holder}), or use `freshline status`.",
            ) from error
        try:
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, str(os.getpid()).encode(), 0)
        except OSError as error:
            os.close(self._file)
            raise PlatformError(
                "lock", f"cannot write {self.path}: {error.strerror}", next_step="Check the disk."
            ) from error

    @classmethod
    def in_place_of(cls, folder: Path) -> Self:
        """The lock of a folder whose holder has lost the lease: its file is replaced by ours.

        The other process finds that out by :meth:`check` and ends.

        Raises:
            PlatformError: The file cannot be made.
        """
        path = folder / "lock"
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise PlatformError(
                "lock", f"cannot replace {path}: {error.strerror}", next_step="Check the disk."
            ) from error
        return cls(folder)

    def _take(self) -> None:
        """Lock the file; who only asks for the holder has it for a moment."""
        for _ in range(_TRIES):
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            time.sleep(_TRY_S)
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def check(self) -> None:
        """Make sure that this lock still keeps others out: nobody deleted or replaced the file.

        Raises:
            PlatformError: Somebody did (``lock-lost``): another process may run this warehouse now.
        """
        try:
            found = self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            found = None
        except OSError:
            return  # nobody knows; a storage that is away comes back
        held = os.fstat(self._file)
        if found is None or (found.st_dev, found.st_ino) != (held.st_dev, held.st_ino):
            raise PlatformError(
                "lock-lost",
                f"somebody deleted or replaced {self.path} while this warehouse runs",
                rule="another process can run it now, too, and one alone may",
                next_step="Start `freshline run` again, and leave this folder alone while it runs;"
                " nothing committed is lost.",
            )

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


def holder(folder: Path) -> int | None:
    """The process that runs the warehouse of ``folder``, None if none does.

    Anybody who may read the lock may ask; locks know of no permission to write.

    Raises:
        PlatformError: The lock may not be read, so nobody knows.
    """
    path = folder / "lock"
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise PlatformError(
            "lock",
            f"whether a warehouse runs cannot be seen: {path}: {error.strerror}",
            next_step="Ask as the user who runs it, or as one who may read its storage.",
        ) from error
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        text = os.read(file, 32).decode(errors="replace").strip()
        return int(text) if text.isdigit() else -1
    finally:
        os.close(file)
    return None
