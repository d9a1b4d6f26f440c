"""A journal that a hung process still has open is left to that process.

Such a process may hold SQLite's lock for ever, and may write when it wakes up. So its successor
goes on with a copy under the same name. SQLite sees that the file it has open was moved, and then
neither checkpoints nor deletes what stands beside the name.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from freshline.private import private_file

_PARTS = ("-wal", "")
"""The log before the file: it is applied to the file, old or new, only where it belongs to it."""


def leave_behind(path: Path) -> None:
    """Put a copy of the journal in its place; nothing where there is none.

    Raises:
        OSError: It cannot be copied.
    """
    drafts = []
    for part in _PARTS:
        source = path.with_name(path.name + part)
        draft = path.with_name(f".{path.name}{part}.copy")
        if source.exists():
            shutil.copyfile(source, draft)
            drafts.append((draft, source))
    for draft, target in drafts:
        draft.replace(target)
    path.with_name(path.name + "-shm").unlink(missing_ok=True)
    if drafts:
        private_file(path)
