"""What the commits of a table that somebody else writes did to its rows; read without Spark.

A version stands where a feed of files has a file. Its name has the version's number and a mark of
its commit, so that a version of another table, or of another history of the same one, has another
name.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from freshline.delta.log import local_log
from freshline.delta.log_files import unreadable
from freshline.delta.stores import arrow_store, text_lines

_NAME = re.compile(r"(\d{20})-([0-9a-f]{12})(?:~\d+)?\Z")

_WRITES = frozenset({"WRITE", "STREAMING UPDATE"})
"""Operations that stand for data also where they brought no row."""

_OF_PROPERTIES = re.compile(
    r"(UN)?SET |(ADD|DROP) (CONSTRAINT|FEATURE)|UPGRADE PROTOCOL|CLUSTER BY|SYNC IDENTITY"
    r"|UPDATE COLUMN METADATA|COMPUTE STATS|OPTIMIZE|REORG|VACUUM"
)
"""How operations begin that change a table's metadata and none of its columns."""


@dataclass(frozen=True, slots=True)
class SourceCommit:
    """One commit.

    Attributes:
        version: The Delta version that it made.
        mark: What tells it from a commit of the same number in another history.
        timestamp_s: When it was made, seconds since the epoch, by the writer's clock.
        operation: What it calls itself, e.g. MERGE; empty where it does not.
        appended: The ``add`` actions that brought rows, each a line of the log.
        rewrote: Rows that were there before were changed or removed.
        redefined: The table's columns or properties were changed.
        rows: In the files added, as far as the log tells.
        size_bytes: Of the files added.
    """

    version: int
    mark: str
    timestamp_s: float
    operation: str
    appended: tuple[str, ...]
    rewrote: bool
    redefined: bool
    rows: int
    size_bytes: int

    @property
    def is_arrival(self) -> bool:
        """Whether it changed rows or columns, or was a write without any rows.

        After the last of these freshness alone moves.
        """
        if self.appended or self.rewrote:
            return True
        if self.redefined:
            return _OF_PROPERTIES.match(self.operation) is None
        return self.operation in _WRITES

    @property
    def name(self) -> str:
        """Under which a feed knows the version."""
        return f"{self.version:020d}-{self.mark}"


def is_version(name: str) -> bool:
    """Whether it names a version; a table that read another feed before has other names, too."""
    return _NAME.match(name) is not None


def named(name: str) -> tuple[int, str]:
    """Version and mark that a name stands for.

    Raises:
        ValueError: It is no version's name.
    """
    found = _NAME.match(name)
    if found is None:
        raise ValueError(name)
    return int(found[1]), found[2]


def read_commit(path: str, version: int) -> SourceCommit | None:
    """One commit of the table at a path; None where its file is not there.

    Raises:
        PlatformError: It cannot be read.
    """
    return _Tally(version).result(_lines(path, version))


def _lines(path: str, version: int) -> Iterator[str]:
    name = f"{version:020d}.json"
    folder = local_log(path)
    try:
        if folder is not None:
            with (folder / name).open(encoding="utf-8") as lines:
                yield from lines
            return
        system, base = arrow_store(path)
        yield from text_lines(system, f"{base}/_delta_log/{name}")
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise unreadable(f"{path}/_delta_log/{name}", error) from error


class _Tally:
    def __init__(self, version: int) -> None:
        self._version = version
        self._appended: list[str] = []
        self._rewrote = self._redefined = False
        self._rows = self._bytes = 0
        self._info: Mapping[str, Any] | None = None
        self._all = hashlib.sha256()

    def result(self, lines: Iterator[str]) -> SourceCommit | None:
        is_empty = True
        for line in lines:
            is_empty = False
            if line.strip():
                self._all.update(line.strip().encode())
                try:
                    self._take(line, json.loads(line))
                except (ValueError, TypeError, AttributeError) as error:
                    raise unreadable(f"version {self._version}", error) from error
        if is_empty:
            return None
        info = self._info or {}
        told = self._all if self._info is None else _digest(info)
        at_ms = info.get("inCommitTimestamp") or info.get("timestamp") or 0
        return SourceCommit(
            self._version,
            told.hexdigest()[:12],
            float(at_ms) / 1000,
            str(info.get("operation") or ""),
            tuple(self._appended),
            self._rewrote,
            self._redefined,
            self._rows,
            self._bytes,
        )

    def _take(self, line: str, action: Mapping[str, Any]) -> None:
        added, removed = action.get("add"), action.get("remove")
        if added is not None and added.get("dataChange", True):
            self._appended.append(line.strip())
            self._bytes += int(added.get("size") or 0)
            self._rows += _rows(added)
        elif removed is not None and removed.get("dataChange", True):
            self._rewrote = True
        elif "metaData" in action:
            self._redefined = True
        elif "commitInfo" in action:
            self._info = action["commitInfo"]


def _rows(added: Mapping[str, Any]) -> int:
    stats = added.get("stats")
    gone = (added.get("deletionVector") or {}).get("cardinality") or 0
    return max(0, int(json.loads(stats).get("numRecords") or 0) - int(gone)) if stats else 0


def _digest(info: Mapping[str, Any]) -> Any:
    return hashlib.sha256(json.dumps(info, sort_keys=True).encode())
