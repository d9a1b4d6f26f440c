"""Files and names that are still there after a power cut.

A file's content and its name in the folder are two things to a disk: each is flushed by itself.
"""

from __future__ import annotations

import os
from pathlib import Path


def sync_file(path: Path) -> None:
    """Make a file's content durable.

    Raises:
        OSError: It is not there, or the disk failed.
    """
    _sync(path, os.O_RDONLY | os.O_CLOEXEC)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable.

    Raises:
        OSError: It is not there, or the disk failed.
    """
    _sync(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def make_folder(folder: Path) -> None:
    """Make it and its parents, durably."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(exist_ok=True)
        sync_folder(path.parent)


def _sync(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
