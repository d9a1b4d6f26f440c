"""freshline with a wall clock that the soak sets: ``python -m tests.soak.entry run ...``.

The file that FRESHLINE_SOAK_CLOCK names says by how many seconds the clock is ahead.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

_OFFSET = Path(os.environ["FRESHLINE_SOAK_CLOCK"])
_real_time_s = time.time


def _time_s() -> float:
    try:
        return _real_time_s() + float(_OFFSET.read_text())
    except (OSError, ValueError):
        return _real_time_s()


time.time = _time_s

from freshline.cli.main import main  # noqa: E402 - the clock comes first

main()
