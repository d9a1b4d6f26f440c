"""A journal that another process still has open is left to that process.

Such a process hangs, or cannot reach the lease and goes on writing. It may hold SQLite's lock, and
may write at any moment. So its successor goes on with a copy of what is committed, under the same
name. SQLite sees that the file it has open was moved, and then neither checkpoints nor deletes
what stands beside the name.

The files themselves must not be copied: while the log is copied and then the database, a checkpoint
between the two leaves old pages over new ones, which no quick check finds.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from freshline.durable import sync_file, sync_folder
from freshline.failpoints import failpoint
from freshline.private import private_file

_BESIDE = ("-wal", "-shm")
_PATIENCE_S = 5.0
"""A process that was stopped while it opened the journal keeps others from reading it."""


def leave_behind(path: Path) -> str | None:
    """Put a copy of the journal in its place; nothing where there is none.

    Returns:
        What people should hear: it cannot be read, and is moved aside, to be rebuilt.

    Raises:
        OSError: It cannot be copied.
    """
    finish_leaving(path)
    if not path.exists():
        return None
    draft = path.with_name(f".{path.name}.copy")
    draft.unlink(missing_ok=True)
    private_file(draft)
    try:
        _copy(path, draft)
    except sqlite3.Error as error:
        draft.unlink(missing_ok=True)
        aside = _left(path)
        return f"the journal of the other process cannot be read ({error}); it is left as {aside}"
    sync_file(draft)
    draft.replace(_ready(path))
    sync_folder(path.parent)
    failpoint("succession.ready")
    finish_leaving(path)
    return None


def finish_leaving(path: Path) -> None:
    """Put a copy in place that a process made which died then; before anybody opens the journal.

    What stands beside the old file goes first: SQLite would apply that log to the copy.
    """
    ready = _ready(path)
    if not ready.exists():
        return
    for suffix in _BESIDE:
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    failpoint("succession.unlinked")
    ready.replace(path)
    sync_folder(path.parent)


def _copy(path: Path, draft: Path) -> None:
    """All that is committed at one moment, whatever the other process does meanwhile."""
    with (
        closing(_opened(path, "ro")) as source,
        closing(_opened(draft, "rw")) as target,
    ):
        source.backup(target)


def _opened(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(str(path))}?mode={mode}", uri=True, timeout=_PATIENCE_S)


def _left(path: Path) -> str:
    """Move a journal out of the way, the database first: a log alone is nobody's."""
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    aside = path.with_name(f"{path.name}.left-{moment}")
    for suffix in ("", *_BESIDE):
        part = path.with_name(path.name + suffix)
        if part.exists():
            part.replace(aside.with_name(aside.name + suffix))
    return aside.name


def _ready(path: Path) -> Path:
    """Where a whole copy waits to be put in place."""
    return path.with_name(f".{path.name}.ready")
