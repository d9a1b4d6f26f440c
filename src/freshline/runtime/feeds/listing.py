"""Which complete files are in a feed's folder.

A file is complete when no part of its name, the feed's folder downwards, starts with ``_``
or ``.`` and it does not end in .tmp, .crc, .inprogress or ._COPYING_: producers write under such
a name and rename. A file is known by its name relative to the feed's path; one that comes again
under a known name is the same file.

The files of a Delta table are no feed's: after OPTIMIZE each of its rows is in two of them, and
deleted rows are there until VACUUM. A folder with a table's log is reported and left out.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from freshline.core.errors import PlatformError
from freshline.delta.stores import arrow_store
from freshline.executor.records import UNFINISHED, FeedFile
from freshline.project.model import Feed
from freshline.runtime.feeds.changed import ChangedFile, LoadedFile, LoadedFiles
from freshline.runtime.feeds.dated import DatedFolders, are_dates
from freshline.runtime.feeds.folders import Folder, Folders
from freshline.runtime.feeds.known import KnownNames
from freshline.runtime.feeds.settling import Settling
from freshline.runtime.feeds.sinks import LOG, SinkLog, logs_among

_LOGS = frozenset({"_delta_log", ".hoodie"})
"""Folders beside the files of a table, whose rows its log alone tells: Delta's and Hudi's."""

_Held = dict[str, tuple[str, os.DirEntry[str]]]
"""New files below folders that streams of Spark write: by name, that folder and the file."""


def is_complete(name: str) -> bool:
    """Whether a file of this name (relative to the feed) may be read."""
    parts = name.split("/")
    return not name.endswith(UNFINISHED) and not any(part[:1] in ("_", ".") for part in parts)


@dataclass(slots=True)
class Look:
    """What one look at a feed found.

    Attributes:
        files: Complete files not told before, by timestamp, then name.
        problems: What could not be listed or cannot be loaded. The rest of the feed was listed.
        moving: How many files are left out since they may still be written (``settle:``).
        changed: Loaded files that are no longer as they were, among those looked at this time.
        undated: Names that have no timestamp, where the feed says how a name tells one.
        sinks: Folders that a stream of Spark writes files into.
        left_out: How many files such a stream's log does not name, or not yet.
    """

    files: list[FeedFile] = field(default_factory=list)
    problems: list[PlatformError] = field(default_factory=list)
    moving: int = 0
    changed: list[ChangedFile] = field(default_factory=list)
    undated: list[str] = field(default_factory=list)
    sinks: list[str] = field(default_factory=list)
    left_out: int = 0


class FeedListing:
    """Lists one feed; remembers which of the names that are there it has told.

    Args:
        feed: Of files.
        clock: Monotonic seconds.
    """

    def __init__(self, feed: Feed, clock: Callable[[], float] = time.monotonic) -> None:
        self.feed = feed
        self._clock = clock
        self._folders = Folders()
        self._told: set[str] | None = None
        """At an object store; None: the journal has to be asked."""
        self._forgotten: set[str] = set()
        self._fs: tuple[Any, str] | None = None
        self._dated = DatedFolders()
        self._levels: dict[str, bool] = {}
        """Of a store's folders that were listed: whether those in it are named by dates."""
        self._settling = None if feed.settle_s is None else Settling(feed.settle_s)
        self._loaded: LoadedFiles | None = None
        self._known: KnownNames | None = None
        self.sinks: set[str] = set()
        """Folders that a stream of Spark writes, with a slash."""
        self._logs: dict[str, SinkLog] = {}  # of each of them

    def know(self, known: KnownNames) -> None:
        """Leave out files that former runs were told of."""
        self._known = known

    def compare_with(self, loaded: LoadedFiles) -> None:
        """Look at files that were loaded, too, for whether they have changed."""
        self._loaded = loaded

    def close(self) -> None:
        """Nothing is listed any more."""
        for each in (self._loaded, self._known):
            if each is not None:
                each.close()

    def forget(self, name: str) -> None:
        """Tell this file again if it is listed again (it had vanished); safe from any thread."""
        self._forgotten.add(name)

    def exists(self, name: str) -> bool:
        """Whether a file is still there; also true where that cannot be found out."""
        try:
            if "://" not in self.feed.path:
                os.stat(os.path.join(self.feed.path, name))  # noqa: PTH116, PTH118
                return True
            from pyarrow import fs

            system, base = self._arrow()
            return bool(system.get_file_info(f"{base}/{name}").type != fs.FileType.NotFound)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except Exception:  # noqa: BLE001 - whatever the store says, a file that may exist is kept
            return True

    def new_files(self) -> list[FeedFile]:
        """Complete files not told before, by timestamp, then name.

        Raises:
            PlatformError: A part of the feed cannot be listed; nothing counts as told.
        """
        look = self._look()
        if look.problems:
            raise look.problems[0]
        self._tell(look.files)
        return look.files

    def look(self) -> Look:
        """What is new, and what cannot be listed.

        A folder that does not exist yet is empty: producers make it with their first file.
        """
        found = self._look()
        if self._settling is not None:
            found.files, moving = self._settling.split(found.files)
            found.moving = len(moving)
        self._tell(found.files)
        return found

    def _tell(self, files: list[FeedFile]) -> None:
        for file in files:
            self._forgotten.discard(file.name)
            if self._told is not None:
                self._told.add(file.name)
            else:
                self._folders.tell(file.name)

    def _no_news(self, names: Collection[str]) -> set[str]:
        """Those of the names that former runs, or this one a while ago, were told of."""
        asked = [name for name in names if name not in self._forgotten]
        return self._known.among(asked) if self._known is not None and asked else set()

    def _look(self) -> Look:
        found = Look()
        try:
            loaded = self._loaded.piece() if self._loaded is not None else []
            if "://" not in self.feed.path:
                self._list_locally(found)
                self._compare_locally(found, loaded)
            else:
                self._list_by_arrow(found, loaded)
        except Exception as error:  # noqa: BLE001 - one feed's fault, of whatever kind
            found.problems.append(self._unlisted(self.feed.path, error))
        found.files.sort(key=lambda file: (file.timestamp_s, file.name))
        return found

    def _list_locally(self, found: Look) -> None:
        """Folders one after the other; one that cannot be listed does not hide the others."""
        now_s = self._clock()
        self._folders.check_one(now_s)
        for name in list(self._forgotten):
            self._folders.forget(name)
        folders, seen = [(self.feed.path, "")], set()
        held: _Held = {}
        while folders:
            path, prefix = folders.pop()
            seen.add(prefix)
            folder = self._folders[prefix]
            before = len(found.files), len(found.problems), len(held)
            try:
                if folder.is_to_be_listed(os.stat(path).st_mtime_ns, now_s):  # noqa: PTH116
                    inner = self._list_folder(path, prefix, folder, found, held)
                    quiet = before == (len(found.files), len(found.problems), len(held))
                    folder.was_listed(inner, now_s, quiet=quiet)
            except FileNotFoundError:
                seen.discard(prefix)
                continue
            except OSError as error:
                found.problems.append(self._unlisted(path, error))
                folder.at_rest = False
                continue
            folders += [(os.path.join(path, name), f"{prefix}{name}/") for name in folder.folders]  # noqa: PTH118
        if not found.problems:
            self._folders.keep_only(seen)
        self._look_at_committed(held, found)

    def _list_folder(
        self, path: str, prefix: str, folder: Folder, found: Look, held: _Held
    ) -> list[str]:
        """Add what is new in one folder, or hold it back until a log is read; folders in it."""
        folders: list[str] = []
        present: set[str] = set()
        entries: dict[str, os.DirEntry[str]] = {}
        is_sink = False
        with os.scandir(path) as listed:
            for entry in listed:
                name = prefix + entry.name
                if entry.name in _LOGS:
                    found.problems.append(self._of_a_table(path, entry.name))
                    return []
                is_sink |= entry.name == LOG
                if folder.names is not None and name in folder.names:
                    present.add(name)
                elif is_complete(name) and self._is_text(name, found):
                    is_folder = self._is_folder(entry, found)
                    if is_folder and entry.is_symlink() and self._leads_back(entry.path):
                        found.problems.append(self._of_a_loop(entry.path))
                    elif is_folder:
                        folders.append(entry.name)
                    elif is_folder is not None:
                        entries[name] = entry
        if folder.names is None:
            present |= self._no_news(entries)
        folder.names = present
        self.sinks.discard(prefix)
        if is_sink:
            found.sinks.append(path)
            self.sinks.add(prefix)
        sink = self._sink_of(prefix)
        for name in entries.keys() - present:
            if sink is None:
                self._look_at(entries[name], name, found)
            else:
                held[name] = sink, entries[name]
        return folders

    def _sink_of(self, name: str) -> str | None:
        """The innermost folder that a stream of Spark writes and that a file or folder is in."""
        return max((each for each in self.sinks if name.startswith(each)), key=len, default=None)

    def _look_at_committed(self, held: _Held, found: Look) -> None:
        """Add new files that the logs of streams of Spark name; a log is read once a look."""
        for sink in {sink for sink, _ in held.values()}:
            folder = Path(self.feed.path, sink)
            own = {name.removeprefix(sink): name for name in held if held[name][0] == sink}
            try:
                left_out = self._logs.setdefault(sink, SinkLog()).left_out_locally(own, folder)
            except FileNotFoundError:
                continue  # Spark removed a part of the log meanwhile: the next look reads others
            except OSError as error:
                found.problems.append(self._unlisted(str(folder), error))
                continue
            found.left_out += len(left_out)
            for name in own.keys() - left_out:
                self._look_at(held[own[name]][1], own[name], found)

    def _look_at(self, entry: os.DirEntry[str], name: str, found: Look) -> None:
        """Add a file that is new."""
        try:
            status = entry.stat()
        except FileNotFoundError:
            if entry.is_symlink():  # what it leads to may come without a change of the folder
                self._folders.of(name).modified_ns = None
            return  # gone between the listing and the look
        except OSError as error:
            found.problems.append(self._unlisted(entry.path, error))
            return
        if stat.S_ISREG(status.st_mode):
            self._add(found, name, status.st_size, status.st_mtime)
        else:
            found.problems.append(self._of_no_file(entry.path))

    def _is_folder(self, entry: os.DirEntry[str], found: Look) -> bool | None:
        try:
            return entry.is_dir()
        except OSError as error:
            found.problems.append(self._unlisted(entry.path, error))
            return None

    def _leads_back(self, path: str) -> bool:
        """Whether a link is to a folder that it is in: its files are on the way to it already."""
        with contextlib.suppress(OSError):
            leads_to = Path(path).resolve()
            while len(path) > len(self.feed.path):
                path = os.path.dirname(path)  # noqa: PTH120
                if Path(path).resolve().is_relative_to(leads_to):
                    return True
        return False

    def _compare_locally(self, found: Look, loaded: list[LoadedFile]) -> None:
        for each in loaded:
            try:
                status = os.stat(os.path.join(self.feed.path, each.name))  # noqa: PTH116, PTH118
            except OSError:
                continue  # loaded files may be deleted; a folder that cannot be read is told
            self._compare(found, each, status.st_size, status.st_mtime)

    def _compare(self, found: Look, was: LoadedFile, size_bytes: int, modified_s: float) -> None:
        if was.differs(size_bytes, modified_s):
            now = FeedFile(was.name, size_bytes, modified_s, modified_s)
            found.changed.append(ChangedFile(was, now))

    def _list_by_arrow(self, found: Look, loaded: list[LoadedFile]) -> None:
        sought: dict[str, list[LoadedFile]] = {}
        for each in loaded:
            sought.setdefault(each.name, []).append(each)
        watched = () if self._settling is None else self._settling.watched
        wanted = {*sought, *self._forgotten, *watched}
        infos = self._objects("", wanted, everything=self._told is None)
        tables = _folders_of_tables(infos)
        for table, log in tables.items():
            found.problems.append(self._of_a_table(f"{self.feed.path}/{table}".rstrip("/"), log))
        infos = {name: info for name, info in infos.items() if not name.startswith(tuple(tables))}
        names = [name for name in infos if is_complete(name)]
        told = self._told or set()
        if self._known is not None:  # else nobody knows the names of folders not listed this time
            told = told.intersection(names)
            told |= self._no_news([name for name in names if name not in told])
        self._told = told - self._forgotten
        left_out = self._not_committed(infos, [name for name in names if name not in self._told])
        found.sinks += [f"{self.feed.path}/{sink}".rstrip("/") for sink in sorted(self.sinks)]
        found.left_out = len(left_out)
        for name, info in infos.items():
            modified_s = (info.mtime_ns or 0) / 1e9
            for was in sought.get(name, ()):
                self._compare(found, was, info.size, modified_s)
            if name not in self._told and is_complete(name) and name not in left_out:
                self._add(found, name, info.size, modified_s)

    def _not_committed(self, infos: Collection[str], names: Collection[str]) -> set[str]:
        """As :meth:`_look_at_committed`, of a store; the files that may not be read."""
        logs = logs_among(infos)
        self.sinks = set(logs)
        of_sinks: dict[str, list[str]] = {sink: [] for sink in logs}
        for name in names:
            if (above := self._sink_of(name)) is not None:
                of_sinks[above].append(name.removeprefix(above))
        system, base = self._arrow()
        left_out: set[str] = set()
        for sink, own in of_sinks.items():

            def text(file: str, folder: str = f"{base}/{sink}{LOG}") -> str:
                with system.open_input_stream(f"{folder}/{file}") as stream:
                    return str(stream.read(), "utf-8")

            log = self._logs.setdefault(sink, SinkLog())
            left_out |= {sink + name for name in log.left_out(own, logs[sink], text)}
        return left_out

    def _objects(self, prefix: str, wanted: Collection[str], *, everything: bool) -> dict[str, Any]:
        """What a store has below a folder of the feed, of dates the newest: see ``dated.py``."""
        from pyarrow import fs

        system, base = self._arrow()
        known = self._levels.get(prefix)
        selector = fs.FileSelector(
            f"{base}/{prefix}".rstrip("/"), recursive=known is False, allow_not_found=True
        )
        found: dict[str, Any] = {}
        folders: set[str] = set()
        for info in system.get_file_info(selector):
            name = info.path[len(base) :].lstrip("/")
            inner, slash, _ = name[len(prefix) :].partition("/")
            if info.type == fs.FileType.File:
                found[name] = info
            elif info.base_name == LOG or info.base_name in _LOGS:  # maybe without any file yet
                found[f"{name}/"] = info
            if slash or info.type == fs.FileType.Directory:
                folders.add(inner)
        dated = self._levels[prefix] = are_dates(prefix, folders)
        if known is False:  # all of it is listed already
            return found
        for folder in self._dated.chosen(prefix, sorted(folders), wanted, everything=everything):
            below = f"{prefix}{folder}/"
            if not dated:
                self._levels.setdefault(below, False)
            found |= self._objects(below, wanted, everything=everything)
        return found

    def _add(self, found: Look, name: str, size_bytes: int, modified_s: float) -> None:
        timestamp_s = None
        if self.feed.timestamp is not None:
            timestamp_s = self.feed.timestamp.timestamp_s(name.rsplit("/", 1)[-1])
            if timestamp_s is None:
                found.undated.append(name)
        if timestamp_s is None:
            timestamp_s = modified_s
        # To the microsecond, as commits record it: what is read back is the same.
        found.files.append(FeedFile(name, size_bytes, modified_s, round(timestamp_s, 6)))

    def _is_text(self, name: str, found: Look) -> bool:
        """Whether a name is UTF-8, as the journal and the commits need it."""
        try:
            name.encode()
        except UnicodeEncodeError:
            shown = os.fsencode(name).decode("utf-8", "backslashreplace")
            found.problems.append(
                PlatformError(
                    "file-name",
                    f"feed {self.feed.name} leaves out {shown}: its name is not UTF-8",
                    where=self.feed.place,
                    next_step="Rename it.",
                )
            )
            return False
        return True

    def _of_a_table(self, path: str, log: str) -> PlatformError:
        kind = "Delta" if log == "_delta_log" else "Hudi"
        return PlatformError(
            "feed-of-a-table",
            f"feed {self.feed.name} leaves out {path}: it is the folder of a {kind} table",
            where=self.feed.place,
            rule="which of such files hold rows is in the table's log alone",
            next_step="For a Delta table declare a feed of `kind: delta` with this path.",
        )

    def _of_a_loop(self, path: str) -> PlatformError:
        return PlatformError(
            "feed-listing",
            f"feed {self.feed.name} leaves out {path}: it is a link to a folder that it is in",
            where=self.feed.place,
            rule="a file that is found under several names is loaded several times",
            next_step="Remove the link.",
        )

    def _of_no_file(self, path: str) -> PlatformError:
        return PlatformError(
            "feed-listing",
            f"feed {self.feed.name} leaves out {path}: it is a pipe, a socket or a device",
            where=self.feed.place,
            rule="whoever reads a pipe waits for a writer, maybe for ever",
            next_step="Remove it, or give it a name that begins with a point.",
        )

    def _unlisted(self, path: str, error: Exception) -> PlatformError:
        shown = os.fsencode(path).decode("utf-8", "backslashreplace")
        return PlatformError(
            "feed-listing",
            f"cannot list {shown} of feed {self.feed.name}: {error}",
            where=self.feed.place,
            next_step="Check that it exists and may be read.",
        )

    def _arrow(self) -> tuple[Any, str]:
        if self._fs is None:
            self._fs = arrow_store(self.feed.path)
        return self._fs


def _folders_of_tables(names: Collection[str]) -> dict[str, str]:
    """Of names below a feed: the folders that have a table's log, with a slash, and its name."""
    found: dict[str, str] = {}
    for name in names:
        parts = name.split("/")
        for depth, part in enumerate(parts[:-1]):
            if part in _LOGS:
                found["".join(f"{each}/" for each in parts[:depth])] = part
    return found


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
