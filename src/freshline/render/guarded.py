"""Standard error of a long run: what cannot be written there must not end or stop the run.

The disk of the log may be full, the reader of a pipe gone, or hanging. So lines go through a
queue to a thread of their own; what cannot be written is counted, and the count is written as
soon as something can be.
"""

from __future__ import annotations

import contextlib
import io
import os
import queue
import sys
import threading
from collections.abc import Iterator
from typing import TextIO

_MOST_WAITING = 10_000
_DRAIN_S = 2.0


@contextlib.contextmanager
def guarded_stderr() -> Iterator[GuardedStream]:
    """Replace ``sys.stderr`` by a stream that never fails and never waits."""
    before = sys.stderr
    stream = GuardedStream(before)
    sys.stderr = stream
    try:
        yield stream
    finally:
        sys.stderr = before
        stream.drain()


class GuardedStream(io.TextIOBase):
    """Writes to another stream, from a thread.

    Args:
        to: Where everything goes.

    Attributes:
        lost_lines: Not written, and not reported yet.
    """

    def __init__(self, to: TextIO) -> None:
        self._to = to
        self._waiting: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.lost_lines = 0
        self._begun = threading.local()
        self._thread = threading.Thread(target=self._work, name="stderr", daemon=True)
        self._thread.start()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Of the stream behind."""
        return self._to.encoding or "utf-8"

    def writable(self) -> bool:
        """It is."""
        return True

    def isatty(self) -> bool:
        """Whether a person reads it."""
        return self._to.isatty()

    def fileno(self) -> int:
        """Of the stream behind."""
        return self._to.fileno()

    def write(self, text: str) -> int:
        """Queue whole lines; where too much waits they are lost and counted."""
        # ``print`` writes a line and its end apart, and threads must not come in between.
        whole, newline, rest = (getattr(self._begun, "text", "") + text).rpartition("\n")
        self._begun.text = rest
        if newline:
            self._queue(whole + newline)
        return len(text)

    def flush(self) -> None:
        """Queue a line that has only begun; nothing is waited for."""
        begun: str = getattr(self._begun, "text", "")
        if begun:
            self._begun.text = ""
            self._queue(begun)

    def _queue(self, text: str) -> None:
        if self._waiting.qsize() >= _MOST_WAITING:
            self.lost_lines += text.count("\n")
        else:
            self._waiting.put(text)

    def drain(self) -> None:
        """Wait until everything is written, but not for a reader that hangs."""
        self.flush()
        self._waiting.put(None)
        self._thread.join(_DRAIN_S)

    def _work(self) -> None:
        while True:
            text = self._waiting.get()
            if text is None:
                return
            lost, report = self.lost_lines, ""
            if lost:
                report = f"freshline: {lost} lines could not be written here\n"
            try:
                self._put(report + text)
            except (OSError, ValueError):
                self.lost_lines += text.count("\n")
            else:
                self.lost_lines -= lost

    def _put(self, text: str) -> None:
        try:
            target = self._to.fileno()
        except (OSError, ValueError):
            self._to.write(text)  # a stream in memory
            return
        # Past the stream's buffer, which would keep what could not be written.
        left = text.encode(self.encoding, "backslashreplace")
        while left:
            left = left[os.write(target, left) :]
