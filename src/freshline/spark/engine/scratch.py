"""Temporary files of Spark's process, in a folder of its own that does not long outlive it.

Spark and its libraries remove their temporary files when they end, and a JVM that is killed does
not. So each process has a folder of its own, whose lock tells whether it still runs; whoever comes
next removes the folders of those that are gone.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

_LOCK = ".lock"
_own: tuple[int, int, Path] | None = None
"""Of the process that made it: its number, the lock's descriptor, the folder."""


def scratch() -> Path | None:
    """This process's folder, empty; None where there can be none.

    Only to be called while no JVM of this process runs. Folders of processes that are gone are
    removed.
    """
    global _own  # noqa: PLW0603 - as long as the process
    base = Path(tempfile.gettempdir()) / f"freshline-{os.geteuid()}"
    try:
        base.mkdir(mode=0o700, exist_ok=True)
        if base.stat().st_uid != os.geteuid():
            return None
        _remove_abandoned(base)
        if _own is None or _own[0] != os.getpid() or not _own[2].is_dir():
            folder = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=base))
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX)
            _own = (os.getpid(), lock, folder)
            atexit.register(_remove, os.getpid(), folder)
    except OSError:
        return None
    for left in _own[2].iterdir():  # of a JVM that was killed in this process
        if left.name != _LOCK:
            _remove(os.getpid(), left)
    return _own[2]


def remove_own() -> None:
    """Remove this process's folder, for an end at which nothing else does."""
    if _own is not None:
        _remove(_own[0], _own[2])


def _remove_abandoned(base: Path) -> None:
    for folder in base.iterdir():
        if _own is not None and folder == _own[2]:
            continue
        with contextlib.suppress(OSError):
            # Without a lock it is being made, or was never finished: then it is empty.
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


def _remove(process: int, path: Path) -> None:
    if process != os.getpid():  # a fork of it ends
        return
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()
