"""Where a run and a standby are served, for other processes: a small JSON file beside the journal.

``freshline status`` reads it. Whether it still holds is told by the lock of the warehouse, which
dies with its process.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from freshline.private import private_folder
from freshline.project.model import Project
from freshline.runtime.journal.lock import holder
from freshline.runtime.journal.paths import own_folder
from freshline.runtime.lease.machine import has_ended, this_machine

_NAME = "server.json"
_STANDBY = "standby.json"


def note_address(project: Project, url: str | None) -> None:
    """Write down where this process serves the project; a full disk leaves the old address."""
    _note(project, _NAME, {"url": url, "pid": os.getpid()})


def note_standby(project: Project, url: str | None) -> None:
    """Write down where this process answers while it stands by; None: it does no longer."""
    _note(project, _STANDBY, {"url": url, "pid": os.getpid(), "machine": this_machine()})


def standby_at(project: Project) -> str | None:
    """The address of a standby on this machine; None where none has one."""
    found = _noted(own_folder(project), _STANDBY)
    if found.get("machine") != this_machine() or has_ended(int(found.get("pid", 0))):
        return None
    return found.get("url")


def served_at(project: Project) -> str | None:
    """The address of the run that goes on; None where none does, or it has none yet."""
    folder: Path = own_folder(project)
    pid = holder(folder)
    if pid is None:
        return None
    found = _noted(folder, _NAME)
    return found.get("url") if found.get("pid") == pid else None


def _note(project: Project, name: str, record: dict[str, Any]) -> None:
    folder = own_folder(project)
    draft = folder / f".{name}.{os.getpid()}.tmp"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        private_folder(folder)
        draft.write_text(json.dumps(record), encoding="utf-8")
        draft.replace(folder / name)
    except OSError:
        draft.unlink(missing_ok=True)


def _noted(folder: Path, name: str) -> dict[str, Any]:
    try:
        found = json.loads((folder / name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
