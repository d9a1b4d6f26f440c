"""One running warehouse per storage: a file lock that dies with its process."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Self

from freshline.core.errors import PlatformError, UserError
from freshline.private import private_folder
from freshline.process_lock import ProcessLock

_STANDS_BY = " stands by"
"""Behind the number of a process that keeps others from a folder, and runs nothing in it yet."""


class WarehouseLock(ProcessLock):
    """Held while a warehouse runs, or while a process of another machine runs it and this waits.

    Args:
        folder: Made if it is not there.
        leads: False: nothing runs here until :meth:`lead`.

    Raises:
        UserError: Another process holds it (``already-running``), by its number.
        PlatformError: The file cannot be made.
    """

    def __init__(self, folder: Path, *, leads: bool = True) -> None:
        path = folder / "lock"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            private_folder(folder)
            super().__init__(path, lambda text: _taken(path, text), "" if leads else _STANDS_BY)
        except OSError as error:
            raise PlatformError(
                "lock",
                f"cannot make or write {path}: {error.strerror}",
                next_step="Check the disk.",
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

    def lead(self) -> None:
        """From now on this process runs the warehouse.

        Raises:
            PlatformError: The file cannot be written.
        """
        try:
            self.forget_note()
        except OSError as error:
            raise PlatformError(
                "lock", f"cannot write {self.path}: {error.strerror}", next_step="Check the disk."
            ) from error

    def check(self) -> None:
        """Make sure that this lock still keeps others out: nobody deleted or replaced the file.

        Raises:
            PlatformError: Somebody did (``lock-lost``): another process may run this warehouse now.
        """
        try:
            lost = self.replaced()
        except OSError:
            return  # nobody knows; a storage that is away comes back
        if lost:
            raise PlatformError(
                "lock-lost",
                f"somebody deleted or replaced {self.path} while this warehouse runs",
                rule="another process could now run it, too, and only one may",
                next_step="Start `freshline run` again, and leave this folder alone while it runs;"
                " nothing committed is lost.",
            )


def _taken(path: Path, text: str) -> UserError:
    """Another process holds the lock, and wrote ``text`` into it."""
    rule = f"one run per storage; it holds {path}"
    holder = text.removesuffix(_STANDS_BY)
    if holder == text:
        return UserError(
            "already-running",
            f"process {holder} runs this warehouse already",
            rule=rule,
            next_step=f"Stop it (kill {holder}), or use `freshline status`.",
        )
    return UserError(
        "already-running",
        f"process {holder} stands by for this warehouse",
        rule=rule,
        next_step="Ask on the host of the leader, which `freshline status` names; or stop this"
        f" process (kill {holder}).",
    )


def holder(folder: Path) -> int | None:
    """The process that runs the warehouse of ``folder``, None if none does, or one stands by.

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
            f"cannot see whether a warehouse runs: {path}: {error.strerror}",
            next_step="Run this as the user who runs it, or as one who may read its storage.",
        ) from error
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        text = os.read(file, 32).decode(errors="replace").strip()
        if text.endswith(_STANDS_BY):
            return None
        return int(text) if text.isdigit() else -1
    finally:
        os.close(file)
    return None
