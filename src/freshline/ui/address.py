"""Where a run is served, for other processes: one small JSON file beside the journal.

``freshline status`` reads it. Whether it still holds is told by the lock of the warehouse, which
dies with its process.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from freshline.private import private_folder
from freshline.project.model import Project
from freshline.runtime.journal.lock import holder
from freshline.runtime.journal.paths import own_folder

_NAME = "server.json"


def note_address(project: Project, url: str | None) -> None:
    """Write down where this process serves the project; a full disk leaves the old address."""
    folder = own_folder(project)
    draft = folder / f".{_NAME}.{os.getpid()}.tmp"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        private_folder(folder)
        draft.write_text(json.dumps({"url": url, "pid": os.getpid()}), encoding="utf-8")
        draft.replace(folder / _NAME)
    except OSError:
        draft.unlink(missing_ok=True)


def served_at(project: Project) -> str | None:
    """The address of the run that goes on; None where none does, or it has none yet."""
    folder: Path = own_folder(project)
    pid = holder(folder)
    if pid is None:
        return None
    try:
        found = json.loads((folder / _NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found.get("url") if isinstance(found, dict) and found.get("pid") == pid else None
