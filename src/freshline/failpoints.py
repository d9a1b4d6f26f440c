"""Named places at which a test can make the process die or the disk fail.

``FRESHLINE_FAILPOINT=name`` kills the process (SIGKILL) the first time it passes ``name``;
``name:3`` the third time; ``name=stop`` stops it (SIGSTOP) until somebody continues it;
``name=eio`` and ``name=enospc`` raise the OSError instead, once;
``name=wrong`` has a place that asks :func:`goes_wrong` compute something wrong, for good.
``armed`` does the same within a process.
Without either a failpoint costs one dictionary look-up in an empty dictionary.
"""

from __future__ import annotations

import errno
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_WRONG = "wrong"
_ERRORS = {"eio": errno.EIO, "enospc": errno.ENOSPC}
_SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}


def _parsed(setting: str) -> dict[str, tuple[int, str]]:
    armed = {}
    for item in filter(None, setting.split(",")):
        name, _, action = item.partition("=")
        name, _, count = name.partition(":")
        armed[name] = (int(count or 1), action or "kill")
    return armed


_points = _parsed(os.environ.get("FRESHLINE_FAILPOINT", ""))
_lock = threading.Lock()


@contextmanager
def armed(setting: str) -> Iterator[None]:
    """Arm failpoints as the variable would, in this process, for a while."""
    with _lock:
        _points.update(_parsed(setting))
    try:
        yield
    finally:
        with _lock:
            _points.clear()


def failpoint(name: str) -> None:
    """Die, stop, or raise, if this place is armed.

    Raises:
        OSError: EIO or ENOSPC, when the failpoint is armed with that action.
    """
    if not _points:
        return
    with _lock:
        if name not in _points:
            return
        count, action = _points[name]
        if action == _WRONG:
            return
        if count > 1:
            _points[name] = (count - 1, action)
            return
        del _points[name]
    if action in _SIGNALS:
        os.kill(os.getpid(), _SIGNALS[action])
        return
    raise OSError(_ERRORS[action], os.strerror(_ERRORS[action]), name)


def goes_wrong(name: str) -> bool:
    """Whether this place is armed to compute something wrong, so that others must find it."""
    return bool(_points) and _points.get(name, (0, ""))[1] == _WRONG
