"""The signals at which a command that runs for long ends in order."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

STARTS_SPARK = "freshline.spark.engine.submission"
"""The module that ends Spark at once, where it was loaded."""

Handler = Callable[[int, FrameType | None], None]
"""Called in the main thread with the signal's number."""


@contextmanager
def ended_by(handler: Handler) -> Iterator[None]:
    """Have those signals call ``handler``, and what they called before again at the end."""
    before = {number: signal.signal(number, handler) for number in ending()}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def ending() -> tuple[signal.Signals, ...]:
    """SIGINT, SIGTERM, and SIGHUP unless it is ignored.

    A terminal that is closed sends SIGHUP. Under ``nohup`` it is ignored, and stays so.
    """
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        return signal.SIGINT, signal.SIGTERM
    return signal.SIGINT, signal.SIGTERM, signal.SIGHUP
