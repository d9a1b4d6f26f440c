"""The signals at which a command that runs for long ends in order."""

from __future__ import annotations

import signal


def ending() -> tuple[signal.Signals, ...]:
    """SIGINT, SIGTERM, and SIGHUP unless it is ignored.

    A terminal that is closed sends SIGHUP. Under ``nohup`` it is ignored, and stays so.
    """
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        return signal.SIGINT, signal.SIGTERM
    return signal.SIGINT, signal.SIGTERM, signal.SIGHUP
