"""Which complete files stand in a feed's folder.

A file is complete when no part of its name, the feed's folder downwards, starts with ``_``
or ``.`` and it does not end in .tmp, .crc or .inprogress: producers write under such a name
and rename. A file is known by its name relative to the feed's path; one that comes again
under a known name is the same file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from freshline.core.errors import PlatformError
from freshline.executor.records import FeedFile
from freshline.project.model import Feed

_UNFINISHED = (".tmp", ".crc", ".inprogress")


def is_complete(name: str) -> bool:
    """Whether a file of this name (relative to the feed) may be read."""
    parts = name.split("/")
    return not name.endswith(_UNFINISHED) and not any(part[:1] in ("_", ".") for part in parts)


class FeedListing:
    """Lists one feed; remembers which names it has told."""

    def __init__(self, feed: Feed) -> None:
        self.feed = feed
        self._known: set[str] = set()
        self._fs: tuple[Any, str] | None = None

    def forget(self, name: str) -> None:
        """Tell this file again if it is listed again (it had vanished)."""
        self._known.discard(name)

    def remember(self, names: set[str]) -> None:
        """Files told in former runs."""
        self._known |= names

    def exists(self, name: str) -> bool:
        """Whether a file is still there."""
        if "://" not in self.feed.path:
            return os.path.exists(os.path.join(self.feed.path, name))  # noqa: PTH110, PTH118
        from pyarrow import fs

        system, base = self._arrow()
        return bool(system.get_file_info(f"{base}/{name}").type != fs.FileType.NotFound)

    def new_files(self) -> list[FeedFile]:
        """Complete files not told before, by timestamp, then name.

        Raises:
            PlatformError: The folder cannot be listed. A folder that is not there yet is an
                empty one: producers make it with their first file.
        """
        found = []
        try:
            for name, size_bytes, modified_s in self._listed():
                self._known.add(name)
                timestamp_s = None
                if self.feed.timestamp is not None:
                    timestamp_s = self.feed.timestamp.timestamp_s(name.rsplit("/", 1)[-1])
                if timestamp_s is None:
                    timestamp_s = modified_s
                # To the microsecond, as commits record it: what is read back is the same.
                found.append(FeedFile(name, size_bytes, modified_s, round(timestamp_s, 6)))
        except OSError as error:
            raise PlatformError(
                "feed-listing",
                f"cannot list {self.feed.path} of feed {self.feed.name}: {error}",
                where=self.feed.place,
                next_step="Check that it exists and may be read.",
            ) from error
        found.sort(key=lambda file: (file.timestamp_s, file.name))
        return found

    def _listed(self) -> Iterator[tuple[str, int, float]]:
        if "://" not in self.feed.path:
            yield from self._listed_locally(self.feed.path, "")
        else:
            yield from self._listed_by_arrow()

    def _listed_locally(self, folder: str, prefix: str) -> Iterator[tuple[str, int, float]]:
        try:
            entries = os.scandir(folder)
        except FileNotFoundError:
            return
        with entries:
            for entry in entries:
                name = prefix + entry.name
                if name in self._known or not is_complete(name):
                    continue
                try:
                    if entry.is_dir():
                        yield from self._listed_locally(entry.path, name + "/")
                        continue
                    status = entry.stat()
                except FileNotFoundError:
                    continue  # gone between the listing and the look
                yield name, status.st_size, status.st_mtime

    def _listed_by_arrow(self) -> Iterator[tuple[str, int, float]]:
        from pyarrow import fs

        system, base = self._arrow()
        selector = fs.FileSelector(base, recursive=True, allow_not_found=True)
        for info in system.get_file_info(selector):
            name = info.path[len(base) :].lstrip("/")
            if info.type == fs.FileType.File and name not in self._known and is_complete(name):
                yield name, info.size, (info.mtime_ns or 0) / 1e9

    def _arrow(self) -> tuple[Any, str]:
        from pyarrow import fs

        if self._fs is None:
            system, path = fs.FileSystem.from_uri(self.feed.path)
            self._fs = system, path.rstrip("/")
        return self._fs


class PeriodEstimate:
    """How often a feed's files are due, learned from their timestamps.

    The median of the last gaps: one outage or one late file does not move it.
    """

    def __init__(self, most_gaps: int = 21) -> None:
        self._most_gaps = most_gaps
        self._gaps_s: list[float] = []
        self._last_s: float | None = None
        self._told_s: float | None = None

    def saw(self, timestamp_s: float) -> float | None:
        """Take in a file's timestamp; the period, when it is new or changed by a quarter."""
        if self._last_s is not None and timestamp_s > self._last_s:
            self._gaps_s.append(timestamp_s - self._last_s)
            del self._gaps_s[: -self._most_gaps]
        if self._last_s is None or timestamp_s > self._last_s:
            self._last_s = timestamp_s
        if len(self._gaps_s) < 3:  # noqa: PLR2004 - two gaps have no middle
            return None
        period_s = sorted(self._gaps_s)[len(self._gaps_s) // 2]
        if self._told_s is not None and abs(period_s - self._told_s) <= 0.25 * self._told_s:
            return None
        self._told_s = period_s
        return period_s
