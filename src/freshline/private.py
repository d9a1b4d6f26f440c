"""Files and folders that only the user who runs freshline may read, whatever the umask.

They hold values of rows: pushed records, rows in errors, names of files. Nothing here raises: on a
file system without modes, or for a file of another user, what follows works or fails by itself.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

_FOLDER, _FILE = 0o700, 0o600
_OF_OTHERS, _OF_STRANGERS = 0o077, 0o007


def private_folder(folder: Path, *, shared: bool = False) -> None:
    """Keep others out of a folder that is there.

    Args:
        folder: The folder.
        shared: Whether one that is open to its group alone stays so: somebody let that in.
    """
    with contextlib.suppress(OSError):
        mode = folder.stat().st_mode
        if stat.S_ISDIR(mode) and mode & (_OF_STRANGERS if shared else _OF_OTHERS):
            folder.chmod(_FOLDER)


def private_file(path: Path) -> None:
    """Keep others from reading a file and what SQLite keeps beside it; made empty if missing.

    A file that is there is never opened: closing it would drop the locks of SQLite's connections
    in this process. SQLite gives the files that it makes beside a database the database's mode.
    """
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _FILE))
    for suffix in ("", "-wal", "-shm", "-journal"):
        part = path.with_name(path.name + suffix)
        with contextlib.suppress(OSError):
            mode = part.stat().st_mode
            if stat.S_ISREG(mode) and mode & _OF_OTHERS:
                part.chmod(_FILE)
