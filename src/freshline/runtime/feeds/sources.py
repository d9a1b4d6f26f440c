"""What is new in a Delta table that somebody else writes, for one table that reads it.

A version that changed rows stands for a file: it is told once and remembered by its name. What an
update then loads follows from the version that the base table shows, not from what was told, so
nothing here can lose or double a row (docs/design/0117).
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from freshline.delta.arrivals import SourceCommit, read_commit
from freshline.delta.log import last_commit, local_log
from freshline.executor.records import FeedFile
from freshline.executor.source import (
    Held,
    Source,
    SourceLook,
    source_replaced,
)
from freshline.project.model import DeltaSource, Feed

_SURE_S = 10.0
"""So long a look at the log's files alone is enough: whether the next version is there."""

_Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class SourceNews:
    """What one look at a table found.

    Attributes:
        id: What Delta tells it from others by.
        version: The newest.
        newest_s: When that was made.
        files: New versions, oldest first, as files for the core.
        notices: What people should hear, a sentence each.
    """

    id: str
    version: int
    newest_s: float | None
    files: list[FeedFile] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    @property
    def ends(self) -> dict[str, int]:
        """The newest version, as the journal keeps it."""
        return {"version": self.version}

    @property
    def lost_names(self) -> list[str]:
        """None: what cannot be read version by version is loaded as a whole."""
        return []


class SourceListing:
    """One base table's view of its feed's Delta table.

    Args:
        feed: Of kind delta.
        table: The base table.
        source: To look at.
        path: Where the base table is.
        known: Names of the versions that it was told of.
        newest_s: The greatest timestamp among them; None before the first.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        feed: Feed,
        table: str,
        source: Source,
        path: str,
        known: Iterable[str] = (),
        newest_s: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        assert isinstance(feed.settings, DeltaSource)
        self.feed = feed
        self.table = table
        self._on_new_table = feed.settings.on_new_table
        self._source = source
        self._path = path
        self._known = set(known)
        self._newest_s = newest_s
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: Held | None = None
        self._quiet: tuple[SourceNews, str, tuple[_Stamp, _Stamp | None]] | None = None
        self._sure_until_s = float("-inf")

    def exists(self, name: str) -> bool:
        """Whether it can be read; always: where it cannot, the newest version is."""
        return True

    def forget(self, name: str) -> None:
        """Nothing is told again: the next version says all that this one did."""

    def news(self, now_s: float) -> SourceNews:
        """Look at the table.

        Raises:
            PlatformError: It cannot be read, is not there, or is refused.
        """
        with self._lock:
            if self._is_quiet():
                assert self._quiet is not None
                return self._quiet[0]
            self._quiet = None
            look = self._source.look()
            if self._is_as_before(look):
                return SourceNews(look.table_id, look.version, self._newest_s)
            found = self._news(look, now_s)
            self._remember(look, found)
            return found

    def _news(self, look: SourceLook, now_s: float) -> SourceNews:
        newest = read_commit(look.path, look.version)
        at = Held(look.table_id, look.version, "" if newest is None else newest.mark)
        seen, other = self._last_seen(look)
        commits = None if seen is None or other else self._since(look.path, seen, at)
        notices: list[str] = []
        told: list[tuple[str, SourceCommit | None]] = []
        if seen is None or commits is None:
            if seen is not None:
                why = other or f"the versions after {seen.version} are no longer in its log"
                notices.append(self._again(why))
            name = f"{at.version:020d}-{at.mark or '0' * 12}"
            if name in self._known:
                name += f"~{round(now_s * 1000)}"
            told.append((name, newest))
        else:
            told += [(each.name, each) for each in commits if each.is_arrival]
            told = [each for each in told if each[0] not in self._known]
            rewrote = [each for _, each in told if each is not None and each.rewrote]
            if rewrote:
                first = rewrote[0]
                what = f"version {first.version} ({first.operation or 'of no named operation'})"
                notices.append(self._again(f"{what} changed or removed rows"))
        files = [self._file(name, commit, now_s) for name, commit in told]
        self._seen = at
        return SourceNews(look.table_id, look.version, self._newest_s, files, notices)

    def _last_seen(self, look: SourceLook) -> tuple[Held | None, str | None]:
        """Up to where versions were told, and why the table is not the one that had them.

        Raises:
            PlatformError: It is not, and the feed says to refuse that.
        """
        seen = self._seen or self._held()
        if seen is None:
            return None, None
        other = _other(look, seen)
        if other is None:
            return seen, None
        held = self._held()  # somebody may have loaded all of the new table since
        if held is not None and _other(look, held) is None:
            return held, None
        if self._on_new_table == "refuse":
            raise source_replaced(self.feed.name, other, where=self.feed.place)
        return seen, other

    def _held(self) -> Held | None:
        last = last_commit(self._path)
        return None if last is None else Held.in_commit(last.metadata)

    def _since(self, path: str, seen: Held, at: Held) -> list[SourceCommit] | None:
        """The commits behind a version; None where one of them is gone from the log."""
        commits = []
        for version in range(seen.version + 1, at.version + 1):
            commit = read_commit(path, version)
            if commit is None:
                return None
            commits.append(commit)
        return commits

    def _again(self, why: str) -> str:
        return f"feed {self.feed.name}: {why}; {self.table} is loaded again in full"

    def _file(self, name: str, commit: SourceCommit | None, now_s: float) -> FeedFile:
        """A version as a file; its time never goes back, as Delta's own does not."""
        at_s = now_s if commit is None or not commit.timestamp_s else commit.timestamp_s
        at_s = round(max(at_s, self._newest_s or at_s), 6)
        self._newest_s = at_s
        self._known.add(name)
        return FeedFile(name, 0 if commit is None else commit.size_bytes, at_s, at_s)

    # ---- looks that cost next to nothing ----

    def _is_quiet(self) -> bool:
        """Whether nothing can be new, by the log's files: no next version, the last as it was."""
        if self._quiet is None or self._clock() >= self._sure_until_s:
            return False
        found, path, stamps = self._quiet
        return _stamps(path, found.version) == stamps

    def _is_as_before(self, look: SourceLook) -> bool:
        """Whether a table in an object store need not be read: its newest version is known."""
        seen = self._seen
        return (
            seen is not None
            and (seen.table_id, seen.version) == (look.table_id, look.version)
            and local_log(look.path) is None
            and self._clock() < self._sure_until_s
        )

    def _remember(self, look: SourceLook, found: SourceNews) -> None:
        self._sure_until_s = self._clock() + _SURE_S
        stamps = _stamps(look.path, look.version)
        if stamps is not None and stamps[1] is None:
            nothing_new = SourceNews(found.id, found.version, found.newest_s)
            self._quiet = (nothing_new, look.path, stamps)


def _other(look: SourceLook, seen: Held) -> str | None:
    """Why a table is not the one, or not the history, of which a version was seen."""
    if look.table_id != seen.table_id:
        return "another table is in its place"
    if look.version < seen.version:
        return f"it went back from version {seen.version} to {look.version}"
    commit = read_commit(look.path, seen.version)
    if commit is not None and seen.mark and commit.mark != seen.mark:
        return f"version {seen.version} is another one than was loaded"
    return None


def _stamps(path: str, version: int) -> tuple[_Stamp, _Stamp | None] | None:
    """What the file system says of a version's commit and the next one's, on this machine."""
    folder = local_log(path)
    if folder is None:
        return None
    there = _stamp(f"{folder}/{version:020d}.json")
    return None if there is None else (there, _stamp(f"{folder}/{version + 1:020d}.json"))


def _stamp(file: str) -> _Stamp | None:
    try:
        status = os.stat(file)  # noqa: PTH116 - twice in each look
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
