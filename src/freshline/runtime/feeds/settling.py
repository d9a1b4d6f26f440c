"""Which files of a feed are complete: `settle:`, for producers that write under the final name."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable

from freshline.executor.records import FeedFile

_OLD_S = 3600.0
"""A file that was written so long ago stands still, however far apart the clocks are."""


class Settling:
    """Watches sizes and modification times from look to look.

    Args:
        settle_s: How long a file has to stand still.
        elapsed: Seconds that no setting of the clock changes.
        wall: Seconds since the epoch, only to tell old files.
    """

    def __init__(
        self,
        settle_s: float,
        elapsed: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.settle_s = settle_s
        self._elapsed = elapsed
        self._wall = wall
        self._since: dict[str, tuple[int, float, float]] = {}

    @property
    def watched(self) -> Collection[str]:
        """The files that may still be written: the next look has to find them."""
        return self._since.keys()

    def split(self, files: Iterable[FeedFile]) -> tuple[list[FeedFile], list[FeedFile]]:
        """The files that stand still, and those that may still be written, in their order.

        Args:
            files: Every file of this look that was not told yet. What is not among them is
                forgotten.
        """
        now_s, old_s = self._elapsed(), self._wall() - _OLD_S - self.settle_s
        still, others, since = [], [], {}
        for file in files:
            watched = self._since.get(file.name)
            size_bytes, modified_s, since_s = watched or (-1, 0.0, now_s)
            if (size_bytes, modified_s) != (file.size_bytes, file.modified_s):
                since_s = now_s
            # Of one that was seen young the clock may have jumped, as after a machine slept.
            is_old = watched is None and file.modified_s < old_s
            if is_old or now_s - since_s >= self.settle_s:
                still.append(file)
            else:
                since[file.name] = (file.size_bytes, file.modified_s, since_s)
                others.append(file)
        self._since = since
        return still, others
