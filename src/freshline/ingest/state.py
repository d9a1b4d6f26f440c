"""The gateway's state for other processes: one small JSON file, replaced once a second.

``freshline status`` reads it without asking the gateway, whose port may want a token. Whether
what it says still holds is told by the engine's lock, which dies with its process.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from freshline.private import private_file

_NAME = "gateway.json"


def write_state(folder: Path, record: dict[str, Any]) -> None:
    """Replace the state; a disk that is full leaves the old one."""
    draft = folder / f".{_NAME}.{os.getpid()}.tmp"
    try:
        private_file(draft)
        draft.write_text(json.dumps(record), encoding="utf-8")
        draft.replace(folder / _NAME)
    except OSError:
        draft.unlink(missing_ok=True)


def read_state(folder: Path) -> dict[str, Any] | None:
    """The state that was written last; None without any."""
    try:
        found = json.loads((folder / _NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
